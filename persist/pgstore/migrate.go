package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/persist"
)

// Migration is one step of the tables' making and when it was made here.
type Migration struct {
	persist.Migration
	At time.Time // zero if it is still to be made
}

// How long a migration waits: for another process that migrates, and for the locks of its own statements, for which
// every writer behind it would wait too.
const (
	migratorWait = time.Minute
	migrateLock  = 2 * time.Second
)

var errInTransaction = errors.New("migrate: the store is inside a transaction; use the one that was opened")

// Migrate makes the tables, or brings them up to date. Each step is one transaction; processes that migrate at the same
// time wait for each other. It gives the steps that it made.
func (s *Store) Migrate(ctx context.Context) ([]persist.Migration, error) {
	if s.pool == nil {
		return nil, errInTransaction
	}
	all, err := persist.Schema(s.program, persist.PostgreSQL, s.set.Names)
	if err != nil {
		return nil, err
	}
	var made []persist.Migration
	for {
		step, err := s.migrateOnce(ctx, all)
		if e := serverError(err); e != nil && e.Code == lockNotAvailable {
			return made, fmt.Errorf("migrate: the lock wait reached its bound, nothing of the step was made: somebody uses the tables, such as a long SELECT, a dump, or another migration; migrate when that is over: %w", err)
		}
		if err != nil {
			return made, fmt.Errorf("migrate: %w", explained(ctx, err, s.set.Names))
		}
		if step == nil {
			return made, nil
		}
		made = append(made, *step)
	}
}

// migrateOnce makes the first step that is missing, nil if none is.
func (s *Store) migrateOnce(ctx context.Context, all []persist.Migration) (*persist.Migration, error) {
	ledger := persist.LedgerOf(persist.PostgreSQL, s.set.Names)
	var missing *persist.Migration
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := s.alone(ctx, tx); err != nil {
			return fmt.Errorf("wait for other migrations: %w", err)
		}
		if err := script(ctx, tx, ledger.Create); err != nil {
			return fmt.Errorf("make the table of migrations: %w", err)
		}
		made, err := s.ledger(ctx, tx)
		if err != nil {
			return err
		}
		for i := range all {
			if _, ok := made[all[i].Version]; !ok {
				missing = &all[i]
				break
			}
		}
		if missing == nil {
			return nil
		}
		if err := script(ctx, tx, missing.SQL); err != nil {
			return fmt.Errorf("step %d, %s: %w", missing.Version, missing.Name, err)
		}
		_, err = tx.Exec(ctx, ledger.Record, pgx.QueryExecModeExec, missing.Version, missing.Name)
		return err
	})
	return missing, err
}

// alone waits until no other process migrates these tables. The lock is the transaction's, which a pooler keeps on one
// connection.
func (s *Store) alone(ctx context.Context, tx pgx.Tx) error {
	const wait = "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', $1::text, true), set_config('client_min_messages', 'warning', true)"
	if _, err := tx.Exec(ctx, wait, pgx.QueryExecModeExec, milliseconds(migratorWait)); err != nil {
		return err
	}
	names := s.set.Names
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))", pgx.QueryExecModeExec,
		"fencerow migrations "+names.Schema+"."+names.Prefix); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1::text, true)", pgx.QueryExecModeExec, milliseconds(migrateLock))
	return err
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

// script runs several statements. They have no parameters, and the transaction is begun: nothing is lost by the simple
// protocol, which alone takes several.
func script(ctx context.Context, tx pgx.Tx, sql string) error {
	return tx.Conn().PgConn().Exec(ctx, sql).Close()
}

func (s *Store) ledger(ctx context.Context, q querier) (map[int]time.Time, error) {
	made := map[int]time.Time{}
	_, err := query(ctx, q, pgx.QueryExecModeExec, persist.LedgerOf(persist.PostgreSQL, s.set.Names).Read, nil, func(r row) error {
		var version int
		var name string
		var at time.Time
		err := r.Scan(&version, &name, &at)
		made[version] = at.UTC()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read which migrations were made: %w", err)
	}
	return made, nil
}

// MigrationStatus lists every migration, oldest first, and when it was made.
func (s *Store) MigrationStatus(ctx context.Context) ([]Migration, error) {
	if s.pool == nil {
		return nil, errInTransaction
	}
	all, err := persist.Schema(s.program, persist.PostgreSQL, s.set.Names)
	if err != nil {
		return nil, err
	}
	made, err := s.ledger(ctx, s.pool)
	if e := serverError(err); e != nil && e.Code == undefinedTable {
		made, err = nil, nil // nothing was ever made
	}
	if err != nil {
		return nil, explained(ctx, err, s.set.Names)
	}
	status := make([]Migration, len(all))
	for i, m := range all {
		status[i] = Migration{Migration: m, At: made[m.Version]}
	}
	return status, nil
}
