package machinetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/transitions"
)

func generatorFor(p *transitions.Program, rule *transitions.Rule) *generator {
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	return &generator{p: p, rule: rule, now: now, rng: rand.New(rand.NewPCG(1, 2))}
}

// neverAlone are guards that no row can fail by themselves.
var neverAlone = map[string]bool{
	"prepare operation_id": true, // no row has a blank id
	"draft named":          true,
	"deliver_claim phase":  true, // no other phase has an outcome
}

func TestTheTrialsApplyEveryEventAndLetEveryGuardDecideAlone(t *testing.T) {
	t.Parallel()
	for _, table := range []transitions.Table{transitions.Standard(), payout.Table()} {
		everythingDecides(t, transitions.MustCompile(table))
	}
}

func everythingDecides(t *testing.T, p *transitions.Program) {
	t.Helper()
	for _, rule := range slices.Concat(p.Rules, p.Joined) {
		g := generatorFor(p, rule)
		seen := map[string]bool{}
		for _, c := range (&suite{reporter: t, p: p}).trialsOf(g) {
			switch v := g.eval(c); len(v.Failed) {
			case 0:
				seen["applied"] = true
			case 1:
				seen[v.Failed[0]] = true
			}
		}
		want := map[string]bool{"applied": true}
		for _, guard := range rule.Guards {
			if !neverAlone[rule.Event+" "+guard.Name] {
				want[guard.Name] = true
			}
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("%s: the guards that decided alone (-want +got):\n%s", rule.Event, diff)
		}
	}
}

func TestTheSuiteSeesADifferenceOfOneColumn(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	s := &suite{reporter: t, p: p, now: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)}
	row := s.row("a", transitions.Submitting, s.leased())
	for i, c := range p.Columns {
		other := append(transitions.Row(nil), row...)
		switch {
		case !row[i].IsNull():
			other[i] = transitions.NullValue
		case c.Kind == transitions.Time:
			other[i] = transitions.TimeValue(s.now)
		default:
			other[i] = transitions.IntValue(1)
		}
		if cmp.Equal(s.readable(row), s.readable(s.near(row, other))) {
			t.Errorf("a row with another %s looks the same", c.Name)
		}
	}
	late := s.with(row, values{"lease_until": s.now.Add(time.Hour + 2*clockTolerance)})
	if cmp.Equal(s.readable(row), s.readable(s.near(row, late))) {
		t.Error("a lease that is longer than a statement takes looks the same")
	}
}

func TestATrialNeedsNoClockThatIsExact(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	for _, rule := range slices.Concat(p.Rules, p.Joined) {
		g := generatorFor(p, rule)
		for _, c := range (&suite{reporter: t, p: p}).trialsOf(g) {
			now := g.eval(c)
			later := g.world()
			later.Now += (30 * time.Minute).Microseconds()
			then := p.Eval(rule.Event, c.row, c.params, later)
			if diff := cmp.Diff(fmt.Sprint(now.Applied, now.Failed), fmt.Sprint(then.Applied, then.Failed)); diff != "" {
				t.Errorf("%s: the verdict half an hour later (-now +later):\n%s", c.id, diff)
			}
		}
	}
}

func TestAnExampleIsARowThatItsEventIsAppliedTo(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, rule := range slices.Concat(p.Rules, p.Joined) {
		row, params, ok := Example(p, rule.Event, "a", now)
		if !ok || (row == nil) != rule.New {
			t.Errorf("%s: found %t, a row %t", rule.Event, ok, row != nil)
			continue
		}
		if v := p.Eval(rule.Event, row, params, transitions.World{Now: now.UnixMicro()}); !v.Applied {
			t.Errorf("%s is not applied to its example: %v", rule.Event, v.Failed)
		}
	}
	if _, _, ok := Example(p, "no_such_event", "a", now); ok {
		t.Error("there is an example of an event that the table has not")
	}
}
