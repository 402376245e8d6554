package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// troubled is a store with something before each event.
type troubled struct {
	*machine.Memory
	before func(event string) error
}

func (s troubled) Apply(ctx context.Context, event string, params transitions.Params) (machine.Answer, error) {
	if err := s.before(event); err != nil {
		return machine.Answer{}, err
	}
	return s.Memory.Apply(ctx, event, params)
}

func (s troubled) Take(ctx context.Context, event string, params transitions.Params) ([]transitions.Row, error) {
	if err := s.before(event); err != nil {
		return nil, err
	}
	return s.Memory.Take(ctx, event, params)
}

// beside is another worker's bench on the same operations, with trouble of its own. Neither polls while the test runs.
func (b *bench) beside(before func(event string) error) *bench {
	other := newBench(b.T, &remote{})
	other.m = b.m.In(troubled{b.m.Store().(*machine.Memory), before})
	other.config.Machine = other.m
	for _, c := range []*worker.Config{&b.config, &other.config} {
		c.Poll = 24 * time.Hour
	}
	return other
}

// within waits for what comes at once; polls would go on for ever.
func within(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("waited for a minute until %s", what)
	}
}

const claimAndBegin = "dispatch_claim+submit_begin"

// What one worker has taken by its name, and so nobody else was told of, is passed on where it is not begun after all.
func TestWhatIsTakenByItsNameAndNotSentIsPassedOn(t *testing.T) {
	t.Run("the worker is shut down in that moment", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, &remote{})
			taking, goOn := make(chan struct{}), make(chan struct{})
			first := b.beside(func(event string) error {
				if event == claimAndBegin {
					close(taking)
					<-goOn
				}
				return nil
			})
			stop := first.starts()
			b.starts()
			b.prepare("a")
			within(t, taking, "the first worker takes it")
			go func() { time.Sleep(time.Second); close(goOn) }() // sleep: synthetic; the shutdown comes first
			stop()
			synctest.Wait()
			if first.remote.count("a") != 0 || b.remote.count("a") != 1 {
				t.Errorf("sent %d times by the worker that was shut down, %d times by the other", first.remote.count("a"), b.remote.count("a"))
			}
		})
	})
	t.Run("the database refuses it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, &remote{})
			refuses := false
			first := b.beside(func(string) error {
				if refuses {
					return errors.New("refused")
				}
				return nil
			})
			first.starts()
			b.starts()
			refuses = true
			b.prepare("a")
			synctest.Wait()
			if first.remote.count("a") != 0 || b.remote.count("a") != 1 {
				t.Errorf("sent %d times by the worker that is refused, %d times by the other", first.remote.count("a"), b.remote.count("a"))
			}
		})
	})
}

// What was claimed together and is given back at shutdown is passed on too.
func TestWhatIsGivenBackAtShutdownIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{})
		first := b.beside(func(string) error { return nil })
		claimed, goOn := make(chan struct{}), make(chan struct{})
		first.config.Failpoint = func(step string) {
			if step == worker.StepTaken {
				close(claimed)
				<-goOn
			}
		}
		stop := first.starts()
		if _, err := b.m.PrepareMany(t.Context(), []machine.Request{
			{OperationID: "a", Kind: "video", Request: []byte("{}")}, {OperationID: "b", Kind: "video", Request: []byte("{}")},
		}); err != nil {
			t.Fatal(err)
		}
		within(t, claimed, "the first worker claims them")
		b.begins()
		go func() { time.Sleep(time.Second); close(goOn) }() // sleep: synthetic; the shutdown comes first
		stop()
		synctest.Wait()
		if diff := cmp.Diff([]int{0, 0, 1, 1}, []int{first.remote.count("a"), first.remote.count("b"), b.remote.count("a"), b.remote.count("b")}); diff != "" {
			t.Errorf("sent by the first and by the other (-want +got):\n%s", diff)
		}
	})
}

// A worker that has no handler for a kind leaves what it hears of it to those who have, and does not take it to give it back
// for a minute.
func TestAKindWithoutAHandlerHereIsLeftToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{})
		b.config.Poll = 24 * time.Hour
		b.starts()
		for i := range 3 {
			if _, err := b.m.PrepareMany(t.Context(), []machine.Request{
				{OperationID: fmt.Sprint("one-", i), Kind: "poster", Provider: "video", Request: []byte("{}")},
				{OperationID: fmt.Sprint("two-", i), Kind: "poster", Provider: "video", Request: []byte("{}")},
			}[:1+i%2]); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for _, id := range []string{"one-0", "one-1", "two-1", "one-2"} {
			if op := b.get(id); op.Revision != 0 {
				t.Errorf("%s was claimed %d times", id, op.Revision)
			}
		}
	})
}

// Anybody may name anything: a name that nothing has is no reason to ask for more.
func TestANameThatNothingHasIsPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := awake(t, &remote{})
		for range 3 {
			s.tell(named("nothing"))
			synctest.Wait()
		}
		if n := s.count(); n != 0 {
			t.Errorf("%d claims of many, want none", n)
		}
		b.prepare("a")
		s.tell(named("a"))
		synctest.Wait()
		if b.remote.count("a") != 1 {
			t.Error("what has a name was not sent after that")
		}
	})
}

// While names keep coming, what becomes due by its schedule is asked for as often as by a worker that polls and hears nothing.
func TestWhatIsDueByItsScheduleIsNotOvertakenForLongerThanAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		sent := map[string]time.Time{}
		b, s := awake(t, &remote{submit: func(_ context.Context, s worker.Submission) (worker.Accepted, error) {
			mu.Lock()
			defer mu.Unlock()
			sent[s.OperationID] = time.Now()
			return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
		}})
		began := time.Now()
		due := map[string]time.Time{}
		for i := range 5 { // so far apart that a worker with nothing to do asks a few times in between
			id := fmt.Sprint("high-", i)
			due[id] = began.Add(time.Duration(16*i)*time.Second + time.Second/2)
			if _, err := b.m.Prepare(t.Context(), machine.Request{
				OperationID: id, Kind: "video", Request: []byte("{}"), Priority: 100, NotBefore: due[id],
			}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 5 * 16 * 4 {
			id := fmt.Sprint("low-", i)
			b.prepare(id)
			s.tell(named(id))
			time.Sleep(time.Second / 4) // sleep: synthetic
			synctest.Wait()
		}
		mu.Lock()
		defer mu.Unlock()
		for id, at := range due {
			if late := sent[id].Sub(at); sent[id].IsZero() || late > worker.DefaultPoll+time.Second/4 {
				t.Errorf("%s was sent %s after it was due", id, late)
			}
		}
	})
}
