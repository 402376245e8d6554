package sqlitestore

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// errJudgeAnew ends a transaction in which a later statement found the guards otherwise than an earlier one: a lease ended
// between the two. It is rolled back and begun again; see judgements.
var errJudgeAnew = errors.New("the guards changed between two statements of one transaction")

// judgements is how often a transaction is begun, for a clock that ticks over a lease's end in each of them.
const judgements = 5

// fire takes an event's steps on one operation, each of which judges the guards. Where they change nothing the judge says
// why: an event that applies, as most do, is spared it. An event that creates the operation asks it first, whether there
// is one.
func (s *Store) fire(q *session, statement *persist.Statement, params transitions.Params) (machine.Answer, error) {
	if statement.Rule.New {
		if answer, err := s.judge(q, statement, params); err != nil || answer.Exists {
			return answer, err
		}
	}
	row, wrote, err := s.steps(q, statement, params)
	switch {
	case err != nil:
		return machine.Answer{}, err
	case row != nil:
		return machine.Answer{Applied: true, Exists: true, Row: row}, nil
	case wrote:
		return machine.Answer{}, errJudgeAnew
	case statement.Rule.New:
		return s.notCreated(statement, params)
	}
	answer, err := s.judge(q, statement, params)
	if err == nil && answer.Applied {
		err = errJudgeAnew
	}
	return answer, err
}

// notCreated says which guards an operation could not be created for: they are about the parameters only.
func (s *Store) notCreated(statement *persist.Statement, params transitions.Params) (machine.Answer, error) {
	verdict := s.program.Eval(statement.Rule.Event, nil, params, transitions.World{Now: time.Now().UnixMicro()})
	if verdict.Applied {
		return machine.Answer{}, errJudgeAnew
	}
	return machine.Answer{Failed: verdict.Failed}, nil
}

// judge tells which guards do not hold, and shows the row.
func (s *Store) judge(q *session, statement *persist.Statement, params transitions.Params) (answer machine.Answer, err error) {
	err = q.query(statement.SQL, arguments(statement.Params, params), func(rows *sql.Rows) error {
		var err error
		answer, err = s.scanJudged(rows)
		return err
	})
	if err != nil {
		return answer, fmt.Errorf("judge: %w", err)
	}
	return answer, nil
}

// steps writes what an event leaves behind. The row is nil where the guards do not hold any more; wrote tells whether
// something was written nevertheless.
func (s *Store) steps(q *session, statement *persist.Statement, params transitions.Params) (row transitions.Row, wrote bool, err error) {
	for _, step := range statement.Then {
		args := arguments(step.Params, params)
		if !step.Moves() {
			n, err := q.exec(step.SQL, args)
			if err != nil {
				return nil, wrote, fmt.Errorf("write the %s: %w", step.What, err)
			}
			wrote = wrote || n > 0
			continue
		}
		err := q.query(step.SQL, args, func(rows *sql.Rows) error {
			var err error
			row, err = s.scanRow(rows)
			return err
		})
		if err != nil {
			return nil, wrote, fmt.Errorf("write the operation: %w", err)
		}
		q.changed = q.changed || row != nil
	}
	return row, wrote, nil
}

// take finds what is due, reads the list to its end, and takes the steps on each.
func (s *Store) take(q *session, statement *persist.Statement, params transitions.Params) ([]transitions.Row, error) {
	var ids []string
	err := q.query(statement.SQL, arguments(statement.Params, params), func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for due operations: %w", err)
	}
	var taken []transitions.Row
	one := maps.Clone(params)
	for _, id := range ids {
		one["operation_id"] = transitions.TextValue(id)
		row, wrote, err := s.steps(q, statement, one)
		switch {
		case err != nil:
			return nil, fmt.Errorf("operation %q: %w", id, err)
		case row != nil:
			taken = append(taken, row)
		case wrote:
			return nil, errJudgeAnew
		}
		// Where nothing was written, one that was taken before it made it ineligible: two late answers with one id.
	}
	return taken, nil
}
