package promela_test

import (
	"strings"
	"testing"

	"github.com/fencerow/fencerow/internal/golden"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/promela"
)

func standard(t testing.TB) *transitions.Program {
	t.Helper()
	p, err := transitions.Compile(transitions.Standard())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheModelOfTheStandardTableIsTheCommittedOne(t *testing.T) {
	t.Parallel()
	first, err := promela.Model(standard(t), promela.Standard())
	if err != nil {
		t.Fatal(err)
	}
	again, err := promela.Model(standard(t), promela.Standard())
	if err != nil || again != first {
		t.Errorf("the second model of the same table is another one, or none (%v)", err)
	}
	golden.Compare(t, "testdata/standard.pml", []byte(first))
}

func TestEveryRuleIsInTheModelWithEveryGuardAndEveryAssignmentThatAGuardDependsOn(t *testing.T) {
	t.Parallel()
	p := standard(t)
	model, err := promela.Model(p, promela.Standard())
	if err != nil {
		t.Fatal(err)
	}
	read := read(t, p, promela.Standard())
	for _, r := range p.Rules {
		from := strings.Index(model, "#define may_"+r.Event+" ")
		if from < 0 {
			t.Errorf("the model has no event %s", r.Event)
			continue
		}
		guards, _, _ := strings.Cut(model[from:], "#define can_")
		for _, g := range r.Guards {
			if want := "/* guard " + g.Name + ": " + g.Expr.String() + " */"; strings.Count(guards, want) != 1 {
				t.Errorf("%s: the model does not have guard %s once:\n%s", r.Event, g.Name, guards)
			}
		}
		if got := strings.Count(guards, "/* guard "); got != len(r.Guards) {
			t.Errorf("%s has %d guards, the model's %d", r.Event, len(r.Guards), got)
		}
		if !r.New && !strings.Contains(model, ":: WHAT == ev_"+r.Event+" -> fire_"+r.Event+"()") {
			t.Errorf("no statement of %s reaches the database", r.Event)
		}
		for _, c := range promela.Cone(p) {
			_, fixed := read.defined["fixed_"+c.Name]
			assigned := false
			for _, s := range r.Sets {
				assigned = assigned || s.Col == c.Name
			}
			if _, written := read.next[r.Event][c.Name]; written != (assigned && !fixed) {
				t.Errorf("%s: the table assigns %s: %v; the model: %v", r.Event, c.Name, assigned, written)
			}
		}
	}
}

func TestTheConeHasWhatGuardsDependOnAndNothingElse(t *testing.T) {
	t.Parallel()
	var names []string
	for _, c := range promela.Cone(standard(t)) {
		names = append(names, c.Name)
	}
	cone := " " + strings.Join(names, " ") + " "
	for _, in := range []string{"phase", "lease_owner", "lease_until", "revision", "quarantine_ms", "attempts", "not_created_revision"} {
		if !strings.Contains(cone, " "+in+" ") {
			t.Errorf("%s is not in the cone%s", in, cone)
		}
	}
	for _, out := range []string{"request", "keep", "snapshot", "object_key", "uncertain_reason", "created_at", "priority"} {
		if strings.Contains(cone, " "+out+" ") {
			t.Errorf("%s is in the cone, though no guard depends on it:%s", out, cone)
		}
	}
}

func TestWhatCannotBeModelledIsRefusedWithItsReason(t *testing.T) {
	t.Parallel()
	p := standard(t)
	altered := func(event string, guard transitions.Expr) *transitions.Program {
		q, err := p.Altered(event, func(r *transitions.Rule) {
			r.Guards = append(r.Guards, transitions.Guard{Name: "odd", Expr: guard, Doc: "odd"})
		})
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	other, err := transitions.CompileUnchecked(transitions.Table{Name: "other", Columns: transitions.StandardColumns()})
	if err != nil {
		t.Fatal(err)
	}
	bounds := func(change func(*promela.Options)) promela.Options {
		o := promela.Standard()
		change(&o)
		return o
	}
	for name, tc := range map[string]struct {
		program *transitions.Program
		options promela.Options
		says    string
	}{
		"a table of other events": {other, promela.Standard(), "it has no event prepare"},
		"no request":              {p, bounds(func(o *promela.Options) { o.Requests = 0 }), "Options.Requests is 0; give 1 to 3"},
		"too many revisions":      {p, bounds(func(o *promela.Options) { o.Revisions = 200 }), "Options.Revisions is 200"},
		"two times compared": {altered("renew", transitions.Lt(transitions.Col("due_at"), transitions.Col("lease_until"))),
			promela.Standard(), "compares two times"},
		"an unknown parameter": {altered("renew", transitions.Eq(transitions.Param("mood", transitions.Text), transitions.Str("good"))),
			promela.Standard(), `a parameter "mood"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := promela.Model(tc.program, tc.options); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("want an error with %q, got %v", tc.says, err)
			}
		})
	}
}
