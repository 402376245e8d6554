package hostile_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// patient statements wait for a locked row longer than their callers wait for them.
var patient = pgstore.Options{LockTimeout: 20 * time.Second, StatementTimeout: 30 * time.Second, MaxConns: 4}

// lock holds an operation's row until the transaction ends.
func (d *database) lock(id string) pgx.Tx {
	d.Helper()
	tx, err := d.connect().Begin(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	if _, err := tx.Exec(d.Context(), "SELECT FROM fencerow_operations WHERE operation_id = $1 FOR UPDATE", id); err != nil {
		d.Fatal(err)
	}
	return tx
}

func (d *database) commit(tx pgx.Tx) {
	d.Helper()
	if err := tx.Commit(d.Context()); err != nil {
		d.Fatal(err)
	}
}

// impatient is the context of a caller that gives up 300 ms after its statement was sent, which is before the server
// does. The pool has a connection by then: beginning a session may take as long on a busy machine.
func (w *wire) impatient() (context.Context, context.CancelFunc) {
	w.Helper()
	if _, err := w.store.Get(w.Context(), "a"); err != nil {
		w.Fatal(err)
	}
	return context.WithTimeout(context.Background(), 300*time.Millisecond)
}

// The caller's deadline passes while the statement waits for the row, and the cancel request does not get through: the
// answer is unknown, history says not yet, and the statement lands once the row is free (architecture, decision 5;
// report B69).
func TestAStatementWhoseCallerIsGoneLandsLateAndIsFoundInHistory(t *testing.T) {
	t.Parallel()
	for _, deed := range deeds {
		if deed.verb == nil || deed.phase == "" || deed.phase == "-" {
			continue // without a lease there is nothing to call again with
		}
		t.Run(deed.event, func(t *testing.T) {
			t.Parallel()
			d := fresh(t)
			w := d.wire(patient)
			s := d.stage(deed, "a")
			event, _, _ := strings.Cut(deed.event, "+") // of two, the first tells
			watcher, tx := d.connect(), d.lock("a")
			release := w.proxy.HoldCancels()
			defer release()
			ctx, cancel := w.impatient()
			defer cancel()
			if err := deed.verb(ctx, w, s); !machine.IsUnknown(err) {
				t.Fatalf("the verb says %v, want an unknown answer", err)
			}
			if got := d.waiting(watcher); got != 1 {
				t.Fatalf("%d statements wait for the row, want the one whose caller is gone", got)
			}
			if landed, err := w.engine.Landed(t.Context(), "a", event, s.lease.Revision); landed || err != nil {
				t.Errorf("history says %t, %v; want not yet", landed, err)
			}
			d.commit(tx)
			d.until("it lands", func() bool { return d.landed("a", event, s.lease.Revision) == 1 })
			// The same event under the same fence is denied now, by its own success.
			if err := deed.verb(t.Context(), w, s); err != nil {
				t.Errorf("the verb, called again, says %v; want that it landed", err)
			}
			if diff := cmp.Diff(1, d.landed("a", event, s.lease.Revision)); diff != "" {
				t.Errorf("it landed (-want +got):\n%s", diff)
			}
			d.sound("a")
		})
	}
}

// The holder's own verb keeps at it: the first statement lands late, the second is denied by it, and history tells
// that the denial is one's own success (A8).
func TestADenialByOnesOwnLateStatementIsResolvedWithinTheVerb(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	w := d.wire(pgstore.Options{LockTimeout: 500 * time.Millisecond, StatementTimeout: 700 * time.Millisecond, MaxConns: 4})
	l := d.at(transitions.Submitting, "a", "video")
	w.arm("submit_accepted", transitions.One, pgproxy.Late, pgproxy.Late)
	defer w.proxy.HoldCancels()()
	done := make(chan error, 1)
	go func() {
		_, err := w.engine.Accepted(context.Background(), l, "job-a", nil, 0)
		done <- err
	}()
	w.met()
	w.met() // the second try, which is to come after the first
	if diff := cmp.Diff(2, w.proxy.Land()); diff != "" {
		t.Errorf("landed late (-want +got):\n%s", diff)
	}
	if err := <-done; err != nil {
		t.Errorf("accepted says %v, want that it landed", err)
	}
	if op := d.op("a"); op.Phase != transitions.Submitted || op.RemoteJobID != "job-a" {
		t.Errorf("the row is %s with the remote job %q", op.Phase, op.RemoteJobID)
	}
	d.sound("a")
}

// While the statement waits, whoever holds the row moves it on: the late statement changes nothing, and the holder
// learns from history that it never landed (I4; lifecycle, "no is an answer only once the revision has moved on").
func TestALateStatementChangesNothingOnceTheRevisionMovedOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, phase, event, mover string
		more                      func(subject) transitions.Params
		verb                      func(context.Context, *wire, subject) error
	}{
		{"begin, after another dispatcher's claim", transitions.Prepared, "submit_begin", "dispatch_claim", nil, begin},
		{"accepted, after the reconciler's sweep", transitions.Submitting, "submit_accepted", "submit_lapsed", naming, accept},
		{"succeeded, after another observer's claim", transitions.Observing, "observe_succeeded", "observe_claim", nil, observe},
		{"delivered, after another deliverer's claim", transitions.Delivering, "deliver_done", "deliver_claim", placing, deliver},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := fresh(t)
			w := d.wire(patient)
			s := subject{"a", "video", d.at(c.phase, "a", "video")}
			tx := d.lock("a")
			defer w.proxy.HoldCancels()()
			ctx, cancel := w.impatient()
			defer cancel()
			if err := c.verb(ctx, w, s); !machine.IsUnknown(err) {
				t.Fatalf("the verb says %v, want an unknown answer", err)
			}
			if _, err := tx.Exec(t.Context(), "UPDATE fencerow_operations SET lease_until = clock_timestamp() WHERE operation_id = 'a'"); err != nil {
				t.Fatal(err)
			}
			moved, err := d.calm.InTx(tx).Apply(t.Context(), c.mover, merged(whose("other", "video"), text("operation_id", "a")))
			if err != nil || !moved.Applied {
				t.Fatalf("%s: applied %t (%v), %v", c.mover, moved.Applied, moved.Failed, err)
			}
			d.commit(tx)
			watcher := d.connect()
			d.until("the late statement is through", func() bool { return d.waiting(watcher) == 0 && d.working(watcher) == 0 })
			if !slices.Equal(moved.Row, d.op("a").Row()) {
				t.Errorf("the late %s changed the row that %s had left", c.event, c.mover)
			}
			if diff := cmp.Diff(0, d.landed("a", c.event, s.lease.Revision)); diff != "" {
				t.Errorf("it landed (-want +got):\n%s", diff)
			}
			if err := c.verb(t.Context(), w, s); !denied(err) {
				t.Errorf("the verb, called again, says %v; want a denial", err)
			}
			if !slices.Equal(moved.Row, d.op("a").Row()) {
				t.Errorf("the verb, called again, changed the row that %s had left", c.mover)
			}
		})
	}
}

func denied(err error) bool {
	_, ok := machine.IsDenied(err)
	return ok
}

// working counts the sessions that are in the middle of a statement, this one apart.
func (d *database) working(conn *pgx.Conn) int {
	d.Helper()
	var n int
	err := conn.QueryRow(d.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`).Scan(&n)
	if err != nil {
		d.Fatal(err)
	}
	return n
}

// Where the cancel request does get through, the server says that nothing ran: that is no unknown answer (A9; B69).
func TestAStatementThatTheServerCanceledProvablyDidNotRun(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	w := d.wire(patient)
	for try := range 20 {
		id := name("canceled-", try)
		l := d.at(transitions.Prepared, id, "video")
		err := w.givenUp(l)
		if machine.IsUnknown(err) {
			continue // the cancel request, a connection of its own, was too slow: that is another test's
		}
		if err == nil {
			t.Error("the store says that it was applied, want a proven error")
		}
		if op := d.op(id); op.Phase != transitions.Prepared || op.Revision != l.Revision {
			t.Errorf("the row is %s at revision %d", op.Phase, op.Revision)
		}
		if _, err := w.engine.Begin(t.Context(), l); err != nil {
			t.Errorf("begin, tried again: %v", err)
		}
		return
	}
	t.Error("of 20 statements that were canceled none provably did not run")
}

// givenUp begins a submission whose row is locked, with little patience, and frees the row afterwards.
func (w *wire) givenUp(l *machine.Lease) error {
	w.Helper()
	tx := w.lock(l.Operation.OperationID)
	ctx, cancel := w.impatient()
	defer cancel()
	_, err := w.store.Apply(ctx, "submit_begin", fence(l))
	w.commit(tx)
	return err
}

// B99: the caller gives up, and the statement is answered all the same; the cancel request is still on its way. Whenever
// it comes, it meets no other caller's statement (the session is left).
func TestACancelThatComesLateMeetsNobodyElsesStatement(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	w := d.wire(pgstore.Options{LockTimeout: 20 * time.Second, StatementTimeout: 30 * time.Second, MaxConns: 1})
	watcher, release := d.connect(), func() {}
	for try := 0; ; try++ {
		id := name("given-up-", try)
		if w.answeredAfterTheCancel(watcher, d.at(transitions.Observing, id, "video"), &release) {
			break
		}
		release() // the machine was too busy: the driver gave the connection up
	}
	l, tx := d.at(transitions.Observing, "another", "video"), d.lock("another")
	done := make(chan error, 1)
	go func() {
		_, err := w.store.Apply(context.Background(), "observe_succeeded", fence(l))
		done <- err
	}()
	d.until("the next statement waits for its row", func() bool { return d.waiting(watcher) == 1 })
	release()
	<-w.proxy.Obeyed()
	d.commit(tx)
	if err := <-done; err != nil {
		t.Errorf("the statement after the canceled one: %v", err)
	}
	if diff := cmp.Diff(1, d.landed("another", "observe_succeeded", l.Revision)); diff != "" {
		t.Errorf("it landed (-want +got):\n%s", diff)
	}
}

// answeredAfterTheCancel fires an event whose caller gives up while it waits for its row, and reports whether it was
// applied nevertheless. Its cancel request is kept back until release is called.
func (w *wire) answeredAfterTheCancel(watcher *pgx.Conn, l *machine.Lease, release *func()) bool {
	w.Helper()
	tx := w.lock(l.Operation.OperationID)
	*release = w.proxy.HoldCancels()
	ctx, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	done := make(chan error, 1)
	go func() {
		_, err := w.store.Apply(ctx, "observe_pending", fence(l))
		done <- err
	}()
	w.until("the statement waits for its row", func() bool { return w.waiting(watcher) == 1 })
	giveUp()
	<-w.proxy.Held()
	w.commit(tx)
	return <-done == nil
}
