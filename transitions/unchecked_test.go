package transitions_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
)

// everything compares unexported fields too.
var everything = cmp.Exporter(func(reflect.Type) bool { return true })

func TestATableThatBreaksARuleCompilesOnlyUnchecked(t *testing.T) {
	t.Parallel()
	table := transitions.Standard()
	for i := range table.Events {
		if table.Events[i].Name == "submit_lapsed" { // F2: back to where it can be sent, without proof
			table.Events[i].To = transitions.Prepared
		}
	}
	if _, err := transitions.Compile(table); err == nil {
		t.Fatal("Compile takes a table in which a lapsed submission is sent again")
	}
	p, err := transitions.CompileUnchecked(table)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Rule("submit_lapsed").To; got != transitions.Prepared {
		t.Errorf("submit_lapsed leads to %s, want %s", got, transitions.Prepared)
	}
}

func TestCompilingUncheckedIsCompilingForATableWithoutFindings(t *testing.T) {
	t.Parallel()
	got, err := transitions.CompileUnchecked(transitions.Standard())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(transitions.MustCompile(transitions.Standard()), got, everything); diff != "" {
		t.Errorf("compiled unchecked (-checked +unchecked):\n%s", diff)
	}
}

func TestWhatCannotBeCompiledIsAnErrorUncheckedToo(t *testing.T) {
	t.Parallel()
	table := transitions.Standard()
	table.Columns = table.Columns[:5]
	if _, err := transitions.CompileUnchecked(table); err == nil || !strings.Contains(err.Error(), "which is no column") {
		t.Errorf("got %v, want an error about a column that the table has not", err)
	}
}

func TestAnAlteredProgramDiffersInTheOneThingAndTheProgramStaysAsItIs(t *testing.T) {
	t.Parallel()
	p, untouched := transitions.MustCompile(transitions.Standard()), transitions.MustCompile(transitions.Standard())
	for _, r := range p.Rules {
		for _, g := range r.Guards {
			q, err := p.Without(r.Event, g.Name)
			if err != nil {
				t.Fatal(err)
			}
			line := "\n  guard " + g.Name + ": " + g.Expr.String()
			want := strings.Replace(events(p), r.String(), strings.Replace(r.String(), line, "", 1), 1)
			if diff := cmp.Diff(want, events(q)); diff != "" {
				t.Errorf("%s without guard %s (-want +got):\n%s", r.Event, g.Name, diff)
			}
		}
		for _, s := range r.Sets {
			q, err := p.WithoutSet(r.Event, s.Col)
			if err != nil {
				t.Fatal(err)
			}
			line := "\n  set " + s.Col + " = " + s.Expr.String()
			want := strings.Replace(events(p), r.String(), strings.Replace(r.String(), line, "", 1), 1)
			if diff := cmp.Diff(want, events(q)); diff != "" {
				t.Errorf("%s without setting %s (-want +got):\n%s", r.Event, s.Col, diff)
			}
			for _, i := range q.Rule(r.Event).Recorded {
				if q.Columns[i].Name == s.Col {
					t.Errorf("%s without setting %s still records it", r.Event, s.Col)
				}
			}
		}
	}
	if diff := cmp.Diff(untouched, p, everything); diff != "" {
		t.Errorf("the program that was altered (-before +after):\n%s", diff)
	}
}

// events are a program's rules without those that join two.
func events(p *transitions.Program) string {
	var b strings.Builder
	for _, r := range p.Rules {
		b.WriteString("\n" + r.String() + "\n")
	}
	return b.String()
}

func TestAlteringNothingIsAnError(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	for name, alter := range map[string]func() (*transitions.Program, error){
		`it has no event "submit"`:         func() (*transitions.Program, error) { return p.Without("submit", "owner") },
		"take guard vacant away":           func() (*transitions.Program, error) { return p.Without("renew", "vacant") },
		"take the assignment of keep away": func() (*transitions.Program, error) { return p.WithoutSet("renew", "keep") },
		"event renew is what it was":       func() (*transitions.Program, error) { return p.Altered("renew", func(*transitions.Rule) {}) },
	} {
		if _, err := alter(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error that says %q", err, name)
		}
	}
}
