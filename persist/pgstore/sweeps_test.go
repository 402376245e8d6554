package pgstore_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/reconcile"
)

// late leaves operations with late ids, due for so long that they come in this order, and a transaction of somebody's
// that stores the first one's id for another operation and does not end. It gives what ends it.
func (f *fixture) late(ids ...string) {
	f.Helper()
	for _, id := range append([]string{"other"}, ids...) {
		f.example("evidence_attach", id)
	}
	conn := f.connect()
	f.exec(conn, "UPDATE fencerow_operations SET lease_until = NULL, lease_owner = NULL, late_remote_job_id = 'job-' || operation_id")
	f.exec(conn, "UPDATE fencerow_operations SET late_remote_job_id = NULL WHERE operation_id = 'other'")
	for n, id := range ids {
		f.exec(conn, "UPDATE fencerow_operations SET due_at = statement_timestamp() - $2::int * interval '1 minute' WHERE operation_id = $1", id, 100-n)
	}
}

// Contract D1, lifecycle invariant 7: one operation whose late id somebody is just storing keeps no other from being
// attached.
func TestASweepAttachesTheOthersWhileSomebodyStoresOneID(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{LockTimeout: 50 * time.Millisecond, StatementTimeout: 20 * time.Second})
	f.late("a", "b", "c")
	holder := f.connect()
	f.exec(holder, "BEGIN; UPDATE fencerow_operations SET remote_job_id = 'job-a' WHERE operation_id = 'other'")
	defer f.exec(holder, "ROLLBACK")
	m, err := machine.New(f.Store, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := reconcile.New(m, reconcile.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		_, err = r.Once(f.ctx)
	}
	got := map[string]string{}
	for _, id := range []string{"b", "c"} {
		got[id] = f.op(id).RemoteJobID
	}
	if diff := cmp.Diff(map[string]string{"b": "job-b", "c": "job-c"}, got); diff != "" {
		t.Errorf("the jobs, after three sweeps (-want +got):\n%s\nthe reconciler says: %v", diff, err)
	}
}

// Lifecycle: evidence never waits for an owner. A sweep that waits for one id holds the rows of its page, but only for a
// moment.
func TestASweepThatWaitsHoldsUpNoEvidence(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.late("b", "a")
	holder, watcher := f.connect(), f.connect()
	f.exec(holder, "BEGIN; UPDATE fencerow_operations SET remote_job_id = 'job-a' WHERE operation_id = 'other'")
	defer f.exec(holder, "ROLLBACK")
	swept := make(chan error, 1)
	go func() {
		_, err := f.Take(f.ctx, "evidence_attach", params(num("limit", 10)))
		swept <- err
	}()
	f.until("the sweep waits", func() bool { return f.waiters(watcher) == 1 })
	m, err := machine.New(f.Store, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = m.Note(f.ctx, "b", machine.Evidence{Kind: machine.EvidenceAnswer, Raw: []byte("late")})
	if took := time.Since(began); err != nil || took > 500*time.Millisecond {
		t.Errorf("a note about b took %s: %v", took.Round(time.Millisecond), err)
	}
	t.Logf("the sweep: %v", <-swept)
}

// A sweep holds the rows of its page while it waits for an id, for less than PostgreSQL's deadlock_timeout: no transaction
// of a caller's is ended for it.
func TestASweepEndsNoTransactionOfACallers(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.late("b", "a", "c")
	f.example("evidence_attach", "second")
	first, second, watcher := f.connect(), f.connect(), f.connect()
	f.exec(watcher, "UPDATE fencerow_operations SET lease_until = NULL, lease_owner = NULL, late_remote_job_id = NULL WHERE operation_id = 'second'")
	f.exec(first, "BEGIN; UPDATE fencerow_operations SET remote_job_id = 'job-a' WHERE operation_id = 'other'")
	f.exec(second, "BEGIN; UPDATE fencerow_operations SET remote_job_id = 'job-c' WHERE operation_id = 'second'")
	defer func() { _, _ = second.Exec(context.Background(), "ROLLBACK") }()
	swept := make(chan error, 1)
	go func() {
		_, err := f.Take(f.ctx, "evidence_attach", params(num("limit", 10)))
		swept <- err
	}()
	f.until("the sweep waits for job-a", func() bool { return f.waiters(watcher) == 1 })
	callers := make(chan error, 1)
	go func() { // the caller goes on, in its transaction, to another operation
		_, err := second.Exec(f.ctx, "UPDATE fencerow_operations SET priority = 1 WHERE operation_id = 'b'")
		callers <- err
	}()
	f.until("the caller waits for the sweep", func() bool { return f.waiters(watcher) == 2 })
	time.Sleep(700 * time.Millisecond) // sleep: less than deadlock_timeout, which is 1 s
	f.exec(first, "ROLLBACK")
	err := <-callers
	t.Logf("the sweep: %v", <-swept)
	if err != nil {
		t.Errorf("the caller's transaction: %v", err)
	}
}

// Contract A9: each bound that is hit is reported as what it is, with the operation that it is about.
func TestASweepSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{LockTimeout: 50 * time.Millisecond, StatementTimeout: 20 * time.Second})
	f.late("a")
	holder := f.connect()
	f.exec(holder, "BEGIN; UPDATE fencerow_operations SET remote_job_id = 'job-a' WHERE operation_id = 'other'")
	defer f.exec(holder, "ROLLBACK")
	_, err := f.Take(f.ctx, "evidence_attach", params(num("limit", 10)))
	if err == nil || !strings.Contains(err.Error(), "storing the same id") || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("the sweep passes locked rows by, and says: %v", err)
	}
}
