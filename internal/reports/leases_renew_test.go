package reports_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// B30: a look that takes ten times as long as a lease has one owner and one revision from its beginning to its end,
// while another worker and a reconciler wait for it to lapse: who is gone is told by the lease, never by age (rule: the
// worker renews what it holds at a third of the lease, and nothing but its hold and its lease cuts it short; A7).
func TestB30ALookOfTenLeasesHasOneOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t)
		lease := s.machine.Config().TTL
		h := &remote{observe: func(ctx context.Context, _ string) (worker.Status, error) {
			select {
			case <-time.After(10 * lease):
				return worker.Status{State: worker.Succeeded}, nil
			case <-ctx.Done():
				return worker.Status{}, context.Cause(ctx)
			}
		}}
		r := requestOf("a")
		r.ObserveDeadline, r.WantsDelivery = time.Second, false
		s.prepare(r)
		for range 2 {
			s.working(s.engine(machine.Config{}), h).start()
		}
		s.sweeping(s.engine(machine.Config{}), time.Second)
		await(t, "the look has begun", func() bool { return h.looked("a") > 0 })
		<-time.After(11 * lease)
		want := []string{"prepare", "dispatch_claim", "submit_begin", "submit_accepted", "observe_claim", "observe_succeeded"}
		if diff := cmp.Diff(want, s.events("a")); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]int{1, 1}, []int{h.sent("a"), h.looked("a")}); diff != "" {
			t.Errorf("sent and looked at (-want +got):\n%s", diff)
		}
		s.sound("a")
	})
}

// B30, the other side: a look that never ends is not renewed for ever (rule: the hold; A7).
func TestB30ALookThatNeverEndsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t)
		took := make(chan time.Duration, 100)
		s.prepare(requestOf("a"))
		stop := s.working(s.machine, &remote{observe: func(ctx context.Context, _ string) (worker.Status, error) {
			began := time.Now()
			<-ctx.Done()
			took <- time.Since(began)
			return worker.Status{}, ctx.Err()
		}}).start()
		if got, most := <-took, worker.DefaultHold+s.machine.Config().TTL; got < worker.DefaultHold || got > most {
			t.Errorf("the look was cut off after %s, want between %s and %s", got, worker.DefaultHold, most)
		}
		stop()
	})
}

// B30, at the database: ten renewals, each when most of the lease is over, keep every other claim and every sweep out,
// and change neither owner nor revision (events renew, effect extend lease; guard lease_vacant of claims and sweeps).
func TestB30ARenewedLeaseIsNobodyElses(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		l := s.at(transitions.Observing, overdue("a"))
		await(t, "it is overdue", func() bool { return s.now().After(s.op("a").ObserveDeadline) })
		rival := s.engine(machine.Config{})
		for range 10 {
			s.fromNow("a", "lease_until", 10*time.Second) // what is left of 45 s
			if err := s.machine.Renew(t.Context(), []*machine.Lease{l})[0]; err != nil {
				t.Fatal(err)
			}
			if left := s.op("a").LeaseUntil.Sub(s.now()); left < 20*time.Second {
				t.Errorf("%s are left after a renewal", left)
			}
			if _, err := rival.Claim(t.Context(), transitions.Observe, "a", video); !only(err, "lease_vacant") {
				t.Errorf("another claim was told %v", err)
			}
			if _, err := rival.Overdue(t.Context(), "a"); !only(err, "lease_vacant") {
				t.Errorf("a reconciler that names it was told %v", err)
			}
			if moved, err := s.reconciler(10).Once(t.Context()); err != nil || len(moved) > 0 {
				t.Errorf("a sweep moved %v, %v", moved, err)
			}
		}
		op := s.op("a")
		if diff := cmp.Diff([]any{l.Owner, l.Revision}, []any{op.LeaseOwner, op.Revision}); diff != "" {
			t.Errorf("owner and revision (-want +got):\n%s", diff)
		}
		if _, err := s.machine.Observed(t.Context(), l, "succeeded", nil, ""); err != nil {
			t.Error(err)
		}
		s.sound("a")
	})
}

// only tells whether an event was denied for one reason.
func only(err error, guard string) bool {
	denied, ok := machine.IsDenied(err)
	return ok && denied.Only(guard)
}

// deaf is a store whose renewals get no answer while everything else works.
type deaf struct{ machine.Store }

func (d deaf) ApplyMany(ctx context.Context, event string, params []transitions.Params) ([]machine.Answer, error) {
	if event == "renew" {
		<-ctx.Done()
		return nil, &machine.UnknownError{Event: event, Cause: ctx.Err()}
	}
	return d.Store.ApplyMany(ctx, event, params)
}

// B33: where renewals get no answer, the holder's own watch ends its work before the lease is over, counted from the
// last renewal that was confirmed (rule: the watch over a handler's context; A7, A8).
func TestB33AHolderWhoseRenewalsGetNoAnswerStopsByItsOwnWatch(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		m := s.deaf()
		s.submitted("look", 1)
		type end struct {
			left time.Duration // of the lease, by the database
			why  string
		}
		ended := make(chan end, 100)
		stop := s.working(m, &remote{observe: func(ctx context.Context, id string) (worker.Status, error) {
			<-ctx.Done()
			ended <- end{s.op(id).LeaseUntil.Sub(s.now()), context.Cause(ctx).Error()}
			return worker.Status{}, ctx.Err()
		}}).start()
		select {
		case e := <-ended:
			if e.left <= 0 || !strings.Contains(e.why, "lease is over") {
				t.Errorf("the look ended with %s of the lease left, because %s", e.left, e.why)
			}
		case <-time.After(30 * time.Second):
			t.Error("the look goes on for ever")
		}
		stop()
	})
}

// deaf is a machine whose renewals get no answer.
func (s *stand) deaf() *machine.Machine {
	s.Helper()
	m, err := machine.New(deaf{s.store}, machine.Config{TTL: 3 * time.Second, Margin: 1400 * time.Millisecond})
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// B33: nothing is sent once a lease is over by its holder's own watch, although the database would still let it: not by
// a dispatcher that has yet to begin (rules: the look at the lease in Begin, and the watch over its context, each by
// itself), and not by one that has begun (rule: the look at the lease immediately before the handler is called, B1).
func TestB33NothingIsSentOnceTheHoldersOwnWatchIsOver(t *testing.T) {
	for step, more := range map[string][]string{
		worker.StepClaimed: nil, worker.StepBegun: {"submit_begin", "submit_not_created"},
	} {
		t.Run(step, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, h := inMemory(t), &remote{}
				m := s.deaf()
				s.prepare(requestOf("a"))
				stalled, resume := make(chan struct{}, 10), make(chan struct{})
				w := s.working(m, h)
				w.config.Failpoint = func(at string) {
					if at == step {
						stalled <- struct{}{}
						<-resume
					}
				}
				stop := w.start()
				<-stalled
				s.fromNow("a", "lease_until", time.Hour)
				<-time.After(m.Config().TTL)
				stopped := make(chan struct{})
				if step == worker.StepClaimed { // a worker that stops would not begin for that reason
					close(resume)
					w.awaitLine("was not begun")
				}
				go func() { defer close(stopped); stop() }()
				if step == worker.StepBegun { // one that does not stop would send it anew, under a new lease
					synctest.Wait()
					close(resume)
				}
				<-stopped
				if diff := cmp.Diff(0, h.sent("a")); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(append([]string{"prepare", "dispatch_claim"}, more...), s.events("a")); diff != "" {
					t.Errorf("history (-want +got):\n%s", diff)
				}
			})
		})
	}
}
