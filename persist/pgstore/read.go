package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// read runs a reading statement; what says what for.
func (s *Store) read(ctx context.Context, name, what string, args []any, each func(row) error) error {
	reader := s.set.Reader(name)
	if reader == nil {
		return nil
	}
	if _, err := s.runner.run(ctx, reader.SQL, args, each); err != nil {
		return fmt.Errorf("%s: %w", what, explained(ctx, err, s.set.Names))
	}
	return nil
}

func (s *Store) readRows(ctx context.Context, name, what string, args ...any) ([]transitions.Row, error) {
	var found []transitions.Row
	err := s.read(ctx, name, what, args, func(r row) error {
		values, err := s.scan(r)
		found = append(found, values)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Get reads operations by id.
func (s *Store) Get(ctx context.Context, ids ...string) ([]transitions.Row, error) {
	return s.readRows(ctx, persist.ReadGet, "read operations", s.list(ids))
}

// Find reads the operation that holds a remote job id.
func (s *Store) Find(ctx context.Context, provider, account, remoteJobID string) (transitions.Row, error) {
	if !storable(provider) || !storable(account) || !storable(remoteJobID) {
		return nil, ctx.Err()
	}
	rows, err := s.readRows(ctx, persist.ReadFind, fmt.Sprintf("find remote job %q", remoteJobID), provider, account, remoteJobID)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// List reads a page of operations, newest first.
func (s *Store) List(ctx context.Context, q machine.Query) ([]transitions.Row, error) {
	params := transitions.Params{persist.Limit: transitions.IntValue(100)}
	if q.Limit > 0 {
		params[persist.Limit] = transitions.IntValue(int64(q.Limit))
	}
	for name, text := range map[string]string{
		"phase": q.Phase, "outcome": q.Outcome, "reason": q.Reason, "kind": q.Kind,
		"provider": q.Provider, "account": q.Account, "delivery": q.Delivery,
	} {
		params[name] = transitions.OptText(text)
	}
	for name, age := range map[string]time.Duration{"min_age_ms": q.MinAge, "max_age_ms": q.MaxAge} {
		if age > 0 {
			params[name] = transitions.IntValue(age.Milliseconds())
		}
	}
	if q.Marked {
		params["marked"] = transitions.BoolValue(true)
	}
	if q.After != nil {
		params["after_created_at"] = transitions.TimeValue(q.After.CreatedAt)
		params["after_operation_id"] = transitions.TextValue(q.After.OperationID)
	}
	return s.readRows(ctx, persist.ReadList, "list operations", arguments(s.set.Reader(persist.ReadList).Params, sendable(params))...)
}

// History reads an operation's history, oldest first.
func (s *Store) History(ctx context.Context, id string) ([]machine.HistoryEntry, error) {
	if !storable(id) {
		return nil, ctx.Err()
	}
	return s.readHistory(ctx, persist.ReadHistory, fmt.Sprintf("read the history of operation %q", id), id)
}

func (s *Store) readHistory(ctx context.Context, name, what string, args ...any) ([]machine.HistoryEntry, error) {
	var found []machine.HistoryEntry
	err := s.read(ctx, name, what, args, func(r row) error {
		var e machine.HistoryEntry
		var from, owner, reason, reviewer, detail *string
		err := r.Scan(&e.Seq, &e.OperationID, &e.Event, &from, &e.To, &owner, &e.Revision, &reason, &reviewer, &detail, &e.Changes, &e.At)
		e.From, e.Owner, e.Reason, e.Reviewer, e.Detail, e.At = orEmpty(from), orEmpty(owner), orEmpty(reason), orEmpty(reviewer), orEmpty(detail), e.At.UTC()
		found = append(found, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Evidence reads what was noted about an operation, oldest first.
func (s *Store) Evidence(ctx context.Context, id string) ([]machine.EvidenceEntry, error) {
	if !storable(id) {
		return nil, ctx.Err()
	}
	return s.readEvidence(ctx, persist.ReadEvidence, fmt.Sprintf("read the evidence of operation %q", id), false, id)
}

// readEvidence reads evidence; cut says that the statement gives the detail's whole length as a last column.
func (s *Store) readEvidence(ctx context.Context, name, what string, cut bool, args ...any) ([]machine.EvidenceEntry, error) {
	var found []machine.EvidenceEntry
	err := s.read(ctx, name, what, args, func(r row) error {
		var e machine.EvidenceEntry
		var operation, provider, account, kind, owner, job *string
		var revision *int64
		into := []any{&e.Seq, &operation, &provider, &account, &kind, &revision, &owner, &job, &e.Detail, &e.At}
		if cut {
			into = append(into, &e.Omitted)
		}
		err := r.Scan(into...)
		e.OperationID, e.Provider, e.Account, e.Kind, e.Owner, e.RemoteJobID = orEmpty(operation), orEmpty(provider), orEmpty(account), orEmpty(kind), orEmpty(owner), orEmpty(job)
		if revision != nil {
			e.Revision = *revision
		}
		if cut {
			e.Omitted -= int64(len(e.Detail))
		}
		e.At = e.At.UTC()
		found = append(found, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Stats counts operations by phase, outcome, delivery and uncertain reason.
func (s *Store) Stats(ctx context.Context) ([]machine.Stat, error) {
	var stats []machine.Stat
	err := s.read(ctx, persist.ReadStats, "count operations", nil, func(r row) error {
		var e machine.Stat
		var outcome, delivery, reason *string
		var due *time.Time
		err := r.Scan(&e.Phase, &outcome, &delivery, &reason, &e.Count, &due, &e.Leased, &e.Lapsed)
		e.Outcome, e.Delivery, e.Reason = orEmpty(outcome), orEmpty(delivery), orEmpty(reason)
		if due != nil {
			e.OldestDue = due.UTC()
		}
		stats = append(stats, e)
		return err
	})
	if err != nil {
		return nil, err
	}
	return stats, nil
}

// Now reads the server's wall clock, by which leases and due times are judged.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	_, err := s.runner.run(ctx, "SELECT clock_timestamp()", nil, func(r row) error { return r.Scan(&now) })
	if err != nil {
		return time.Time{}, fmt.Errorf("read the database's clock: %w", err)
	}
	return now.UTC(), nil
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
