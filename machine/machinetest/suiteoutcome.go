package machinetest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// outcome is what came, or may come, of a step: one result an event, and everything that is not as it was.
type outcome struct {
	at        place
	results   []string // "applied", "denied a, b", "took a, b", "no such operation" or "refused"
	rows      []rowChange
	entries   []trace
	evidence  []trace
	noHistory bool // it is said that there is none
}

// rowChange are the columns of a row that have other values than before.
type rowChange struct {
	name string
	sets []setting
}

// trace is a row of history or evidence.
type trace struct {
	name     string // of the row that it is about
	event    string // history only
	from, to string
	fields   []setting // owner, reason and so on; what is null or 0 is left out
}

// The fields of traces, in the order in which they are written.
var (
	entryKinds = fieldKinds{
		{"revision", transitions.Int}, {"owner", transitions.Text}, {"reason", transitions.Text},
		{"reviewer", transitions.Text}, {"detail", transitions.Text},
	}
	evidenceKinds = fieldKinds{
		{"kind", transitions.Text}, {"remote_job_id", transitions.Text}, {"revision", transitions.Int},
		{"owner", transitions.Text}, {"detail", transitions.Bytes},
	}
)

type fieldKinds []struct {
	name string
	kind transitions.Kind
}

func (k fieldKinds) kindOf(name string) (transitions.Kind, string) {
	for _, d := range k {
		if d.name == name {
			return d.kind, ""
		}
	}
	return 0, fmt.Sprintf("there is no field %q", name)
}

// sorted brings the fields into their order.
func (k fieldKinds) sorted(fields []setting) []setting {
	var out []setting
	for _, d := range k {
		for _, f := range fields {
			if f.name == d.name {
				out = append(out, f)
			}
		}
	}
	return out
}

var traceLine = regexp.MustCompile(`^(history|evidence) of (\S+): (.*)$`)

// then reads one sentence of what comes of a step.
func (s *suiteSet) then(c *story, step *storyStep, at place, word, rest string) error {
	if word == "then" && len(step.outcomes) > 0 {
		return at.errorf("a second then; another possible outcome begins with or, something further with and")
	}
	if word != "and" {
		o := &outcome{at: at, results: pieces(rest, " and ")}
		step.outcomes = append(step.outcomes, o)
		if len(o.results) != len(step.fired) {
			return at.errorf("%d results for %d events: %q", len(o.results), len(step.fired), rest)
		}
		for _, r := range o.results {
			if !resultLine.MatchString(r) {
				return at.errorf("%q is no result; write applied, denied GUARDS, took ROWS, took nothing, no such operation or refused", r)
			}
		}
		return nil
	}
	if len(step.outcomes) == 0 {
		return at.errorf("and comes before then")
	}
	o := step.outcomes[len(step.outcomes)-1]
	if rest == "no history" {
		o.noHistory = true
		return nil
	}
	if name, sets, ok := strings.Cut(rest, " has "); ok && !strings.Contains(name, " ") {
		got, err := settings(at, sets, s.columnKind)
		o.rows = append(o.rows, rowChange{name, s.inOrder(got)})
		return err
	}
	m := traceLine.FindStringSubmatch(rest)
	if m == nil {
		return at.errorf("%q: write and ROW has COLUMN VALUE, and history of ROW:, and evidence of ROW:, or and no history", rest)
	}
	t := trace{name: m[2]}
	var err error
	if m[1] == "evidence" {
		t.fields, err = settings(at, m[3], evidenceKinds.kindOf)
		t.fields = evidenceKinds.sorted(t.fields)
		o.evidence = append(o.evidence, t)
		return err
	}
	head, fields, _ := strings.Cut(m[3], ",")
	words := strings.Fields(head)
	if len(words) != 4 || words[2] != "to" || s.program.Rule(words[0]) == nil {
		return at.errorf("history %q: want EVENT PHASE to PHASE, and what else it says", head)
	}
	t.event, t.from, t.to = words[0], words[1], words[3]
	t.fields, err = settings(at, fields, entryKinds.kindOf)
	t.fields = entryKinds.sorted(t.fields)
	o.entries = append(o.entries, t)
	return err
}

var resultLine = regexp.MustCompile(`^(applied|no such operation|refused|took nothing|took \S.*|denied \S.*)$`)

// inOrder sorts settings by column.
func (s *suiteSet) inOrder(sets []setting) []setting {
	sets = slices.Clone(sets)
	slices.SortFunc(sets, func(a, b setting) int { return s.program.Column(a.name) - s.program.Column(b.name) })
	return sets
}

// lines writes an outcome as a suite file tells it.
func (o *outcome) lines(first bool) []string {
	word := "or "
	if first {
		word = "then "
	}
	lines := []string{word + strings.Join(o.results, " and ")}
	for _, r := range o.rows {
		lines = append(lines, wrapped("and "+r.name+" has "+listed(r.sets))...)
	}
	for _, t := range o.entries {
		lines = append(lines, wrapped(fmt.Sprintf("and history of %s: %s %s to %s, %s", t.name, t.event, t.from, t.to, listed(t.fields)))...)
	}
	for _, t := range o.evidence {
		lines = append(lines, wrapped("and evidence of "+t.name+": "+listed(t.fields))...)
	}
	if len(o.entries) == 0 && o.moves() {
		lines = append(lines, "and no history")
	}
	return lines
}

// moves reports whether an event was applied.
func (o *outcome) moves() bool {
	return slices.ContainsFunc(o.results, func(r string) bool {
		return r == "applied" || strings.HasPrefix(r, "took ") && r != "took nothing"
	})
}

// wrapped breaks a line after commas.
func wrapped(line string) []string {
	const width = 110
	var lines []string
	current := ""
	for i, piece := range pieces(line, ",") {
		switch {
		case i == 0:
			current = piece
		case len(current)+2+len(piece) > width:
			lines = append(lines, current+",")
			current = "  " + piece
		default:
			current += ", " + piece
		}
	}
	return append(lines, current)
}

// number is a setting of a whole number, nothing where it is 0 and nought is not told.
func number(name string, n int64, always bool) []setting {
	if n == 0 && !always {
		return nil
	}
	return []setting{{name, transitions.IntValue(n)}}
}

func text(name, s string) []setting {
	if s == "" {
		return nil
	}
	return []setting{{name, transitions.TextValue(s)}}
}
