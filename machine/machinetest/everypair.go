package machinetest

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// EveryPair writes a suite in which every event meets a row in every phase, refused ones included. The rows and the
// parameters are those that the suite files of fsys call usual, with what they call usual before the event or under its
// fence; so that, where the phase allows it, the event is applied.
func EveryPair(fsys fs.FS, p *transitions.Program) (string, error) {
	set, err := readSuites(fsys, p)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Every event of the table %s on a row in every phase. This file is generated: change what is usual in the\n# other files, or the table, and write it anew.\n", p.Name)
	for _, rule := range p.Rules {
		for _, phase := range p.Phases {
			fmt.Fprintf(&b, "\nI10: %s in %s\n", rule.Event, phase.Name)
			line := "given a " + phase.Name
			if sets := listed(set.rowBefore(rule, phase)); sets != "" {
				line += ", " + sets
			}
			fmt.Fprintf(&b, "%s\nwhen %s on a\n", strings.Join(wrapped(line), "\n"), rule.Event)
		}
	}
	f := &suiteFile{name: "every pair", lines: strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")}
	if err := set.parse(f); err != nil {
		return "", err
	}
	return set.rewritten(f)
}

// rowBefore is what is usual before an event, as far as a row in the phase can have it.
func (s *suiteSet) rowBefore(rule *transitions.Rule, phase transitions.Phase) []setting {
	var sets []setting
	for _, more := range [][]setting{s.before[string(rule.Fence)], s.before[rule.Event]} {
		for _, x := range more {
			if x.name == "outcome" && !phase.HasOutcome {
				continue
			}
			i := 0
			for i < len(sets) && sets[i].name != x.name {
				i++
			}
			if i == len(sets) {
				sets = append(sets, x)
			} else {
				sets[i] = x
			}
		}
	}
	return sets
}
