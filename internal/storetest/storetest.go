// Package storetest opens an empty store of each kind for a table of one's own, with a way to write rows by hand and
// the database's clock: what the suites and the agreement battery of machinetest ask for.
package storetest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/fencerow/fencerow/internal/byhand"
	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist"
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
	exec := func(ctx context.Context, sql string, args ...any) error {
		_, err := store.DB().ExecContext(ctx, sql, args...)
		return err
	}
	put := func(ctx context.Context, rows ...transitions.Row) error {
		return byhand.Write(ctx, persist.SQLite, p, exec, rows...)
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
	exec := func(ctx context.Context, sql string, args ...any) error {
		conn, err := pgtest.Beside(ctx, url)
		if err == nil {
			_, err = conn.Exec(ctx, sql, args...)
		}
		return err
	}
	put := func(ctx context.Context, rows ...transitions.Row) error {
		return byhand.Write(ctx, persist.PostgreSQL, p, exec, rows...)
	}
	return machinetest.Subject{Store: store, Put: put, Now: store.Now}
}
