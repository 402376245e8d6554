package pgstore_test

import (
	"log/slog"
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
// attached. While that transaction stays open, no late id of anybody's is attached, in no sweep.
func TestAttackASweepAttachesTheOthersWhileSomebodyStoresOneID(t *testing.T) {
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
		got[id] = f.op(id).Phase
	}
	if diff := cmp.Diff(map[string]string{"b": "submitted", "c": "submitted"}, got); diff != "" {
		t.Errorf("after three sweeps (-want +got):\n%s\nthe reconciler says: %v", diff, err)
	}
}
