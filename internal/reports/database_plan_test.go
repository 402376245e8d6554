package reports_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// pile is what lies in a table that was in use for long: finished and uncertain operations, some that are looked after
// just now, and a thousand that are due.
const pile = `INSERT INTO fencerow_operations (operation_id, kind, provider, account, phase, next_action, request, remote_job_id,
	outcome, delivery, uncertain_reason, lease_owner, lease_until, due_at, created_at, updated_at)
SELECT s.name || '-' || n, 'video', 'video', '', s.phase, s.next_action, '{}', CASE WHEN s.job THEN s.name || n END, s.outcome, s.delivery, s.reason,
	s.owner, clock_timestamp() + s.lease, clock_timestamp() + s.due, clock_timestamp(), clock_timestamp()
FROM (VALUES
	('delivered', 'terminal', NULL, true, 'succeeded', 'delivered', NULL, NULL, NULL::interval, NULL::interval, 100000),
	('failed', 'terminal', NULL, true, 'failed', NULL, NULL, NULL, NULL, NULL, 70000),
	('undelivered', 'terminal', NULL, true, 'succeeded', 'failed', NULL, NULL, NULL, NULL, 30000),
	('review', 'uncertain', 'review', false, NULL, NULL, 'no_response', NULL, NULL, NULL, 30000),
	('investigated', 'uncertain', 'investigate', false, NULL, NULL, 'no_response', NULL, NULL, '-1 hour', 20000),
	('active', 'observing', 'observe', true, NULL, NULL, NULL, 'w', '1 hour', '-1 hour', 5000),
	('due', 'prepared', 'dispatch', false, NULL, NULL, NULL, NULL, NULL, '-1 minute', 1000)
) AS s(name, phase, next_action, job, outcome, delivery, reason, owner, lease, due, rows), generate_series(1, s.rows) AS n`

// node is a part of the server's plan, with what it came to.
type node struct {
	Kind      string  `json:"Node Type"`
	Relation  string  `json:"Relation Name"`
	Index     string  `json:"Index Name"`
	Rows      float64 `json:"Actual Rows"`
	Loops     float64 `json:"Actual Loops"`
	Filtered  float64 `json:"Rows Removed by Filter"`
	Rechecked float64 `json:"Rows Removed by Index Recheck"`
	Hit       int     `json:"Shared Hit Blocks"`
	Read      int     `json:"Shared Read Blocks"`
	Plans     []node
}

// looked counts the rows of the operations table that the plan's scans came by.
func (n node) looked() float64 {
	sum := 0.0
	if n.Relation == "fencerow_operations" && n.Kind != "ModifyTable" {
		sum = (n.Rows + n.Filtered + n.Rechecked) * max(1, n.Loops)
	}
	for _, p := range n.Plans {
		sum += p.looked()
	}
	return sum
}

// explained runs a statement with its plan, and takes back what it did.
func (s *stand) explained(statement *persist.Statement, params transitions.Params) node {
	s.Helper()
	ctx := context.Background()
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, "SET LOCAL statement_timeout = '15s'"); err != nil {
		s.Fatal(err)
	}
	args := []any{pgx.QueryExecModeExec}
	for _, name := range statement.Params {
		args = append(args, s.plain(params[name]))
	}
	var text string
	if err := tx.QueryRow(ctx, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) "+statement.SQL, args...).Scan(&text); err != nil {
		s.Fatalf("explain %s: %v", statement.Event, err)
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &plans); err != nil || len(plans) != 1 {
		s.Fatalf("read the plan of %s: %v", statement.Event, err)
	}
	return plans[0].Plan
}

// B84: among 200,000 finished operations, 50,000 uncertain ones and 5,000 under a lease a claim comes by no more than it
// takes, and a sweep by hardly any, with the planner's statistics and without them as after a bulk load; and it is quick
// (rules: the index of due work, without what is not due and by what a claim fixes; an index of its own for each sweep).
func TestB84AClaimReadsNothingOfWhatLiesAbout(t *testing.T) {
	t.Parallel()
	s := onPostgres(t)
	for _, statement := range []string{
		"ALTER TABLE fencerow_operations SET UNLOGGED", // only to be loaded sooner
		"ALTER TABLE fencerow_operations SET (autovacuum_enabled = off)", pile,
	} {
		if err := s.exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	const limit = 10
	params := transitions.Params{
		"owner": transitions.TextValue("w"), "ttl_ms": transitions.IntValue(60_000), "provider": transitions.TextValue("video"),
		"account": transitions.TextValue(""), persist.Limit: transitions.IntValue(limit),
	}
	set, err := persist.Compile(s.store.Program(), persist.PostgreSQL, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	for _, statistics := range []string{"SELECT 1", "ANALYZE fencerow_operations"} {
		if err := s.exec(statistics); err != nil {
			t.Fatal(err)
		}
		for i := range set.Statements {
			statement := &set.Statements[i]
			if statement.Form != transitions.Batch && statement.Form != transitions.Sweep {
				continue
			}
			plan := s.explained(statement, params)
			// Each row is read to lock it and again to write it, and once more to see that there is a next one.
			if looked := plan.looked(); looked > 5*limit {
				t.Errorf("after %q %s came by %.0f rows for %d", statistics, statement.Event, looked, limit)
			}
			if blocks := plan.Hit + plan.Read; blocks > 1000 {
				t.Errorf("after %q %s touched %d blocks for %d rows", statistics, statement.Event, blocks, limit)
			}
		}
	}
	s.claimsQuickly(limit)
}

// claimsQuickly claims what is due, ten at a time, and holds the slowest but one to a bound for a busy machine.
func (s *stand) claimsQuickly(limit int) {
	s.Helper()
	var took []time.Duration
	for range 100 {
		began := time.Now()
		leases, err := s.machine.ClaimMany(context.Background(), transitions.Dispatch, video, limit)
		took = append(took, time.Since(began))
		if err != nil || len(leases) != limit {
			s.Fatalf("claimed %d, %v", len(leases), err)
		}
	}
	slices.Sort(took)
	s.Logf("claims of %d took %s in the middle and %s at the 99th percentile", limit, took[50], took[98])
	if took[50] > 100*time.Millisecond {
		s.Errorf("half of the claims took more than %s", took[50])
	}
}
