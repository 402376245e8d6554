package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
)

// atOnce is how many operations are prepared in one call, and copied in one COPY.
const atOnce = 100_000

// prepares prepares operations, each with its row of history.
type prepares struct{ *engine }

func byPrepares(ctx context.Context, url string) (lane, error) {
	l, err := byEngine(1, pgstore.Options{Prepare: true})(ctx, url)
	if err != nil {
		return nil, err
	}
	return &prepares{engine: l.(*engine)}, nil
}

func (p *prepares) work(ctx context.Context, length time.Duration) (tally, error) {
	began, n := time.Now(), 0
	for time.Since(began) < length || n == 0 {
		requests := make([]machine.Request, atOnce)
		for i := range requests {
			requests[i] = machine.Request{OperationID: fmt.Sprintf("op-%d", p.number.Add(1)), Kind: provider, Request: request, WantsDelivery: true}
		}
		if _, err := p.verbs.PrepareMany(ctx, requests); err != nil {
			return tally{}, err
		}
		n += atOnce
	}
	return tally{operations: n, took: time.Since(began)}, nil
}

// copies copies the same rows into the same table, and nothing else.
type copies struct {
	conn   *pgx.Conn
	store  *pgstore.Store
	number int
}

func byCopies(ctx context.Context, url string) (lane, error) {
	store, err := pgstore.Open(ctx, url, pgstore.Options{})
	if err != nil {
		return nil, err
	}
	if _, err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, url)
	return &copies{conn: conn, store: store}, err
}

func (c *copies) close() {
	_ = c.conn.Close(context.Background())
	_ = c.store.Close()
}

func (c *copies) work(ctx context.Context, length time.Duration) (tally, error) {
	began, n := time.Now(), 0
	for time.Since(began) < length || n == 0 {
		_, err := c.conn.CopyFrom(ctx, pgx.Identifier{"fencerow_operations"},
			[]string{"operation_id", "kind", "provider", "account", "phase", "next_action", "request", "wants_delivery", "due_at", "created_at", "updated_at"},
			pgx.CopyFromSlice(atOnce, func(int) ([]any, error) {
				c.number++
				now := time.Now()
				return []any{fmt.Sprintf("op-%d", c.number), provider, provider, "", "prepared", "dispatch", request, true, now, now, now}, nil
			}))
		if err != nil {
			return tally{}, err
		}
		n += atOnce
	}
	return tally{operations: n, took: time.Since(began)}, nil
}
