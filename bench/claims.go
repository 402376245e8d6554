package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// claims claims batches out of a table with so much in it, and gives them back.
type claims struct {
	*engine
	due bool // some are due; else every claim finds nothing
}

// batch is how many a claim asks for.
const batch = 8

// table is what lies about while claims are made.
type table struct {
	due, finished, leased, later int    // operations of this provider
	others                       int    // due ones that another column's value keeps apart
	apart                        string // "provider", "action", "priority": which column's
}

// fillTable writes rows by hand: through the engine a million would take an hour, and a claim sees no difference.
const fillTable = `INSERT INTO fencerow_operations (operation_id, kind, provider, account, phase, next_action, request, priority, revision, due_at,
  lease_owner, lease_until, outcome, delivery, remote_job_id, submitted_at, created_at, updated_at)
SELECT $1 || n, 'video', $2, '', $3, $4, '{}', $5, 0, clock_timestamp() + $6 * interval '1 hour',
  CASE WHEN $7 THEN 'w' END, CASE WHEN $7 THEN clock_timestamp() + interval '1 day' END, $8::text, CASE WHEN $8::text IS NOT NULL THEN 'delivered' END,
  CASE WHEN $3 <> 'prepared' THEN $1 || n END, CASE WHEN $3 <> 'prepared' THEN clock_timestamp() END, clock_timestamp(), clock_timestamp()
FROM generate_series(1, $9) AS n`

func byClaims(t table) way {
	return func(ctx context.Context, url string) (lane, error) {
		l, err := byEngine(1, pgstore.Options{Prepare: true})(ctx, url)
		if err != nil {
			return nil, err
		}
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return nil, err
		}
		defer func() { _ = conn.Close(ctx) }()
		if err := t.fill(ctx, conn); err != nil {
			return nil, err
		}
		return &claims{engine: l.(*engine), due: t.due > 0}, nil
	}
}

// fill fills the table, and leaves nothing for a vacuum or a checkpoint to do while claims are timed. The indexes stay: to
// make them all anew afterwards, each by a scan of its own, was seen to take longer than to keep them.
func (t table) fill(ctx context.Context, conn *pgx.Conn) error {
	began := time.Now()
	dispatch, observe := transitions.Dispatch, transitions.Observe
	for _, rows := range []struct {
		name, provider, phase string
		action, outcome       *string
		priority, hours, n    int
		leased                bool
	}{
		{name: "due-", provider: provider, phase: "prepared", action: &dispatch, hours: -1, n: t.due},
		{name: "later-", provider: provider, phase: "prepared", action: &dispatch, hours: 24, n: t.later},
		{name: "leased-", provider: provider, phase: "prepared", action: &dispatch, hours: -1, n: t.leased, leased: true},
		{name: "finished-", provider: provider, phase: "terminal", outcome: &succeeded, n: t.finished},
		{name: "others-", provider: other(t, "provider", provider, "print"), phase: other(t, "action", "prepared", "submitted"),
			action: pick(t.apart == "action", &observe, &dispatch), priority: pick(t.apart == "priority", -1, 0), hours: -2, n: t.others},
	} {
		if rows.n == 0 {
			continue
		}
		if _, err := conn.Exec(ctx, fillTable, pgx.QueryExecModeExec, rows.name, rows.provider, rows.phase, rows.action, rows.priority, rows.hours,
			rows.leased, rows.outcome, rows.n); err != nil {
			return fmt.Errorf("fill the table with %d rows %s: %w", rows.n, rows.name, err)
		}
	}
	for _, statement := range []string{"VACUUM ANALYZE fencerow_operations", "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("make the filled table ready: %s: %w", statement, err)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		note("filling the table with %d rows took %s", t.due+t.later+t.leased+t.finished+t.others, took.Round(time.Second))
	}
	return nil
}

var succeeded = "succeeded"

func pick[T any](when bool, a, b T) T {
	if when {
		return a
	}
	return b
}

func other(t table, column, usual, apart string) string { return pick(t.apart == column, apart, usual) }

// work times claims one after the other; what they took is given back outside the time, due at once.
func (c *claims) work(ctx context.Context, length time.Duration) (tally, error) {
	var each []time.Duration
	for began := time.Now(); time.Since(began) < length || len(each) < 20; {
		start := time.Now()
		leases, err := c.verbs.ClaimMany(ctx, transitions.Dispatch, machine.Who{Provider: provider}, batch)
		each = append(each, time.Since(start))
		if err != nil {
			return tally{}, err
		}
		if want := pick(c.due, batch, 0); len(leases) != want {
			return tally{}, fmt.Errorf("a claim took %d operations, want %d", len(leases), want)
		}
		for _, l := range leases {
			if _, err := c.verbs.Release(ctx, l, 0, ""); err != nil {
				return tally{}, err
			}
		}
	}
	slices.Sort(each)
	return tally{operations: len(each), took: time.Second, each: each[len(each)/2]}, nil
}
