package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// shut is a store on which nothing can be noted of one operation.
type shut struct {
	machine.Store
	id string
}

func (s shut) Apply(ctx context.Context, event string, p transitions.Params) (machine.Answer, error) {
	if event == "evidence_noted" && p["operation_id"].Text() == s.id {
		return machine.Answer{}, errors.New("the row is locked")
	}
	return s.Store.Apply(ctx, event, p)
}

// Whoever learnt that an operation has a job after all, and died before what repeats it was marked, left no way to a
// second request: the reconciler marks it, and sweeps it to a reviewer (late truth).
func TestWhatRepeatsAContradictedOperationIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := machine.NewMemory(transitions.MustCompile(transitions.Standard()))
		m := begun(t, store, "a")
		time.Sleep(time.Hour) // sleep: synthetic
		r := reconciler(t, m)
		if _, err := r.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		decide := func() machine.Decision {
			op, err := m.Get(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			return machine.Decision{Seen: op.Seen(), Reviewer: "ann", Reason: "nobody will know"}
		}
		if _, err := m.ReviewAbandon(t.Context(), "a", decide()); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Redo(t.Context(), "a", "b", decide(), machine.Risks{Override: true}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := m.In(shut{store, "b"}).Note(ctx, "a", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-a"}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := r.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		b, err := m.Get(t.Context(), "b")
		if err != nil || !b.DuplicateSuspected || b.Phase != transitions.Uncertain {
			t.Errorf("b is %s, marked %t, %v; want it uncertain, for a reviewer", b.Phase, b.DuplicateSuspected, err)
		}
	})
}
