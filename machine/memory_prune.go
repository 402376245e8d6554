package machine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/fencerow/fencerow/transitions"
)

var _ Pruner = (*Memory)(nil)

// Prunable reads the operations of one page of ids that may be pruned.
func (m *Memory) Prunable(ctx context.Context, q PruneQuery) (PrunePage, error) {
	if err := ctx.Err(); err != nil {
		return PrunePage{}, fmt.Errorf("look for what can be pruned: %w", err)
	}
	if err := CheckPrunable(m.program); err != nil {
		return PrunePage{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(m.rows)) {
		if id > q.After && len(ids) < cmp.Or(q.Page, PruneIDs) {
			ids = append(ids, id)
		}
	}
	var found []Prunable
	for _, id := range ids {
		row := m.rows[id]
		if len(found) < cmp.Or(q.Limit, PruneLimit) && m.prunable(row, q) && m.selected(row, q) {
			found = append(found, Prunable{id, m.seen(row)})
		}
	}
	until := ""
	if len(ids) > 0 {
		until = ids[len(ids)-1]
	}
	return q.Found(until, len(ids), found), nil
}

func (m *Memory) seen(row transitions.Row) Seen {
	return Seen{m.get(row, "revision").Int(), m.get(row, "evidence_seq").Int()}
}

func (m *Memory) selected(row transitions.Row, q PruneQuery) bool {
	for _, f := range []struct{ column, want string }{
		{"outcome", q.Outcome}, {"kind", q.Kind}, {"provider", q.Provider}, {"account", q.Account},
	} {
		if f.want != "" && m.get(row, f.column).Text() != f.want {
			return false
		}
	}
	return true
}

// prunable tells whether an operation may be pruned, as far as its age and its history go too.
func (m *Memory) prunable(row transitions.Row, q PruneQuery) bool {
	told := slices.ContainsFunc(m.history[m.get(row, "operation_id").Text()], func(e HistoryEntry) bool { return e.Event != EventPruned })
	return settled(m.program, row) && told && m.get(row, "updated_at").Micros() < m.moment().Add(-q.OlderThan).UnixMicro()
}

// settled tells whether nothing is to be done about an operation any more, by anybody, and whether its end is known.
func settled(p *transitions.Program, row transitions.Row) bool {
	get := func(column string) transitions.Value { return row[p.Column(column)] }
	outcome, delivery := get("outcome"), get("delivery")
	return get("next_action").IsNull() && !outcome.IsNull() && outcome.Text() != "abandoned" &&
		!get("duplicate_suspected").Bool() && !get("outcome_contradicted").Bool() &&
		get("late_remote_job_id").IsNull() && get("lease_owner").IsNull() &&
		(delivery.IsNull() || delivery.Text() == "delivered")
}

// Traces reads the whole history and evidence of several operations.
func (m *Memory) Traces(ctx context.Context, ids ...string) ([]HistoryEntry, []EvidenceEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("read histories: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var history []HistoryEntry
	var evidence []EvidenceEntry
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		history = append(history, m.history[id]...)
		for _, e := range m.evidence[id] {
			e.Detail = bytes.Clone(e.Detail)
			evidence = append(evidence, e)
		}
	}
	return history, evidence, nil
}

// Prune takes the history and the evidence of what was found away.
func (m *Memory) Prune(ctx context.Context, q PruneQuery, found []Prunable) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("prune: not begun: %w", err)
	}
	if err := CheckPrunable(m.program); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var pruned []string
	for _, f := range found {
		row := m.rows[f.OperationID]
		if row == nil || m.seen(row) != f.Seen || !m.prunable(row, q) {
			continue
		}
		m.prune(f.OperationID, row)
		pruned = append(pruned, f.OperationID)
	}
	return pruned, nil
}

func (m *Memory) prune(id string, row transitions.Row) {
	var changes []transitions.Change
	for i, c := range m.program.Columns {
		if !c.Quiet && row[i] != c.Default {
			changes = append(changes, transitions.Change{Column: c.Name, Value: row[i]})
		}
	}
	last := m.history[id][len(m.history[id])-1]
	m.noted++
	m.history[id] = []HistoryEntry{{
		Seq: m.noted, OperationID: id, Event: EventPruned, To: m.get(row, "phase").Text(), Revision: m.get(row, "revision").Int(),
		Reason: last.Reason, Detail: last.Detail, Changes: string(transitions.AppendChanges(nil, changes)), At: m.moment(),
	}}
	own := m.get(row, "remote_job_id").Text()
	gone := func(e EvidenceEntry) bool {
		return e.OperationID == id && (e.RemoteJobID == "" || e.RemoteJobID == own)
	}
	m.evidence[id] = slices.DeleteFunc(m.evidence[id], gone)
	job := m.jobOf(row)
	m.naming[job] = slices.DeleteFunc(m.naming[job], gone)
}
