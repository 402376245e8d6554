package pgstore

import (
	"context"
	"strconv"

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
	params := sendable(q.Params())
	var until *string
	var ids int
	err := s.read(ctx, persist.ReadPrunePage, what, arguments(s.set.Reader(persist.ReadPrunePage).Params, params), func(r row) error {
		return r.Scan(&until, &ids)
	})
	if err != nil {
		return machine.PrunePage{}, err
	}
	var found []machine.Prunable
	if until != nil {
		params["until"] = transitions.TextValue(*until)
		err = s.read(ctx, persist.ReadPrunable, what, arguments(s.set.Reader(persist.ReadPrunable).Params, params), func(r row) error {
			var f machine.Prunable
			err := r.Scan(&f.OperationID, &f.Revision, &f.EvidenceSeq)
			found = append(found, f)
			return err
		})
	}
	if err != nil {
		return machine.PrunePage{}, err
	}
	return q.Found(orEmpty(until), ids, found), nil
}

// Traces reads the whole history and evidence of several operations, in one statement each.
func (s *Store) Traces(ctx context.Context, ids ...string) ([]machine.HistoryEntry, []machine.EvidenceEntry, error) {
	if err := machine.CheckPrunable(s.program); err != nil {
		return nil, nil, err
	}
	list := s.list(ids)
	history, err := s.readHistory(ctx, persist.ReadHistories, "read histories", list)
	if err != nil {
		return nil, nil, err
	}
	evidence, err := s.readEvidence(ctx, persist.ReadTestimony, "read evidence", false, list)
	return history, evidence, err
}

// Prune takes the history and the evidence of what was found away, in one statement.
func (s *Store) Prune(ctx context.Context, q machine.PruneQuery, found []machine.Prunable) ([]string, error) {
	if err := machine.CheckPrunable(s.program); err != nil || len(found) == 0 {
		return nil, err
	}
	ids := make([]string, 0, len(found))
	revisions, evidence := make([]int64, 0, len(found)), make([]int64, 0, len(found))
	for _, f := range found {
		if storable(f.OperationID) { // no operation has another id
			ids, revisions, evidence = append(ids, f.OperationID), append(revisions, f.Revision), append(evidence, f.EvidenceSeq)
		}
	}
	args := []any{s.list(ids), s.numbers(revisions), s.numbers(evidence), q.OlderThan.Milliseconds()}
	var pruned []string
	err := s.write(ctx, s.runner, &call{event: "prune"}, s.set.Prune.SQL, args, func(r row) error {
		var id string
		err := r.Scan(&id)
		pruned = append(pruned, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	return pruned, nil
}

// numbers is an argument that holds a list.
func (s *Store) numbers(list []int64) any {
	if s.runner.takesArrays() {
		return list
	}
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return arrayText(texts)
}
