package worker_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// outOf is a store whose database goes away for a while in the middle of the first begin: it lands, and its reply is lost.
type outOf struct {
	machine.Store
	away  time.Duration
	until atomic.Int64 // in Unix nanoseconds; 0: it has not gone away yet
}

func (s *outOf) gone() error {
	if time.Now().UnixNano() < s.until.Load() {
		return errors.New("connection refused")
	}
	return nil
}

func (s *outOf) Apply(ctx context.Context, event string, p transitions.Params) (machine.Answer, error) {
	if err := s.gone(); err != nil {
		return machine.Answer{}, err
	}
	a, err := s.Store.Apply(ctx, event, p)
	if strings.HasSuffix(event, "submit_begin") && s.until.CompareAndSwap(0, time.Now().Add(s.away).UnixNano()) {
		return machine.Answer{}, &machine.UnknownError{Event: event, OperationID: p["operation_id"].Text(), Cause: errors.New("the connection was reset")}
	}
	return a, err
}

func (s *outOf) ApplyMany(ctx context.Context, event string, p []transitions.Params) ([]machine.Answer, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.ApplyMany(ctx, event, p)
}

func (s *outOf) Take(ctx context.Context, event string, p transitions.Params) ([]transitions.Row, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Take(ctx, event, p)
}

func (s *outOf) History(ctx context.Context, id string) ([]machine.HistoryEntry, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.History(ctx, id)
}

// Contract E2, A8, and what Begin promises: an unknown begin is resolved through history before the lease's own end. The
// database is away for 12 s of a lease of 45 s; the process that has begun lives on, and knows that it has sent nothing: the
// operation is sent when the database is back, and no reviewer is asked.
func TestABeginWhoseReplyIsLostIsResolvedWithinItsLease(t *testing.T) {
	for name, wake := range map[string]machine.Wake{"without its name": named("a").Unnamed(), "by its name": named("a")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, s := awake(t, &remote{})
				s.Store = &outOf{Store: s.Store, away: 12 * time.Second}
				b.prepare("a")
				s.tell(wake)
				time.Sleep(2 * time.Minute) // sleep: synthetic
				synctest.Wait()
				if _, err := b.m.Sweep(b.Context(), "submit_lapsed", 10); err != nil {
					t.Fatal(err)
				}
				op := b.get("a")
				if diff := cmp.Diff([]any{"terminal", "", 1}, []any{op.Phase, op.UncertainReason, b.remote.count("a")}); diff != "" {
					t.Errorf("nobody sent anything, and the sender knew (-want +got phase, reason, requests):\n%s", diff)
				}
			})
		})
	}
}

// slow is a store whose begin is answered late.
type slow struct{ machine.Store }

func (s slow) Apply(ctx context.Context, event string, p transitions.Params) (machine.Answer, error) {
	a, err := s.Store.Apply(ctx, event, p)
	if strings.HasSuffix(event, "submit_begin") {
		time.Sleep(9 * time.Second) // sleep: synthetic
	}
	return a, err
}

// Contract A7: a request has its SubmitTimeout however long its begin took: the lease is renewed before the request leaves.
func TestARequestThatWasNamedHasItsTime(t *testing.T) {
	for name, wake := range map[string]machine.Wake{"without its name": named("a").Unnamed(), "by its name": named("a")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, &remote{submit: func(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
					select {
					case <-time.After(5 * time.Second):
						return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
					case <-ctx.Done():
						return worker.Accepted{}, worker.Unknown(context.Cause(ctx), worker.ReasonNoResponse)
					}
				}})
				s := &wakeable{Store: slow{b.m.Store()}, cut: make(chan struct{})}
				m, err := machine.New(s, machine.Config{TTL: 12 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				b.m, b.config.Machine, b.config.SubmitTimeout = m, m, 10*time.Second
				w, err := worker.New(b.config)
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(context.Background())
				done := make(chan error, 1)
				go func() { done <- w.Run(ctx) }()
				defer func() { stop(); _ = <-done }()
				time.Sleep(time.Minute) // sleep: synthetic
				b.prepare("a")
				s.tell(wake)
				time.Sleep(time.Minute) // sleep: synthetic
				op := b.get("a")
				if diff := cmp.Diff([]any{"terminal", "", 1}, []any{op.Phase, op.UncertainReason, b.remote.count("a")}); diff != "" {
					t.Errorf("a request that takes 5 s of 10 s (-want +got phase, reason, requests):\n%s", diff)
				}
			})
		})
	}
}

// muffled is a store whose begin lands and is answered only when nobody waits for it any more.
type muffled struct{ machine.Store }

func (s muffled) Apply(ctx context.Context, event string, p transitions.Params) (machine.Answer, error) {
	a, err := s.Store.Apply(ctx, event, p)
	if strings.HasSuffix(event, "submit_begin") && err == nil && a.Applied {
		<-ctx.Done()
		return machine.Answer{}, &machine.UnknownError{Event: event, OperationID: p["operation_id"].Text(), Cause: errors.New("no answer")}
	}
	return a, err
}

// Contract E1: what is still open when the drain budget is spent is written before the process leaves; where the begin has
// not been answered by then nothing was sent, and that is what is written.
func TestWhatWasBegunByItsNameIsWrittenBeforeTheProcessLeaves(t *testing.T) {
	for name, wake := range map[string]machine.Wake{"without its name": named("a").Unnamed(), "by its name": named("a")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, &remote{})
				s := &wakeable{Store: muffled{b.m.Store()}, cut: make(chan struct{})}
				m, err := machine.New(s, machine.Config{})
				if err != nil {
					t.Fatal(err)
				}
				b.m, b.config.Machine, b.config.Drain = m, m, 2*time.Second
				w, err := worker.New(b.config)
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(context.Background())
				done := make(chan error, 1)
				go func() { done <- w.Run(ctx) }()
				time.Sleep(time.Minute) // sleep: synthetic
				b.prepare("a")
				s.tell(wake)
				time.Sleep(time.Second) // sleep: synthetic
				stop()
				began := time.Now()
				err = <-done
				t.Logf("Run returned after %s: %v", time.Since(began), err)
				if op := b.get("a"); op.Phase == transitions.Submitting {
					t.Errorf("%d were sent; the process has left, and the operation is %s under a lease until %s", b.remote.count("a"), op.Phase, time.Until(op.LeaseUntil))
				}
			})
		})
	}
}

type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// An operation of which nobody knows whether it was begun lapses and comes before a reviewer, who wants to know that nothing
// was sent: the log says so.
func TestTheLogSaysThatNothingWasSentOfWhatWasNamed(t *testing.T) {
	for name, wake := range map[string]machine.Wake{"without its name": named("a").Unnamed(), "by its name": named("a")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &logged{}
				b, s := awakeWith(t, &remote{}, func(c *worker.Config) { c.Log = slog.New(slog.NewTextHandler(l, nil)) })
				s.Store = &outOf{Store: s.Store, away: 2 * time.Minute}
				b.prepare("a")
				s.tell(wake)
				time.Sleep(3 * time.Minute) // sleep: synthetic
				synctest.Wait()
				l.mu.Lock()
				defer l.mu.Unlock()
				if !strings.Contains(l.b.String(), "nothing was sent") {
					t.Errorf("the log does not say that nothing was sent of a, which will be in review:\n%s", l.b.String())
				}
			})
		})
	}
}
