package reports_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// B96: a handler that calls back into the engine for its own operation waits for nothing of its own: no lock and no
// transaction is held while a caller's code runs (worker.Handler).
func TestB96AHandlerMayAskAndTellTheEngineOfItsOwnOperation(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		var mu sync.Mutex
		var answers []error
		within := func(ctx context.Context, id string) {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			_, got := s.machine.Get(ctx, id)
			_, listed := s.machine.List(ctx, machine.Query{Limit: 10})
			_, noted := s.machine.Note(ctx, id, machine.Evidence{Kind: machine.EvidenceAnswer, Raw: []byte("from inside")})
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, errors.Join(got, listed, noted))
		}
		h := &remote{
			submit: func(ctx context.Context, id string) (string, error) { within(ctx, id); return "job-" + id, nil },
			observe: func(ctx context.Context, id string) (worker.Status, error) {
				within(ctx, id)
				return worker.Status{State: worker.Succeeded}, nil
			},
		}
		s.prepare(requestOf("a"))
		stop := s.working(s.machine, h).start()
		await(t, "it is delivered", func() bool { return s.op("a").Delivery == "delivered" })
		stop()
		if diff := cmp.Diff([]bool{true, true}, []bool{answers[0] == nil, answers[len(answers)-1] == nil}); diff != "" {
			t.Errorf("the engine answered its handler %v", answers)
		}
		if n := h.sent("a"); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
		s.sound("a")
	})
}

// B98: of two that begin to send the same operation at once, by the same lease, the row lets one (guard phase of
// submit_begin): what the other remembers of the phase decides nothing.
func TestB98OfTwoThatBeginAtOnceOneSends(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		l := s.at(transitions.Prepared, requestOf("a"))
		held := transitions.Params{"operation_id": transitions.TextValue("a"), "owner": transitions.TextValue(l.Owner), "revision": transitions.IntValue(l.Revision)}
		start, done := make(chan struct{}), make(chan error, 8)
		for range cap(done) {
			go func() {
				<-start
				done <- moved(s.machine.Fire(context.Background(), "submit_begin", held))
			}()
		}
		close(start)
		begun := 0
		for range cap(done) {
			err := <-done
			if err == nil {
				begun++
			} else if denied, ok := machine.IsDenied(err); !ok || !cmp.Equal([]string{"phase"}, denied.Failed) {
				t.Errorf("the other was told %v, want a denial by the phase", err)
			}
		}
		if begun != 1 || s.op("a").Attempts != 1 {
			t.Errorf("%d began, %d attempts, want 1 and 1", begun, s.op("a").Attempts)
		}
		s.sound("a")
	})
}

// B99: an event whose caller gave up leaves nothing behind in memory: tried again with another context it is judged by
// the row, whatever became of the first (no latch in machine.Machine).
func TestB99AfterACanceledEventTheRowDecides(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		l := s.at(transitions.Observing, requestOf("a"))
		for wait := range 12 {
			ctx, cancel := context.WithCancel(context.Background())
			stop := time.AfterFunc(time.Duration(wait)*200*time.Microsecond, cancel)
			if wait == 0 {
				cancel()
			}
			_, _ = s.machine.Pending(ctx, l, []byte("canceled"), 0, "") // applied, or not: both are right
			stop.Stop()
			cancel()
			op, err := s.machine.Get(context.Background(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if op.LeaseOwner == "" { // it was applied, and gave the lease up
				l = s.claim(s.machine, transitions.Observe, "a")
			}
			again, enough := context.WithTimeout(context.Background(), 20*time.Second)
			if err := moved(s.machine.Pending(again, l, []byte("again"), 0, "")); err != nil {
				t.Fatalf("canceled after %d steps, and tried again: %v", wait, err)
			}
			enough()
			l = s.claim(s.machine, transitions.Observe, "a")
		}
		if err := moved(s.machine.Observed(context.Background(), l, "succeeded", nil, "")); err != nil {
			t.Error(err)
		}
		s.sound("a")
	})
}

// B102: two workers that hold the same view of a row bring different ends; the second is denied, the row keeps the
// first's, and history has one end (guards phase, owner and revision of observe_*).
func TestB102TheSecondOfTwoEndsIsDenied(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		l := s.at(transitions.Observing, requestOf("a"))
		other := s.engine(machine.Config{})
		if err := moved(s.machine.Observed(t.Context(), l, "succeeded", []byte("first"), "")); err != nil {
			t.Fatal(err)
		}
		_, err := other.Observed(t.Context(), l, "failed", []byte("second"), "")
		if _, ok := machine.IsDenied(err); !ok {
			t.Errorf("the second was told %v, want a denial", err)
		}
		if op := s.op("a"); op.Outcome != "succeeded" || string(op.Snapshot) != "first" {
			t.Errorf("the row has outcome %q and snapshot %q, want the first's", op.Outcome, op.Snapshot)
		}
		want := []string{"prepare", "dispatch_claim", "submit_begin", "submit_accepted", "observe_claim", "observe_succeeded"}
		if diff := cmp.Diff(want, s.events("a")); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		s.sound("a")
	})
}

// B104: a denial shows the row as it is, and not as the caller wanted it: phase, owner and revision (the row that the
// statement itself judged).
func TestB104ADenialShowsTheRowAsItIs(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		old := s.at(transitions.Observing, requestOf("a"))
		s.expire("a")
		now := s.claim(s.engine(machine.Config{Label: "next"}), transitions.Observe, "a")
		op, err := s.machine.Observed(t.Context(), old, "succeeded", nil, "")
		denied, ok := machine.IsDenied(err)
		if !ok {
			t.Fatalf("the old holder was told %v, want a denial", err)
		}
		type view struct {
			Phase, Owner string
			Revision     int64
		}
		want := view{transitions.Observing, now.Owner, now.Revision}
		if diff := cmp.Diff(want, view{denied.Seen.Phase, denied.Seen.LeaseOwner, denied.Seen.Revision}); diff != "" {
			t.Errorf("the denial shows another row (-want +got):\n%s", diff)
		}
		if op.Phase == transitions.Terminal {
			t.Error("what is returned with the denial is the phase that the caller wanted")
		}
	})
}
