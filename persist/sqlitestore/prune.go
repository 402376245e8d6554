package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

var _ machine.Pruner = (*Store)(nil)

// Prunable reads the operations of one page of ids that may be pruned.
func (s *Store) Prunable(ctx context.Context, q machine.PruneQuery) (machine.PrunePage, error) {
	if err := machine.CheckPrunable(s.program); err != nil {
		return machine.PrunePage{}, err
	}
	const what = "look for what can be pruned"
	params := q.Params()
	var until sql.NullString
	var ids int
	err := s.read(ctx, persist.ReadPrunePage, what, params, func(rows *sql.Rows) error { return rows.Scan(&until, &ids) })
	if err != nil {
		return machine.PrunePage{}, err
	}
	var found []machine.Prunable
	if until.Valid {
		params["until"] = transitions.TextValue(until.String)
		err = s.read(ctx, persist.ReadPrunable, what, params, func(rows *sql.Rows) error {
			var f machine.Prunable
			err := rows.Scan(&f.OperationID, &f.Revision, &f.EvidenceSeq)
			found = append(found, f)
			return err
		})
	}
	if err != nil {
		return machine.PrunePage{}, err
	}
	return q.Found(until.String, ids, found), nil
}

// Traces reads the whole history and evidence of several operations, in one statement each.
func (s *Store) Traces(ctx context.Context, ids ...string) ([]machine.HistoryEntry, []machine.EvidenceEntry, error) {
	if err := machine.CheckPrunable(s.program); err != nil {
		return nil, nil, err
	}
	params := transitions.Params{"operation_ids": list(ids)}
	history, err := s.readHistory(ctx, persist.ReadHistories, "read histories", params)
	if err != nil {
		return nil, nil, err
	}
	evidence, err := s.readEvidence(ctx, persist.ReadTestimony, "read evidence", false, params)
	return history, evidence, err
}

// Prune takes the history and the evidence of what was found away, in one transaction.
func (s *Store) Prune(ctx context.Context, q machine.PruneQuery, found []machine.Prunable) ([]string, error) {
	if err := machine.CheckPrunable(s.program); err != nil || len(found) == 0 {
		return nil, err
	}
	var pruned []string
	err := s.write(ctx, &call{event: "prune"}, s.set.Prune, func(t *session) error {
		pruned = nil
		for _, f := range found {
			done, err := s.pruneOne(t, q, f)
			if err != nil {
				return fmt.Errorf("operation %q: %w", f.OperationID, err)
			}
			if done {
				pruned = append(pruned, f.OperationID)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return pruned, nil
}

func (s *Store) pruneOne(t *session, q machine.PruneQuery, f machine.Prunable) (bool, error) {
	params := q.Params()
	params["operation_id"] = transitions.TextValue(f.OperationID)
	params["revision"], params["evidence_seq"] = transitions.IntValue(f.Revision), transitions.IntValue(f.EvidenceSeq)
	n, err := t.exec(s.set.Prune.SQL, arguments(s.set.Prune.Params, params))
	if err != nil || n == 0 {
		return false, err
	}
	for _, step := range s.set.Prune.Then {
		if _, err := t.exec(step.SQL, arguments(step.Params, params)); err != nil {
			return false, fmt.Errorf("delete the %s: %w", step.What, err)
		}
	}
	return true, nil
}
