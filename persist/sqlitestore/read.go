package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// read runs a reading statement to its end; what says what for.
func (s *Store) read(ctx context.Context, name, what string, params transitions.Params, each func(*sql.Rows) error) error {
	reader := s.set.Reader(name)
	if reader == nil {
		return nil // the table has no such columns
	}
	args := arguments(reader.Params, params)
	var rows *sql.Rows
	var err error
	if s.tx != nil {
		rows, err = s.tx.QueryContext(ctx, reader.SQL, args...)
	} else {
		var prepared *sql.Stmt
		if prepared, err = s.reader.statement(ctx, reader.SQL); err == nil { //nolint:sqlclosecheck // the pool closes it
			rows, err = prepared.QueryContext(ctx, args...)
		}
	}
	if err == nil {
		err = drain(rows, each)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, s.explained(ctx, err))
	}
	return nil
}

func (s *Store) readRows(ctx context.Context, name, what string, params transitions.Params) ([]transitions.Row, error) {
	var all []transitions.Row
	err := s.read(ctx, name, what, params, func(rows *sql.Rows) error {
		row, err := s.scanRow(rows)
		all = append(all, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func idParam(id string) transitions.Params {
	return transitions.Params{"operation_id": transitions.TextValue(id)}
}

// Get reads operations by id.
func (s *Store) Get(ctx context.Context, ids ...string) ([]transitions.Row, error) {
	var all []transitions.Row
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		rows, err := s.readRows(ctx, persist.ReadGet, fmt.Sprintf("read operation %q", id), idParam(id))
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// Find reads the operation that holds a remote job id; nil if none does.
func (s *Store) Find(ctx context.Context, provider, account, remoteJobID string) (transitions.Row, error) {
	rows, err := s.readRows(ctx, persist.ReadFind, fmt.Sprintf("find remote job %q", remoteJobID), transitions.Params{
		"provider": transitions.TextValue(provider), "account": transitions.TextValue(account),
		"remote_job_id": transitions.TextValue(remoteJobID),
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// defaultPage is how many operations List gives where the query does not say.
const defaultPage = 100

// List reads a page of operations, newest first.
func (s *Store) List(ctx context.Context, q machine.Query) ([]transitions.Row, error) {
	params := transitions.Params{
		"phase": transitions.OptText(q.Phase), "outcome": transitions.OptText(q.Outcome), "reason": transitions.OptText(q.Reason),
		"kind": transitions.OptText(q.Kind), "provider": transitions.OptText(q.Provider), "account": transitions.OptText(q.Account),
		"delivery":    transitions.OptText(q.Delivery),
		persist.Limit: transitions.IntValue(defaultPage),
	}
	if q.Limit > 0 {
		params[persist.Limit] = transitions.IntValue(int64(q.Limit))
	}
	if q.Marked {
		params["marked"] = transitions.BoolValue(true)
	}
	if q.MinAge > 0 {
		params["min_age_ms"] = transitions.IntValue(q.MinAge.Milliseconds())
	}
	if q.MaxAge > 0 {
		params["max_age_ms"] = transitions.IntValue(q.MaxAge.Milliseconds())
	}
	if q.After != nil {
		params["after_created_at"] = transitions.TimeValue(q.After.CreatedAt)
		params["after_operation_id"] = transitions.TextValue(q.After.OperationID)
	}
	return s.readRows(ctx, persist.ReadList, "list operations", params)
}

// History reads an operation's history, oldest first.
func (s *Store) History(ctx context.Context, id string) ([]machine.HistoryEntry, error) {
	return s.readHistory(ctx, persist.ReadHistory, fmt.Sprintf("read the history of operation %q", id), idParam(id))
}

func (s *Store) readHistory(ctx context.Context, name, what string, params transitions.Params) ([]machine.HistoryEntry, error) {
	var all []machine.HistoryEntry
	err := s.read(ctx, name, what, params, func(rows *sql.Rows) error {
		var e machine.HistoryEntry
		var from, owner, reason, reviewer, detail sql.NullString
		var at sql.NullInt64
		err := rows.Scan(&e.Seq, &e.OperationID, &e.Event, &from, &e.To, &owner, &e.Revision, &reason, &reviewer, &detail, &e.Changes, &at)
		e.From, e.Owner, e.Reason, e.Reviewer, e.Detail, e.At = from.String, owner.String, reason.String, reviewer.String, detail.String, moment(at)
		all = append(all, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Evidence reads what was noted about an operation, oldest first.
func (s *Store) Evidence(ctx context.Context, id string) ([]machine.EvidenceEntry, error) {
	return s.readEvidence(ctx, persist.ReadEvidence, fmt.Sprintf("read the evidence of operation %q", id), false, idParam(id))
}

// readEvidence reads evidence; cut says that the statement gives the detail's whole length as a last column.
func (s *Store) readEvidence(ctx context.Context, name, what string, cut bool, params transitions.Params) ([]machine.EvidenceEntry, error) {
	var all []machine.EvidenceEntry
	err := s.read(ctx, name, what, params, func(rows *sql.Rows) error {
		var e machine.EvidenceEntry
		var operation, provider, account, kind, owner, remote sql.NullString
		var revision, at sql.NullInt64
		var detail any
		into := []any{&e.Seq, &operation, &provider, &account, &kind, &revision, &owner, &remote, &detail, &at}
		if cut {
			into = append(into, &e.Omitted)
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		raw, err := found(transitions.Bytes, detail)
		e.OperationID, e.Provider, e.Account, e.Kind = operation.String, provider.String, account.String, kind.String
		e.Revision, e.Owner, e.RemoteJobID, e.Detail, e.At = revision.Int64, owner.String, remote.String, raw.Bytes(), moment(at)
		if cut {
			e.Omitted -= int64(len(e.Detail))
		}
		all = append(all, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Stats counts operations by phase, outcome, delivery and uncertain reason.
func (s *Store) Stats(ctx context.Context) ([]machine.Stat, error) {
	var all []machine.Stat
	err := s.read(ctx, persist.ReadStats, "count operations", nil, func(rows *sql.Rows) error {
		var e machine.Stat
		var outcome, delivery, reason sql.NullString
		var due sql.NullInt64
		err := rows.Scan(&e.Phase, &outcome, &delivery, &reason, &e.Count, &due, &e.Leased, &e.Lapsed)
		e.Outcome, e.Delivery, e.Reason, e.OldestDue = outcome.String, delivery.String, reason.String, moment(due)
		all = append(all, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Now reads the clock that the statements judge by, which is this machine's, in milliseconds.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now sql.NullInt64
	const clock = "SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"
	if err := s.reader.db.QueryRowContext(ctx, clock).Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the clock: %w", s.explained(ctx, err))
	}
	return moment(now), nil
}
