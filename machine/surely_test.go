package machine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// wire is a store whose statements can be lost on the way, before or after they ran.
type wire struct {
	machine.Store
	event string   // the event that is lost
	fates []string // of its statements in turn: "reply lost", "request lost", "not run"; then fine
	late  []func() // statements that were lost and land later
	blind int      // how many reads of a row fail
	read  func()   // is called when history was read; nil: nothing
}

func (w *wire) History(ctx context.Context, id string) ([]machine.HistoryEntry, error) {
	entries, err := w.Store.History(ctx, id)
	if w.read != nil {
		w.read()
	}
	return entries, err
}

func (w *wire) Get(ctx context.Context, ids ...string) ([]transitions.Row, error) {
	if w.blind > 0 {
		w.blind--
		return nil, errors.New("connection reset")
	}
	return w.Store.Get(ctx, ids...)
}

func (w *wire) Apply(ctx context.Context, event string, p transitions.Params) (machine.Answer, error) {
	if event != w.event || len(w.fates) == 0 {
		return w.Store.Apply(ctx, event, p)
	}
	fate := w.fates[0]
	w.fates = w.fates[1:]
	lost := &machine.UnknownError{Event: event, OperationID: p["operation_id"].Text(), Cause: errors.New("connection reset")}
	switch fate {
	case "reply lost":
		if _, err := w.Store.Apply(ctx, event, p); err != nil {
			return machine.Answer{}, err
		}
		return machine.Answer{}, lost
	case "lands late":
		w.late = append(w.late, func() { _, _ = w.Store.Apply(context.Background(), event, p) })
		return machine.Answer{}, lost
	case "request lost":
		return machine.Answer{}, lost
	default:
		return machine.Answer{}, errors.New("the server refused the connection")
	}
}

func (w *wire) landLate() {
	for _, land := range w.late {
		land()
	}
	w.late = nil
}

func claimed(t *testing.T, w *wire) (*machine.Machine, *machine.Lease) {
	t.Helper()
	w.Store = machine.NewMemory(transitions.MustCompile(transitions.Standard()))
	m, err := machine.New(w, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "video", Request: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	leases, err := m.ClaimMany(t.Context(), transitions.Dispatch, machine.Who{Provider: "video"}, 1)
	if err != nil || len(leases) != 1 {
		t.Fatalf("claim: %d leases, %v", len(leases), err)
	}
	return m, leases[0]
}

// Whatever happens to a statement on the way, the holder learns whether its intent is durable before anything is sent
// (contract A8, B1; report B71).
func TestBeginIsResolvedBeforeAnythingIsSent(t *testing.T) {
	for _, fates := range [][]string{
		{"reply lost"}, {"request lost"}, {"not run"}, {"reply lost", "not run", "reply lost"},
		{"request lost", "request lost", "reply lost"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{event: "submit_begin", fates: fates}
			m, l := claimed(t, w)
			op, err := m.Begin(t.Context(), l)
			if err != nil {
				t.Fatalf("after %q: %v", fates, err)
			}
			if op.Phase != transitions.Submitting || op.Attempts != 1 {
				t.Errorf("after %q the row is %s with %d attempts, want submitting with 1", fates, op.Phase, op.Attempts)
			}
		})
	}
}

// What history has landed is no error because the row could not be read just then: the holder would take its own success
// for an answer that could not be stored (contract B9).
func TestWhatLandedIsStoredThoughTheRowCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{event: "submit_begin", fates: []string{"reply lost"}}
		m, l := claimed(t, w)
		w.blind = 3
		op, err := m.Begin(t.Context(), l)
		if err != nil || op.Phase != transitions.Submitting || op.Attempts != 1 {
			t.Errorf("begin says %v; the row is %s with %d attempts", err, op.Phase, op.Attempts)
		}
	})
}

// An unknown answer stays unknown where history cannot be asked before the context ends: it is not reported as denied.
func TestAnUnknownAnswerIsNeverReportedAsDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{event: "submit_begin"}
		for range 100 {
			w.fates = append(w.fates, "request lost")
		}
		m, l := claimed(t, w)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := m.Begin(ctx, l)
		if !machine.IsUnknown(err) {
			t.Errorf("begin says %v, want an unknown answer", err)
		}
	})
}

// A statement that lands late, after its event was fired again, changes nothing (lifecycle, "Three answers").
func TestAStatementThatLandsLateIsHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{event: "submit_not_created", fates: []string{"lands late"}}
		m, l := claimed(t, w)
		if _, err := m.Begin(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if _, err := m.NotCreated(t.Context(), l, machine.ProofRefused, 0, "429"); err != nil {
			t.Fatal(err)
		}
		again, err := m.ClaimMany(t.Context(), transitions.Dispatch, machine.Who{Provider: "video"}, 1)
		if err != nil || len(again) != 1 {
			t.Fatalf("claim again: %d leases, %v", len(again), err)
		}
		if _, err := m.Begin(t.Context(), again[0]); err != nil {
			t.Fatal(err)
		}
		w.landLate()
		op, err := m.Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if op.Phase != transitions.Submitting || op.Revision != again[0].Revision {
			t.Errorf("the row is %s at revision %d, want submitting at %d: the late statement moved it", op.Phase, op.Revision, again[0].Revision)
		}
	})
}

// A denial after an unknown answer may be one's own earlier success (contract A8).
func TestADenialAfterALostReplyIsOnesOwnSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{event: "submit_accepted", fates: []string{"reply lost"}}
		m, l := claimed(t, w)
		if _, err := m.Begin(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		op, err := m.Accepted(t.Context(), l, "job-1", nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if op.RemoteJobID != "job-1" || op.Phase != transitions.Submitted {
			t.Errorf("the row is %s with remote job id %q, want submitted with job-1", op.Phase, op.RemoteJobID)
		}
	})
}

// A process that is gone for a while finds its own lease over, and sends nothing.
func TestNothingIsBegunUnderALeaseThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := claimed(t, &wire{})
		time.Sleep(machine.DefaultTTL * 95 / 100) // sleep: synthetic time, until the margin before the end
		_, err := m.Begin(t.Context(), l)
		var over *machine.LeaseError
		if !errors.As(err, &over) {
			t.Errorf("begin says %v, want that the lease is over", err)
		}
	})
}
