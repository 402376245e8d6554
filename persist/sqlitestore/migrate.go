package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	codes "modernc.org/sqlite/lib"

	"github.com/fencerow/fencerow/persist"
)

// Migration is one step of the tables' making and when it was made here.
type Migration struct {
	persist.Migration
	At time.Time // zero if it is still to be made
}

var errInTransaction = errors.New("migrate: the store is inside a transaction; use the one that was opened")

// Migrate makes the tables, or brings them up to date, all in one transaction; processes that migrate at the same time
// wait for each other. It gives the steps that it made.
func (s *Store) Migrate(ctx context.Context) ([]persist.Migration, error) {
	if s.tx != nil {
		return nil, errInTransaction
	}
	made, err := s.migrate(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", s.explained(ctx, err))
	}
	return made, nil
}

func (s *Store) migrate(ctx context.Context) ([]persist.Migration, error) {
	all, err := persist.Schema(s.program, persist.SQLite, s.set.Names)
	if err != nil {
		return nil, err
	}
	tx, _, giveBack, err := s.begin(ctx, ctx, nil)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	defer rollback(tx)
	ledger := persist.LedgerOf(persist.SQLite, s.set.Names)
	if _, err := tx.ExecContext(ctx, ledger.Create); err != nil {
		return nil, fmt.Errorf("make the table of migrations: %w", err)
	}
	known, err := s.ledger(ctx, tx)
	if err != nil {
		return nil, err
	}
	var made []persist.Migration
	for _, m := range all {
		if _, ok := known[m.Version]; ok {
			continue
		}
		if _, err := tx.ExecContext(ctx, m.SQL); err != nil {
			return nil, fmt.Errorf("step %d, %s: %w", m.Version, m.Name, err)
		}
		if _, err := tx.ExecContext(ctx, ledger.Record, m.Version, m.Name); err != nil {
			return nil, fmt.Errorf("record step %d: %w", m.Version, err)
		}
		made = append(made, m)
	}
	return made, tx.Commit()
}

type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (s *Store) ledger(ctx context.Context, q queryer) (map[int]time.Time, error) {
	rows, err := q.QueryContext(ctx, persist.LedgerOf(persist.SQLite, s.set.Names).Read)
	if err != nil {
		return nil, fmt.Errorf("read which migrations were made: %w", err)
	}
	made := map[int]time.Time{}
	err = drain(rows, func(rows *sql.Rows) error {
		var version int
		var name string
		var at sql.NullInt64
		err := rows.Scan(&version, &name, &at)
		made[version] = moment(at)
		return err
	})
	return made, err
}

// MigrationStatus lists every migration, oldest first, and when it was made.
func (s *Store) MigrationStatus(ctx context.Context) ([]Migration, error) {
	if s.tx != nil {
		return nil, errInTransaction
	}
	all, err := persist.Schema(s.program, persist.SQLite, s.set.Names)
	if err != nil {
		return nil, err
	}
	made, err := s.ledger(ctx, s.reader.db)
	if code(err) == codes.SQLITE_ERROR && strings.Contains(err.Error(), "no such table") {
		made, err = nil, nil // nothing was ever made
	}
	if err != nil {
		return nil, s.explained(ctx, err)
	}
	status := make([]Migration, len(all))
	for i, m := range all {
		status[i] = Migration{Migration: m, At: made[m.Version]}
	}
	return status, nil
}
