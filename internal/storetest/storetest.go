// Package storetest opens an empty store of each kind for a table of one's own, with a way to write rows by hand and
// the database's clock: what the suites and the agreement battery of machinetest ask for.
package storetest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

// Each gives, by the store's name, a way to open an empty one: in memory, in a SQLite file, on a real PostgreSQL server.
// What is opened is closed with its test.
func Each(p *transitions.Program) map[string]func(*testing.T) machinetest.Subject {
	return map[string]func(*testing.T) machinetest.Subject{
		"memory":     func(*testing.T) machinetest.Subject { return machinetest.MemorySubject(p) },
		"SQLite":     func(t *testing.T) machinetest.Subject { return InSQLite(t, p) },
		"PostgreSQL": func(t *testing.T) machinetest.Subject { return InPostgreSQL(t, p) },
	}
}

// InSQLite opens a store in a new file.
func InSQLite(t *testing.T, p *transitions.Program) machinetest.Subject {
	t.Helper()
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "fencerow.db"), sqlitestore.Options{Program: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	asMillis := func(at time.Time) any { return at.UnixMilli() } // as the store keeps times
	put := func(ctx context.Context, rows ...transitions.Row) error {
		for _, row := range rows {
			if _, err := store.DB().ExecContext(ctx, upsert(p, "?"), plain(row, asMillis)...); err != nil {
				return err
			}
		}
		return nil
	}
	return machinetest.Subject{Store: store, Put: put, Now: store.Now}
}

// InPostgreSQL opens a store in a new database.
func InPostgreSQL(t *testing.T, p *transitions.Program) machinetest.Subject {
	t.Helper()
	ctx := context.Background()
	url := pgtest.URL(t)
	store, err := pgstore.Open(ctx, url, pgstore.Options{Program: p, MaxConns: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	byHand, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = byHand.Close(ctx) })
	asTime := func(at time.Time) any { return at }
	put := func(ctx context.Context, rows ...transitions.Row) error {
		for _, row := range rows {
			if _, err := byHand.Exec(ctx, upsert(p, "$"), plain(row, asTime)...); err != nil {
				return err
			}
		}
		return nil
	}
	return machinetest.Subject{Store: store, Put: put, Now: store.Now}
}

// upsert writes a row by hand; one that is there is replaced.
func upsert(p *transitions.Program, mark string) string {
	var names, marks, sets []string
	for i, c := range p.Columns {
		name := `"` + c.Name + `"`
		names, marks = append(names, name), append(marks, fmt.Sprintf("%s%d", mark, i+1))
		sets = append(sets, name+" = excluded."+name)
	}
	return fmt.Sprintf("INSERT INTO fencerow_operations (%s) VALUES (%s) ON CONFLICT (operation_id) DO UPDATE SET %s",
		strings.Join(names, ", "), strings.Join(marks, ", "), strings.Join(sets, ", "))
}

func plain(row transitions.Row, moment func(time.Time) any) []any {
	args := make([]any, len(row))
	for i, v := range row {
		switch v.Kind() {
		case transitions.Text:
			args[i] = v.Text()
		case transitions.Bytes:
			args[i] = v.Bytes()
		case transitions.Int:
			args[i] = v.Int()
		case transitions.Bool:
			args[i] = v.Bool()
		case transitions.Time:
			args[i] = moment(v.Time().UTC().Truncate(time.Microsecond))
		}
	}
	return args
}
