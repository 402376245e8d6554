package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"unicode/utf8"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// Review reads a page of what waits for a reviewer.
func (s *Store) Review(ctx context.Context, q machine.ReviewQuery) ([]transitions.Row, error) {
	return s.readRows(ctx, persist.ReadReview, "list what waits for a reviewer", reviewParams(q))
}

// ReviewCount counts what waits for a reviewer.
func (s *Store) ReviewCount(ctx context.Context, q machine.ReviewQuery) (int64, error) {
	var n int64
	err := s.read(ctx, persist.ReadReviewCount, "count what waits for a reviewer", reviewParams(q), func(rows *sql.Rows) error { return rows.Scan(&n) })
	return n, err
}

func reviewParams(q machine.ReviewQuery) transitions.Params {
	rank, createdAt, id := q.After.Bounds()
	p := transitions.Params{
		"reason": transitions.OptText(q.Reason), "kind": transitions.OptText(q.Kind), "provider": transitions.OptText(q.Provider),
		"account": transitions.OptText(q.Account), "after_rank": rank, "after_created_at": createdAt, "after_operation_id": id,
		persist.Limit: transitions.IntValue(defaultPage),
	}
	if q.Limit > 0 {
		p[persist.Limit] = transitions.IntValue(int64(q.Limit))
	}
	if q.MinAge > 0 {
		p["min_age_ms"] = transitions.IntValue(q.MinAge.Milliseconds())
	}
	if q.MaxAge > 0 {
		p["max_age_ms"] = transitions.IntValue(q.MaxAge.Milliseconds())
	}
	return p
}

// Recent reads the last history rows and evidence of several operations, in one statement each.
func (s *Store) Recent(ctx context.Context, limit, detailBytes int, ids ...string) ([]machine.HistoryEntry, []machine.EvidenceEntry, error) {
	params := transitions.Params{
		"operation_ids": list(ids), persist.Limit: transitions.IntValue(int64(limit)), persist.DetailBytes: transitions.IntValue(int64(detailBytes)),
	}
	history, err := s.readHistory(ctx, persist.ReadRecent, "read the last history of operations", params)
	if err != nil {
		return nil, nil, err
	}
	evidence, err := s.readEvidence(ctx, persist.ReadTraces, "read the last evidence of operations", true, params)
	return history, evidence, err
}

// Redone reads the operations that repeat one of these.
func (s *Store) Redone(ctx context.Context, ids ...string) ([]transitions.Row, error) {
	return s.readRows(ctx, persist.ReadRedone, "read what repeats operations", transitions.Params{"operation_ids": list(ids)})
}

// list writes ids as the JSON list that a statement takes apart again. No operation has an id that is no UTF-8, and JSON
// would make another of it.
func list(ids []string) transitions.Value {
	known := []string{}
	for _, id := range ids {
		if utf8.ValidString(id) {
			known = append(known, id)
		}
	}
	text, _ := json.Marshal(known) // texts cannot fail to encode
	return transitions.TextValue(string(text))
}
