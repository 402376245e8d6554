package hostile_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// Why pgconn.SafeToRetry is not asked anywhere: it says yes to statements that were committed (architecture,
// decision 4).
func TestTheDriverCallsCommittedStatementsSafeToRetry(t *testing.T) {
	t.Parallel()
	address := pgtest.URL(t)
	direct, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = direct.Close(context.Background()) }()
	if _, err := direct.Exec(t.Context(), "CREATE TABLE sends AS SELECT 0 AS n"); err != nil {
		t.Fatal(err)
	}
	for want, last := range []string{"UPDATE sends SET n = n + 1", "COMMIT"} {
		proxy, url := pgproxy.New(t, address)
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if last == "COMMIT" {
			if _, err := conn.Exec(t.Context(), "BEGIN; UPDATE sends SET n = n + 1"); err != nil {
				t.Fatal(err)
			}
		}
		proxy.Arm(last, pgproxy.CutReply)
		_, err = conn.Exec(t.Context(), last)
		if err == nil || !pgconn.SafeToRetry(err) {
			t.Errorf("%s: the driver says %v and that it is safe to retry: %t; if it no longer does, this test has done its work",
				last, err, pgconn.SafeToRetry(err))
		}
		var n int
		if err := direct.QueryRow(t.Context(), "SELECT n FROM sends").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want+1, n); diff != "" {
			t.Errorf("%s: rows changed (-want +got):\n%s", last, diff)
		}
	}
}

// B72: a session that is ended between the event and the caller's COMMIT reports no success, and nothing is there.
func TestNoCommitIsReportedOnASessionThatWasEnded(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	l := d.at(transitions.Prepared, "a", "video")
	conn := d.connect()
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := d.calm.InTx(tx).Apply(t.Context(), "submit_begin", fence(l))
	if err != nil || !answer.Applied {
		t.Fatalf("begin inside the transaction: applied %t, %v", answer.Applied, err)
	}
	d.exec(d.connect(), "SELECT pg_terminate_backend($1, 5000)", int64(conn.PgConn().PID()))
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("the commit was reported as done")
	}
	if op := d.op("a"); op.Phase != transitions.Prepared {
		t.Errorf("the row is %s, want prepared", op.Phase)
	}
	if diff := cmp.Diff(0, d.landed("a", "submit_begin", l.Revision)); diff != "" {
		t.Errorf("it landed (-want +got):\n%s", diff)
	}
}

// B74: a server that takes no writes for a while answers with an error that proves that nothing was written; nothing
// moves meanwhile, and afterwards everything goes on.
func TestAServerThatIsReadOnlyForAWhileMovesNothing(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Fast)
	d := newDatabase(t, server.NewDatabase())
	const workers = 4
	w := d.wire(pgstore.Options{MaxConns: workers})
	said := make(chan error, 1000)
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for i := range workers {
		id := name("op-", i)
		d.prepared(id, "video")
		busy.Go(func() { w.claimAndRelease(id, said, stop) })
	}
	admin := d.connect()
	d.exec(admin, "SET default_transaction_read_only = off")
	turn := func(value string) {
		d.exec(admin, "ALTER SYSTEM SET default_transaction_read_only = "+value)
		d.exec(admin, "SELECT pg_reload_conf()")
	}
	refusals, worked := 0, 0
	await := func(what string, n *int) {
		t.Helper()
		late := time.After(20 * time.Second)
		for before := *n; *n < before+2*workers; {
			var err error
			select {
			case err = <-said:
			case <-late:
				t.Fatalf("waited in vain for %s", what)
			}
			switch {
			case err == nil:
				worked++
			case machine.IsUnknown(err) || !strings.Contains(err.Error(), "25006"):
				t.Errorf("got %v, want an error of the server's own that says that it is read-only", err)
			default:
				refusals++
			}
		}
	}
	await("work", &worked)
	turn("on")
	await("refusals", &refusals)
	turn("off")
	await("work afterwards", &worked)
	close(stop)
	busy.Wait()
	t.Logf("%d events worked, %d were refused", worked, refusals)
	for i := range workers {
		d.sound(name("op-", i))
	}
}

// claimAndRelease does nothing else, and tells of every answer while somebody listens.
func (w *wire) claimAndRelease(id string, said chan<- error, stop <-chan struct{}) {
	for revision, held := int64(0), false; ; {
		select {
		case <-stop:
			return
		case <-w.Context().Done():
			return
		default:
		}
		event, params := "dispatch_claim", merged(whose("w", "video"), text("operation_id", id))
		if held {
			event, params = "release", merged(params, num("revision", revision))
		}
		answer, err := w.store.Apply(w.Context(), event, params)
		if err == nil && !answer.Applied {
			err = fmt.Errorf("%s was denied: %v", event, answer.Failed)
		}
		if err == nil {
			held, revision = !held, machine.OperationOf(w.calm.Program(), answer.Row).Revision
		}
		select {
		case said <- err:
		default:
		}
	}
}

// B74: a session that is read-only is given up, so that a store with several hosts in its address finds the one that
// takes writes.
func TestASessionThatTakesNoWritesIsGivenUp(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	d.prepared("a", "video")
	admin := d.connect()
	base := pgx.Identifier{admin.Config().Database}.Sanitize()
	d.exec(admin, "ALTER DATABASE "+base+" SET default_transaction_read_only = on")
	store := d.open(d.url, pgstore.Options{MaxConns: 1})
	d.exec(admin, "ALTER DATABASE "+base+" RESET default_transaction_read_only") // for sessions that are yet to come
	claim := merged(whose("w", "video"), text("operation_id", "a"))
	if _, err := store.Apply(t.Context(), "dispatch_claim", claim); err == nil || machine.IsUnknown(err) || !strings.Contains(err.Error(), "25006") {
		t.Errorf("the store says %v, want a proven error 25006", err)
	}
	if answer, err := store.Apply(t.Context(), "dispatch_claim", claim); err != nil || !answer.Applied {
		t.Errorf("tried again: applied %t, %v", answer.Applied, err)
	}
}

// B101: after a write that was committed and reported as an error nobody believes a remembered phase: every later verb
// is judged by the row.
func TestAfterALostReplyTheRowIsAskedAndNotTheMemory(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	w := d.wire(bounded)
	l := d.at(transitions.Observing, "a", "video")
	w.arm("observe_succeeded", transitions.One, pgproxy.CutReply)
	if _, err := w.store.Apply(t.Context(), "observe_succeeded", fence(l)); !machine.IsUnknown(err) {
		t.Fatalf("the store says %v, want an unknown answer", err)
	}
	if op, err := w.engine.Get(t.Context(), "a"); err != nil || op.Outcome != "succeeded" {
		t.Errorf("the row says outcome %q, %v", op.Outcome, err)
	}
	// The holder believes that it still observes; another answer of the remote's changes nothing any more.
	for verb, err := range map[string]error{
		"pending": second(w.engine.Pending(t.Context(), l, []byte("late"), 0, "")),
		"failed":  second(w.engine.Observed(t.Context(), l, "failed", nil, "")),
		"release": second(w.engine.Release(t.Context(), l, 0, "")),
		"renew":   w.engine.Renew(t.Context(), []*machine.Lease{l})[0],
	} {
		if !denied(err) {
			t.Errorf("%s says %v, want a denial", verb, err)
		}
	}
	if op := d.op("a"); op.Outcome != "succeeded" || op.Delivery != "pending" {
		t.Errorf("the row is %s with outcome %s and delivery %s", op.Phase, op.Outcome, op.Delivery)
	}
	d.sound("a")
}

func second(_ machine.Operation, err error) error { return err }
