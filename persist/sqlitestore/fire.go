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

// errJudgeAnew ends a transaction in which a later step found the guards otherwise than an earlier one: a lease ended
// between two statements. It is rolled back and begun again; see judgements.
var errJudgeAnew = errors.New("the guards changed between two statements of one transaction")

// judgements is how often a transaction is begun, for a clock that ticks over a lease's end in each of them.
const judgements = 5

// fire judges an event on one operation and, where every guard holds, takes its steps.
func (s *Store) fire(q *session, statement *persist.Statement, params transitions.Params) (machine.Answer, error) {
	var answer machine.Answer
	err := q.query(statement.SQL, arguments(statement.Params, params), func(rows *sql.Rows) error {
		var err error
		answer, err = s.scanJudged(rows)
		return err
	})
	if err != nil {
		return answer, fmt.Errorf("judge: %w", err)
	}
	rule := statement.Rule
	if answer.Exists == rule.New || answer.Exists && !answer.Applied {
		return answer, nil // denied, or there is no such operation
	}
	row, wrote, err := s.steps(q, statement, params)
	switch {
	case err != nil:
		return machine.Answer{}, err
	case row != nil:
		return machine.Answer{Applied: true, Exists: true, Row: row}, nil
	case rule.New && !wrote:
		// The guards of an event that creates the row are about its parameters only.
		verdict := s.program.Eval(rule.Event, nil, params, transitions.World{Now: time.Now().UnixMicro()})
		if !verdict.Applied {
			return machine.Answer{Failed: verdict.Failed}, nil
		}
	}
	return machine.Answer{}, errJudgeAnew
}

// steps writes what an event leaves behind. The row is nil where the guards do not hold any more; wrote tells whether
// something was written nevertheless.
func (s *Store) steps(q *session, statement *persist.Statement, params transitions.Params) (row transitions.Row, wrote bool, err error) {
	for _, step := range statement.Then {
		args := arguments(step.Params, params)
		if step.What != "update" {
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
