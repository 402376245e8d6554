package pgstore_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
)

// finished fills the tables with operations that ended a day ago, with their history and evidence.
func (f *fixture) finished(n int) {
	f.Helper()
	conn := f.connect()
	for _, table := range []string{"operations", "history", "evidence"} {
		f.exec(conn, fmt.Sprintf("ALTER TABLE fencerow_%s SET (autovacuum_enabled = off)", table))
	}
	f.exec(conn, `INSERT INTO fencerow_operations (operation_id, kind, provider, account, phase, request, outcome, remote_job_id, revision, created_at, updated_at)
		SELECT 'op-' || lpad(n::text, 6, '0'), 'clip', 'video', 'main', 'terminal', '{}', 'succeeded', 'job-' || n, 3, now() - interval '2 days', now() - interval '1 day'
		FROM generate_series(1, $1) AS n`, n)
	f.exec(conn, `INSERT INTO fencerow_history (operation_id, event, from_phase, to_phase, owner, revision, reason, changes, at)
		SELECT 'op-' || lpad(n::text, 6, '0'), 'observe_succeeded', 'observing', 'terminal', 'w', 3, 'row ' || e, '{}', now()
		FROM generate_series(1, 3) AS e, generate_series(1, $1) AS n`, n)
	f.exec(conn, `INSERT INTO fencerow_evidence (operation_id, provider, account, kind, detail, at)
		SELECT 'op-' || lpad(n::text, 6, '0'), 'video', 'main', 'answer', '200 OK', now() FROM generate_series(1, $1) AS n`, n)
}

// However many operations there are, no statement of a prune comes by more than a page of them, and none reads a whole
// table. Without the planner's statistics that holds of what looks for them; the deletion may find it cheaper then to read
// the whole of a table that is no larger than this one.
func TestAPruneReadsNothingBeyondItsPage(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.finished(50_000)
	set, err := persist.Compile(f.Program(), persist.PostgreSQL, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	conn := f.connect()
	const page, limit, hour = machine.PruneIDs, machine.PruneLimit, 3_600_000
	none := any(nil)
	for round, statistics := range []string{"SELECT 1", "ANALYZE fencerow_operations, fencerow_history, fencerow_evidence"} {
		f.exec(conn, statistics)
		ids, revisions, seqs := []string{}, []int64{}, []int64{}
		for i := range limit {
			ids, revisions, seqs = append(ids, fmt.Sprintf("op-%06d", 20_000+1000*round+i)), append(revisions, 3), append(seqs, 0)
		}
		remove := &persist.Reader{Name: "prune", SQL: set.Prune.SQL, Params: set.Prune.Params}
		for _, q := range []struct {
			reader *persist.Reader
			most   float64
			args   []any
		}{
			{set.Reader(persist.ReadPrunePage), 2 * page, []any{"", page}},
			{set.Reader(persist.ReadPrunePage), 2 * page, []any{"op-025000", page}},
			{set.Reader(persist.ReadPrunable), 5 * page, []any{"op-025000", "op-026000", hour, none, none, none, none, limit}},
			{set.Reader(persist.ReadPrunable), 5 * page, []any{"op-025000", "op-026000", hour, "failed", "clip", "video", "main", limit}},
			{set.Reader(persist.ReadHistories), 4 * limit, []any{ids[:25]}},
			{set.Reader(persist.ReadTestimony), 4 * limit, []any{ids[:25]}},
			{remove, 20 * limit, []any{ids, revisions, seqs, hour}},
		} {
			rows, whole := f.planOf(conn, q.reader, q.args...).looked()
			if (rows > q.most || whole != nil) && (round > 0 || q.reader != remove) {
				t.Errorf("after %q %s came by %.0f rows, want at most %.0f; it read the whole of %v", statistics, q.reader.Name, rows, q.most, whole)
			}
		}
		for _, id := range []string{ids[0], ids[limit-1]} {
			if history, err := f.History(f.ctx, id); err != nil || len(history) != 1 || history[0].Reason != "row 3" {
				t.Errorf("the history of %s, which was pruned: %v, %v", id, history, err)
			}
		}
	}
}

// Several that prune the same at once prune it once: nothing waits, and no history has two rows that stand for it.
func TestSeveralPrunesAtOnceLeaveOneRowOfHistoryEach(t *testing.T) {
	t.Parallel()
	const many, several = 2000, 4
	f := open(t, pgstore.Options{MaxConns: several})
	f.finished(many)
	q := machine.PruneQuery{OlderThan: time.Hour, Page: many, Limit: 100}
	var group sync.WaitGroup
	var mu sync.Mutex
	var pruned []string
	for !t.Failed() {
		page, err := f.Prunable(f.ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Found) == 0 {
			break
		}
		for range several {
			group.Go(func() {
				ids, err := f.Prune(f.ctx, q, page.Found)
				mu.Lock()
				defer mu.Unlock()
				pruned = append(pruned, ids...)
				if err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	slices.Sort(pruned)
	if distinct := len(slices.Compact(slices.Clone(pruned))); len(pruned) != many || distinct != many {
		t.Errorf("%d operations were pruned, %d of them different, of %d", len(pruned), distinct, many)
	}
	var rows, whose, evidence int
	err := f.connect().QueryRow(f.ctx, "SELECT count(*), count(DISTINCT operation_id), (SELECT count(*) FROM fencerow_evidence) FROM fencerow_history").Scan(&rows, &whose, &evidence)
	if err != nil || rows != many || whose != many || evidence != 0 {
		t.Errorf("%d rows of history of %d operations, %d of evidence, %v", rows, whose, evidence, err)
	}
}

// An operation that somebody is just changing is passed by, not waited for.
func TestAPruneWaitsForNobody(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.finished(3)
	conn := f.connect()
	f.exec(conn, "BEGIN")
	f.exec(conn, "SELECT FROM fencerow_operations WHERE operation_id = 'op-000002' FOR UPDATE")
	m, err := machine.New(f.Store, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := m.Prune(f.ctx, machine.Pruning{PruneQuery: machine.PruneQuery{OlderThan: time.Hour}})
	if want := (machine.PruneResult{Found: 3, Pruned: 2, Moved: 1, After: "op-000003", Done: true}); err != nil || r != want {
		t.Errorf("got %+v, %v, want %+v", r, err, want)
	}
}

// Inside a transaction of the caller's a prune is undone with it, by pgx and by database/sql.
func TestAPruneInsideATransactionEndsWithIt(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.finished(3)
	q := machine.PruneQuery{OlderThan: time.Hour}
	for name, begin := range map[string]func() (machine.Store, func() error){
		"pgx": func() (machine.Store, func() error) {
			tx, err := f.connect().Begin(f.ctx)
			if err != nil {
				t.Fatal(err)
			}
			return f.InTx(tx), func() error { return tx.Rollback(f.ctx) }
		},
		"database/sql": func() (machine.Store, func() error) {
			config, err := pgx.ParseConfig(f.url)
			if err != nil {
				t.Fatal(err)
			}
			db := stdlib.OpenDB(*config)
			t.Cleanup(func() { _ = db.Close() })
			tx, err := db.BeginTx(f.ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			return f.InSQLTx(tx), tx.Rollback
		},
	} {
		store, rollback := begin()
		p := store.(machine.Pruner)
		page, err := p.Prunable(f.ctx, q)
		if err != nil || len(page.Found) != 3 {
			t.Fatalf("%s: found %v, %v", name, page, err)
		}
		history, evidence, err := p.Traces(f.ctx, "op-000001", "op-000003")
		if err != nil || len(history) != 6 || len(evidence) != 2 {
			t.Errorf("%s: %d rows of history, %d of evidence, %v", name, len(history), len(evidence), err)
		}
		if pruned, err := p.Prune(f.ctx, q, page.Found); err != nil || len(pruned) != 3 {
			t.Errorf("%s: pruned %v, %v", name, pruned, err)
		}
		if err := rollback(); err != nil {
			t.Fatal(err)
		}
		if history, err := f.History(f.ctx, "op-000001"); err != nil || len(history) != 3 {
			t.Errorf("%s: after the rollback there are %d rows of history, %v", name, len(history), err)
		}
	}
}

// Of two prunes, the second may see the tables as they were before the first was done, and have the rows after it was: it
// must not write a second row in the place of a history that is gone.
func TestAPruneThatSeesWhatAnotherTookAwayWritesNothing(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.finished(3)
	set, err := persist.Compile(f.Program(), persist.PostgreSQL, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	// It waits where it has its snapshot and no row yet.
	const from = `FROM "fencerow_operations" AS o`
	late := strings.Replace(set.Prune.SQL, from, "FROM (SELECT pg_advisory_xact_lock_shared(7)) AS waits, "+strings.TrimPrefix(from, "FROM "), 1)
	holder, second := f.connect(), f.connect()
	f.exec(holder, "SELECT pg_advisory_lock(7)")
	ids := []string{"op-000001", "op-000002", "op-000003"}
	ended := make(chan error, 1)
	var pruned []string
	go func() {
		rows, err := second.Query(f.ctx, late, ids, []int64{3, 3, 3}, []int64{0, 0, 0}, int64(3_600_000))
		if err == nil {
			pruned, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		ended <- err
	}()
	for waits := false; !waits; {
		const look = "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND pid = $1"
		if err := holder.QueryRow(f.ctx, look, second.PgConn().PID()).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			t.Fatalf("it did not wait: %v, %v", pruned, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
	q := machine.PruneQuery{OlderThan: time.Hour}
	page, err := f.Prunable(f.ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	first, err := f.Prune(f.ctx, q, page.Found)
	if diff := cmp.Diff(ids, first); diff != "" || err != nil {
		t.Errorf("the first pruned, %v (-want +got):\n%s", err, diff)
	}
	f.exec(holder, "SELECT pg_advisory_unlock(7)")
	if err := <-ended; err != nil || len(pruned) > 0 {
		t.Errorf("the second pruned %v, %v", pruned, err)
	}
	for _, id := range ids {
		if history, err := f.History(f.ctx, id); err != nil || len(history) != 1 {
			t.Errorf("%s has %d rows of history, %v", id, len(history), err)
		}
	}
}
