package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// Store is a machine.Store in an SQLite file.
type Store struct {
	opened  os.FileInfo // the file as it was opened
	program *transitions.Program
	set     *persist.Set
	writer  *pool
	reader  *pool
	tx      *sql.Tx // inside a caller's transaction
	path    string
	created bool
	busy    time.Duration
	warning string
	gather  *gatherer         // nil: every call has a transaction of its own
	near    *machine.Notifier // nil inside a caller's transaction
}

var (
	_ machine.Store  = (*Store)(nil)
	_ machine.Hearer = (*Store)(nil)
)

// Program is the table that the statements were compiled from.
func (s *Store) Program() *transitions.Program { return s.program }

// Bound is 0: a statement ends with its call.
func (s *Store) Bound() time.Duration { return 0 }

// Hear is machine.Hearer's.
func (s *Store) Hear(heard func(machine.Wake) bool) (stop func()) { return s.near.Hear(heard) }

// Wake tells those who hear this store that work is due: for events that were fired in a transaction of the caller's, after
// its commit (see machine.Due).
func (s *Store) Wake(due ...machine.Wake) { s.near.Tell(due...) }

// call is one use of an event.
type call struct {
	event string
	id    string // of the one operation, "" for several
	rule  *transitions.Rule
}

// String says what was tried.
func (c *call) String() string {
	if c.id == "" {
		return "fire " + c.event
	}
	return fmt.Sprintf("fire %s on operation %q", c.event, c.id)
}

// callOf refuses what the statements could not judge.
func (s *Store) callOf(event string, params ...transitions.Params) (*call, error) {
	rule := s.program.Rule(event)
	if rule == nil {
		return nil, &machine.InvalidError{Field: "event", Text: fmt.Sprintf("table %s has no event %q", s.program.Name, event)}
	}
	named := map[string]bool{}
	for _, p := range params {
		for _, d := range rule.Params {
			if k := p[d.Name].Kind(); k != transitions.NoKind && k != d.Kind {
				return nil, &machine.InvalidError{Field: d.Name, Text: fmt.Sprintf("is of kind %s; %s takes %s", k, event, d.Kind)}
			}
		}
		id := p["operation_id"].Text()
		if named[id] {
			return nil, &machine.InvalidError{Field: "operation_id", Text: fmt.Sprintf("%q is named twice for one %s; fire it once an operation", id, event)}
		}
		named[id] = true
		if !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
			return nil, &machine.InvalidError{Field: "operation_id", Text: fmt.Sprintf("%q is not UTF-8 text without NUL; no operation can have it", id)}
		}
	}
	c := &call{event: event, rule: rule}
	if len(params) == 1 {
		c.id = params[0]["operation_id"].Text()
	}
	return c, nil
}

// Apply fires an event on the operation that params name.
func (s *Store) Apply(ctx context.Context, event string, params transitions.Params) (machine.Answer, error) {
	answers, err := s.ApplyMany(ctx, event, []transitions.Params{params})
	if err != nil {
		return machine.Answer{}, err
	}
	return answers[0], nil
}

// ApplyMany fires an event on several operations in one transaction.
func (s *Store) ApplyMany(ctx context.Context, event string, params []transitions.Params) ([]machine.Answer, error) {
	c, err := s.callOf(event, params...)
	if err != nil || len(params) == 0 {
		return nil, err
	}
	statement := s.set.Statement(event, transitions.One)
	answers := make([]machine.Answer, len(params))
	if len(params) == 1 {
		one := s.alone
		if s.gather != nil && s.tx == nil {
			one = s.gather.fire
		}
		answers[0], err = one(ctx, c, statement, params[0])
	} else {
		err = s.write(ctx, c, statement, func(q *session) error {
			for i, p := range params {
				var err error
				if answers[i], err = s.fire(q, statement, p); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, err
	}
	s.near.Answered(c.rule, answers...)
	return answers, nil
}

// alone fires an event in a transaction of its own, or in the caller's.
func (s *Store) alone(ctx context.Context, c *call, statement *persist.Statement, params transitions.Params) (answer machine.Answer, err error) {
	err = s.write(ctx, c, statement, func(q *session) error {
		var err error
		answer, err = s.fire(q, statement, params)
		return err
	})
	return answer, err
}

// Take fires a claim or a sweep on the operations that are due, in one transaction.
func (s *Store) Take(ctx context.Context, event string, params transitions.Params) ([]transitions.Row, error) {
	c, err := s.callOf(event, params)
	if err != nil {
		return nil, err
	}
	form := transitions.Batch
	if c.rule.Has(transitions.Sweep) {
		form = transitions.Sweep
	}
	statement := s.set.Statement(event, form)
	if statement == nil {
		return nil, &machine.InvalidError{Field: "event", Text: event + " names its operation; it cannot find one by itself"}
	}
	if params[persist.Limit].Int() <= 0 {
		return nil, nil // SQLite takes a negative limit for none
	}
	var taken []transitions.Row
	err = s.write(ctx, c, statement, func(q *session) error {
		var err error
		taken, err = s.take(q, statement, params)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.near.Applied(c.rule, taken...)
	return taken, nil
}
