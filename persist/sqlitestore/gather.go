package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// mostGathered is how many events share a transaction, at most.
const mostGathered = 100

// gatherer lets events that are fired at the same time share a transaction, whatever their names: the disk is waited for
// once. Nothing waits for company: an event has a transaction of its own when none is under way, and what comes meanwhile
// shares the next. Each is judged on its own; where one of them fails, none was written, and each has a transaction of its
// own.
type gatherer struct {
	store  *Store
	always bool

	mu      sync.Mutex
	waiting []*gathered // in the order in which they came
	flying  bool        // a transaction is under way
}

// gathered is a call that waits for company.
type gathered struct {
	call      *call
	statement *persist.Statement
	params    transitions.Params
	done      chan struct{} // closed when what follows is set

	lead   bool // it has a transaction of its own, and lets the others go on when that has ended
	alone  bool // it has a transaction of its own
	answer machine.Answer
	err    error
}

// fire fires an event at once if no transaction is under way, else with those that come until then.
func (g *gatherer) fire(ctx context.Context, c *call, statement *persist.Statement, params transitions.Params) (machine.Answer, error) {
	g.mu.Lock()
	if !g.flying && !g.always {
		g.flying = true
		g.mu.Unlock()
		defer g.over()
		return g.store.alone(ctx, c, statement, params)
	}
	w := &gathered{call: c, statement: statement, params: params, done: make(chan struct{})}
	g.waiting = append(g.waiting, w)
	g.next()
	g.mu.Unlock()
	select {
	case <-w.done:
	case <-ctx.Done():
		if g.withdraw(w) {
			return machine.Answer{}, fmt.Errorf("%s: not begun: %w", c, ctx.Err())
		}
		<-w.done // its transaction is short, and ends before the call does: nothing lands later (see Bound)
	}
	if w.lead {
		defer g.over()
	}
	if w.alone {
		return g.store.alone(ctx, c, statement, params)
	}
	return w.answer, w.err
}

// withdraw takes a call back; false means that its transaction has begun.
func (g *gatherer) withdraw(w *gathered) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range g.waiting {
		if other == w {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// over lets those go on that have gathered.
func (g *gatherer) over() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flying = false
	g.next()
}

// next lets those go on that have gathered, unless a transaction is under way. The lock is held.
func (g *gatherer) next() {
	switch {
	case g.flying || len(g.waiting) == 0:
	case len(g.waiting) == 1 && !g.always:
		w := g.waiting[0]
		g.waiting, g.flying = nil, true
		w.alone, w.lead = true, true
		close(w.done)
	default:
		g.flying = true
		go g.fly()
	}
}

// fly begins a transaction, and shares it among those that have gathered by then.
func (g *gatherer) fly() {
	defer g.over()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	statements := g.statements()
	var batch []*gathered
	err := g.store.stillThere()
	if err == nil {
		batch, err = g.share(ctx, statements)
	} else {
		batch = g.take()
	}
	for _, w := range batch {
		switch {
		case w.alone:
		case machine.IsUnknown(err):
			w.err = &machine.UnknownError{Event: w.call.event, OperationID: w.call.id, Cause: errors.Unwrap(err)}
		case err != nil:
			w.err = fmt.Errorf("%s: %w", w.call, g.store.explained(ctx, err))
		}
		close(w.done)
	}
}

// statements are those of the calls that wait, each once: they have to be prepared before the transaction begins.
func (g *gatherer) statements() []*persist.Statement {
	g.mu.Lock()
	defer g.mu.Unlock()
	seen := map[*persist.Statement]bool{}
	for _, w := range g.waiting {
		seen[w.statement] = true
	}
	list := make([]*persist.Statement, 0, len(seen))
	for s := range maps.Keys(seen) {
		list = append(list, s)
	}
	return list
}

// take takes the first of those that wait, and no two of one operation.
func (g *gatherer) take() []*gathered {
	g.mu.Lock()
	defer g.mu.Unlock()
	var batch, left []*gathered
	named := map[string]bool{}
	for _, w := range g.waiting {
		if len(batch) == mostGathered || named[w.call.id] {
			left = append(left, w)
		} else {
			batch = append(batch, w)
		}
		named[w.call.id] = true
	}
	g.waiting = left
	return batch
}

// share runs a transaction for those that have gathered by the time that it is begun, and gives them, or those that have
// gathered when it could not be. The error is an *UnknownError where it is not known whether it was committed. After every
// other end that is no commit, those of the batch are to have transactions of their own.
func (g *gatherer) share(ctx context.Context, statements []*persist.Statement) ([]*gathered, error) {
	tx, prepared, giveBack, err := g.store.begin(ctx, ctx, statements...)
	if err != nil {
		return g.take(), err
	}
	defer giveBack()
	batch := g.take()
	// Nobody ends this context early, and the driver starts a goroutine for each statement of one that could be ended.
	q := &session{ctx: context.WithoutCancel(ctx), tx: tx, prepared: prepared}
	for _, w := range batch {
		if w.answer, err = g.store.fire(q, w.statement, w.params); err != nil {
			break
		}
	}
	if err != nil || !q.changed {
		rollback(tx)
	} else if err = tx.Commit(); err != nil && !provesNotCommitted(err) {
		return batch, &machine.UnknownError{Cause: fmt.Errorf("commit: %w", err)}
	}
	if err != nil {
		for _, w := range batch {
			w.alone = true // it may be for another's sake
		}
	}
	return batch, nil
}
