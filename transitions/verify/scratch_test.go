package verify

import (
	"os"
	"strconv"
	"testing"

	"github.com/fencerow/fencerow/transitions"
)

func TestScratch(t *testing.T) {
	p := transitions.MustCompile(transitions.Standard())
	b := Usual()
	n := func(name string, d int) int {
		if v, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return v
		}
		return d
	}
	b.States = n("STATES", 400_000)
	b.Statements = n("STMTS", 0)
	b.Workers = n("WORKERS", 2)
	b.Begins = n("BEGINS", 2)
	b.Mistakes = n("MISTAKES", 1)
	b.Imports = n("IMPORTS", 1) == 1
	m := newModel(p, b)
	born, _ := m.born()
	x := &exploration{model: m, seen: map[state]int32{}}
	f := x.run(born)
	count := map[string]map[any]int{}
	see := func(k string, v any) {
		if count[k] == nil {
			count[k] = map[any]int{}
		}
		count[k][v]++
	}
	proj := map[state]int{}
	projRev := map[state]int{}
	projRow := map[state]int{}
	for _, nd := range x.nodes {
		st := nd.state
		see("jobs", st.jobs)
		see("begins", st.begins)
		see("slack", st.slack)
		see("mistakes", st.mistakes)
		see("known", st.known)
		see("air", st.air)
		see("rv", st.reviewer)
		see("w0", [2]any{st.workers[0].pc, p.Phases[st.workers[0].phase].Name})
		see("w1", [2]any{st.workers[1].pc, p.Phases[st.workers[1].phase].Name})
		see("phase", p.Phases[x.space.facts[st.row].phase].Name)
		a := st
		a.reviewer = reviewer{}
		proj[a]++
		a = st
		a.workers = [3]worker{}
		projRev[a]++
		projRow[state{row: st.row}]++
	}
	t.Logf("found %v; states %d steps %d rows %d depth %d capped %v; without reviewer %d, without workers %d, rows %d", f, len(x.nodes), x.steps, len(m.space.rows), x.depth, x.capped, len(proj), len(projRev), len(projRow))
	for k, v := range count {
		if len(v) < 40 {
			t.Log(k, v)
		}
	}
	cols := map[string]map[transitions.Value]bool{}
	for r := range projRow {
		for i, v := range x.space.rows[r.row] {
			c := p.Columns[i].Name
			if cols[c] == nil {
				cols[c] = map[transitions.Value]bool{}
			}
			cols[c][v] = true
		}
	}
	for c, v := range cols {
		if len(v) > 1 {
			t.Log(c, len(v), v)
		}
	}
	if f != nil {
		v, err := x.tell(f)
		t.Log(v, err)
	}
}
