package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// pool is some connections to the file, with the statements that were prepared on them.
type pool struct {
	db       *sql.DB
	mu       sync.Mutex
	prepared map[string]*sql.Stmt
}

// statement prepares an SQL text once. It must not be called inside a transaction of the pool: it needs a connection.
func (p *pool) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	p.mu.Lock()
	known := p.prepared[text]
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	fresh, err := p.db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.prepared[text]; known != nil {
		_ = fresh.Close() //nolint:sqlclosecheck // somebody was faster
		return known, nil
	}
	p.prepared[text] = fresh
	return fresh, nil
}

func (p *pool) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := make([]error, 0, len(p.prepared)+1)
	for _, s := range p.prepared {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, p.db.Close())...)
}

// session runs statements inside one transaction.
type session struct {
	ctx      context.Context
	tx       *sql.Tx
	prepared map[string]*sql.Stmt // nil in a caller's transaction, whose database is not ours
	changed  bool
}

// query runs a statement and reads its rows to the end, so that none is open when the next one writes.
func (q *session) query(text string, args []any, each func(*sql.Rows) error) error {
	var rows *sql.Rows
	var err error
	if s := q.prepared[text]; s != nil {
		rows, err = q.tx.StmtContext(q.ctx, s).QueryContext(q.ctx, args...) //nolint:sqlclosecheck // closed with the transaction
	} else {
		rows, err = q.tx.QueryContext(q.ctx, text, args...)
	}
	if err != nil {
		return err
	}
	return drain(rows, each)
}

// exec runs a statement without rows and counts what it wrote.
func (q *session) exec(text string, args []any) (int64, error) {
	var result sql.Result
	var err error
	if s := q.prepared[text]; s != nil {
		result, err = q.tx.StmtContext(q.ctx, s).ExecContext(q.ctx, args...) //nolint:sqlclosecheck // closed with the transaction
	} else {
		result, err = q.tx.ExecContext(q.ctx, text, args...)
	}
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	q.changed = q.changed || n > 0
	return n, err
}

// drain reads rows to their end. What they say counts only if no error came with the end.
func drain(rows *sql.Rows, each func(*sql.Rows) error) error {
	var failed error
	for rows.Next() && failed == nil {
		failed = each(rows)
	}
	return errors.Join(failed, rows.Err(), rows.Close())
}
