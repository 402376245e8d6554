package verify

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// Suite writes the story's events as a suite file of one case (docs/suites.md) about the table that is right, without
// what comes of them: let the rewriter fill that in. The file then passes on a store of that table, and on a store of the
// table that the story was found on it fails where the fault shows. What no row knows of (requests, jobs, crashes, what
// a worker believes) is a comment.
func (v *Violation) Suite(title string, right *transitions.Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s.\n", v.Invariant.Code, v.Invariant.Says)
	for i, s := range v.Story {
		fmt.Fprintf(&b, "# %d. %s\n", i+1, s)
	}
	fmt.Fprintf(&b, "\n%s\n", title)
	events := v.Events
	for len(events) > 0 && events[len(events)-1].Name == "" {
		events = events[:len(events)-1]
	}
	if slices.ContainsFunc(events, func(e Event) bool { return e.Params["remote_job_id"].Text() == theirs }) {
		fmt.Fprintf(&b, "given b %s\n", settings(v.other))
	}
	if v.byHand != nil {
		fmt.Fprintf(&b, "given a %s\n", settings(v.byHand))
	} else {
		fmt.Fprintf(&b, "when %s on a%s\n", v.birth.Name, parameters(v.birth, right))
	}
	for _, e := range events {
		if e.Name == "" {
			fmt.Fprintf(&b, "when %s passes\n", shortTick)
			continue
		}
		fmt.Fprintf(&b, "when %s on a%s\n", e.Name, parameters(e, right))
	}
	return b.String()
}

var shortTick = strings.TrimSuffix(strings.TrimSuffix((time.Duration(tickMs)*time.Millisecond).String(), "0s"), "0m")

// setting is a column of a row that is written by hand.
type setting struct {
	name  string
	value transitions.Value
}

func settings(sets []setting) string {
	words := []string{sets[0].value.Text()} // the phase
	for _, s := range sets[1:] {
		words = append(words, s.name+" "+word(s.value))
	}
	return strings.Join(words, ", ")
}

// parameters are those of an event that the table which is right takes as well.
func parameters(e Event, right *transitions.Program) string {
	var b strings.Builder
	names := make([]string, 0, len(e.Params))
	for name := range e.Params {
		if r := right.Rule(e.Name); name != "operation_id" && (r == nil || r.Uses(name)) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, ", %s %s", name, word(e.Params[name]))
	}
	return b.String()
}

var plain = regexp.MustCompile(`^[a-z_]+$`)

// word writes a value as suite files do; times are offsets from now.
func word(v transitions.Value) string {
	switch v.Kind() {
	case transitions.Text, transitions.Bytes:
		if plain.MatchString(v.Text()) && !slices.Contains([]string{"null", "true", "false", "now"}, v.Text()) {
			return v.Text()
		}
		return strconv.Quote(v.Text())
	case transitions.Time:
		if ahead := time.Duration(v.Micros()-now) * time.Microsecond; ahead != 0 {
			return fmt.Sprintf("%+ds", int(ahead.Seconds()))
		}
		return "-1m"
	default:
		return v.String()
	}
}

// rowByHand lists a row's columns that are not their defaults, the phase first.
func (m *model) rowByHand(row transitions.Row) []setting {
	sets := []setting{{"phase", row[m.space.phase]}}
	for i, c := range m.p.Columns {
		if i != m.space.phase && c.Name != "operation_id" && row[i] != c.Default {
			sets = append(sets, setting{c.Name, row[i]})
		}
	}
	return sets
}

// other is another operation's row, which holds the id that the model calls theirs.
func (m *model) other(row transitions.Row) []setting {
	id := m.p.Column("remote_job_id")
	if id < 0 {
		return nil
	}
	row = slices.Clone(row)
	row[id] = transitions.TextValue(theirs)
	if len(m.roles.remote) > 0 {
		row[m.space.phase] = transitions.TextValue(m.roles.remote[0].rule.From[0])
	}
	return m.rowByHand(row)
}
