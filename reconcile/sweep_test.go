package reconcile_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/reconcile"
	"github.com/fencerow/fencerow/transitions"
)

// begun leaves operations whose sender is gone: begun, and the lease not yet over.
func begun(t *testing.T, store machine.Store, ids ...string) *machine.Machine {
	t.Helper()
	m, err := machine.New(store, machine.Config{TTL: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := m.Prepare(t.Context(), machine.Request{OperationID: id, Kind: "video", Request: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	leases, err := m.ClaimMany(t.Context(), transitions.Dispatch, machine.Who{Provider: "video"}, len(ids))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leases {
		if _, err := m.Begin(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func phases(t *testing.T, m *machine.Machine) map[string]string {
	t.Helper()
	ops, err := m.List(context.Background(), machine.Query{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, op := range ops {
		found[op.OperationID] = op.Phase
	}
	return found
}

// A submission whose sender is gone becomes uncertain once its lease is over and not before, page by page (B3, D1).
func TestLapsedSubmissionsBecomeUncertainAndLiveOnesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := begun(t, machine.NewMemory(transitions.MustCompile(transitions.Standard())), "a", "b", "c")
		r, err := reconcile.New(m, reconcile.Options{Page: 2, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if moved, err := r.Once(t.Context()); err != nil || len(moved) != 0 {
			t.Errorf("under live leases %v was moved, %v; want nothing", moved, err)
		}
		time.Sleep(11 * time.Second) // sleep: synthetic time, until the leases are over
		moved, err := r.Once(t.Context())
		if err != nil || len(moved) != 1 || moved[0].Event != "submit_lapsed" || len(moved[0].Operations) != 3 {
			t.Errorf("moved %+v, %v; want all three by submit_lapsed, in pages of two", moved, err)
		}
		want := map[string]string{"a": "uncertain", "b": "uncertain", "c": "uncertain"}
		if diff := cmp.Diff(want, phases(t, m)); diff != "" {
			t.Error(diff)
		}
	})
}

// Run sweeps at every interval until its context ends.
func TestRunSweepsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := begun(t, machine.NewMemory(transitions.MustCompile(transitions.Standard())), "a")
		r, err := reconcile.New(m, reconcile.Options{Interval: 4 * time.Second, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		r.Run(ctx)
		if diff := cmp.Diff(map[string]string{"a": "uncertain"}, phases(t, m)); diff != "" {
			t.Error(diff)
		}
	})
}

// away is a store whose sweeps of one event fail.
type away struct {
	machine.Store
	event string
}

func (a away) Take(ctx context.Context, event string, p transitions.Params) ([]transitions.Row, error) {
	if event == a.event {
		return nil, errors.New("the server refused the connection")
	}
	return a.Store.Take(ctx, event, p)
}

// One sweep that fails does not keep the others from running, and is told.
func TestASweepThatFailsDoesNotKeepTheOthersFromRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := machine.NewMemory(transitions.MustCompile(transitions.Standard()))
		m := begun(t, away{memory, "evidence_recalled"}, "a")
		if _, err := m.Prepare(t.Context(), machine.Request{OperationID: "b", Kind: "video", Request: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Fire(t.Context(), "cancel_request", transitions.Params{"operation_id": transitions.TextValue("b")}); err != nil {
			t.Fatal(err)
		}
		r, err := reconcile.New(m, reconcile.Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(11 * time.Second) // sleep: synthetic time, until the lease is over
		if _, err := r.Once(t.Context()); err == nil {
			t.Error("the sweep that failed is not told")
		}
		if diff := cmp.Diff(map[string]string{"a": "uncertain", "b": "terminal"}, phases(t, m)); diff != "" {
			t.Error(diff)
		}
	})
}
