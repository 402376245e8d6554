package pgstore

import (
	"context"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// Review reads a page of what waits for a reviewer.
func (s *Store) Review(ctx context.Context, q machine.ReviewQuery) ([]transitions.Row, error) {
	reader := s.set.Reader(persist.ReadReview)
	if reader == nil {
		return nil, ctx.Err()
	}
	return s.readRows(ctx, persist.ReadReview, "list what waits for a reviewer", arguments(reader.Params, sendable(reviewParams(q)))...)
}

// ReviewCount counts what waits for a reviewer.
func (s *Store) ReviewCount(ctx context.Context, q machine.ReviewQuery) (int64, error) {
	reader := s.set.Reader(persist.ReadReviewCount)
	if reader == nil {
		return 0, ctx.Err()
	}
	var n int64
	err := s.read(ctx, persist.ReadReviewCount, "count what waits for a reviewer", arguments(reader.Params, sendable(reviewParams(q))),
		func(r row) error { return r.Scan(&n) })
	return n, err
}

func reviewParams(q machine.ReviewQuery) transitions.Params {
	rank, createdAt, id := q.After.Bounds()
	p := transitions.Params{
		"reason": transitions.OptText(q.Reason), "kind": transitions.OptText(q.Kind), "provider": transitions.OptText(q.Provider),
		"account": transitions.OptText(q.Account), "after_rank": rank, "after_created_at": createdAt, "after_operation_id": id,
		persist.Limit: transitions.IntValue(100),
	}
	if q.Limit > 0 {
		p[persist.Limit] = transitions.IntValue(int64(q.Limit))
	}
	for name, age := range map[string]time.Duration{"min_age_ms": q.MinAge, "max_age_ms": q.MaxAge} {
		if age > 0 {
			p[name] = transitions.IntValue(age.Milliseconds())
		}
	}
	return p
}

// Recent reads the last history rows and evidence of several operations, in one statement each.
func (s *Store) Recent(ctx context.Context, limit, detailBytes int, ids ...string) ([]machine.HistoryEntry, []machine.EvidenceEntry, error) {
	list := s.list(ids)
	history, err := s.readHistory(ctx, persist.ReadRecent, "read the last history of operations", list, limit)
	if err != nil {
		return nil, nil, err
	}
	evidence, err := s.readEvidence(ctx, persist.ReadTraces, "read the last evidence of operations", true, list, limit, detailBytes)
	return history, evidence, err
}

// Redone reads the operations that repeat one of these.
func (s *Store) Redone(ctx context.Context, ids ...string) ([]transitions.Row, error) {
	return s.readRows(ctx, persist.ReadRedone, "read what repeats operations", s.list(ids))
}

// list is an argument that holds the ids which an operation could have.
func (s *Store) list(ids []string) any {
	known := []string{}
	for _, id := range ids {
		if storable(id) {
			known = append(known, id)
		}
	}
	if s.runner.takesArrays() {
		return known
	}
	return arrayText(known)
}
