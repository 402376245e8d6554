package reports_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/reconcile"
	"github.com/fencerow/fencerow/transitions"
)

// overdue is a request that is observed too long as soon as it is submitted.
func overdue(id string) machine.Request {
	r := requestOf(id)
	r.ObserveDeadline = time.Millisecond
	return r
}

func (s *stand) reconciler(page int) *reconcile.Reconciler {
	s.Helper()
	r, err := reconcile.New(s.machine, reconcile.Options{Page: page, Log: quiet()})
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// B26: a reconciler that has found an overdue operation, and is held up before it writes, changes nothing once the
// operation has ended meanwhile: the row is judged after the lock is had, by its phase as it is then, and the refusal
// is told (guard phase of observe_overdue; D1).
func TestB26AReconcilerThatIsHeldUpLeavesWhatHasEndedMeanwhile(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		s.at(transitions.Observing, overdue("a"))
		await(t, "it is overdue", func() bool { return s.now().After(s.op("a").ObserveDeadline) })
		s.expire("a")
		inside, end := s.inTx()
		ended, err := inside.Apply(t.Context(), "notified_succeeded", transitions.Params{
			"operation_id": transitions.TextValue("a"), "provider": transitions.TextValue("video"),
			"account": transitions.TextValue(""), "remote_job_id": transitions.TextValue("job-a"),
		})
		if err != nil || !ended.Applied {
			t.Fatalf("the end is told: applied %t (%v), %v", ended.Applied, ended.Failed, err)
		}
		before := s.waiting()
		refusal, swept := make(chan error, 1), make(chan error, 1)
		go func() { refusal <- moved(s.machine.Overdue(context.Background(), "a")) }()
		await(t, "the reconciler is held up", func() bool { return s.waiting() > before })
		r := s.reconciler(10)
		go func() {
			all, err := r.Once(context.Background())
			if err == nil && len(all) > 0 {
				err = fmt.Errorf("the sweep moved %v", all)
			}
			swept <- err
		}()
		end(true)
		if err := <-swept; err != nil {
			t.Error(err)
		}
		denied, ok := machine.IsDenied(<-refusal)
		if !ok || !slices.Contains(denied.Failed, "phase") || denied.Seen.Outcome != "succeeded" {
			t.Errorf("the reconciler was told %+v, want a denial that shows the end", denied)
		}
		if op := s.op("a"); op.Phase != transitions.Terminal || op.Outcome != "succeeded" {
			t.Errorf("the operation is %s %s", op.Phase, op.Outcome)
		}
		s.sound("a")
	})
}

// contest is one operation that two want to end.
type contest struct {
	lease *machine.Lease
	rival func() error
}

// contests are observed operations with a rival each: the remote's own word that the job failed, and the reconciler,
// which finds it overdue at about the time when the lease ends.
func (s *stand) contests(n int) []contest {
	s.Helper()
	ctx := context.Background()
	var requests []machine.Request
	for i := range n {
		requests = append(requests, overdue(fmt.Sprintf("op-%04d", i)))
	}
	s.prepare(requests...)
	leases, err := s.machine.ClaimMany(ctx, transitions.Dispatch, video, n)
	if err != nil {
		s.Fatal(err)
	}
	fire := func(event string, more func(transitions.Params, string)) {
		params := make([]transitions.Params, len(leases))
		for i, l := range leases {
			id := l.Operation.OperationID
			params[i] = transitions.Params{"operation_id": transitions.TextValue(id), "owner": transitions.TextValue(l.Owner), "revision": transitions.IntValue(l.Revision)}
			more(params[i], id)
		}
		if _, err := s.store.ApplyMany(ctx, event, params); err != nil {
			s.Fatal(err)
		}
	}
	fire("submit_begin", func(transitions.Params, string) {})
	fire("submit_accepted", func(p transitions.Params, id string) { p["remote_job_id"] = transitions.TextValue("job-" + id) })
	observing, err := s.machine.ClaimMany(ctx, transitions.Observe, video, n)
	if err != nil || len(observing) != n {
		s.Fatalf("claimed %d to observe, %v", len(observing), err)
	}
	all := make([]contest, n)
	for i, l := range observing {
		id := l.Operation.OperationID
		all[i] = contest{l, func() error {
			return moved(s.machine.Fire(ctx, "notified_failed", transitions.Params{
				"operation_id": transitions.TextValue(id), "provider": transitions.TextValue("video"),
				"account": transitions.TextValue(""), "remote_job_id": transitions.TextValue("job-" + id),
			}))
		}}
		if i%2 == 1 {
			all[i].rival = func() error {
				s.fromNow(id, "lease_until", time.Millisecond)
				return moved(s.machine.Overdue(ctx, id))
			}
		}
	}
	return all
}

// B32: where a worker ends an operation and somebody else ends it otherwise at the same moment, one of them did it, and
// the other is told that it did not: never both, a thousand times over (guard phase of every event that ends; I3).
func TestB32OfTwoWhoEndAnOperationAtOnceOneIsRefused(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		n := 1000
		if s.sqlite != nil {
			n = 100 // SQLite's writers come one after the other
		}
		var mu sync.Mutex
		var tally struct{ holder, rival, neither int }
		free := make(chan struct{}, 6)
		var done sync.WaitGroup
		for _, c := range s.contests(n) {
			free <- struct{}{}
			done.Go(func() {
				defer func() { <-free }()
				rival := make(chan error, 1)
				go func() { rival <- c.rival() }()
				holderWon := s.won(moved(s.machine.Observed(context.Background(), c.lease, "succeeded", nil, "")))
				rivalWon := s.won(<-rival)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case holderWon && rivalWon:
					t.Errorf("%s: both were told that they ended it", c.lease.Operation.OperationID)
				case holderWon:
					tally.holder++
				case rivalWon:
					tally.rival++
				default:
					tally.neither++ // the lease ended between the two
				}
			})
		}
		done.Wait()
		t.Logf("%+v", tally)
		if tally.holder == 0 || tally.rival == 0 {
			t.Errorf("one side always won (%+v): this is no contest", tally)
		}
		twice := s.count(`SELECT count(*) FROM (SELECT operation_id FROM fencerow_history
			WHERE from_phase IN ('observing', 'terminal') AND to_phase IN ('terminal', 'uncertain') GROUP BY operation_id HAVING count(*) > 1) AS t`)
		if diff := cmp.Diff(0, twice); diff != "" {
			t.Errorf("operations that have ended twice (-want +got):\n%s", diff)
		}
		for i := range 50 {
			s.sound(fmt.Sprintf("op-%04d", i))
		}
	})
}

// won tells an applied event from a denied one; anything else is a fault.
func (s *stand) won(err error) bool {
	if _, denied := machine.IsDenied(err); err != nil && !denied {
		s.Error(err)
	}
	return err == nil
}

// count runs a query for one number, past the engine.
func (s *stand) count(query string) (n int) {
	s.Helper()
	var err error
	if s.pool != nil {
		err = s.pool.QueryRow(context.Background(), query).Scan(&n)
	} else {
		err = s.sqlite.DB().QueryRowContext(context.Background(), query).Scan(&n)
	}
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// B36: what a process has begun is not swept by its own reconciler at start, nor by that of another process under the
// same name: a live lease is a live lease, whoever holds it (guard lease_vacant of submit_lapsed, and the schedule; B3).
func TestB36AReconcilerAtStartLeavesItsOwnLiveWork(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		s.machine = s.engine(machine.Config{Label: "host:1"})
		sent, answer := make(chan struct{}, 10), make(chan struct{})
		h := &remote{submit: func(context.Context, string) (string, error) {
			sent <- struct{}{}
			<-answer
			return "job-a", nil
		}}
		s.prepare(requestOf("a"))
		stop := s.working(s.machine, h).start()
		<-sent
		own := s.engine(machine.Config{Label: "host:1"})
		for _, m := range []*machine.Machine{s.machine, own} {
			r, err := reconcile.New(m, reconcile.Options{Log: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			if moved, err := r.Once(t.Context()); err != nil || len(moved) > 0 {
				t.Errorf("a reconciler at start moved %v, %v; want nothing", moved, err)
			}
			// The schedule hides it from a sweep as well; by name there is only the guard.
			_, err = m.Fire(t.Context(), "submit_lapsed", transitions.Params{"operation_id": transitions.TextValue("a")})
			if !only(err, "lease_vacant") {
				t.Errorf("a reconciler that names it was told %v", err)
			}
		}
		close(answer)
		await(t, "the answer is stored", func() bool { return s.op("a").RemoteJobID != "" })
		stop()
		if diff := cmp.Diff(1, h.sent("a")); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		want := []string{"prepare", "dispatch_claim", "submit_begin", "submit_accepted"}
		if diff := cmp.Diff(want, s.events("a")[:4]); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		s.sound("a")
	})
}
