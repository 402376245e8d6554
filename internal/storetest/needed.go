package storetest

import (
	"io/fs"
	"slices"
	"testing"

	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/transitions"
)

// EveryPartIsNeeded takes every guard and every assignment of a program away, one at a time, and fails unless a case of
// the suite files then comes out otherwise: what no case tells of is held by nothing. The guards and assignments that the
// event has word for word in the program that was extended are left to that one's own suites. The cases are played on
// the in-memory store.
func EveryPartIsNeeded(t *testing.T, fsys fs.FS, p, extended *transitions.Program) {
	t.Helper()
	suite, err := machinetest.ReadSuite(fsys, p)
	if err != nil {
		t.Fatal(err)
	}
	needed := func(broken *transitions.Program, event, missing string) {
		told := false
		if _, err := suite.Play(t.Context(), machinetest.MemorySubject(broken),
			func(c machinetest.Case) bool { return slices.Contains(c.Events, event) },
			func(machinetest.Fault) bool { told = true; return false }); err != nil {
			t.Fatal(err)
		}
		if !told {
			t.Errorf("%s without %s: every case comes out the same; add one in which it shows", event, missing)
		}
	}
	for _, rule := range p.Rules {
		guards, sets := newParts(rule, extended.Rule(rule.Event))
		for _, guard := range guards {
			broken, err := p.Without(rule.Event, guard)
			if err != nil {
				t.Fatal(err)
			}
			needed(broken, rule.Event, "its guard "+guard)
		}
		for _, column := range sets {
			broken, err := p.WithoutSet(rule.Event, column)
			if err != nil {
				t.Fatal(err)
			}
			needed(broken, rule.Event, "setting "+column)
		}
	}
}

// newParts lists the guards and the assigned columns of a rule that another has not, or has otherwise.
func newParts(rule, old *transitions.Rule) (guards, sets []string) {
	had := map[string]bool{"updated_at": true} // goes along with each event, and is not written down
	if old != nil {
		for _, g := range old.Guards {
			had[g.Name+g.Expr.String()] = true
		}
		for _, s := range old.Sets {
			had[s.Col+s.Expr.String()] = true
		}
	}
	for _, g := range rule.Guards {
		if !had[g.Name+g.Expr.String()] {
			guards = append(guards, g.Name)
		}
	}
	for _, s := range rule.Sets {
		if !had[s.Col+s.Expr.String()] && !had[s.Col] {
			sets = append(sets, s.Col)
		}
	}
	return guards, sets
}
