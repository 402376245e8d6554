package sqlitestore_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/fencerow/fencerow/internal/byhand"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist"
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
	return f.inTx(ctx, func(tx *sql.Tx) error {
		exec := func(ctx context.Context, sql string, args ...any) error {
			_, err := tx.ExecContext(ctx, sql, args...)
			return err
		}
		return byhand.Write(ctx, persist.SQLite, f.Program(), exec, rows...)
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
