package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// named is a wake-up that names an operation.
func named(id string) machine.Wake {
	return machine.Wake{Action: transitions.Dispatch, Provider: "video", OperationID: id, Kind: "video"}
}

// fired gives the events that were fired at one operation, and begins to remember anew.
func (s *wakeable) fired() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.applied
	s.applied = nil
	return all
}

// hangs is a remote that does not answer.
func hangs(ctx context.Context, _ worker.Submission) (worker.Accepted, error) {
	<-ctx.Done()
	return worker.Accepted{}, ctx.Err()
}

// Who has nothing to do takes an operation that a wake-up names, and begins it, in one statement; nothing is claimed.
func TestWhatIsNamedIsTakenAndBegunInOneStatement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := awake(t, &remote{submit: hangs})
		b.prepare("a")
		s.fired()
		s.tell(named("a"))
		synctest.Wait()
		if diff := cmp.Diff([]string{"dispatch_claim+submit_begin"}, s.fired()); diff != "" {
			t.Error(diff)
		}
		if n := s.count(); n != 0 || b.remote.count("a") != 1 {
			t.Errorf("%d claims of many, %d requests; want none and one", n, b.remote.count("a"))
		}
		if diff := cmp.Diff([]any{"submitting", int64(1), int64(1)}, []any{b.get("a").Phase, b.get("a").Attempts, b.get("a").Revision}); diff != "" {
			t.Error(diff)
		}
	})
}

// The lease that a named operation is taken under is renewed while its request is under way, like any other.
func TestTheLeaseOfWhatIsNamedIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := awake(t, &remote{submit: func(ctx context.Context, _ worker.Submission) (worker.Accepted, error) {
			select {
			case <-time.After(25 * time.Second):
				return worker.Accepted{RemoteJobID: "job"}, nil
			case <-ctx.Done():
				return worker.Accepted{}, ctx.Err()
			}
		}})
		b.prepare("a")
		s.tell(named("a"))
		synctest.Wait()
		before := b.get("a").LeaseUntil
		time.Sleep(20 * time.Second) // sleep: synthetic
		synctest.Wait()
		if after := b.get("a").LeaseUntil; !after.After(before) {
			t.Errorf("the lease ends at %s, and did so 20 s ago", after)
		}
	})
}

// Many hear of one operation. One has it; the others are denied, send nothing, and ask for nothing else.
func TestOfAllThatHearANameOneSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := awake(t, &remote{submit: hangs})
		b.prepare("a")
		if _, err := b.m.Claim(b.Context(), transitions.Dispatch, "a", machine.Who{Provider: "video"}); err != nil {
			t.Fatal(err)
		}
		s.fired()
		s.tell(named("a"))
		synctest.Wait()
		if n := s.count(); n != 0 || b.remote.count("a") != 0 || len(s.fired()) != 1 {
			t.Errorf("%d claims of many, %d requests; want none", n, b.remote.count("a"))
		}
		b.prepare("b") // the leave to send, and the slot, were given back
		s.tell(named("b"))
		synctest.Wait()
		if b.remote.count("b") != 1 {
			t.Error("what was named after it was not sent")
		}
	})
}

// A name passes no bound: the most that may be sent, slots, the brake, a kind that nobody here can send. What may not be
// begun by its name waits for a claim of many.
func TestANamePassesNoBound(t *testing.T) {
	for name, c := range map[string]struct {
		bound  func(*worker.Config)
		submit func(context.Context, worker.Submission) (worker.Accepted, error)
		kind   string
		begun  int // by their names, of two
	}{
		"no bound":                  {func(*worker.Config) {}, hangs, "video", 2},
		"the most that may be sent": {func(c *worker.Config) { c.MaxSends = 1 }, hangs, "video", 1},
		"slots":                     {func(c *worker.Config) { c.Slots = 1 }, hangs, "video", 1},
		"the brake":                 {func(c *worker.Config) { c.Brake = 1 }, fails(errors.New("boom")), "video", 1},
		"a kind without a handler":  {func(*worker.Config) {}, hangs, "poster", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := awakeWith(t, &remote{submit: c.submit}, c.bound)
				begun := 0
				for _, id := range []string{"a", "b"} {
					b.prepare(id)
					wake := named(id)
					wake.Kind = c.kind
					s.tell(wake)
					synctest.Wait()
				}
				for _, event := range s.fired() {
					if event == "dispatch_claim+submit_begin" {
						begun++
					}
				}
				if begun != c.begun {
					t.Errorf("%d were begun by their names, want %d", begun, c.begun)
				}
			})
		})
	}
}
