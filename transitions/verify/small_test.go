package verify_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/verify"
)

// A table so small that its states can be counted by hand: an operation waits, a worker takes it, and puts it where it
// belongs.
func smallTable(t *testing.T) *transitions.Program {
	t.Helper()
	col, param, text := transitions.Col, transitions.Param, transitions.Text
	lease := func(owner, until, revision transitions.Expr) transitions.Effect {
		e := transitions.Effect{Name: "lease", Sets: []transitions.Set{{Col: "lease_owner", Expr: owner}, {Col: "lease_until", Expr: until}}}
		if revision.IsSet() {
			e.Sets = append(e.Sets, transitions.Set{Col: "revision", Expr: revision})
		}
		return e
	}
	p, err := transitions.CompileUnchecked(transitions.Table{
		Name: "small",
		Columns: []transitions.Column{
			{Name: "operation_id", Kind: text, NotNull: true}, {Name: "phase", Kind: text, NotNull: true, Words: "phases"},
			{Name: "next_action", Kind: text, Words: "actions"}, {Name: "lease_owner", Kind: text}, {Name: "lease_until", Kind: transitions.Time},
			{Name: "revision", Kind: transitions.Int, NotNull: true, Default: transitions.IntValue(0)}, {Name: "outcome", Kind: text, Words: "outcomes"},
			{Name: "updated_at", Kind: transitions.Time, NotNull: true},
		},
		Phases:   []transitions.Phase{{Name: "waiting", Action: "put"}, {Name: "done", HasOutcome: true}},
		Actions:  []transitions.Action{{Name: "put", By: "worker"}},
		Outcomes: []string{"succeeded"},
		Events: []transitions.Event{
			{Name: "create", New: true, To: "waiting", Fence: transitions.Open, Effects: []transitions.Effect{{Name: "due", Sets: []transitions.Set{
				{Col: "operation_id", Expr: param("operation_id", text)}, {Col: "next_action", Expr: transitions.Str("put")}}}}},
			{Name: "take", From: []string{"waiting"}, Fence: transitions.Vacant,
				Guards:  []transitions.Guard{{Name: "next_action", Expr: transitions.Eq(col("next_action"), transitions.Str("put"))}},
				Effects: []transitions.Effect{lease(param("owner", text), transitions.After(transitions.Now(), param("ttl_ms", transitions.Int)), transitions.Plus(col("revision"), transitions.Num(1)))}},
			{Name: "put", From: []string{"waiting"}, To: "done", Fence: transitions.Held,
				Effects: []transitions.Effect{lease(transitions.Null(), transitions.Null(), transitions.Expr{}),
					{Name: "end", Sets: []transitions.Set{{Col: "outcome", Expr: transitions.Str("succeeded")}, {Col: "next_action", Expr: transitions.Null()}}}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// counted is what can be counted by hand.
type counted struct{ States, Steps int }

func TestTheStatesOfASmallTableAreThoseCountedByHand(t *testing.T) {
	t.Parallel()
	one := verify.Bound{Workers: 1, Begins: 1}
	two := verify.Bound{Workers: 2, Begins: 1}
	full := two
	full.Unreduced = true
	for _, try := range []struct {
		name  string
		bound verify.Bound
		want  counted
	}{
		// 1 nobody holds it; 2 held, the lease alive; 3 held, the lease over; 4 the holder crashed, the lease alive;
		// 5 crashed and over; 6 done. From 1 it is taken; from 2 time passes, the holder crashes, or it is put; from 3 the
		// holder crashes, or is denied; from 4 time passes; from 5 it is taken.
		{"one worker", one, counted{States: 6, Steps: 8}},
		// A second worker adds nothing: it holds nothing, or it holds a lease that was taken over, which is forgotten, and
		// which of the two it is makes no difference. From 1 and 5 either takes it, and from 3 the other one may, too.
		{"two workers", two, counted{States: 6, Steps: 11}},
		// Unreduced: 1 free, both idle. For each owner, alive or over (4 in all): the owner holds or crashed, the other is
		// idle or holds what was taken over: 16. Done: both idle, or one of them holds what was taken over: 3. Steps from
		// free: 2; for each owner, alive: 3 and 5 with a holder, 1 and 3 with a crashed one; over: 3 and 4, and 2 and 3; from
		// done: 0, 2 and 2.
		{"two workers, unreduced", full, counted{States: 20, Steps: 2 + 2*(3+5+1+3+3+4+2+3) + 4}},
	} {
		t.Run(try.name, func(t *testing.T) {
			t.Parallel()
			r := holds(t, smallTable(t), try.bound)
			if diff := cmp.Diff(try.want, counted{r.States, r.Steps}); diff != "" {
				t.Errorf("states and steps (-by hand +explored):\n%s", diff)
			}
		})
	}
}
