package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
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

// A name passes no bound: it takes no last slot, nothing where sends are counted or the brake holds, no kind that nobody
// here can send. What may not be begun by its name waits for a claim of many.
func TestANamePassesNoBound(t *testing.T) {
	for name, c := range map[string]struct {
		bound  func(*worker.Config)
		submit func(context.Context, worker.Submission) (worker.Accepted, error)
		kind   string
		begun  int // by their names, of two
	}{
		"no bound":                  {func(*worker.Config) {}, hangs, "video", 2},
		"the most that may be sent": {func(c *worker.Config) { c.MaxSends = 5 }, hangs, "video", 0},
		"one slot":                  {func(c *worker.Config) { c.Slots = 1 }, hangs, "video", 0},
		"two slots":                 {func(c *worker.Config) { c.Slots = 2 }, hangs, "video", 1},
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

// Contract G3: a notification is a hint and anybody may send one. What it says of an operation's kind chooses no handler:
// the row does.
func TestAnOperationIsSentByTheHandlerOfItsOwnKindWhateverItIsNamed(t *testing.T) {
	for name, handlers := range map[string]func(video, poster worker.Handler) map[string]worker.Handler{
		"the kind has a handler of its own here": func(v, p worker.Handler) map[string]worker.Handler {
			return map[string]worker.Handler{"video": v, "poster": p}
		},
		"the kind has no handler here": func(v, _ worker.Handler) map[string]worker.Handler {
			return map[string]worker.Handler{"video": v}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				video, poster := &remote{}, &remote{}
				var got worker.Submission
				video.submit = func(_ context.Context, s worker.Submission) (worker.Accepted, error) {
					got = s
					return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
				}
				b, s := awakeWith(t, video, func(c *worker.Config) { c.Handlers = handlers(video, poster) })
				if _, err := b.m.Prepare(b.Context(), machine.Request{OperationID: "a", Kind: "poster", Provider: "video", Request: []byte("{}")}); err != nil {
					t.Fatal(err)
				}
				s.tell(named("a")) // says kind "video"
				synctest.Wait()
				if n := video.count("a"); n != 0 {
					t.Errorf("the handler of kind %q was given a request of kind %q and sent it %d times", "video", got.Kind, n)
				}
			})
		})
	}
}

// An operation that repeats another is looked at before it is sent, also where a forged notification names it: then it is
// given back first, with the proof that nothing was sent.
func TestARepetitionThatIsNamedIsLookedAtBeforeItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := awake(t, &remote{})
		if _, err := b.m.Prepare(b.Context(), machine.Request{OperationID: "old", Kind: "poster", Provider: "video", NotBefore: time.Now().Add(time.Hour), Request: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.m.Prepare(b.Context(), machine.Request{OperationID: "again", Kind: "video", Request: []byte("{}"), RedoOf: "old"}); err != nil {
			t.Fatal(err)
		}
		s.tell(named("again"))
		time.Sleep(time.Minute) // sleep: synthetic
		synctest.Wait()
		history, err := b.m.Store().History(b.Context(), "again")
		if err != nil {
			t.Fatal(err)
		}
		var events []string
		for _, e := range history[:min(len(history), 6)] {
			events = append(events, e.Event)
		}
		want := []string{"prepare", "dispatch_claim", "submit_begin", "submit_not_created", "dispatch_claim", "submit_begin"}
		if diff := cmp.Diff(want, events); diff != "" || b.remote.count("again") != 1 {
			t.Errorf("%d requests, want 1; what happened (-want +got):\n%s", b.remote.count("again"), diff)
		}
	})
}

// Contract A3: priority before oldest due. What was told without a name, and what becomes due by itself, is claimed in its
// order; a name does not come before what was told of just then, and leaves a slot for what is due.
func TestANameDoesNotOvertakeWhatIsDueBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := awakeWith(t, &remote{submit: hangs}, func(c *worker.Config) { c.Slots = 2 })
		b.prepare("low")
		s.fired()
		s.tell(machine.Wake{Action: transitions.Dispatch, Provider: "video"})
		s.tell(named("low"))
		synctest.Wait()
		if fired := s.fired(); slices.Contains(fired, "dispatch_claim+submit_begin") || b.remote.count("low") != 1 {
			t.Errorf("low was sent %d times, by %v; want once, by a claim of many", b.remote.count("low"), fired)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		b, s := awakeWith(t, &remote{submit: hangs}, func(c *worker.Config) { c.Slots = 2 })
		if _, err := b.m.Prepare(b.Context(), machine.Request{OperationID: "urgent", Kind: "video", Priority: 9, NotBefore: time.Now().Add(500 * time.Millisecond), Request: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // sleep: synthetic
		for _, id := range []string{"low", "lower"} {
			b.prepare(id)
			s.tell(named(id))
		}
		time.Sleep(20 * time.Second) // sleep: synthetic
		synctest.Wait()
		if n := b.remote.count("urgent"); n != 1 {
			t.Errorf("what was due before those that were named was sent %d times", n)
		}
	})
}

// behind is a store where a begin of the operation "taken" waits for whoever has it: as it does for the winner's commit.
type behind struct{ machine.Store }

func (s behind) Apply(ctx context.Context, event string, p transitions.Params) (machine.Answer, error) {
	if p["operation_id"].Text() == "taken" && event == "dispatch_claim+submit_begin" {
		time.Sleep(100 * time.Millisecond) // sleep: synthetic
	}
	return s.Store.Apply(ctx, event, p)
}

// An operation that is told of while another is waited for by its name is sent at once, where sends are counted and where
// the brake lets one through too.
func TestALeaveThatANameGaveBackIsUsed(t *testing.T) {
	for name, c := range map[string]struct {
		bound func(*worker.Config)
		brake bool
	}{
		"the most that may be sent": {bound: func(c *worker.Config) { c.MaxSends = 1 }},
		"the brake's try":           {bound: func(c *worker.Config) { c.Brake = 1 }, brake: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var bad atomic.Bool
				var at atomic.Int64
				b, s := awakeWith(t, &remote{submit: func(_ context.Context, sub worker.Submission) (worker.Accepted, error) {
					if bad.Load() {
						return worker.Accepted{}, errors.New("502")
					}
					if sub.OperationID == "b" {
						at.Store(time.Now().UnixNano())
					}
					return worker.Accepted{RemoteJobID: "job-" + sub.OperationID}, nil
				}}, func(cfg *worker.Config) { cfg.Poll = 20 * time.Second; c.bound(cfg) })
				if c.brake {
					bad.Store(true)
					b.prepare("bad")
					s.tell(named("bad"))
					synctest.Wait()
					bad.Store(false)
					time.Sleep(3 * time.Minute) // sleep: synthetic, until one may be tried, and the loop has seen that nothing is due
					synctest.Wait()
				}
				s.Store = behind{s.Store}
				b.prepare("taken")
				if _, err := b.m.Claim(b.Context(), transitions.Dispatch, "taken", machine.Who{Provider: "video"}); err != nil {
					t.Fatal(err)
				}
				s.tell(named("taken"))
				time.Sleep(50 * time.Millisecond) // sleep: synthetic
				b.prepare("b")
				began := time.Now()
				s.tell(named("b"))
				time.Sleep(time.Minute) // sleep: synthetic
				synctest.Wait()
				if at.Load() == 0 {
					t.Fatal("b was not sent within a minute")
				}
				if took := time.Unix(0, at.Load()).Sub(began); took > time.Second {
					t.Errorf("b was sent after %s; the leave to send was free after 50ms", took)
				}
			})
		})
	}
}

// Sends is the number of submissions that were begun: a name that another process has is none of them, at no time.
func TestSendsCountsWhatWasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{})
		s := &wakeable{Store: behind{b.m.Store()}, cut: make(chan struct{})}
		m, err := machine.New(s, machine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		b.m, b.config.Machine = m, m
		w, err := worker.New(b.config)
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		ctx, stop := context.WithCancel(context.Background())
		go func() { done <- w.Run(ctx) }()
		defer func() { stop(); _ = <-done }()
		time.Sleep(time.Minute) // sleep: synthetic
		b.prepare("taken")
		if _, err := b.m.Claim(b.Context(), transitions.Dispatch, "taken", machine.Who{Provider: "video"}); err != nil {
			t.Fatal(err)
		}
		s.tell(named("taken"))
		time.Sleep(50 * time.Millisecond) // sleep: synthetic, while it waits to be denied
		if w.Sends() != 0 {
			t.Errorf("Sends is %d and Sending %d; nothing was begun here, and nothing will be", w.Sends(), w.Sending())
		}
	})
}
