package payout_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

var update = flag.Bool("update", false, "write into the suite files what comes of each step; then read the difference")

var program = transitions.MustCompile(payout.Table())

func TestTheTableBreaksNoSafetyRule(t *testing.T) {
	t.Parallel()
	for _, finding := range transitions.Check(payout.Table()) {
		t.Error(finding)
	}
}

func TestTheSuitesAreUpToDate(t *testing.T) {
	const pairs = "testdata/generated/every-pair.txt"
	text, err := machinetest.EveryPair(os.DirFS("testdata"), program)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(pairs, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := machinetest.RewriteSuite("testdata", program); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(pairs); err != nil || string(have) != text {
		t.Errorf("%s is not what the table gives (%v); run go test with -update, and read the difference", pairs, err)
	}
}

func TestPayoutsPassTheirSuitesOnEveryStore(t *testing.T) {
	t.Parallel()
	for name, newStore := range stores(program) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machinetest.RunSuite(t, newStore, os.DirFS("testdata"), program)
		})
	}
}

// stores gives a way to open an empty store of each kind.
func stores(p *transitions.Program) map[string]func(*testing.T) machinetest.Subject {
	return map[string]func(*testing.T) machinetest.Subject{
		"memory":     func(*testing.T) machinetest.Subject { return machinetest.MemorySubject(p) },
		"SQLite":     func(t *testing.T) machinetest.Subject { return inSQLite(t, p) },
		"PostgreSQL": func(t *testing.T) machinetest.Subject { return inPostgreSQL(t, p) },
	}
}

func inSQLite(t *testing.T, p *transitions.Program) machinetest.Subject {
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "payouts.db"), sqlitestore.Options{Program: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	put := func(ctx context.Context, rows ...transitions.Row) error {
		for _, row := range rows {
			args := make([]any, len(row))
			for i, v := range row {
				if args[i] = plain(v); v.Kind() == transitions.Time {
					args[i] = v.Time().UnixMilli() // as the store keeps times
				}
			}
			if _, err := store.DB().ExecContext(ctx, upsert(p, "?"), args...); err != nil {
				return err
			}
		}
		return nil
	}
	return machinetest.Subject{Store: store, Put: put, Now: store.Now}
}

func inPostgreSQL(t *testing.T, p *transitions.Program) machinetest.Subject {
	ctx := context.Background()
	url := pgtest.URL(t) // an empty database
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
	put := func(ctx context.Context, rows ...transitions.Row) error {
		for _, row := range rows {
			args := make([]any, len(row))
			for i, v := range row {
				args[i] = plain(v)
			}
			if _, err := byHand.Exec(ctx, upsert(p, "$"), args...); err != nil {
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

func plain(v transitions.Value) any {
	switch v.Kind() {
	case transitions.Text:
		return v.Text()
	case transitions.Bytes:
		return v.Bytes()
	case transitions.Int:
		return v.Int()
	case transitions.Bool:
		return v.Bool()
	case transitions.Time:
		return v.Time().UTC().Truncate(time.Microsecond)
	default:
		return nil
	}
}
