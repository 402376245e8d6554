package pgstore_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// uncertain is what an outage leaves behind: 100,000 operations that nobody can know about, with their history and the
// answer of a gateway each, among 50,000 that are done. A few are marked.
var uncertain = []string{
	"ALTER TABLE fencerow_operations SET UNLOGGED", "ALTER TABLE fencerow_history SET UNLOGGED", "ALTER TABLE fencerow_evidence SET UNLOGGED",
	"ALTER TABLE fencerow_operations SET (autovacuum_enabled = off)",
	"ALTER TABLE fencerow_history SET (autovacuum_enabled = off)", "ALTER TABLE fencerow_evidence SET (autovacuum_enabled = off)",
	`INSERT INTO fencerow_operations (operation_id, kind, provider, account, phase, next_action, request, outcome, uncertain_reason, duplicate_suspected, attempts, submitted_at, created_at, updated_at)
	SELECT 'clip-' || n, 'video', 'video', 'main', CASE WHEN n <= 100000 THEN 'uncertain' ELSE 'terminal' END, CASE WHEN n <= 100000 THEN 'review' END, '{}',
		CASE WHEN n > 100000 THEN 'succeeded' END, CASE WHEN n <= 100000 THEN 'no_response' END, n % 10000 = 0, 1, now(), now() - n * interval '1 second', now()
	FROM generate_series(1, 150000) AS n`,
	`INSERT INTO fencerow_history (operation_id, event, from_phase, to_phase, owner, revision, changes, at)
	SELECT 'clip-' || n, e.event, e.was, e.becomes, 'host', 1, '{}', now()
	FROM (VALUES ('submit_begin', 'prepared', 'submitting'), ('submit_unknown', 'submitting', 'uncertain')) AS e(event, was, becomes), generate_series(1, 100000) AS n`,
	`INSERT INTO fencerow_evidence (operation_id, provider, account, kind, detail, at)
	SELECT 'clip-' || n, 'video', 'main', 'answer', '502 Bad Gateway', now() FROM generate_series(1, 100000) AS n`,
}

// part is a part of the server's plan, with what it came to.
type part struct {
	Kind     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Plans    []part
}

// looked counts the rows that its scans came by, and names those that read a whole table.
func (p part) looked() (rows float64, whole []string) {
	if p.Relation != "" {
		rows = (p.Rows + p.Filtered) * max(1, p.Loops)
		if p.Kind == "Seq Scan" {
			whole = append(whole, p.Relation)
		}
	}
	for _, inner := range p.Plans {
		more, names := inner.looked()
		rows, whole = rows+more, append(whole, names...)
	}
	return rows, whole
}

func (f *fixture) planOf(conn *pgx.Conn, r *persist.Reader, args ...any) part {
	f.Helper()
	if len(args) != len(r.Params) {
		f.Fatalf("%s takes %v", r.Name, r.Params)
	}
	var text string
	err := conn.QueryRow(f.ctx, "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "+r.SQL, append([]any{pgx.QueryExecModeExec}, args...)...).Scan(&text)
	if err != nil {
		f.Fatalf("explain %s: %v", r.Name, err)
	}
	var plans []struct{ Plan part }
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
		f.Fatalf("read the plan of %s: %v", r.Name, err)
	}
	return plans[0].Plan
}

// Contract D2: among 100,000 uncertain operations a page comes by no more rows than it shows, wherever it begins, with the
// planner's statistics and without them as after a bulk load; and no statement of it reads a whole table. Only a page of a
// selection needs the statistics: without them PostgreSQL takes every filter for rare.
func TestAPageOfTheReviewListReadsNothingOfTheRest(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	conn := f.connect()
	for _, statement := range uncertain {
		f.exec(conn, statement)
	}
	set, err := persist.Compile(f.Program(), persist.PostgreSQL, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	const limit = 100
	ids := make([]string, limit)
	for i := range ids {
		ids[i] = fmt.Sprint("clip-", 900*(i+1))
	}
	begin, none := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), any(nil)
	const analyze = "ANALYZE fencerow_operations, fencerow_history, fencerow_evidence"
	for _, statistics := range []string{"SELECT 1", analyze} {
		f.exec(conn, statistics)
		for _, q := range []struct {
			name string
			most float64 // rows that it may come by
			args []any
		}{
			{persist.ReadReview, 2 * limit, []any{0, begin, "", none, none, none, none, none, none, limit}},
			{persist.ReadReview, 2 * limit, []any{2, time.Now().Add(-50_000 * time.Second), "clip-5", none, none, none, none, none, none, limit}},
			{persist.ReadReviewCount, 2 * 100_000, []any{0, none, none, none, none, none, none}},
			{persist.ReadRecent, 12 * limit, []any{ids, 5}},
			{persist.ReadTraces, 4 * limit, []any{ids, 5, 1024}},
			{persist.ReadRedone, limit, []any{ids}},
		} {
			rows, whole := f.planOf(conn, set.Reader(q.name), q.args...).looked()
			if rows > q.most {
				t.Errorf("after %q %s %v came by %.0f rows, want at most %.0f", statistics, q.name, q.args, rows, q.most)
			}
			for _, relation := range whole {
				if q.name != persist.ReadReviewCount { // which two thirds of the rows are about
					t.Errorf("after %q %s %v reads the whole of %s", statistics, q.name, q.args, relation)
				}
			}
		}
	}
	selected := []any{2, begin, "", "no_response", "video", "video", "main", none, none, limit}
	if rows, whole := f.planOf(conn, set.Reader(persist.ReadReview), selected...).looked(); rows > 2*limit || whole != nil {
		t.Errorf("after %q the page of a selection came by %.0f rows, whole tables %v", analyze, rows, whole)
	}
	f.pagesQuickly(limit)
}

// pagesQuickly pages through the list as machine.Reviews does, and holds the middle page to a bound for a busy machine.
func (f *fixture) pagesQuickly(limit int) {
	f.Helper()
	m, err := machine.New(f.Store, machine.Config{})
	if err != nil {
		f.Fatal(err)
	}
	var took []time.Duration
	var after machine.ReviewCursor
	for range 20 {
		began := time.Now()
		page, err := m.Reviews(f.ctx, machine.ReviewQuery{Limit: limit, After: after})
		took = append(took, time.Since(began))
		if err != nil || len(page.Operations) != limit {
			f.Fatalf("%d operations, %v", len(page.Operations), err)
		}
		for _, w := range page.Operations {
			if w.Phase == transitions.Uncertain && (w.Sent.Owner != "host" || len(w.Evidence) != 1) {
				f.Fatalf("%s: sent by %q, %d pieces of evidence", w.OperationID, w.Sent.Owner, len(w.Evidence))
			}
		}
		after = page.Operations[limit-1].Cursor()
	}
	slices.Sort(took)
	f.Logf("pages of %d of 100,000 took %s in the middle and %s at the most", limit, took[10], took[19])
	if took[10] > 2*time.Second {
		f.Errorf("half of the pages took more than %s", took[10])
	}
}
