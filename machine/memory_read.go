package machine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Get reads operations by id.
func (m *Memory) Get(ctx context.Context, ids ...string) ([]transitions.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read operations: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var found []transitions.Row
	for i, id := range ids {
		if row := m.rows[id]; row != nil && !slices.Contains(ids[:i], id) {
			found = append(found, slices.Clone(row))
		}
	}
	return found, nil
}

// Find reads the operation that holds a remote job id; nil if none does.
func (m *Memory) Find(ctx context.Context, provider, account, remoteJobID string) (transitions.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("find remote job %q: %w", remoteJobID, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	id, ok := m.holders[remoteJob{provider, account, remoteJobID}]
	if !ok {
		return nil, nil
	}
	return slices.Clone(m.rows[id]), nil
}

// List reads a page of operations, newest first.
func (m *Memory) List(ctx context.Context, q Query) ([]transitions.Row, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("list operations: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var page []transitions.Row
	for _, row := range m.rows {
		if m.matches(row, q) {
			page = append(page, slices.Clone(row))
		}
	}
	slices.SortFunc(page, func(a, b transitions.Row) int {
		return cmp.Or(
			cmp.Compare(m.get(b, "created_at").Micros(), m.get(a, "created_at").Micros()),
			cmp.Compare(m.get(b, "operation_id").Text(), m.get(a, "operation_id").Text()))
	})
	limit := q.Limit
	if limit == 0 {
		limit = 100
	}
	return page[:min(limit, len(page))], nil
}

func (m *Memory) matches(row transitions.Row, q Query) bool {
	for _, f := range []struct{ column, want string }{
		{"phase", q.Phase}, {"outcome", q.Outcome}, {"uncertain_reason", q.Reason}, {"kind", q.Kind},
		{"provider", q.Provider}, {"account", q.Account}, {"delivery", q.Delivery},
	} {
		if f.want != "" && m.get(row, f.column).Text() != f.want {
			return false
		}
	}
	if q.Marked && !m.get(row, "duplicate_suspected").Bool() && !m.get(row, "outcome_contradicted").Bool() {
		return false
	}
	created := m.get(row, "created_at").Micros()
	if q.MinAge > 0 && created > m.moment().Add(-q.MinAge).UnixMicro() {
		return false
	}
	if q.MaxAge > 0 && created < m.moment().Add(-q.MaxAge).UnixMicro() {
		return false
	}
	if q.After != nil {
		at := q.After.CreatedAt.UnixMicro()
		return created < at || created == at && m.get(row, "operation_id").Text() < q.After.OperationID
	}
	return true
}

// History reads an operation's history, oldest first.
func (m *Memory) History(ctx context.Context, id string) ([]HistoryEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read the history of operation %q: %w", id, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.history[id]), nil
}

// Evidence reads what was noted about an operation, oldest first.
func (m *Memory) Evidence(ctx context.Context, id string) ([]EvidenceEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read the evidence of operation %q: %w", id, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found := slices.Clone(m.evidence[id])
	for i := range found {
		found[i].Detail = bytes.Clone(found[i].Detail)
	}
	return found, nil
}

// Stats counts operations by phase, outcome, delivery and uncertain reason.
func (m *Memory) Stats(ctx context.Context) ([]Stat, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("count operations: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.moment().UnixMicro()
	counts := map[Stat]*Stat{}
	for _, row := range m.rows {
		key := Stat{
			Phase: m.get(row, "phase").Text(), Outcome: m.get(row, "outcome").Text(),
			Delivery: m.get(row, "delivery").Text(), Reason: m.get(row, "uncertain_reason").Text(),
		}
		s := counts[key]
		if s == nil {
			s = &Stat{Phase: key.Phase, Outcome: key.Outcome, Delivery: key.Delivery, Reason: key.Reason}
			counts[key] = s
		}
		s.Count++
		if due := m.get(row, "due_at"); !due.IsNull() && due.Micros() <= now && (s.OldestDue.IsZero() || due.Time().Before(s.OldestDue)) {
			s.OldestDue = due.Time()
		}
		if until := m.get(row, "lease_until"); !until.IsNull() {
			if until.Micros() > now {
				s.Leased++
			} else {
				s.Lapsed++
			}
		}
	}
	stats := make([]Stat, 0, len(counts))
	for _, s := range counts {
		stats = append(stats, *s)
	}
	slices.SortFunc(stats, func(a, b Stat) int {
		return cmp.Or(strings.Compare(a.Phase, b.Phase), strings.Compare(a.Outcome, b.Outcome),
			strings.Compare(a.Delivery, b.Delivery), strings.Compare(a.Reason, b.Reason))
	})
	return stats, nil
}

// constrain holds a row against the constraints that the SQL stores' tables have.
func (m *Memory) constrain(row transitions.Row) error {
	for i, c := range m.program.Columns {
		if text := violation(m.program, c, row[i]); text != "" {
			return &InvalidError{Field: c.Name, Text: text}
		}
	}
	job, id := m.jobOf(row), m.get(row, "operation_id").Text()
	if holder, ok := m.holders[job]; job.id != "" && ok && holder != id {
		return &InvalidError{Field: "remote_job_id", Text: fmt.Sprintf("%q is held by operation %q already", job.id, holder)}
	}
	if of := m.get(row, "redo_of").Text(); of != "" && m.redone[of] != "" && m.redone[of] != id {
		return &InvalidError{Field: "redo_of", Text: fmt.Sprintf("operation %q was redone before, as %q; redo its successor", of, m.redone[of])}
	}
	phase := m.program.Phase(m.get(row, "phase").Text())
	if has := !m.get(row, "outcome").IsNull(); m.program.Column("outcome") >= 0 && has != phase.HasOutcome {
		return &InvalidError{Field: "outcome", Text: fmt.Sprintf("is set: %t; in phase %s it must be: %t", has, phase.Name, phase.HasOutcome)}
	}
	return nil
}

// violation says what is wrong with a column's value, "" if nothing is.
func violation(p *transitions.Program, c transitions.Column, v transitions.Value) string {
	switch {
	case v.IsNull() && c.NotNull:
		return "is null; the table wants a value"
	case v.IsNull():
		return ""
	case v.Kind() != c.Kind:
		return fmt.Sprintf("is of kind %s; the table wants %s", v.Kind(), c.Kind)
	}
	if words := p.Words(c); words != nil && !slices.Contains(words, v.Text()) {
		return fmt.Sprintf("%q is none of the table's words: %s", v.Text(), strings.Join(words, ", "))
	}
	switch {
	case c.Check == "usable" && !transitions.UsableRemoteJobID(v.Text()):
		return fmt.Sprintf("%q is not usable as a remote job id", v.Text())
	case c.Kind == transitions.Time && (v.Time().Before(transitions.MinTime) || v.Time().After(transitions.MaxTime)):
		return fmt.Sprintf("%s is not between the years 1 and 9999", v)
	case c.Check == "natural" && v.Int() > transitions.MaxNatural:
		return fmt.Sprintf("%d is more than %d", v.Int(), transitions.MaxNatural)
	case c.Check == "natural" && v.Int() < 0:
		return fmt.Sprintf("%d is negative", v.Int())
	}
	return ""
}
