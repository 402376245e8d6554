package broken_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

// stores opens an empty store of each kind for a program.
var stores = map[string]func(*testing.T, *transitions.Program) machinetest.Subject{
	"memory":     func(_ *testing.T, p *transitions.Program) machinetest.Subject { return machinetest.MemorySubject(p) },
	"SQLite":     inSQLite,
	"PostgreSQL": inPostgreSQL,
}

func inSQLite(t *testing.T, p *transitions.Program) machinetest.Subject {
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
	return machinetest.Subject{Store: store, Now: store.Now, Put: func(ctx context.Context, rows ...transitions.Row) error {
		for _, row := range rows {
			if _, err := store.DB().ExecContext(ctx, upsert(p, "?"), plain(row, true)...); err != nil {
				return err
			}
		}
		return nil
	}}
}

func inPostgreSQL(t *testing.T, p *transitions.Program) machinetest.Subject {
	t.Helper()
	ctx := context.Background()
	url := pgtest.URL(t)
	store, err := pgstore.Open(ctx, url, pgstore.Options{Program: p, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return machinetest.Subject{Store: store, Now: store.Now, Put: func(ctx context.Context, rows ...transitions.Row) error {
		for _, row := range rows {
			if _, err := conn.Exec(ctx, upsert(p, "$"), plain(row, false)...); err != nil {
				return err
			}
		}
		return nil
	}}
}

// upsert writes a row by hand.
func upsert(p *transitions.Program, mark string) string {
	var names, marks, sets []string
	for i, c := range p.Columns {
		names, marks = append(names, c.Name), append(marks, fmt.Sprintf("%s%d", mark, i+1))
		sets = append(sets, c.Name+" = excluded."+c.Name)
	}
	return fmt.Sprintf("INSERT INTO fencerow_operations (%s) VALUES (%s) ON CONFLICT (operation_id) DO UPDATE SET %s",
		strings.Join(names, ", "), strings.Join(marks, ", "), strings.Join(sets, ", "))
}

// plain gives a row's values as the drivers want them; SQLite keeps times as milliseconds.
func plain(row transitions.Row, millis bool) []any {
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
			if args[i] = v.Time(); millis {
				args[i] = v.Time().UnixMilli()
			}
		}
	}
	return args
}
