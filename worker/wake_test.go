package worker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// wakeable is the memory store with somebody who could wake its processes. It counts what is asked of it.
type wakeable struct {
	machine.Store
	cut chan struct{} // a value ends a listening

	mu      sync.Mutex
	hears   func(machine.Wake)
	listens int
	asked   int
	applied []string // the events that were fired at one operation
}

func (s *wakeable) Apply(ctx context.Context, event string, params transitions.Params) (machine.Answer, error) {
	s.mu.Lock()
	s.applied = append(s.applied, event)
	s.mu.Unlock()
	return s.Store.Apply(ctx, event, params)
}

func (s *wakeable) Take(ctx context.Context, event string, params transitions.Params) ([]transitions.Row, error) {
	s.mu.Lock()
	s.asked++
	s.mu.Unlock()
	return s.Store.Take(ctx, event, params)
}

func (s *wakeable) Wakes(ctx context.Context, ready func(), heard func(machine.Wake)) error {
	s.mu.Lock()
	s.hears = heard
	s.listens++
	s.mu.Unlock()
	ready()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.cut:
		return errors.New("the connection was reset")
	}
}

// tell lets the worker hear a wake-up.
func (s *wakeable) tell(w machine.Wake) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hears(w)
}

// count gives how many claims were sent, and begins to count anew.
func (s *wakeable) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.asked
	s.asked = 0
	return n
}

// awake is a running worker that hears wake-ups, and has found nothing for a minute.
func awake(t *testing.T, r *remote) (*bench, *wakeable) {
	return awakeWith(t, r, func(*worker.Config) {})
}

func awakeWith(t *testing.T, r *remote, bound func(*worker.Config)) (*bench, *wakeable) {
	b := newBench(t, r)
	bound(&b.config)
	s := &wakeable{Store: b.m.Store(), cut: make(chan struct{})}
	var err error
	if b.m, err = machine.New(s, machine.Config{}); err != nil {
		t.Fatal(err)
	}
	b.config.Machine = b.m
	b.starts()
	s.count()
	return b, s
}

// starts begins to work as begins does, and lets the worker find nothing for a minute.
func (b *bench) starts() (stop func()) {
	b.Helper()
	stop = b.begins()
	time.Sleep(time.Minute) // sleep: synthetic
	synctest.Wait()
	return stop
}

// begins begins to work, until the test's end or until stop is called, which waits for the worker.
func (b *bench) begins() (stop func()) {
	b.Helper()
	w, err := worker.New(b.config)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		if err := w.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	stop = func() { cancel(); done.Wait() }
	b.Cleanup(stop)
	synctest.Wait()
	return stop
}

// Contract G3: a wake-up is a claim at once; one that is about another provider, account or action is none.
func TestWhatIsHeardIsClaimedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := awake(t, &remote{})
		b.prepare("a")
		for _, other := range []machine.Wake{
			{Action: transitions.Dispatch, Provider: "print"}, {Action: transitions.Dispatch, Provider: "video", Account: "other"}, {Action: "nothing", Provider: "video"},
		} {
			s.tell(other)
		}
		synctest.Wait()
		if n := s.count(); n != 0 || b.remote.count("a") != 0 {
			t.Errorf("others' wake-ups made %d claims", n)
		}
		s.tell(machine.Wake{Action: transitions.Dispatch, Provider: "video"})
		synctest.Wait()
		if b.remote.count("a") != 1 {
			t.Error("it was not sent at once")
		}
	})
}

// An idle process that hears wake-ups sends less than a claim a second; one that hears none asks at every poll again.
func TestAnIdleWorkerThatHearsAsksLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := awake(t, &remote{})
		time.Sleep(10 * time.Minute) // sleep: synthetic
		if n := s.count(); n > 600 || n < 3*600/8 {
			t.Errorf("it asked %d times in 600 s", n)
		}
		s.mu.Lock()
		s.listens = 0
		s.mu.Unlock()
		s.cut <- struct{}{}
		synctest.Wait()
		s.count()
		time.Sleep(900 * time.Millisecond) // sleep: synthetic, before it listens again
		s.mu.Lock()
		again := s.listens
		s.mu.Unlock()
		if again != 0 {
			t.Error("it listened again at once")
		}
		time.Sleep(time.Minute) // sleep: synthetic
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.listens != 1 || s.asked < 3 {
			t.Errorf("cut off, it listened %d times again and asked %d times", s.listens, s.asked)
		}
	})
}

// What was made due while nobody listened is found when it listens again, without waiting for a long poll.
func TestWhoListensAgainAsksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := awake(t, &remote{})
		s.cut <- struct{}{}
		b.prepare("a")
		time.Sleep(1100 * time.Millisecond) // sleep: synthetic
		synctest.Wait()
		if b.remote.count("a") != 1 {
			t.Error("it was not sent when it listened again")
		}
	})
}

// The long pauses of an idle worker that hears delay nothing that it made due itself: a look at a job, a request that is
// sent again, a result that is delivered again.
func TestWhatAWorkerMadeDueForLaterIsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := map[string]time.Time{}
		var late []string
		at := func(what string, wait time.Duration) {
			if first, seen := began[what]; seen {
				if took := time.Since(first); took > wait+wait/10+2*time.Second { // the remote's wish, its jitter, a poll and a little
					late = append(late, what+" after "+took.String())
				}
			}
			began[what] = time.Now()
		}
		looks, tries := 0, 0
		r := &remote{
			observe: func(context.Context, worker.Observation) (worker.Status, error) {
				at("look", 20*time.Second)
				if looks++; looks < 4 {
					return worker.Status{State: worker.Pending, RetryAfter: 20 * time.Second}, nil
				}
				return worker.Status{State: worker.Succeeded}, nil
			},
			deliver: func(context.Context, worker.Delivery) (worker.Delivered, error) {
				at("delivery", 30*time.Second)
				if tries++; tries < 3 {
					return worker.Delivered{}, worker.Later(errors.New("503"), 30*time.Second)
				}
				return worker.Delivered{ObjectKey: "a", SHA256: "00", Bytes: 1}, nil
			},
		}
		b, s := awake(t, r)
		b.prepare("a")
		s.tell(machine.Wake{Action: transitions.Dispatch, Provider: "video"})
		time.Sleep(5 * time.Minute) // sleep: synthetic
		synctest.Wait()
		op := b.get("a")
		if diff := cmp.Diff([]any{"succeeded", "delivered", 4, 3}, []any{op.Outcome, op.Delivery, looks, tries}); diff != "" {
			t.Error(diff)
		}
		if late != nil {
			t.Errorf("late: %v", late)
		}
	})
}
