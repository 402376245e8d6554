package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// NoteUnmatched appends evidence about a remote job that no operation holds.
func (s *Store) NoteUnmatched(ctx context.Context, e machine.EvidenceEntry) error {
	note := s.set.NoteUnmatched
	return s.write(ctx, &call{event: "note_unmatched"}, nil, func(q *session) error {
		_, err := q.exec(note.SQL, arguments(note.Params, e.Params()))
		return err
	})
}

// EvidenceNaming reads the evidence that names a remote job id, of every operation and of none, oldest first.
func (s *Store) EvidenceNaming(ctx context.Context, provider, account, remoteJobID string) ([]machine.EvidenceEntry, error) {
	return s.readEvidence(ctx, persist.ReadNaming, fmt.Sprintf("read the evidence of remote job %q", remoteJobID), false, transitions.Params{
		"provider": transitions.TextValue(provider), "account": transitions.TextValue(account),
		"remote_job_id": transitions.TextValue(remoteJobID),
	})
}

// Unmatched reads a page of the evidence that belongs to no operation.
func (s *Store) Unmatched(ctx context.Context, q machine.UnmatchedQuery) ([]machine.Unmatched, error) {
	name := persist.ReadUnmatched
	if q.Newest {
		name = persist.ReadNewest
	}
	var page []machine.Unmatched
	err := s.read(ctx, name, "read unmatched evidence", q.Params(), func(rows *sql.Rows) error {
		var u machine.Unmatched
		var provider, account, kind, job, holder, outcome sql.NullString
		var at sql.NullInt64
		err := rows.Scan(&u.Seq, &provider, &account, &kind, &job, &at, &holder, &outcome, &u.Told)
		u.Provider, u.Account, u.Kind, u.RemoteJobID = provider.String, account.String, kind.String, job.String
		u.At, u.Holder, u.Outcome = moment(at), holder.String, outcome.String
		page = append(page, u)
		return err
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}
