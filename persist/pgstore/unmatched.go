package pgstore

import (
	"context"
	"fmt"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
)

// NoteUnmatched appends evidence about a remote job that no operation holds.
func (s *Store) NoteUnmatched(ctx context.Context, e machine.EvidenceEntry) error {
	for _, text := range []string{e.Provider, e.Account, e.Kind, e.Owner, e.RemoteJobID} {
		if !storable(text) {
			return &machine.InvalidError{Field: "evidence", Text: fmt.Sprintf("%q is not UTF-8 text without NUL; PostgreSQL cannot store it", text)}
		}
	}
	note := s.set.NoteUnmatched
	return s.write(ctx, s.events, &call{event: "note_unmatched"}, note.SQL, arguments(note.Params, e.Params()), func(row) error { return nil })
}

// EvidenceNaming reads the evidence that names a remote job id, of every operation and of none, oldest first.
func (s *Store) EvidenceNaming(ctx context.Context, provider, account, remoteJobID string) ([]machine.EvidenceEntry, error) {
	if !storable(provider) || !storable(account) || !storable(remoteJobID) {
		return nil, ctx.Err()
	}
	return s.readEvidence(ctx, persist.ReadNaming, fmt.Sprintf("read the evidence of remote job %q", remoteJobID), false, provider, account, remoteJobID)
}

// Unmatched reads a page of the evidence that belongs to no operation.
func (s *Store) Unmatched(ctx context.Context, q machine.UnmatchedQuery) ([]machine.Unmatched, error) {
	name := persist.ReadUnmatched
	if q.Newest {
		name = persist.ReadNewest
	}
	reader := s.set.Reader(name)
	if reader == nil {
		return nil, ctx.Err()
	}
	var page []machine.Unmatched
	err := s.read(ctx, name, "read unmatched evidence", arguments(reader.Params, q.Params()), func(r row) error {
		var u machine.Unmatched
		var provider, account, kind, job, holder, outcome *string
		err := r.Scan(&u.Seq, &provider, &account, &kind, &job, &u.At, &holder, &outcome, &u.Told)
		u.Provider, u.Account, u.Kind, u.RemoteJobID = orEmpty(provider), orEmpty(account), orEmpty(kind), orEmpty(job)
		u.Holder, u.Outcome, u.At = orEmpty(holder), orEmpty(outcome), u.At.UTC()
		page = append(page, u)
		return err
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}
