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
	if err := s.stillThere(); err != nil {
		return err
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stopped := context.AfterFunc(ctx, cancel)
	defer stopped()
	tx, prepared, giveBack, err := s.begin(ctx, inner, statement)
	if err != nil {
		return err
	}
	defer giveBack()
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

// begin has the connection that writes, and begins a transaction on it that lives as long as inner. The connection is
// waited for no longer than another process's transaction is: who has it in this process may never let go, such as the
// goroutine that waits here, with rows of DB that it has not read to their end.
func (s *Store) begin(ctx, inner context.Context, statements ...*persist.Statement) (tx *sql.Tx, prepared map[string]*sql.Stmt, giveBack func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, s.busy)
	defer cancel()
	prepared, err = s.prepare(waiting, statements)
	var conn *sql.Conn
	if err == nil {
		conn, err = s.writer.db.Conn(waiting)
	}
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return nil, nil, nil, fmt.Errorf("this process has used its one connection that writes for longer than %s, nothing was written; end its open transaction, or read its open rows to their end", s.busy)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	giveBack = func() { _ = conn.Close() }
	if tx, err = conn.BeginTx(inner, nil); err != nil {
		giveBack()
		return nil, nil, nil, fmt.Errorf("begin: %w", err)
	}
	return tx, prepared, giveBack, nil
}

// rollback gives a transaction up. Where that fails the driver or SQLite has given it up already, or the connection is
// lost, and the transaction with it.
func rollback(tx *sql.Tx) { _ = tx.Rollback() }

// prepare prepares statements; a nil one is none.
func (s *Store) prepare(ctx context.Context, statements []*persist.Statement) (map[string]*sql.Stmt, error) {
	var texts []string
	for _, statement := range statements {
		if statement == nil {
			continue
		}
		texts = append(texts, statement.SQL)
		for _, step := range statement.Then {
			texts = append(texts, step.SQL)
		}
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
	inner.tx, inner.near = tx, nil
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
