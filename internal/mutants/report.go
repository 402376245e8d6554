package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Report is the whole of a run as a table, one mutant a line: what is taken away, who noticed, and by what.
func (o Outcome) Report() string {
	var b strings.Builder
	b.WriteString("| mutant | taken away | killed by | which |\n|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for i, v := range o.Verdicts {
		m := o.Mutants[i]
		killer, by := v.Killer, v.By
		if !v.Killed() {
			killer, by = "survived", "nobody argues it"
			if a := argument(m, v); a != nil {
				by = "argued: " + a.Name
			}
		}
		if v.Error != "" {
			killer, by = "not judged", v.Error
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.ID, cell.Replace(m.Text), killer, cell.Replace(first(by)))
	}
	return b.String()
}

// LastRun is what is kept of a whole run: what docs/mutants.md and docs/guarantees.md tell of.
type LastRun struct {
	Line      string                    // the run's last
	Checker   bool                      // whether the model checker was asked
	Counts    map[string]map[string]int // mutants by what they are of, and who killed them ("": nobody)
	Kinds     map[string]map[string]int // the same by kind
	Argued    map[string]int            // survivors by argument
	Survivors []string                  // IDs of those that nobody argues
	Broke     map[string][]string       // by invariant: the mutants of the table that broke it
}

// Last sums a run up.
func (o Outcome) Last(checked bool) LastRun {
	l := LastRun{
		Line: o.String(), Checker: checked, Counts: map[string]map[string]int{}, Kinds: map[string]map[string]int{},
		Argued: map[string]int{}, Survivors: []string{}, Broke: map[string][]string{},
	}
	count := func(in map[string]map[string]int, what, killer string) {
		if in[what] == nil {
			in[what] = map[string]int{}
		}
		in[what][killer]++
	}
	for i, v := range o.Verdicts {
		m := o.Mutants[i]
		count(l.Counts, m.Of, v.Killer)
		count(l.Kinds, m.Of+" "+m.Kind, v.Killer)
		if !v.Killed() {
			if a := argument(m, v); a != nil {
				l.Argued[a.Name]++
			} else {
				l.Survivors = append(l.Survivors, m.ID)
			}
		}
		for _, invariant := range v.Invariants() {
			if m.Of == Table && !m.Deep() {
				l.Broke[invariant] = append(l.Broke[invariant], strings.TrimPrefix(m.ID, "table "))
			}
		}
	}
	for _, ids := range l.Broke {
		slices.Sort(ids)
	}
	return l
}

// Invariants are those that a mutant broke: the one of the checker, and those that the cases which noticed name.
func (v Verdict) Invariants() []string {
	var all []string
	add := func(name string) {
		name = strings.TrimRight(name, "abcdefgh") // I1a is judged apart, and is of I1
		if strings.HasPrefix(name, "I") && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	add(v.Broke)
	for _, c := range v.Clauses {
		add(c)
	}
	return all
}

// lastRunFile is where a whole run is summed up, from the project's root.
const lastRunFile = "internal/mutants/lastrun.json"

// Keep writes a whole run's sum.
func (l LastRun) Keep(root string) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(lastRunFile)), append(text, '\n'), 0o644)
}

// ReadLastRun reads the sum of the last whole run.
func ReadLastRun(root string) (LastRun, error) {
	var l LastRun
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(lastRunFile)))
	if err != nil {
		return l, fmt.Errorf("read the last mutation run: %w", err)
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return l, fmt.Errorf("read the last mutation run in %s: %w", lastRunFile, err)
	}
	return l, nil
}
