package reports_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// B52: a worker is told to stop while the remote has a request and does not answer within the grace. The operation is
// neither given back nor to be tried again, however the handler's error reads: it is uncertain because of the shutdown by
// the time that the worker is gone, nobody sends it again, and the remote's answer finds nobody (rules: what the
// shutdown cut off is unknown, B2, E1; release is not for submitting). With real processes, and the answer late:
// internal/e2e TestAProgramThatIsToldToEndKnowsWhatBecameOfItsRequest.
func TestB52ARequestThatAShutdownCutsOffIsNotGivenBack(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		answer := make(chan struct{})
		release := sync.OnceFunc(func() { close(answer) })
		t.Cleanup(release)
		remote := newShop(t, &shop{sell: func(w http.ResponseWriter, _ *http.Request, id string) {
			if id == "stalled" {
				<-answer
			}
			accept(w, id)
		}})
		s.prepare(order("stalled"))
		w := s.working(s.machine, fromFile(t, remote.URL))
		w.config.Drain = 200 * time.Millisecond
		stop := w.start()
		await(t, "the remote has it", func() bool { return remote.sold("stalled") == 1 })
		stop()
		s.ends(transitions.Uncertain, "shutdown", "stalled")
		release()
		s.sweeping(s.machine, 20*time.Millisecond)
		s.working(s.engine(machine.Config{Label: "next"}), fromFile(t, remote.URL)).start()
		ids, all := orders(10)
		s.prepare(all...)
		s.await(transitions.Terminal, ids...)
		s.ends(transitions.Uncertain, "shutdown", "stalled")
		remote.soldOnce(t, append(ids, "stalled")...)
		if diff := cmp.Diff([]string{"prepare", "dispatch_claim", "submit_begin", "evidence_noted", "submit_unknown"}, s.events("stalled")); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
	})
}

// B52, where the handler raises an error of its own during the shutdown, as in the report: it is unknown whatever it is,
// and by no way both kept and given back (rule: the default of every end is unknown, B2).
func TestB52AnErrorDuringAShutdownIsAnEndOfItsOwn(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		raised := map[string]func(error) error{
			"the context's own": func(err error) error { return err },
			"wrapped":           func(err error) error { return fmt.Errorf("post: %w", err) },
			"the wire's":        func(error) error { return io.ErrUnexpectedEOF },
			"interrupted":       func(error) error { return errors.New("interrupted; push the job back") },
		}
		r := &remote{submit: func(ctx context.Context, id string) (string, error) {
			<-ctx.Done()
			return "", raised[id](ctx.Err())
		}}
		ids := []string{}
		for id := range raised {
			s.prepare(order(id))
			ids = append(ids, id)
		}
		w := s.working(s.machine, r)
		w.config.Drain = 50 * time.Millisecond
		stop := w.start()
		await(t, "all are on their way", func() bool {
			n := 0
			for _, id := range ids {
				n += r.sent(id)
			}
			return n == len(ids)
		})
		stop()
		for _, id := range ids {
			op := s.op(id)
			if diff := cmp.Diff([]any{transitions.Uncertain, "", int64(1)}, []any{op.Phase, op.LeaseOwner, op.Attempts}); diff != "" {
				t.Errorf("%s: phase, owner and attempts (-want +got):\n%s", id, diff)
			}
		}
		s.sound(ids...)
	})
}

// B53: the worker is told to stop at the very moment that the remote's answer arrives, or is past its drain budget by
// then. What was learnt is stored all the same: the context under which it was learnt is not the one under which it is
// written (rules: shutdown cuts storing not short but bounds it, B9, E1).
func TestB53WhatIsLearntDuringAShutdownIsStored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		drain time.Duration
		late  bool // the handler returns only when its context has ended
	}{
		{"within the drain budget", 30 * time.Second, false},
		{"when the budget has just run out", time.Millisecond, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onStores(t, func(t *testing.T, s *stand) {
				ctx, shutdown := context.WithCancel(context.Background())
				t.Cleanup(shutdown)
				learnt := func(ctx context.Context) {
					shutdown()
					if c.late {
						<-ctx.Done()
					}
				}
				h := &remote{submit: func(ctx context.Context, id string) (string, error) {
					learnt(ctx)
					return "job-" + id, nil
				}}
				s.prepare(order("sent"))
				s.workThrough(ctx, h, c.drain)
				op := s.op("sent")
				if diff := cmp.Diff([]string{transitions.Submitted, "job-sent", ""}, []string{op.Phase, op.RemoteJobID, op.LeaseOwner}); diff != "" {
					t.Errorf("phase, remote job and owner (-want +got):\n%s", diff)
				}
				ctx, shutdown = context.WithCancel(context.Background())
				t.Cleanup(shutdown)
				s.fromNow("sent", "due_at", -time.Second)
				h.observe = func(ctx context.Context, _ string) (worker.Status, error) {
					learnt(ctx)
					return worker.Status{State: worker.Failed, Detail: "out of memory"}, nil
				}
				s.workThrough(ctx, h, c.drain)
				op = s.op("sent")
				if diff := cmp.Diff([]string{transitions.Terminal, "failed", ""}, []string{op.Phase, op.Outcome, op.LeaseOwner}); diff != "" {
					t.Errorf("phase, outcome and owner (-want +got):\n%s", diff)
				}
				s.sound("sent")
			})
		})
	}
}

// workThrough works until ctx ends and the worker has drained.
func (s *stand) workThrough(ctx context.Context, h worker.Handler, drain time.Duration) {
	s.Helper()
	w := s.working(s.machine, h)
	w.config.Drain, w.config.Every, w.config.MaxEvery = drain, time.Minute, time.Minute
	if err := w.until(ctx)(); err != nil {
		s.Error(err)
	}
}
