package hostile_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// answer is what a store said.
type answer struct {
	applied bool
	err     error
}

// ask fires an event on another goroutine.
func (w *wire) ask(event string, p transitions.Params) <-chan answer {
	said := make(chan answer, 1)
	go func() {
		a, err := w.store.Apply(context.Background(), event, p)
		said <- answer{a.Applied, err}
	}()
	return said
}

// Nobody can tell whether a session that is ended in the middle of a statement had committed it (A4's 57P01; B72).
func TestASessionThatIsTerminatedInALockWaitIsUnknownAndDidNotRun(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	w := d.wire(patient)
	l := d.at(transitions.Prepared, "a", "video")
	watcher, tx := d.connect(), d.lock("a")
	said := w.ask("submit_begin", fence(l))
	d.until("the statement waits for the row", func() bool { return d.waiting(watcher) == 1 })
	d.exec(watcher, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
	if got := <-said; got.applied || !machine.IsUnknown(got.err) {
		t.Errorf("the store says applied %t, %v; want an unknown answer", got.applied, got.err)
	}
	d.commit(tx)
	if diff := cmp.Diff(0, d.landed("a", "submit_begin", l.Revision)); diff != "" {
		t.Errorf("it landed (-want +got):\n%s", diff)
	}
	if _, err := w.engine.Begin(t.Context(), l); err != nil {
		t.Errorf("begin, tried again under the same fence: %v", err)
	}
	d.sound("a")
}

// A backend that is killed takes every session with it; afterwards history decides (E2).
func TestAKilledBackendLeavesAnUnknownAnswerAndHistoryDecides(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Fast)
	d := newDatabase(t, server.NewDatabase())
	for _, c := range []struct {
		name string
		done bool // whether the statement has committed when its backend is killed
	}{{"in a lock wait", false}, {"after the commit, before the reply", true}} {
		t.Run(c.name, func(t *testing.T) {
			id := name("killed-", c.done)
			w := d.wire(patient)
			l := d.at(transitions.Submitting, id, "video")
			params := merged(fence(l), text("remote_job_id", "job-"+id))
			var said <-chan answer
			watcher, err := pgx.Connect(t.Context(), d.url)
			if err != nil {
				t.Fatal(err)
			}
			if c.done {
				w.arm("submit_accepted", transitions.One, pgproxy.SwallowReply)
				said = w.ask("submit_accepted", params)
				w.met()
			} else {
				tx, err := watcher.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec(t.Context(), "SELECT FROM fencerow_operations WHERE operation_id = $1 FOR UPDATE", id); err != nil {
					t.Fatal(err)
				}
				said = w.ask("submit_accepted", params)
				other := d.connect()
				d.until("the statement waits for the row", func() bool { return d.waiting(other) == 1 })
			}
			server.KillBackend(watcher.PgConn().PID())
			if got := <-said; got.applied || !machine.IsUnknown(got.err) {
				t.Errorf("the store says applied %t, %v; want an unknown answer", got.applied, got.err)
			}
			d.recovered()
			want := map[bool]int{true: 1}[c.done]
			if diff := cmp.Diff(want, d.landed(id, "submit_accepted", l.Revision)); diff != "" {
				t.Errorf("it landed (-want +got):\n%s", diff)
			}
			d.resolved(w, l, "job-"+id)
		})
	}
}

// recovered waits until the server answers again.
func (d *database) recovered() {
	d.Helper()
	d.until("the server answers", func() bool {
		_, err := d.calm.Now(context.Background())
		return err == nil
	})
}

// resolved holds that the holder learns that its accepted id is stored: by trying again, whether it landed before or not.
func (d *database) resolved(w *wire, l *machine.Lease, job string) {
	d.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	op, err := w.engine.Accepted(ctx, l, job, nil, 0)
	if seen, ok := machine.IsDenied(err); ok {
		// The engine was not the one to whom the answer was lost; history tells what the denial means.
		landed, err := w.engine.Landed(ctx, l.Operation.OperationID, "submit_accepted", l.Revision)
		if err != nil || !landed {
			d.Errorf("denied with %v, and history says %t, %v", seen.Failed, landed, err)
		}
		op = seen.Seen
	} else if err != nil {
		d.Errorf("accepted, tried again: %v", err)
	}
	if op.Phase != transitions.Submitted || op.RemoteJobID != job {
		d.Errorf("the row is %s with the remote job %q, want submitted with %q", op.Phase, op.RemoteJobID, job)
	}
	d.sound(l.Operation.OperationID)
}

// The server is killed with SIGKILL while many events are under way. Whatever was answered before is there after the
// recovery, whatever is unknown is decided by history, and nothing else changed (E2).
func TestAKilledServerForgetsNoAnswerAndHistoryDecidesTheRest(t *testing.T) {
	t.Parallel()
	const rounds, holders = 2, 8
	server := pgtest.NewServer(t) // with fsync: what was answered has to be there
	d := newDatabase(t, server.NewDatabase())
	tally := map[string]int{}
	for round := range rounds {
		var leases []*machine.Lease
		for i := range holders {
			leases = append(leases, d.at(transitions.Prepared, fmt.Sprintf("op-%d-%d", round, i), "video"))
		}
		w := d.wire(patient)
		noted := make(chan int, holders*100)
		said := make([]<-chan []error, holders)
		for i, l := range leases {
			said[i] = w.keepsNoting(l, noted)
		}
		for range 3*holders + round*7 {
			select {
			case <-noted:
			case <-time.After(20 * time.Second):
				t.Fatal("nothing is noted any more")
			}
		}
		server.Kill9()
		all := make([][]error, holders)
		for i := range said {
			all[i] = <-said[i]
		}
		server.Start()
		d.recovered()
		for i, l := range leases {
			d.decided(l, all[i], tally)
		}
	}
	if tally["applied"] == 0 || tally["unknown"] == 0 {
		t.Errorf("a kill was to meet answered and unanswered events: %v", tally)
	}
	t.Logf("%d kills: %v", rounds, tally)
}

// keepsNoting notes one kind of evidence after another until it gets an error, and gives what it was told each time.
func (w *wire) keepsNoting(l *machine.Lease, each chan<- int) <-chan []error {
	out := make(chan []error, 1)
	go func() {
		var errs []error
		for n := 0; ; n++ {
			a, err := w.store.Apply(context.Background(), "evidence_noted", merged(fence(l), text("kind", fmt.Sprintf("note-%d", n))))
			if err == nil && !a.Applied {
				err = fmt.Errorf("denied: %v", a.Failed)
			}
			errs = append(errs, err)
			if err != nil {
				out <- errs
				return
			}
			select {
			case each <- n:
			default:
			}
		}
	}()
	return out
}

// decided holds what is in the database after the recovery against what was answered before the crash.
func (d *database) decided(l *machine.Lease, errs []error, tally map[string]int) {
	d.Helper()
	id := l.Operation.OperationID
	evidence, err := d.calm.Evidence(context.Background(), id)
	if err != nil {
		d.Fatal(err)
	}
	answered, last := len(errs)-1, errs[len(errs)-1]
	tally["applied"] += answered
	most := answered
	if machine.IsUnknown(last) {
		tally["unknown"]++
		most++
		if len(evidence) == most {
			tally["unknown and landed"]++
		}
	} else {
		tally["provably not run"]++
	}
	if len(evidence) < answered || len(evidence) > most {
		d.Errorf("%s: %d events were applied, the last ended with %v, and %d are there", id, answered, last, len(evidence))
	}
	if op := d.op(id); op.EvidenceSeq != int64(len(evidence)) {
		d.Errorf("%s: the row counts %d of %d notes", id, op.EvidenceSeq, len(evidence))
	}
	d.sound(id)
}

// The server is killed when it has committed a begin and before its reply is through: after the recovery the holder's
// verb finds it in history, and only then may the request be sent (B1, A8).
func TestABeginThatWasCommittedBeforeTheServerWasKilledIsFound(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t)
	d := newDatabase(t, server.NewDatabase())
	w := d.wire(bounded)
	l := d.at(transitions.Prepared, "a", "video")
	w.arm("submit_begin", transitions.One, pgproxy.SwallowReply)
	begun := make(chan error, 1)
	go func() {
		_, err := w.engine.Begin(context.Background(), l)
		begun <- err
	}()
	w.met()
	server.Kill9()
	server.Start()
	if err := <-begun; err != nil {
		t.Errorf("begin says %v, want that it landed", err)
	}
	d.recovered()
	if diff := cmp.Diff(1, d.landed("a", "submit_begin", l.Revision)); diff != "" {
		t.Errorf("it landed (-want +got):\n%s", diff)
	}
	d.sound("a")
}
