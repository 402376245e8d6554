package machine

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/fencerow/fencerow/transitions"
)

// decide fires a reviewer's or operator's event, which is bound to what was looked at. Where the answer was lost it asks
// history; where the row had moved, the denial says what happened since (contract D3).
func (m *Machine) decide(ctx context.Context, event string, seen Seen, params transitions.Params) (Operation, error) {
	op, err := m.Fire(ctx, event, params)
	id := params["operation_id"].Text()
	if IsUnknown(err) {
		entries, askErr := m.store.History(ctx, id)
		if askErr == nil && decided(entries, event, seen, params) {
			return m.Get(ctx, id)
		}
		return op, err
	}
	denied, ok := IsDenied(err)
	if !ok || !slices.Contains(denied.Failed, "revision") && !slices.Contains(denied.Failed, "evidence_seq") {
		return op, err
	}
	denied.Looked = seen
	if entries, askErr := m.store.History(ctx, id); askErr == nil { // the denial stands without it
		denied.Since = since(entries, seen)
	}
	return op, err
}

// decided reports whether history has this very decision: the event, on what was looked at, by this reviewer for this
// reason.
func decided(entries []HistoryEntry, event string, seen Seen, params transitions.Params) bool {
	found := false
	walk(entries, func(before, _ Seen, e HistoryEntry) {
		found = found || e.Event == event && before == seen && e.Reviewer == params["reviewer"].Text() && e.Reason == params["reason"].Text()
	})
	return found
}

// since lists the events that led past what was looked at.
func since(entries []HistoryEntry, seen Seen) []HistoryEntry {
	var later []HistoryEntry
	walk(entries, func(_, after Seen, e HistoryEntry) {
		if after.Revision > seen.Revision || after.EvidenceSeq > seen.EvidenceSeq {
			later = append(later, e)
		}
	})
	return later
}

// walk folds a history's revisions and evidence numbers.
func walk(entries []HistoryEntry, visit func(before, after Seen, e HistoryEntry)) {
	var at Seen
	for _, e := range entries {
		after := Seen{e.Revision, at.EvidenceSeq}
		var changed struct {
			EvidenceSeq *int64 `json:"evidence_seq"`
		}
		if json.Unmarshal([]byte(e.Changes), &changed) == nil && changed.EvidenceSeq != nil {
			after.EvidenceSeq = *changed.EvidenceSeq
		}
		visit(at, after, e)
		at = after
	}
}
