package sqlitestore_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

// fixture is a store on a fresh file.
type fixture struct {
	*testing.T
	*sqlitestore.Store
	ctx context.Context
}

func open(t *testing.T, path string, o sqlitestore.Options) *fixture {
	t.Helper()
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	if _, err := store.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	return &fixture{t, store, ctx}
}

func file(t *testing.T) string { return filepath.Join(t.TempDir(), "fencerow.db") }

func TestSQLiteConforms(t *testing.T) {
	t.Parallel()
	machinetest.Run(t, func(t *testing.T) machinetest.Subject {
		f := open(t, file(t), sqlitestore.Options{})
		return machinetest.Subject{Store: f.Store, Put: f.put, Now: f.Now}
	})
}

// put writes rows by hand; one that is there is replaced.
func (f *fixture) put(ctx context.Context, rows ...transitions.Row) error {
	columns := f.Program().Columns
	names, marks, sets := make([]string, len(columns)), make([]string, len(columns)), make([]string, len(columns))
	for i, c := range columns {
		names[i], marks[i] = c.Name, "?"
		sets[i] = fmt.Sprintf("%s = excluded.%s", c.Name, c.Name)
	}
	text := fmt.Sprintf("INSERT INTO fencerow_operations (%s) VALUES (%s) ON CONFLICT (operation_id) DO UPDATE SET %s",
		strings.Join(names, ", "), strings.Join(marks, ", "), strings.Join(sets, ", "))
	return f.inTx(ctx, func(tx *sql.Tx) error {
		for _, row := range rows {
			args := make([]any, len(row))
			for i, v := range row {
				args[i] = plain(v)
			}
			if _, err := tx.ExecContext(ctx, text, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *fixture) inTx(ctx context.Context, work func(*sql.Tx) error) error {
	tx, err := f.DB().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func plain(v transitions.Value) any {
	switch v.Kind() {
	case transitions.Text:
		return v.Text()
	case transitions.Bytes:
		return v.Bytes()
	case transitions.Int, transitions.Bool:
		return v.Int()
	case transitions.Time:
		return v.Time().Truncate(time.Millisecond).UnixMilli()
	default:
		return nil
	}
}
