package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// contender is a way on its database, with what its last run came to.
type contender struct {
	lane lane
	url  string
	last tally
}

func (f figure) start(ctx context.Context, w way, o options) (*contender, error) {
	url := o.server.NewDatabase()
	l, err := w(ctx, url)
	if err != nil {
		return nil, err
	}
	return &contender{lane: l, url: url}, nil
}

func (c *contender) close() { c.lane.close() }

// once runs the way once. The server writes no WAL but this run's.
func (c *contender) once(ctx context.Context, length time.Duration) error {
	conn, err := pgx.Connect(ctx, c.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	const position = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
	var before, after int64
	if err := conn.QueryRow(ctx, position).Scan(&before); err != nil {
		return fmt.Errorf("ask how much WAL there is: %w", err)
	}
	if c.last, err = c.lane.work(ctx, length); err != nil {
		return err
	}
	if err := conn.QueryRow(ctx, position).Scan(&after); err != nil {
		return fmt.Errorf("ask how much WAL there is: %w", err)
	}
	c.last.walBytes = after - before
	return nil
}

// sent counts statements as pgx is asked for them: BEGIN and COMMIT are two. A batch is as many as it holds.
type sent struct{ n atomic.Int64 }

// TraceQueryStart counts a statement.
func (s *sent) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.n.Add(1)
	return ctx
}

// TraceQueryEnd counts nothing.
func (s *sent) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart counts a batch's statements.
func (s *sent) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	s.n.Add(int64(d.Batch.Len()))
	return ctx
}

// TraceBatchQuery counts nothing.
func (s *sent) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd counts nothing.
func (s *sent) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceCopyFromStart counts one statement.
func (s *sent) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceCopyFromStartData) context.Context {
	s.n.Add(1)
	return ctx
}

// TraceCopyFromEnd counts nothing.
func (s *sent) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}

// together lets so many at once bring operations through until the time is over. Each says how many it brought. What is
// under way at the end is finished, and counts, its time too.
func together(ctx context.Context, many int, length time.Duration, s *sent, bring func(ctx context.Context, who int) (int, error)) (tally, error) {
	var done sync.WaitGroup
	var count atomic.Int64
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began, before := time.Now(), s.n.Load()
	for who := range many {
		done.Go(func() {
			for time.Since(began) < length && ctx.Err() == nil {
				n, err := bring(ctx, who)
				if err != nil {
					cancel(err)
					return
				}
				count.Add(int64(n))
			}
		})
	}
	done.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return tally{}, err
	}
	return tally{operations: int(count.Load()), took: time.Since(began), statements: s.n.Load() - before}, ctx.Err()
}
