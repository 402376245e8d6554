package machine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// named is the remote job that evidence names.
func named(e EvidenceEntry) remoteJob { return remoteJob{e.Provider, e.Account, e.RemoteJobID} }

// NoteUnmatched appends evidence about a remote job that no operation holds.
func (m *Memory) NoteUnmatched(ctx context.Context, e EvidenceEntry) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("note remote job %q: not begun: %w", e.RemoteJobID, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, there := range m.naming[named(e)] {
		if there.OperationID == "" && there.Kind == e.Kind &&
			(there.Detail == nil) == (e.Detail == nil) && bytes.Equal(there.Detail, e.Detail) {
			return nil
		}
	}
	m.noted++
	e.OperationID, e.Seq, e.At, e.Detail = "", m.noted, m.moment(), bytes.Clone(e.Detail)
	m.unmatched = append(m.unmatched, e)
	m.naming[named(e)] = append(m.naming[named(e)], e)
	return nil
}

// EvidenceNaming reads the evidence that names a remote job id, of every operation and of none, oldest first.
func (m *Memory) EvidenceNaming(ctx context.Context, provider, account, remoteJobID string) ([]EvidenceEntry, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read the evidence of remote job %q: %w", remoteJobID, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	found := slices.Clone(m.naming[remoteJob{provider, account, remoteJobID}])
	for i := range found {
		found[i].Detail = bytes.Clone(found[i].Detail)
	}
	return found, nil
}

// Unmatched reads a page of the evidence that belongs to no operation.
func (m *Memory) Unmatched(ctx context.Context, q UnmatchedQuery) ([]Unmatched, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read unmatched evidence: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	params := q.Params()
	after, limit := params["after"].Int(), int(params["limit"].Int())
	entries := slices.Clone(m.unmatched)
	if q.Newest {
		slices.Reverse(entries)
	}
	var page []Unmatched
	for _, e := range entries {
		if len(page) < limit && (e.Seq < after) == q.Newest && e.Seq != after {
			page = append(page, m.unmatchedOf(e))
		}
	}
	return page, nil
}

func (m *Memory) unmatchedOf(e EvidenceEntry) Unmatched {
	u := Unmatched{Seq: e.Seq, Provider: e.Provider, Account: e.Account, Kind: e.Kind, RemoteJobID: e.RemoteJobID, At: e.At}
	u.Holder = m.holders[named(e)]
	if u.Holder != "" {
		u.Outcome = m.get(m.rows[u.Holder], "outcome").Text()
	}
	u.Told = slices.ContainsFunc(m.naming[named(e)], func(k EvidenceEntry) bool {
		return k.OperationID != "" && k.Kind == EvidenceAccepted
	})
	return u
}
