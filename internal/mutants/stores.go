package mutants

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/internal/byhand"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

// bench is a place for stores: one set of tables, which are emptied for each.
type bench interface {
	// open gives a store on empty tables. Its statements are compiled anew, so that it has the cut of the hour.
	open(ctx context.Context) (machinetest.Subject, error)
	// plan is what the database would do with a statement, as it tells: where two are the same, it does the same.
	plan(ctx context.Context, sql string, params int) (string, error)
	close()
}

// tables are the store's own, the ones that depend on others first.
var tables = []string{"fencerow_history", "fencerow_evidence", "fencerow_operations"}

// onPostgres is a bench in a database of its own.
type onPostgres struct {
	pool    *pgxpool.Pool
	program *transitions.Program
}

func openPostgres(ctx context.Context, url string, p *transitions.Program) (*onPostgres, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 8
	config.ConnConfig.RuntimeParams["statement_timeout"] = "5000"
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "read committed"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	store, err := pgstore.New(ctx, pool, pgstore.Options{Program: p})
	if err == nil {
		_, err = store.Migrate(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &onPostgres{pool: pool, program: p}, nil
}

func (b *onPostgres) open(ctx context.Context) (machinetest.Subject, error) {
	if _, err := b.pool.Exec(ctx, "DELETE FROM "+strings.Join(tables, "; DELETE FROM ")); err != nil {
		return machinetest.Subject{}, fmt.Errorf("empty the tables: %w", err)
	}
	store, err := pgstore.New(ctx, b.pool, pgstore.Options{Program: b.program})
	if err != nil {
		return machinetest.Subject{}, err
	}
	exec := func(ctx context.Context, sql string, args ...any) error {
		_, err := b.pool.Exec(ctx, sql, args...)
		return err
	}
	put := func(ctx context.Context, rows ...transitions.Row) error {
		return byhand.Write(ctx, persist.PostgreSQL, b.program, exec, rows...)
	}
	return machinetest.Subject{Store: store, Put: put, Now: store.Now}, nil
}

func (b *onPostgres) close() { b.pool.Close() }

// onSQLite is a bench in a file of its own.
type onSQLite struct {
	path    string
	program *transitions.Program
	last    *sqlitestore.Store
}

func openSQLite(ctx context.Context, folder string, p *transitions.Program) (*onSQLite, error) {
	b := &onSQLite{path: filepath.Join(folder, "mutants.db"), program: p}
	store, err := sqlitestore.Open(ctx, b.path, sqlitestore.Options{Program: p})
	if err != nil {
		return nil, err
	}
	_, err = store.Migrate(ctx)
	b.last = store
	return b, err
}

func (b *onSQLite) open(ctx context.Context) (machinetest.Subject, error) {
	b.close()
	store, err := sqlitestore.Open(ctx, b.path, sqlitestore.Options{Program: b.program})
	if err != nil {
		return machinetest.Subject{}, err
	}
	b.last = store
	for _, t := range tables {
		if _, err := store.DB().ExecContext(ctx, "DELETE FROM "+t); err != nil {
			return machinetest.Subject{}, fmt.Errorf("empty the tables: %w", err)
		}
	}
	put := func(ctx context.Context, rows ...transitions.Row) error {
		tx, err := store.DB().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		exec := func(ctx context.Context, sql string, args ...any) error {
			_, err := tx.ExecContext(ctx, sql, args...)
			return err
		}
		if err := byhand.Write(ctx, persist.SQLite, b.program, exec, rows...); err != nil {
			return err
		}
		return tx.Commit()
	}
	return machinetest.Subject{Store: store, Put: put, Now: store.Now}, nil
}

func (b *onSQLite) close() {
	if b.last != nil {
		_ = b.last.Close()
		b.last = nil
	}
}

// inMemory is a store of a program in memory, at a time that stands still.
func inMemory(p *transitions.Program) machinetest.Subject {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store := machine.NewMemory(p, machine.MemoryClock(func() time.Time { return now }))
	return machinetest.Subject{
		Store: store,
		Put: func(_ context.Context, rows ...transitions.Row) error {
			for _, row := range rows {
				if err := store.Put(row); err != nil {
					return err
				}
			}
			return nil
		},
		Now: func(context.Context) (time.Time, error) { return now, nil },
	}
}

// mislabeled is a store that says that it is of one program, and is of another.
type mislabeled struct {
	*machine.Memory
	program *transitions.Program
}

func mislabeledAs(store machine.Store, p *transitions.Program) machine.Store {
	return mislabeled{store.(*machine.Memory), p}
}

// Program is what the store says.
func (m mislabeled) Program() *transitions.Program { return m.program }

// severally is a store that fires on one operation by the statement that is made for several: another operation that
// does not exist comes first.
type severally struct{ machine.Store }

// Apply fires an event on one operation, and on one that there is not.
func (s severally) Apply(ctx context.Context, event string, params transitions.Params) (machine.Answer, error) {
	nobody := transitions.Params{}
	for name, v := range params {
		nobody[name] = v
	}
	nobody["operation_id"] = transitions.TextValue(" ") // for an event that creates its row: refused
	answers, err := s.ApplyMany(ctx, event, []transitions.Params{nobody, params})
	if err != nil {
		return machine.Answer{}, err
	}
	if answers[0].Applied || answers[0].Exists {
		return machine.Answer{}, fmt.Errorf("fire %s on an operation that does not exist: answered as if it did", event)
	}
	return answers[1], nil
}

// scratch is a folder that ends with its process.
func scratch() (string, func(), error) {
	folder, err := os.MkdirTemp("", "fencerow-mutants-")
	return folder, func() { _ = os.RemoveAll(folder) }, err
}
