package pgstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// runner sends one statement and hands its rows to each. Sent tells whether any of it may have left; a nil error means
// that the rows were read to their end and that nothing failed after them, the commit included where it is the
// statement's own.
type runner interface {
	run(ctx context.Context, sql string, args []any, each func(row) error) (sent bool, err error)
	takesArrays() bool
}

// poolRunner sends every statement by itself: it commits when it succeeds.
type poolRunner struct {
	pool *pgxpool.Pool
	mode pgx.QueryExecMode
}

func (poolRunner) takesArrays() bool { return true }

func (p poolRunner) run(ctx context.Context, sql string, args []any, each func(row) error) (bool, error) {
	conn, err := p.pool.Acquire(ctx)
	if err != nil {
		return false, fmt.Errorf("get a connection: %w", err)
	}
	defer giveBack(conn)
	return p.on(ctx, conn, sql, args, each)
}

// on sends a statement on a connection that is had.
func (p poolRunner) on(ctx context.Context, conn *pgxpool.Conn, sql string, args []any, each func(row) error) (bool, error) {
	sent, err := query(ctx, conn, p.mode, sql, args, each)
	// A primary that was demoted keeps its sessions; only a new one can find the server that takes writes.
	if e := serverError(err); e != nil && e.Code == readOnlyTransaction || ctx.Err() != nil {
		leave(conn.Conn())
	}
	return sent, err
}

// leave ends a session whose next statement would not be safe from what was said to it before. Where the caller gave up,
// a cancel request may be on its way to the server, also if the statement was answered: the driver waits for it a
// moment only, and it would end whichever statement the session has by then (report B99: another caller's, with 57014).
func leave(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelGrace)
	defer cancel()
	_ = conn.Close(ctx)
}

// giveBack returns a connection to its pool. One that was given up with its statement under way is taken out of the pool
// instead: the driver tells the server in the background, for up to 15 s where the network swallows everything, and its
// place would be taken that long. A few such would leave none to ask history with.
func giveBack(conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() {
		conn.Hijack()
		return
	}
	conn.Release()
}

// txRunner sends statements in a transaction of the caller's.
type txRunner struct{ tx pgx.Tx }

func (txRunner) takesArrays() bool { return true }

func (t txRunner) run(ctx context.Context, sql string, args []any, each func(row) error) (bool, error) {
	return query(ctx, t.tx, pgx.QueryExecModeExec, sql, args, each)
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// query never uses the simple protocol: there a lost answer looks like a statement that was not sent.
func query(ctx context.Context, q querier, mode pgx.QueryExecMode, sql string, args []any, each func(row) error) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	rows, err := q.Query(ctx, sql, append([]any{mode}, args...)...)
	if err != nil {
		return true, err
	}
	defer rows.Close()
	var first error
	for rows.Next() {
		if err := each(rows); err != nil && first == nil {
			first = err // read on: the statement's own end is worth more
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return true, err
	}
	return true, first
}

// sqlRunner sends statements in a transaction of database/sql, whatever its driver.
type sqlRunner struct{ tx *sql.Tx }

func (sqlRunner) takesArrays() bool { return false }

func (t sqlRunner) run(ctx context.Context, statement string, args []any, each func(row) error) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	rows, err := t.tx.QueryContext(ctx, statement, args...)
	if err != nil {
		return true, err
	}
	var first error
	for rows.Next() {
		if err := each(rows); err != nil && first == nil {
			first = err
		}
	}
	if err := rows.Close(); err != nil { //nolint:sqlclosecheck // its error decides, and a second Close is harmless
		return true, err
	}
	if err := rows.Err(); err != nil {
		return true, err
	}
	return true, first
}
