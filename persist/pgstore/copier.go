package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// copier creates one part of the operations of a call after the other, each in a transaction, and keeps its memory.
type copier struct {
	of      *creation
	pool    *pgxpool.Pool
	within  time.Duration // no statement is waited for longer: see patient
	idle    string        // the server waits no longer for the client's next statement
	eval    *transitions.Evaluator
	history []byte // of the operations that are being copied

	// What the last part came to.
	applied []int             // places
	rows    []transitions.Row // of those
	denied  []int             // places
}

func newCopier(of *creation) *copier {
	s := of.store
	return &copier{
		of: of, pool: s.pool, within: s.bound + answerGrace, idle: fmt.Sprintf("%dms", s.bound.Milliseconds()), eval: s.program.Evaluator(),
	}
}

// copy creates the operations at places, or none of them. Sent tells whether the commit may have left: an error before
// it proves that nothing was stored, whatever it is.
func (c *copier) copy(ctx context.Context, places []int) (sent bool, err error) {
	c.history, c.applied, c.rows, c.denied = c.history[:0], c.applied[:0], c.rows[:0], c.denied[:0]
	var conn *pgxpool.Conn
	err = c.bounded(ctx, nil, func(ctx context.Context) error {
		conn, err = c.pool.Acquire(ctx)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("get a connection: %w", err)
	}
	defer giveBack(conn)
	if sent, err = c.transaction(ctx, conn.Conn(), places); err != nil {
		undo(conn.Conn(), err)
	}
	return sent, err
}

// errTriggered: what a trigger makes of a row is not known before it is stored.
var errTriggered = errors.New("a trigger of the operations table may change what is copied")

// transaction copies and commits.
func (c *copier) transaction(ctx context.Context, conn *pgx.Conn, places []int) (sent bool, err error) {
	var now time.Time
	var triggered bool
	ask := func(sql string, args []any, each func(row) error) error {
		return c.bounded(ctx, conn, func(ctx context.Context) error {
			sent, err = query(ctx, conn, pgx.QueryExecModeExec, sql, args, each)
			return err
		})
	}
	if err := ask("BEGIN", nil, nil); err != nil {
		return false, err
	}
	if err := ask(c.of.how.Begin, []any{c.idle}, func(r row) error { return r.Scan(&now, &triggered, new(string)) }); err != nil {
		return false, err
	}
	if triggered {
		return false, errTriggered
	}
	if err := c.stream(ctx, conn, c.of.how.Operations, c.operations(places, now)); err != nil {
		return false, err
	}
	if len(c.history) > 0 {
		if err := c.stream(ctx, conn, c.of.how.History, func(b []byte) ([]byte, bool) { return append(b, c.history...), false }); err != nil {
			return false, err
		}
	}
	err = ask("COMMIT", nil, nil)
	return sent, err
}

// slab is how many rows are made at once.
const slab = 64

// operations judges one operation after the other, by one reading of the clock, and writes its row; its history is
// kept for afterwards.
func (c *copier) operations(places []int, now time.Time) func(b []byte) ([]byte, bool) {
	how, at := c.of.how, transitions.TimeValue(now)
	world := transitions.World{Now: now.UnixMicro()}
	var room transitions.Row
	return func(b []byte) ([]byte, bool) {
		if len(places) == 0 {
			return b, false
		}
		place := places[0]
		places = places[1:]
		v := c.eval.Eval(how.Rule.Event, nil, c.of.call.sent[place], world)
		if !v.Applied {
			c.denied = append(c.denied, place)
			return b, len(places) > 0
		}
		n := len(v.Row)
		if len(room) < n {
			room = make(transitions.Row, slab*n)
		}
		copy(room, v.Row)
		c.applied, c.rows = append(c.applied, place), append(c.rows, room[:n:n])
		room = room[n:]
		if v.Entry != nil {
			c.history = appendRow(c.history, how.History, v, at)
		}
		return appendRow(b, how.Operations, v, at), len(places) > 0
	}
}

// stream copies rows into a table. Pgx's own CopyFrom prepares a statement for it, which a pooler may refuse, and was
// seen to encode slower than the server stores.
func (c *copier) stream(ctx context.Context, conn *pgx.Conn, to persist.Copied, more func([]byte) ([]byte, bool)) error {
	return c.bounded(ctx, conn, func(ctx context.Context) (err error) {
		rows := &copyReader{more: more, left: []byte(copyHead)}
		defer rows.stop()
		var tag pgconn.CommandTag
		if tracer, ok := conn.Config().Tracer.(pgx.CopyFromTracer); ok {
			ctx = tracer.TraceCopyFromStart(ctx, conn, pgx.TraceCopyFromStartData{TableName: to.Table, ColumnNames: to.Names()})
			defer func() { tracer.TraceCopyFromEnd(ctx, conn, pgx.TraceCopyFromEndData{CommandTag: tag, Err: err}) }()
		}
		tag, err = conn.PgConn().CopyFrom(ctx, rows, to.SQL)
		return err
	})
}

// bounded does one step, and waits for its answer no longer than within. Where the caller or that gave up, the session is
// left: see there.
func (c *copier) bounded(ctx context.Context, conn *pgx.Conn, step func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	err := step(bounded)
	if conn != nil && bounded.Err() != nil {
		leave(conn)
	}
	if ctx.Err() == nil {
		err = impatient(bounded, c.within, err)
	}
	return err
}

// undo ends a transaction that failed, or its session: that of a primary that was demoted (see poolRunner.on), and one
// that does not answer.
func undo(conn *pgx.Conn, err error) {
	if conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cancelGrace)
	defer cancel()
	e := serverError(err)
	if e == nil && !errors.Is(err, errTriggered) || e != nil && e.Code == readOnlyTransaction {
		leave(conn)
		return
	}
	if _, err := query(ctx, conn, pgx.QueryExecModeExec, "ROLLBACK", nil, nil); err != nil {
		leave(conn)
	}
}
