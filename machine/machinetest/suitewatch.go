package machinetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// difference tells everything that is not as it was.
func (g *stage) difference(fired []firing, results []string, before, after sight) (*outcome, error) {
	o := &outcome{results: results}
	moved := movedBy(fired, results)
	names := make([]string, 0, len(g.ids))
	for name := range g.ids {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		changes, err := g.changes(moved[name], name, before.rows[name], after.rows[name])
		if err != nil {
			return nil, err
		}
		if len(changes) > 0 {
			o.rows = append(o.rows, rowChange{name, changes})
		}
		entries := after.history[name][len(before.history[name]):]
		for _, e := range entries {
			from := e.From
			if from == "" {
				from = "nothing"
			}
			fields := slices.Concat(number("revision", e.Revision, true), text("owner", e.Owner), text("reason", e.Reason),
				text("reviewer", e.Reviewer), text("detail", e.Detail))
			o.entries = append(o.entries, trace{name: name, event: e.Event, from: from, to: e.To, fields: fields})
		}
		if len(entries) == 1 {
			if err := g.recorded(entries[0], after.rows[name]); err != nil {
				return nil, err
			}
		}
		for _, e := range after.evidence[name][len(before.evidence[name]):] {
			fields := slices.Concat(text("kind", e.Kind), text("remote_job_id", e.RemoteJobID), number("revision", e.Revision, false), text("owner", e.Owner))
			if len(e.Detail) > 0 {
				fields = append(fields, setting{"detail", transitions.BytesValue(e.Detail)})
			}
			o.evidence = append(o.evidence, trace{name: name, fields: fields})
		}
	}
	return o, nil
}

// movedBy gives the rows to which an event was applied.
func movedBy(fired []firing, results []string) map[string]bool {
	moved := map[string]bool{}
	for i, r := range results {
		if r == "applied" {
			moved[fired[i].name] = true
		}
		if names, ok := strings.CutPrefix(r, "took "); ok {
			for _, name := range pieces(names, ",") {
				moved[name] = true
			}
		}
	}
	return moved
}

// changes lists the columns of a row that have other values than before, those of a new row that are not its defaults.
// That the time of the last change goes along with an event is not worth telling, that it does not is.
func (g *stage) changes(moved bool, name string, before, after transitions.Row) ([]setting, error) {
	p := g.set.program
	if after == nil {
		if before != nil {
			return nil, fmt.Errorf("row %s is gone", name)
		}
		return nil, nil
	}
	if before == nil {
		before = blankRow(p)
	}
	var sets []setting
	for i, c := range p.Columns {
		if c.Name == "operation_id" || c.Name == "updated_at" && moved || after[i] == before[i] || g.aboutSame(before[i], after[i]) {
			continue
		}
		sets = append(sets, setting{c.Name, g.relative(after[i])})
	}
	if at := after[p.Column("updated_at")]; moved && at.Micros() < g.now.UnixMicro() {
		return nil, fmt.Errorf("row %s was changed, and its updated_at says %s", name, at)
	}
	return sets, nil
}

// aboutSame reports whether a time was only set anew to what it was by a clock that went on: a case's steps are told as
// if no time passed between them.
func (g *stage) aboutSame(before, after transitions.Value) bool {
	if before.Kind() != transitions.Time || after.Kind() != transitions.Time {
		return false
	}
	return after.Time().Sub(before.Time()).Abs() <= time.Since(g.began)+time.Second
}

func (g *stage) relative(v transitions.Value) transitions.Value {
	if v.Kind() == transitions.Time {
		return transitions.MicrosValue(v.Micros() - g.now.UnixMicro())
	}
	return v
}

// recorded holds what a history row says of an event against the row: when it was, and every column that it assigned, as
// it is now.
func (g *stage) recorded(e machine.HistoryEntry, row transitions.Row) error {
	rule := g.set.program.Rule(e.Event)
	if at := row[g.set.program.Column("updated_at")].Time(); !at.Equal(e.At) && !rule.Quiet.IsSet() {
		return fmt.Errorf("history of %s says that it was at %s, the row that it was at %s", e.Event, e.At, at)
	}
	decoded, err := decodeChanges(g.set.program, e.Changes)
	if err != nil {
		return err
	}
	if len(decoded) != len(rule.Recorded) {
		return fmt.Errorf("history of %s records %d columns, the table %d: %s", e.Event, len(decoded), len(rule.Recorded), e.Changes)
	}
	for _, i := range rule.Recorded {
		name := g.set.program.Columns[i].Name
		if v, ok := decoded[name]; !ok || v != row[i] {
			return fmt.Errorf("history of %s records %s as %s, the row has %s", e.Event, name, v, row[i])
		}
	}
	return nil
}

// orders gives every order in which n events can come one after the other.
func orders(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for _, rest := range orders(n - 1) {
		for at := range n {
			all = append(all, slices.Insert(slices.Clone(rest), at, n-1))
		}
	}
	slices.SortFunc(all, func(a, b []int) int {
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	return all
}

// compareRaces holds the outcomes that a case allows of a race against those of every order on the reference: no less,
// and no more.
func (g *stage) compareRaces(c *story, n int, step *storyStep) error {
	if len(step.fired) < 2 {
		return nil
	}
	if step != c.steps[len(c.steps)-1] {
		return step.at.errorf("what is fired at once has several outcomes; let it be the last of its case")
	}
	outcomes, err := g.set.reference(c, n, step)
	if err != nil {
		return err
	}
	told := func(outcomes []*outcome) string {
		texts := make([]string, len(outcomes))
		for i, o := range outcomes {
			texts[i] = strings.Join(o.lines(true), "\n")
		}
		slices.Sort(texts)
		return strings.Join(texts, "\n")
	}
	if want, got := told(step.outcomes), told(outcomes); want != got {
		return step.at.errorf("one after the other, in every order, the events come to other outcomes than the file says:\n%s", got)
	}
	return nil
}
