package pgstore_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// patient waits for locks long enough that a slow machine changes no verdict.
var patient = pgstore.Options{LockTimeout: 20 * time.Second, StatementTimeout: 30 * time.Second}

const lockRow = "SELECT FROM fencerow_operations WHERE operation_id = 'a' FOR UPDATE"

// A4, acceptance 1; report B46: now() would be the time of BEGIN.
func TestALeaseThatEndsInsideATransactionCanBeClaimedInsideIt(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.prepared("a")
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(f.ctx) }()
	inside := &fixture{T: t, Store: f.Store, ctx: f.ctx, url: f.url, byHand: f.byHand}
	store := f.InTx(tx)
	for _, step := range []struct {
		sql     string
		applied bool
		failed  []string
	}{
		{"UPDATE fencerow_operations SET lease_owner = 'gone', lease_until = clock_timestamp() + interval '300 milliseconds', revision = 1", false, []string{"lease_vacant"}},
		{"SELECT pg_sleep(0.4)", true, nil},
	} {
		if _, err := tx.Exec(f.ctx, step.sql); err != nil {
			t.Fatal(err)
		}
		answer, err := store.Apply(f.ctx, "dispatch_claim", params(claim("w"), text("operation_id", "a")))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.failed, answer.Failed); diff != "" || answer.Applied != step.applied {
			t.Errorf("after %s: applied %t (-want +got):\n%s", step.sql, answer.Applied, diff)
		}
	}
	if err := tx.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	if got := inside.op("a"); got.LeaseOwner != "w" || got.Revision != 2 {
		t.Errorf("the row is held by %q at revision %d, want by w at 2", got.LeaseOwner, got.Revision)
	}
}

// The lease ends while its holder waits for the row: whatever the one who held the row locked does then, the holder is
// denied. A plain UPDATE with the same condition writes in the last three of these cases.
func TestAHolderWhoseLeaseEndsWhileItWaitsForTheRowIsDenied(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ touch, end string }{
		"the other updates and commits":     {"UPDATE fencerow_operations SET priority = 5", "COMMIT"},
		"the other updates and rolls back":  {"UPDATE fencerow_operations SET priority = 5", "ROLLBACK"},
		"the other only locks and commits":  {lockRow, "COMMIT"},
		"the other only locks and gives up": {lockRow, "ROLLBACK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t, patient)
			f.prepared("a")
			op := f.applied("dispatch_claim", "a", claim("w"))
			other, watcher := f.connect(), f.connect()
			f.exec(watcher, "UPDATE fencerow_operations SET lease_until = clock_timestamp() + interval '1 second'")
			f.exec(other, "BEGIN")
			f.exec(other, c.touch)
			for _, event := range []string{"renew", "submit_begin"} {
				answered := f.later(event, "a", held("w", op.Revision), num("ttl_ms", 60_000))
				f.until(event+" waits", func() bool { return f.waiters(watcher) > 0 })
				defer func() {
					if diff := cmp.Diff([]string{"lease_live"}, (<-answered).Failed); diff != "" {
						t.Errorf("%s: the guards that failed (-want +got):\n%s", event, diff)
					}
				}()
			}
			f.exec(other, "SELECT pg_sleep(greatest(0, extract(epoch FROM (SELECT lease_until FROM fencerow_operations) - clock_timestamp())) + 0.05)")
			f.exec(other, c.end)
		})
	}
}

// later fires an event on another goroutine.
func (f *fixture) later(event, id string, sets ...transitions.Params) <-chan machine.Answer {
	answered := make(chan machine.Answer, 1)
	go func() {
		answer, err := f.Apply(f.ctx, event, params(append(sets, text("operation_id", id))...))
		if err != nil {
			f.Errorf("fire %s: %v", event, err)
		}
		answered <- answer
	}()
	return answered
}

// Acceptance 3.
func TestAClaimThatWaitsForAnotherIsDeniedAfterItsCommitAndGrantedAfterItsRollback(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end     func(pgx.Tx) error
		applied bool
		failed  []string
		owner   string
	}{
		{func(tx pgx.Tx) error { return tx.Commit(context.Background()) }, false, []string{"lease_vacant"}, "first"},
		{func(tx pgx.Tx) error { return tx.Rollback(context.Background()) }, true, nil, "second"},
	} {
		t.Run("held in the end by the "+c.owner, func(t *testing.T) {
			t.Parallel()
			f := open(t, patient)
			f.prepared("a")
			watcher := f.connect()
			tx, err := f.connect().Begin(f.ctx)
			if err != nil {
				t.Fatal(err)
			}
			first, err := f.InTx(tx).Apply(f.ctx, "dispatch_claim", params(claim("first"), text("operation_id", "a")))
			if err != nil || !first.Applied {
				t.Fatalf("the first claim: %+v, %v", first, err)
			}
			answered := f.later("dispatch_claim", "a", claim("second"))
			f.until("the second claim waits", func() bool { return f.waiters(watcher) == 1 })
			// A batch passes by what is locked instead of waiting.
			taken, err := f.Take(f.ctx, "dispatch_claim", params(claim("third"), num("limit", 10)))
			if err != nil || len(taken) != 0 {
				t.Errorf("a batch took %d rows with %v, want none", len(taken), err)
			}
			if err := c.end(tx); err != nil {
				t.Fatal(err)
			}
			second := <-answered
			if diff := cmp.Diff(c.failed, second.Failed); diff != "" || second.Applied != c.applied {
				t.Errorf("the second claim: applied %t (-want +got):\n%s", second.Applied, diff)
			}
			if got := f.op("a"); got.LeaseOwner != c.owner || got.Revision != 1 {
				t.Errorf("the row is held by %q at revision %d, want by %s at 1", got.LeaseOwner, got.Revision, c.owner)
			}
		})
	}
}

// Acceptance 3.
func TestManyClaimersHoldEveryOperationOnce(t *testing.T) {
	t.Parallel()
	const claimers, operations = 8, 200
	f := open(t, pgstore.Options{MaxConns: claimers, Prepare: true})
	var requests []transitions.Params
	var want []string
	for i := range operations {
		id := fmt.Sprintf("op-%03d", i)
		want = append(want, id)
		requests = append(requests, request(id))
	}
	if _, err := f.ApplyMany(f.ctx, "prepare", requests); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var held []string
	var done sync.WaitGroup
	for n := range claimers {
		done.Go(func() {
			for try := range 400 {
				var got []transitions.Row
				var err error
				if n%2 == 0 {
					got, err = f.Take(f.ctx, "dispatch_claim", params(claim(fmt.Sprintf("batch-%d", n)), num("limit", 5)))
				} else {
					id := want[(n*operations/claimers+try)%operations]
					var answer machine.Answer
					answer, err = f.Apply(f.ctx, "dispatch_claim", params(claim(fmt.Sprintf("one-%d", n)), text("operation_id", id)))
					if answer.Applied {
						got = []transitions.Row{answer.Row}
					}
				}
				if err != nil {
					t.Errorf("claim: %v", err)
					return
				}
				mu.Lock()
				for _, row := range got {
					held = append(held, machine.OperationOf(f.Program(), row).OperationID)
				}
				all := len(held) >= operations
				mu.Unlock()
				if all {
					return
				}
			}
		})
	}
	done.Wait()
	slices.Sort(held)
	if diff := cmp.Diff(want, held); diff != "" {
		t.Errorf("what was held, each once (-want +got):\n%s", diff)
	}
	for _, id := range want {
		if got := f.op(id).Revision; got != 1 {
			t.Errorf("%s is at revision %d after one claim", id, got)
		}
	}
}

// opened is another store on the same tables, whose sessions have settings of their own.
func (f *fixture) opened(settings string, o pgstore.Options) *pgstore.Store {
	f.Helper()
	store, err := pgstore.Open(f.ctx, f.url+settings, o)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	return store
}

// The planner believes that nothing is due, and joins in loops: a subselect with a LIMIT would be run once a row there.
func TestABatchKeepsItsLimitUnderStaleStatistics(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	const loops = "&enable_hashjoin=off&enable_mergejoin=off&enable_material=off"
	stores := []*pgstore.Store{f.Store, f.opened(loops, pgstore.Options{})}
	for _, settings := range []string{"", loops, "&plan_cache_mode=force_generic_plan", loops + "&plan_cache_mode=force_generic_plan"} {
		stores = append(stores, f.opened(settings, pgstore.Options{Prepare: true, MaxConns: 1}))
	}
	var requests []transitions.Params
	for i := range 600 {
		requests = append(requests, params(request(fmt.Sprintf("op-%03d", i)), text("provider", "none")))
	}
	if _, err := f.ApplyMany(f.ctx, "prepare", requests); err != nil {
		t.Fatal(err)
	}
	conn := f.connect()
	f.exec(conn, "ALTER TABLE fencerow_operations SET (autovacuum_enabled = off)")
	f.exec(conn, "ANALYZE fencerow_operations")
	f.exec(conn, "UPDATE fencerow_operations SET provider = 'video'")
	total := 0
	for _, store := range stores {
		for _, limit := range []int{1, 3, 64} {
			taken, err := store.Take(f.ctx, "dispatch_claim", params(claim("w"), num("limit", int64(limit))))
			if err != nil {
				t.Fatal(err)
			}
			if len(taken) != limit {
				t.Errorf("a batch of at most %d took %d", limit, len(taken))
			}
			total += limit
		}
	}
	var bumped int
	if err := conn.QueryRow(f.ctx, "SELECT count(*) FROM fencerow_operations WHERE revision > 0").Scan(&bumped); err != nil {
		t.Fatal(err)
	}
	if bumped != total {
		t.Errorf("%d rows were changed by batches that gave %d", bumped, total)
	}
}

// Two answers name the same remote job: whoever comes second is told so, and its own row as it is.
func TestTheSecondToStoreARemoteJobIDIsDenied(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		end  string
		want machine.Answer
	}{
		{"COMMIT", machine.Answer{Exists: true, Failed: []string{"remote_job_id_free"}}},
		{"ROLLBACK", machine.Answer{Exists: true, Applied: true}},
	} {
		t.Run(c.end, func(t *testing.T) {
			t.Parallel()
			f := open(t, patient)
			job := text("remote_job_id", "job-1")
			for _, id := range []string{"a", "b"} {
				f.prepared(id)
				f.applied("dispatch_claim", id, claim("w"))
				f.applied("submit_begin", id, held("w", 1))
			}
			conn, watcher := f.connect(), f.connect()
			tx, err := conn.Begin(f.ctx)
			if err != nil {
				t.Fatal(err)
			}
			first, err := f.InTx(tx).Apply(f.ctx, "submit_accepted", params(held("w", 1), job, text("operation_id", "a")))
			if err != nil || !first.Applied {
				t.Fatalf("the first: %+v, %v", first, err)
			}
			answered := f.later("submit_accepted", "b", held("w", 1), job)
			f.until("the second waits", func() bool { return f.waiters(watcher) == 1 })
			f.exec(conn, c.end)
			got := <-answered
			if diff := cmp.Diff(c.want, machine.Answer{Applied: got.Applied, Exists: got.Exists, Failed: got.Failed}); diff != "" {
				t.Errorf("the second (-want +got):\n%s", diff)
			}
			if op := machine.OperationOf(f.Program(), got.Row); !got.Applied && (op.Phase != transitions.Submitting || op.OperationID != "b") {
				t.Errorf("the row as it was seen is %s in %s", op.OperationID, op.Phase)
			}
		})
	}
}

func TestASweepAttachesAnIDToOneOfTwoThatWantIt(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.prepared("a", "b", "c")
	f.exec(f.connect(), `UPDATE fencerow_operations SET phase = 'uncertain', next_action = 'review',
		late_remote_job_id = CASE operation_id WHEN 'c' THEN 'job-c' ELSE 'job-1' END`)
	var attached []string
	for range 3 {
		rows, err := f.Take(f.ctx, "evidence_attach", num("limit", 10))
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			attached = append(attached, machine.OperationOf(f.Program(), row).OperationID)
		}
	}
	slices.Sort(attached)
	if diff := cmp.Diff([]string{"a", "c"}, attached); diff != "" {
		t.Errorf("attached in three sweeps (-want +got):\n%s", diff)
	}
}

func TestAPrepareThatMeetsAnotherOfTheSameIDShowsItsRow(t *testing.T) {
	t.Parallel()
	f := open(t, patient)
	watcher := f.connect()
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.InTx(tx).Apply(f.ctx, "prepare", params(request("a"), num("priority", 7))); err != nil {
		t.Fatal(err)
	}
	one := f.later("prepare", "a", request("a"))
	many := make(chan []machine.Answer, 1)
	go func() {
		answers, err := f.ApplyMany(f.ctx, "prepare", []transitions.Params{request("b"), request("a")})
		if err != nil {
			t.Errorf("prepare both: %v", err)
		}
		many <- answers
	}()
	f.until("both wait", func() bool { return f.waiters(watcher) == 2 })
	if err := tx.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	both := <-many
	for _, got := range []machine.Answer{<-one, both[1]} {
		if got.Applied || !got.Exists || machine.OperationOf(f.Program(), got.Row).Priority != 7 {
			t.Errorf("the answer is %+v, want the row that the other made", got)
		}
	}
	if !both[0].Applied {
		t.Error("the operation beside it was not prepared")
	}
}
