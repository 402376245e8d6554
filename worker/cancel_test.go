package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/worker"
	"github.com/google/go-cmp/cmp"
)

// stoppable is a remote whose jobs run until they are canceled, or for ever.
type stoppable struct {
	*remote
	cancel func(ctx context.Context, c worker.Cancellation) (worker.CancelAnswer, error)

	mu     sync.Mutex
	asked  []worker.Cancellation
	at     []time.Time
	looked []time.Time
	state  worker.State // "" means pending
}

func (r *stoppable) Cancel(ctx context.Context, c worker.Cancellation) (worker.CancelAnswer, error) {
	r.mu.Lock()
	r.asked, r.at = append(r.asked, c), append(r.at, time.Now())
	r.mu.Unlock()
	return r.cancel(ctx, c)
}

func (r *stoppable) look(context.Context, worker.Observation) (worker.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looked = append(r.looked, time.Now())
	if r.state != "" {
		return worker.Status{State: r.state, Snapshot: []byte(r.state)}, nil
	}
	return worker.Status{State: worker.Pending, Snapshot: []byte("running")}, nil
}

func (r *stoppable) end(s worker.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = s
}

// gaps are the pauses between the asks, to the half minute: an ask waits for the next look.
func (r *stoppable) gaps() []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(r.at); i++ {
		gap := r.at[i].Sub(r.at[i-1])
		// The pauses are whole minutes. A look comes up to half a minute after each, and a poll later.
		if whole := gap.Truncate(time.Minute); gap-whole < 32*time.Second {
			gap = whole
		}
		gaps = append(gaps, gap)
	}
	return gaps
}

func newStoppable(t *testing.T, cancel func(r *stoppable, c worker.Cancellation) (worker.CancelAnswer, error)) (*bench, *stoppable) {
	r := &stoppable{remote: &remote{}}
	r.observe = r.look
	r.cancel = func(_ context.Context, c worker.Cancellation) (worker.CancelAnswer, error) { return cancel(r, c) }
	b := newBench(t, r.remote)
	b.config.Handlers["video"] = r
	return b, r
}

func (b *bench) cancel(id string) machine.Operation {
	b.Helper()
	op, err := b.m.Cancel(context.Background(), id, machine.Decision{Reviewer: "ann", Reason: "not wanted"})
	if err != nil {
		b.Fatal(err)
	}
	return op
}

func taken(r *stoppable, _ worker.Cancellation) (worker.CancelAnswer, error) {
	r.end(worker.Canceled)
	return worker.CancelAnswer{Detail: "answered 200", Raw: []byte("canceling")}, nil
}

// Contract C4, lifecycle: before sending, a cancel ends an operation at once, and a second one changes nothing.
func TestACancelBeforeSendingSendsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, r := newStoppable(t, taken)
		b.prepare("a")
		if op := b.cancel("a"); op.Outcome != "canceled" {
			t.Errorf("the outcome is %q", op.Outcome)
		}
		b.run(10 * time.Minute)
		if r.count("a") != 0 || len(r.asked) != 0 || b.get("a").Outcome != "canceled" {
			t.Errorf("%d requests, %d cancels, outcome %q", r.count("a"), len(r.asked), b.get("a").Outcome)
		}
	})
}

// Lifecycle, cancel_request: what was sent is marked; an observer asks the remote, and the next look decides.
func TestTheRemoteIsAskedToCancelAndItsStatusDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		cancel  func(*stoppable, worker.Cancellation) (worker.CancelAnswer, error)
		outcome string
	}{
		{"it cancels", taken, "canceled"},
		{"it finishes anyway", func(r *stoppable, _ worker.Cancellation) (worker.CancelAnswer, error) {
			r.end(worker.Succeeded)
			return worker.CancelAnswer{Detail: "answered 409"}, nil
		}, "succeeded"},
		{"it fails meanwhile", func(r *stoppable, _ worker.Cancellation) (worker.CancelAnswer, error) {
			r.end(worker.Failed)
			return worker.CancelAnswer{}, errors.New("answered 500")
		}, "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, r := newStoppable(t, c.cancel)
				b.prepare("a")
				b.run(time.Minute)
				for range 2 { // asked twice, it is one wish
					if op := b.cancel("a"); op.Outcome != "" || op.CancelRequestedAt.IsZero() {
						t.Errorf("after the wish: outcome %q, asked %s", op.Outcome, op.CancelRequestedAt)
					}
				}
				b.run(time.Minute)
				op := b.get("a")
				if diff := cmp.Diff([]any{c.outcome, 1, 1}, []any{op.Outcome, len(r.asked), r.count("a")}); diff != "" {
					t.Error(diff)
				}
				want := worker.Cancellation{OperationID: "a", Kind: "video", Provider: "video", RemoteJobID: "job-a", Keep: map[string]string{}}
				if diff := cmp.Diff(want, r.asked[0]); diff != "" {
					t.Error(diff)
				}
				if kept := b.evidence("a"); len(kept) != 1 || !strings.HasPrefix(kept[0], "cancel job-a asked the remote to cancel, 1 of at most 5 times: answered ") {
					t.Errorf("kept %q", kept)
				}
			})
		})
	}
}

// A wish that comes while the request is being sent waits for the answer, and is told to the remote then.
func TestACancelDuringTheSubmissionIsAskedForOnceItIsAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		b, r := newStoppable(t, taken)
		r.submit = func(context.Context, worker.Submission) (worker.Accepted, error) {
			if op := b.cancel("a"); op.Phase != "submitting" || op.Outcome != "" {
				b.Errorf("in flight: %s, outcome %q", op.Phase, op.Outcome)
			}
			return worker.Accepted{RemoteJobID: "job-a"}, nil
		}
		b.prepare("a")
		b.run(time.Minute)
		if diff := cmp.Diff([]any{"canceled", 1, 1}, []any{b.get("a").Outcome, len(r.asked), r.count("a")}); diff != "" {
			t.Error(diff)
		}
	})
}

// A wish that comes while a request is being sent that then provably created nothing ends the operation.
func TestACancelDuringASubmissionThatCreatedNothingSendsNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		b, r := newStoppable(t, taken)
		r.submit = func(context.Context, worker.Submission) (worker.Accepted, error) {
			b.cancel("a")
			return worker.Accepted{}, worker.Refused(errors.New("429"), time.Second)
		}
		b.prepare("a")
		b.run(10 * time.Minute)
		if n := r.count("a"); n != 1 || len(r.asked) != 0 {
			t.Errorf("%d requests, %d cancels", n, len(r.asked))
		}
		if moved, err := b.m.Sweep(t.Context(), "cancel", 10); err != nil || len(moved) != 1 || moved[0].Outcome != "canceled" {
			t.Errorf("the reconciler moved %v, %v", moved, err)
		}
	})
}

// The remote is asked a bounded number of times, with growing pauses, whatever it answers and whoever asks; it is looked
// at all the while, and its end is the outcome.
func TestTheRemoteIsAskedABoundedNumberOfTimesAndLookedAtAllTheWhile(t *testing.T) {
	t.Parallel()
	m := time.Minute
	for _, c := range []struct {
		name   string
		pauses []time.Duration
		cancel func(*stoppable, worker.Cancellation) (worker.CancelAnswer, error)
		want   []time.Duration
	}{
		{"it answers and goes on", nil, func(*stoppable, worker.Cancellation) (worker.CancelAnswer, error) {
			return worker.CancelAnswer{Detail: "answered 202"}, nil
		}, []time.Duration{0, m, 5 * m, 30 * m}},
		{"it answers 500", nil, func(*stoppable, worker.Cancellation) (worker.CancelAnswer, error) {
			return worker.CancelAnswer{}, errors.New("answered 500")
		}, []time.Duration{0, m, 5 * m, 30 * m}},
		{"the handler panics", nil, func(*stoppable, worker.Cancellation) (worker.CancelAnswer, error) { panic("boom") },
			[]time.Duration{0, m, 5 * m, 30 * m}},
		{"as configured", []time.Duration{2 * m}, taking, []time.Duration{2 * m}},
		{"once", []time.Duration{}, taking, nil},
		{"no sooner than the remote wishes", []time.Duration{m, m}, func(*stoppable, worker.Cancellation) (worker.CancelAnswer, error) {
			return worker.CancelAnswer{}, worker.Later(errors.New("429"), 20*m)
		}, []time.Duration{20 * m, 20 * m}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, r := newStoppable(t, c.cancel)
				b.config.AskAgain = c.pauses
				b.prepare("a")
				b.run(10 * time.Second)
				b.cancel("a")
				for range 12 { // each is another worker
					b.run(10 * time.Minute)
				}
				if diff := cmp.Diff(c.want, r.gaps()); diff != "" {
					t.Error(diff)
				}
				for i, asked := range r.asked {
					if asked.Asked != i {
						t.Errorf("ask %d says that the remote was asked %d times before", i, asked.Asked)
					}
				}
				if op := b.get("a"); op.Phase != "observing" {
					t.Errorf("the operation is %s, want observing", op.Phase)
				}
				if n := len(r.looked); n < 60 && c.name != "no sooner than the remote wishes" {
					t.Errorf("the job was looked at %d times in two hours", n)
				}
				r.end(worker.Succeeded)
				b.run(time.Hour)
				if op := b.get("a"); op.Outcome != "succeeded" || r.count("a") != 1 {
					t.Errorf("outcome %q, %d requests", op.Outcome, r.count("a"))
				}
			})
		})
	}
}

func taking(*stoppable, worker.Cancellation) (worker.CancelAnswer, error) {
	return worker.CancelAnswer{Detail: "answered 202"}, nil
}

// What comes of an ask is looked for soon, also where the looks have become seldom.
func TestWhatComesOfACancelIsLookedForSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, r := newStoppable(t, taken)
		b.prepare("a")
		b.run(20 * time.Minute)
		b.cancel("a")
		b.run(time.Minute)
		last := r.looked[len(r.looked)-1]
		if after := last.Sub(r.at[0]); b.get("a").Outcome != "canceled" || after > 4*time.Second {
			t.Errorf("outcome %q, seen %s after the remote was asked", b.get("a").Outcome, after)
		}
	})
}

// An ask that a shutdown cut off counts for nothing, and what was seen of the job is stored all the same (contract E1).
func TestAnAskThatAShutdownCutsOffDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, r := newStoppable(t, nil)
		r.cancel = func(ctx context.Context, _ worker.Cancellation) (worker.CancelAnswer, error) {
			<-ctx.Done()
			return worker.CancelAnswer{}, ctx.Err()
		}
		b.prepare("a")
		b.run(10 * time.Second)
		b.cancel("a")
		b.run(10 * time.Second)
		op := b.get("a")
		if diff := cmp.Diff([]any{"observing", "", "running", 1, 0}, []any{op.Phase, op.LeaseOwner, string(op.Snapshot), len(r.asked), len(b.evidence("a"))}); diff != "" {
			t.Error(diff)
		}
		r.cancel = func(context.Context, worker.Cancellation) (worker.CancelAnswer, error) {
			return taken(r, worker.Cancellation{})
		}
		b.run(time.Minute)
		if op := b.get("a"); op.Outcome != "canceled" || r.asked[1].Asked != 0 {
			t.Errorf("outcome %q, and the remote was asked %d times before", op.Outcome, r.asked[1].Asked)
		}
	})
}

// Asks are counted for each remote job: one that a reviewer attached later was never asked about.
func TestAJobThatIsAttachedLaterIsAskedForAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, r := newStoppable(t, taking)
		b.config.AskAgain = []time.Duration{}
		if _, err := b.m.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "video", Request: []byte("{}"), ObserveDeadline: 5 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		b.run(10 * time.Second)
		b.cancel("a")
		b.run(10 * time.Minute)
		decision := machine.Decision{Seen: b.get("a").Seen(), Reviewer: "ann", Reason: "it is the other one"}
		if _, err := b.m.ReviewAttach(t.Context(), "a", "job-b", decision); err != nil {
			t.Fatal(err)
		}
		b.run(time.Minute)
		var asked []string
		for _, c := range r.asked {
			asked = append(asked, c.RemoteJobID)
		}
		if diff := cmp.Diff([]string{"job-a", "job-b"}, asked); diff != "" {
			t.Error(diff)
		}
	})
}

// A handler that cannot ask leaves the job to its end, and nothing is noted.
func TestAHandlerThatCannotCancelNotesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, r := newStoppable(t, func(*stoppable, worker.Cancellation) (worker.CancelAnswer, error) {
			return worker.CancelAnswer{}, fmt.Errorf("no cancel: %w", errors.ErrUnsupported)
		})
		b.prepare("a")
		b.run(10 * time.Second)
		b.cancel("a")
		b.run(10 * time.Minute)
		r.end(worker.Succeeded)
		b.run(time.Minute)
		if kept := b.evidence("a"); len(kept) != 0 || b.get("a").Outcome != "succeeded" {
			t.Errorf("kept %q, outcome %q", kept, b.get("a").Outcome)
		}
	})
}

// What the remote answered stands in history beside the look that it belongs to, where that look is new.
func TestWhatTheRemoteAnsweredToACancelIsInHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, r := newStoppable(t, taking)
		n := 0
		r.observe = func(context.Context, worker.Observation) (worker.Status, error) {
			n++
			return worker.Status{State: worker.Pending, Snapshot: fmt.Append(nil, n), Detail: "warming up"}, nil
		}
		b.config.AskAgain = []time.Duration{}
		b.prepare("a")
		b.run(3 * time.Second)
		b.cancel("a")
		b.run(time.Minute)
		told := strings.Join(b.events("a", "observe_pending"), "\n")
		if want := "warming up; asked the remote to cancel, 1 of at most 1 times: answered 202"; strings.Count(told, want) != 1 {
			t.Errorf("want %q once in:\n%s", want, told)
		}
	})
}
