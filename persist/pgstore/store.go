package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// Store is a machine.Store in PostgreSQL.
type Store struct {
	program *transitions.Program
	set     *persist.Set
	runner  runner
	events  runner            // of what changes something
	gather  *gatherer         // nil: every event is sent in a statement of its own
	near    *machine.Notifier // nil inside a caller's transaction
	wake    *waker            // nil: no other process is told what becomes due
	pool    *pgxpool.Pool     // nil inside a caller's transaction
	owned   bool              // the store opened the pool, and closes it
	bound   time.Duration

	copyFrom int // from how many operations on what an event creates is copied
	copyMost int // in one transaction
}

var (
	_ machine.Store  = (*Store)(nil)
	_ machine.Hearer = (*Store)(nil)
)

// Program is the table that the statements were compiled from.
func (s *Store) Program() *transitions.Program { return s.program }

// Bound is the server's statement_timeout: nothing lands later than that after it was sent.
func (s *Store) Bound() time.Duration { return s.bound }

// Close closes the pool if the store opened it, and tells nobody any more what becomes due.
func (s *Store) Close() error {
	s.wake.close()
	if s.owned {
		s.pool.Close()
	}
	return nil
}

// Apply fires an event on the operation that params name.
func (s *Store) Apply(ctx context.Context, event string, params transitions.Params) (machine.Answer, error) {
	c, err := s.callOf(event, params)
	if err != nil {
		return machine.Answer{}, err
	}
	answer, err := s.apply(ctx, c, c.sent[0])
	if err == nil {
		s.wake.tell(s.near.Answered(c.rule, answer)...)
	}
	return answer, err
}

func (s *Store) apply(ctx context.Context, c *call, params transitions.Params) (machine.Answer, error) {
	if s.gather == nil {
		return s.applyAlone(ctx, c, params)
	}
	return s.gather.fire(ctx, c, params)
}

// applyAlone fires an event in a statement of its own.
func (s *Store) applyAlone(ctx context.Context, c *call, params transitions.Params) (machine.Answer, error) {
	statement := s.set.Statement(c.event, transitions.One)
	answer, err := s.askOne(ctx, c, statement, params)
	// A prepare that met another one of the same id is answered by neither: the other's row was not yet to be seen.
	// Nothing was changed, so it may be sent again.
	for tries := 1; err == nil && c.rule.New && !answer.Exists && tries < prepareTries; tries++ {
		answer, err = s.askOne(ctx, c, statement, params)
	}
	if err == nil && c.rule.New && !answer.Exists {
		return s.notCreated(c, params)
	}
	if violates(err, s.set.Names.RemoteJobIndex()) && s.pool != nil {
		return s.takenMeanwhile(ctx, c)
	}
	return answer, err
}

// prepareTries is how often a prepare is sent that is answered by no row.
const prepareTries = 3

func (s *Store) askOne(ctx context.Context, c *call, statement *persist.Statement, params transitions.Params) (machine.Answer, error) {
	var answer machine.Answer
	err := s.write(ctx, s.events, c, statement.SQL, arguments(statement.Params, params), func(r row) error {
		var scanErr error
		answer, scanErr = s.answer(r)
		return scanErr
	})
	if err != nil {
		return machine.Answer{}, err
	}
	return answer, heeded(c, answer)
}

// heeded refuses an answer that the statements do not give: neither applied nor a guard that failed.
func heeded(c *call, a machine.Answer) error {
	if a.Exists && !a.Applied && len(a.Failed) == 0 {
		return fmt.Errorf("%s: every guard held, and the database changed no row; look for a trigger on the operations table", c)
	}
	return nil
}

// notCreated explains why a creating event made no row: a guard about its parameters does not hold, or another
// transaction is making the row just now.
func (s *Store) notCreated(c *call, params transitions.Params) (machine.Answer, error) {
	verdict := s.program.Eval(c.event, nil, params, transitions.World{Now: time.Now().UnixMicro()})
	if !verdict.Applied {
		return machine.Answer{Failed: verdict.Failed}, nil
	}
	return machine.Answer{}, fmt.Errorf("%s: another transaction is creating it at this moment; try again", c)
}

// takenMeanwhile answers for the index that refused a remote job id: another operation got it between the guard and
// the write, and the guard would not hold now.
func (s *Store) takenMeanwhile(ctx context.Context, c *call) (machine.Answer, error) {
	rows, err := s.Get(ctx, c.id)
	if err != nil {
		return machine.Answer{}, fmt.Errorf("%s: its remote job id is held by another operation: %w", c, err)
	}
	answer := machine.Answer{Failed: []string{freeGuard(c.rule)}}
	if len(rows) == 1 {
		answer.Exists, answer.Row = true, rows[0]
	}
	return answer, nil
}

// freeGuard names the guard that asks whether a remote job id is free.
func freeGuard(r *transitions.Rule) string {
	for _, g := range r.Guards {
		found := false
		g.Expr.Walk(func(x transitions.Expr) { found = found || x.Op == transitions.OpTaken })
		if found {
			return g.Name
		}
	}
	return "remote_job_id_free"
}

// ApplyMany fires an event on several operations in one statement; where it creates very many, by copies: see create.
func (s *Store) ApplyMany(ctx context.Context, event string, params []transitions.Params) ([]machine.Answer, error) {
	c, err := s.callOf(event, params...)
	if err != nil || len(params) == 0 {
		return nil, err
	}
	answers, err := s.applyMany(ctx, c)
	s.wake.tell(s.near.Answered(c.rule, answers...)...)
	return answers, err
}

func (s *Store) applyMany(ctx context.Context, c *call) ([]machine.Answer, error) {
	if how := s.creates(c); how != nil {
		return s.create(ctx, c, how)
	}
	return s.byStatement(ctx, c)
}

// byStatement fires an event on several operations in one statement, or in one for each.
func (s *Store) byStatement(ctx context.Context, c *call) ([]machine.Answer, error) {
	if len(c.sent) == 1 || !s.runner.takesArrays() {
		return s.applyEach(ctx, c)
	}
	answers, err := s.applyAll(ctx, c)
	if violates(err, s.set.Names.RemoteJobIndex()) && s.pool != nil {
		return s.applyEach(ctx, c) // none of them was written; one by one, those that can be are
	}
	return answers, err
}

func (s *Store) applyAll(ctx context.Context, c *call) ([]machine.Answer, error) {
	answers := make([]machine.Answer, len(c.sent))
	places := make([]int, len(c.sent)) // of what is still to be answered
	for i := range places {
		places[i] = i
	}
	statement := s.set.Statement(c.event, persist.Many)
	for tries := 0; tries < prepareTries && len(places) > 0; tries++ {
		args := arrays(c.rule, statement.Params, c.sent, places)
		err := s.write(ctx, s.events, c, statement.SQL, args, func(r row) error {
			var ordinal int
			answer, err := s.answer(r, &ordinal)
			if err == nil {
				answers[places[ordinal-1]] = answer
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if !c.rule.New {
			break
		}
		var left []int
		for _, i := range places {
			if !answers[i].Exists {
				left = append(left, i)
			}
		}
		places = left
	}
	for i, a := range answers {
		var err error
		if c.rule.New && !a.Exists {
			answers[i], err = s.notCreated(c.one(i), c.sent[i])
		} else {
			err = heeded(c.one(i), a)
		}
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func (s *Store) applyEach(ctx context.Context, c *call) ([]machine.Answer, error) {
	answers := make([]machine.Answer, len(c.sent))
	for i, p := range c.sent {
		var err error
		one := s.applyAlone
		if len(c.sent) == 1 {
			one = s.apply
		}
		if answers[i], err = one(ctx, c.one(i), p); err != nil {
			if i > 0 && s.pool != nil && !machine.IsUnknown(err) {
				// Some before it were written: of the whole call it is not known what landed.
				err = &machine.UnknownError{Event: c.event, Cause: err}
			}
			return nil, err
		}
	}
	return answers, nil
}

// Take fires a claim or a sweep on the operations that are due. Of a sweep in whose way one operation stands, the others are
// taken all the same: then it gives both, those that it took and an error.
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
	p := c.sent[0]
	if p[persist.Limit].Int() <= 0 {
		return nil, nil // a limit that is null would be none
	}
	rows, err := s.take(ctx, c, statement, p)
	if s.pool != nil && statement.Due != nil && (violates(err, s.set.Names.RemoteJobIndex()) || waitedInVain(err)) {
		rows, err = s.takeEach(ctx, c, statement.Due, p)
	}
	s.wake.tell(s.near.Applied(c.rule, rows...)...)
	return rows, err
}

func (s *Store) take(ctx context.Context, c *call, statement *persist.Statement, params transitions.Params) ([]transitions.Row, error) {
	var taken []transitions.Row
	err := s.write(ctx, s.events, c, statement.SQL, arguments(statement.Params, params), func(r row) error {
		answer, err := s.answer(r)
		if err == nil {
			taken = append(taken, answer.Row)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// write sends a statement that changes something, and says of its error what it proves.
func (s *Store) write(ctx context.Context, by runner, c *call, sql string, args []any, each func(row) error) error {
	sent, err := by.run(ctx, sql, args, each)
	return s.ended(ctx, c, sent, err)
}

// ended says of the error of a statement what it proves of a call.
func (s *Store) ended(ctx context.Context, c *call, sent bool, err error) error {
	if err == nil {
		return nil
	}
	if sent && !provesNotRun(err) {
		return &machine.UnknownError{Event: c.event, OperationID: c.id, Cause: err}
	}
	return fmt.Errorf("%s: %w", c, explained(ctx, err, s.set.Names))
}

// violates reports whether err is a unique violation of an index.
func violates(err error, index string) bool {
	e := serverError(err)
	return e != nil && e.Code == uniqueViolation && e.ConstraintName == index
}
