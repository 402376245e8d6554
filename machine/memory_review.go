package machine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fencerow/fencerow/transitions"
)

// rank is the place of a row in the review list, as the SQL stores' review_rank.
func (m *Memory) rank(row transitions.Row) (int, bool) {
	switch {
	case m.get(row, "duplicate_suspected").Bool():
		return RankDuplicate, true
	case m.get(row, "outcome_contradicted").Bool():
		return RankContradicted, true
	case m.get(row, "phase").Text() == transitions.Uncertain:
		return RankUncertain, true
	}
	return 0, false
}

// Review reads a page of what waits for a reviewer.
func (m *Memory) Review(ctx context.Context, q ReviewQuery) ([]transitions.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list what waits for a reviewer: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	page := m.waiting(q, func(c ReviewCursor) bool { return compareCursors(c, q.After) > 0 })
	limit := q.Limit
	if limit == 0 {
		limit = 100
	}
	return page[:min(limit, len(page))], nil
}

// ReviewCount counts what waits for a reviewer.
func (m *Memory) ReviewCount(ctx context.Context, q ReviewQuery) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("count what waits for a reviewer: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.waiting(q, func(c ReviewCursor) bool { return c.Rank >= q.After.Rank }))), nil
}

func (m *Memory) waiting(q ReviewQuery, from func(ReviewCursor) bool) []transitions.Row {
	filter := Query{Reason: q.Reason, Kind: q.Kind, Provider: q.Provider, Account: q.Account, MinAge: q.MinAge, MaxAge: q.MaxAge}
	var page []transitions.Row
	for _, row := range m.rows {
		if _, waits := m.rank(row); waits && m.matches(row, filter) && from(m.placeOf(row)) {
			page = append(page, slices.Clone(row))
		}
	}
	slices.SortFunc(page, func(a, b transitions.Row) int { return compareCursors(m.placeOf(a), m.placeOf(b)) })
	return page
}

func (m *Memory) placeOf(row transitions.Row) ReviewCursor {
	rank, _ := m.rank(row)
	return ReviewCursor{rank, m.get(row, "created_at").Time(), m.get(row, "operation_id").Text()}
}

func compareCursors(a, b ReviewCursor) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.OperationID, b.OperationID))
}

// Recent reads the last history rows and evidence of each operation.
func (m *Memory) Recent(ctx context.Context, limit, detailBytes int, ids ...string) ([]HistoryEntry, []EvidenceEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("read what is known of operations: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var history []HistoryEntry
	var evidence []EvidenceEntry
	ids = slices.Clone(ids)
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		history = append(history, m.recent(m.history[id], limit)...)
		traces := m.evidence[id]
		for _, e := range traces[max(0, len(traces)-limit):] {
			kept := min(len(e.Detail), detailBytes)
			e.Omitted = int64(len(e.Detail) - kept)
			e.Detail = bytes.Clone(e.Detail[:kept])
			evidence = append(evidence, e)
		}
	}
	return history, evidence, nil
}

// recent picks the last rows, the last that began a send and the last that led to uncertain.
func (m *Memory) recent(all []HistoryEntry, limit int) []HistoryEntry {
	var picked []HistoryEntry
	begun, doubted := false, false
	for i := len(all) - 1; i >= 0; i-- {
		e := all[i]
		phase := m.program.Phase(e.To)
		enters := e.From != "" && e.From != e.To
		begins := enters && phase != nil && phase.Effecting && !begun
		doubts := enters && e.To == transitions.Uncertain && !doubted
		if i < len(all)-limit && !begins && !doubts {
			continue
		}
		begun, doubted = begun || begins, doubted || doubts
		e.Changes = ""
		picked = append(picked, e)
	}
	slices.Reverse(picked)
	return picked
}

// Redone reads the operations that repeat one of these.
func (m *Memory) Redone(ctx context.Context, ids ...string) ([]transitions.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read what repeats operations: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for _, id := range ids {
		if again, ok := m.redone[id]; ok && !slices.Contains(names, again) {
			names = append(names, again)
		}
	}
	slices.Sort(names)
	var found []transitions.Row
	for _, name := range names {
		found = append(found, slices.Clone(m.rows[name]))
	}
	return found, nil
}
