package pgstore

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// takeEach fires a sweep on one operation after the other: two of the page are to hold the same remote job id, or somebody
// is just storing one of theirs. Nothing was written; alone, only those stand in their own way.
func (s *Store) takeEach(ctx context.Context, c *call, due *persist.Reader, params transitions.Params) ([]transitions.Row, error) {
	var ids []string
	_, err := s.runner.run(ctx, due.SQL, arguments(due.Params, params), func(r row) error {
		var id string
		err := r.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: look for what is due: %w", c, explained(ctx, err, s.set.Names))
	}
	var taken []transitions.Row
	var failed []error
	for _, id := range ids {
		one := maps.Clone(params)
		one["operation_id"] = transitions.TextValue(id)
		delete(one, persist.Limit)
		alone, err := s.callOf(c.event, one)
		if err != nil {
			return taken, err
		}
		answer, err := s.applyAlone(ctx, alone, alone.sent[0])
		if err != nil {
			failed = append(failed, err)
		} else if answer.Applied {
			taken = append(taken, answer.Row)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return taken, errors.Join(failed...)
}

// waitedInVain reports whether err is a wait for a lock that reached its bound.
func waitedInVain(err error) bool {
	e := serverError(err)
	return e != nil && e.Code == lockNotAvailable
}
