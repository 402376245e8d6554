package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
)

// write does some work in one transaction that begins immediate. A nil error means that its commit was seen.
func (s *Store) write(ctx context.Context, c *call, statement *persist.Statement, work func(*session) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: not begun: %w", c, err)
	}
	var err error
	for range judgements {
		if s.tx != nil {
			err = s.inside(ctx, work)
		} else {
			err = s.transact(ctx, c, statement, work)
		}
		if !errors.Is(err, errJudgeAnew) {
			break
		}
	}
	if err == nil || machine.IsUnknown(err) {
		return err
	}
	return fmt.Errorf("%s: %w", c, s.explained(ctx, err))
}

// transact runs the work. The context ends whatever comes before the commit, the wait for another process's
// transaction too; the commit itself is not cut short, so that its answer is always had.
func (s *Store) transact(ctx context.Context, c *call, statement *persist.Statement, work func(*session) error) error {
	prepared, err := s.prepare(ctx, statement)
	if err != nil {
		return err
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stopped := context.AfterFunc(ctx, cancel)
	defer stopped()
	tx, err := s.writer.db.BeginTx(inner, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	q := &session{ctx: inner, tx: tx, prepared: prepared}
	if err := work(q); err != nil || !q.changed {
		rollback(tx)
		return err
	}
	if !stopped() {
		rollback(tx)
		return context.Cause(ctx)
	}
	if err := tx.Commit(); err != nil {
		if provesNotCommitted(err) {
			return fmt.Errorf("commit: %w", err)
		}
		return &machine.UnknownError{Event: c.event, OperationID: c.id, Cause: fmt.Errorf("commit: %w", err)}
	}
	return nil
}

// rollback gives a transaction up. Where that fails the driver or SQLite has given it up already, or the connection is
// lost, and the transaction with it.
func rollback(tx *sql.Tx) { _ = tx.Rollback() }

func (s *Store) prepare(ctx context.Context, statement *persist.Statement) (map[string]*sql.Stmt, error) {
	texts := []string{statement.SQL}
	for _, step := range statement.Then {
		texts = append(texts, step.SQL)
	}
	prepared := make(map[string]*sql.Stmt, len(texts))
	for _, text := range texts {
		p, err := s.writer.statement(ctx, text) //nolint:sqlclosecheck // the pool closes it
		if err != nil {
			return nil, err
		}
		prepared[text] = p
	}
	return prepared, nil
}

// InTx is the store inside a transaction of the caller's: events fired there are committed with the caller's own rows,
// or not at all (contract C5). The transaction is one of DB, or of another handle on the same file that begins
// immediate (_txlock=immediate); an answer is final only when the caller's commit is. An error undoes its own event
// only. Nothing remote may be waited for inside it, and the store's own methods wait for its end.
func (s *Store) InTx(tx *sql.Tx) machine.Store {
	inner := *s
	inner.tx = tx
	return &inner
}

// inside runs the work in a caller's transaction, so that an error undoes no more than it. The statements run under no
// deadline: one that is cut short takes the whole transaction with it, silently.
func (s *Store) inside(ctx context.Context, work func(*session) error) error {
	q := &session{ctx: context.WithoutCancel(ctx), tx: s.tx}
	if _, err := s.tx.ExecContext(q.ctx, "SAVEPOINT fencerow"); err != nil {
		return err
	}
	failed := work(q)
	if failed != nil {
		if _, err := s.tx.ExecContext(q.ctx, "ROLLBACK TO fencerow"); err != nil {
			return fmt.Errorf("%w; the caller's transaction is lost too, roll it back: %w", failed, err)
		}
	}
	if _, err := s.tx.ExecContext(q.ctx, "RELEASE fencerow"); err != nil {
		return errors.Join(failed, err)
	}
	return failed
}
