package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// growth brings operations through with the server's own vacuum and what the tables ask of it, and compares how large
// the table of operations is then with a new one into which the same rows were copied in the same order. History is
// in no size: it is a table of its own, and only grows.
func growth(ctx context.Context, f figure, o options) ([]result, error) {
	url := o.server.NewDatabase()
	l, err := byEngine(1024, atBest)(ctx, url)
	if err != nil {
		return nil, err
	}
	defer l.close()
	began := time.Now()
	if err := l.(*engine).bringAll(ctx, o.lifecycles); err != nil {
		return nil, err
	}
	took := time.Since(began)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	lived, err := sizeOf(ctx, conn)
	if err != nil {
		return nil, err
	}
	loaded, err := loadAnew(ctx, conn, o.server.NewDatabase(), o.lifecycles)
	if err != nil {
		return nil, fmt.Errorf("load the same rows into a new table: %w", err)
	}
	note("%s: %d lifecycles took %s", f.name, o.lifecycles, took.Round(time.Second))
	says := fmt.Sprintf("%%s after %d whole lifecycles, 1,024 in flight, against the same rows freshly loaded; less is better", o.lifecycles)
	compared := func(name, what string, lived, loaded int64) result {
		x, y := float64(lived), float64(loaded)
		return result{
			name: name, says: fmt.Sprintf(says, what), target: f.target, unit: ratio, values: []float64{x / y},
			each: "bytes", ours: []float64{x}, theirs: []float64{y},
		}
	}
	return []result{
		compared(f.name, "the operations' table with its indexes", lived.all, loaded.all),
		compared(f.name+"_table", "the operations' table without its indexes", lived.table, loaded.table),
	}, nil
}

// bringAll brings so many operations through, as many at once as the engine has in flight.
func (e *engine) bringAll(ctx context.Context, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done sync.WaitGroup
	var taken atomic.Int64
	for range e.many {
		done.Go(func() {
			for ctx.Err() == nil && taken.Add(1) <= int64(n) {
				if err := e.bring(ctx, fmt.Sprintf("op-%d", e.number.Add(1))); err != nil {
					cancel(err)
				}
			}
		})
	}
	done.Wait()
	return context.Cause(ctx)
}

// extent is how large the operations' table is, in bytes, without its indexes and with them.
type extent struct{ table, all int64 }

func sizeOf(ctx context.Context, conn *pgx.Conn) (s extent, err error) {
	const sizes = "SELECT pg_table_size('fencerow_operations'), pg_total_relation_size('fencerow_operations')"
	if err := conn.QueryRow(ctx, sizes).Scan(&s.table, &s.all); err != nil {
		return s, fmt.Errorf("ask how large the table is: %w", err)
	}
	return s, nil
}

// loadAnew copies all operations into another database, whose table the migrations make: one made LIKE the other would
// lack the room that the table leaves in its pages.
func loadAnew(ctx context.Context, from *pgx.Conn, url string, n int) (extent, error) {
	if err := migrate(ctx, url); err != nil {
		return extent{}, err
	}
	to, err := pgx.Connect(ctx, url)
	if err != nil {
		return extent{}, err
	}
	defer func() { _ = to.Close(ctx) }()
	columns, err := stored(ctx, from)
	if err != nil {
		return extent{}, err
	}
	reader, writer := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := from.PgConn().CopyTo(ctx, writer, "COPY fencerow_operations ("+columns+") TO STDOUT BINARY")
		_ = writer.CloseWithError(err)
		sent <- err
	}()
	tag, err := to.PgConn().CopyFrom(ctx, reader, "COPY fencerow_operations ("+columns+") FROM STDIN BINARY")
	_ = reader.CloseWithError(err)
	if err := errors.Join(err, <-sent); err != nil {
		return extent{}, err
	}
	if tag.RowsAffected() != int64(n) {
		return extent{}, fmt.Errorf("%d rows were loaded, want %d", tag.RowsAffected(), n)
	}
	return sizeOf(ctx, to)
}

// stored are the names of the columns that the server does not compute.
func stored(ctx context.Context, conn *pgx.Conn) (string, error) {
	rows, err := conn.Query(ctx, `SELECT quote_ident(attname) FROM pg_attribute
WHERE attrelid = 'fencerow_operations'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`)
	if err != nil {
		return "", err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return strings.Join(names, ", "), err
}
