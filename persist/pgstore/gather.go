package pgstore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// What travels together in one statement, at most: a thousand operations were seen to gain a tenth over a hundred, and
// take as long again to answer.
const (
	mostGathered      = 100
	mostGatheredBytes = 1 << 20

	// mostAnsweredBytes bounds the rows that a statement is answered with. The server writes each several times and
	// sends it: forty requests of 10 MB, which take a moment one by one, were seen to reach no answer in 6 s together.
	mostAnsweredBytes = 8 << 20
)

// slowStatement is how long a statement that is under way holds back those that gather behind it. One that takes longer
// waits for a lock or for the network, and the others have nothing to do with it.
const slowStatement = 50 * time.Millisecond

// gatherer lets events that are fired at the same time travel together, those of one name in one statement. Nothing
// waits for company: an event goes at once when no statement of its name is under way, and what comes meanwhile
// goes, together, when that one has ended.
//
// Each call is judged on its own and told what the statement about its operation alone would have told it; where the
// common one cannot say, it is sent alone: when it was passed by because somebody has its row locked, when there is no
// such operation, and when the common statement provably did not run, be it for another's sake.
type gatherer struct {
	store  *Store
	by     poolRunner
	always bool
	slow   time.Duration
	row    atomic.Int64 // bytes of the largest row that was answered of late

	mu     sync.Mutex
	queues map[string]*queue // by event
}

// queue is what gathers of one event.
type queue struct {
	waiting []*gathered // in the order in which they came
	flying  bool        // a statement is under way that holds them back
}

// gathered is a call that waits for company.
type gathered struct {
	call   *call
	params transitions.Params
	bytes  int
	since  time.Time
	done   chan struct{} // closed when what follows is set

	lead   func() // it is sent alone, and lets the queue go on when it has ended
	alone  bool   // it is sent alone
	answer machine.Answer
	err    error
}

func newGatherer(s *Store, pool *pgxpool.Pool, o Options) *gatherer {
	g := &gatherer{store: s, by: poolRunner{pool, o.mode()}, always: o.alwaysGather, slow: o.slow, queues: map[string]*queue{}}
	if g.slow == 0 {
		g.slow = slowStatement
	}
	return g
}

// fire fires an event at once if none of its name is under way, else with those that come until then.
func (g *gatherer) fire(ctx context.Context, c *call, params transitions.Params) (machine.Answer, error) {
	g.mu.Lock()
	q := g.queues[c.event]
	if q == nil {
		q = &queue{}
		g.queues[c.event] = q
	}
	if !q.flying && !g.always {
		q.flying = true
		g.mu.Unlock()
		defer g.under(q)()
		return g.store.applyAlone(ctx, c, params)
	}
	w := &gathered{call: c, params: params, bytes: weight(params), since: time.Now(), done: make(chan struct{})}
	q.waiting = append(q.waiting, w)
	g.next(q)
	g.mu.Unlock()
	return g.await(ctx, q, w)
}

// await waits for a call's answer. A call that was not sent by the time that its context ends is taken back.
func (g *gatherer) await(ctx context.Context, q *queue, w *gathered) (machine.Answer, error) {
	select {
	case <-w.done:
	case <-ctx.Done():
		if g.withdraw(q, w) {
			return machine.Answer{}, fmt.Errorf("%s: %w", w.call, ctx.Err())
		}
		select {
		case <-w.done:
		default:
			err := fmt.Errorf("given up while its statement was under way: %w", ctx.Err())
			return machine.Answer{}, &machine.UnknownError{Event: w.call.event, OperationID: w.call.id, Cause: err}
		}
	}
	if w.lead != nil {
		defer w.lead()
	}
	if w.alone {
		return g.store.applyAlone(ctx, w.call, w.params)
	}
	return w.answer, w.err
}

// withdraw takes a call out of its queue; false means that it has left.
func (g *gatherer) withdraw(q *queue, w *gathered) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range q.waiting {
		if other == w {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			return true
		}
	}
	return false
}

// under says that a statement holds the queue back until what it returns is called, or until it is slow.
func (g *gatherer) under(q *queue) func() {
	over := sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		q.flying = false
		g.next(q)
	})
	timer := time.AfterFunc(g.slow, over)
	return func() {
		timer.Stop()
		over()
	}
}

// next lets the queue go on unless a statement holds it back. One call alone is sent by who made it, under its own
// context. The lock is held.
func (g *gatherer) next(q *queue) {
	switch {
	case q.flying || len(q.waiting) == 0:
	case len(q.waiting) == 1 && !g.always:
		w := q.waiting[0]
		q.waiting, q.flying = nil, true
		w.alone, w.lead = true, g.under(q)
		close(w.done)
	default:
		q.flying = true
		go g.fly(q)
	}
}

// fly sends what has gathered by the time that there is a connection: until then nothing was sent. It waits for one as
// long as the first of them may, and who came later waits on.
func (g *gatherer) fly(q *queue) {
	within := g.store.bound + answerGrace
	waiting, cancel := context.WithDeadline(context.Background(), g.first(q).Add(within))
	defer cancel()
	conn, err := g.by.pool.Acquire(waiting)
	if err != nil {
		before := time.Now()
		if waiting.Err() != nil {
			before = before.Add(-within)
		}
		batch := g.takeBefore(q, before)
		over := g.under(q)
		g.tell(waiting, batch, false, impatient(waiting, within, fmt.Errorf("get a connection: %w", err)))
		over()
		return
	}
	batch := g.take(q)
	over := g.under(q)
	if len(batch) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		sent, err := g.send(ctx, conn, batch)
		g.tell(ctx, batch, sent, impatient(ctx, within, err))
	}
	giveBack(conn)
	over()
}

// first is when the first of a queue came, or now.
func (g *gatherer) first(q *queue) time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(q.waiting) == 0 {
		return time.Now()
	}
	return q.waiting[0].since
}

// takeBefore takes those of a queue that came by then.
func (g *gatherer) takeBefore(q *queue, then time.Time) []*gathered {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for n < len(q.waiting) && !q.waiting[n].since.After(then) {
		n++
	}
	batch := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	return batch
}

// take takes the first of a queue, and no two of one operation.
func (g *gatherer) take(q *queue) []*gathered {
	g.mu.Lock()
	defer g.mu.Unlock()
	var batch, left []*gathered
	bytes, named := 0, map[string]bool{}
	most := min(mostGathered, mostAnsweredBytes/max(1, int(g.row.Load())))
	for _, w := range q.waiting {
		if len(batch) > 0 && (len(batch) >= most || bytes+w.bytes > mostGatheredBytes || named[w.call.id]) {
			left = append(left, w)
			named[w.call.id] = true // what comes later of this operation stays behind it
			continue
		}
		batch = append(batch, w)
		bytes += w.bytes
		named[w.call.id] = true
	}
	q.waiting = left
	return batch
}

// send sends a batch in one statement. What it leaves unanswered has no row.
func (g *gatherer) send(ctx context.Context, conn *pgxpool.Conn, batch []*gathered) (bool, error) {
	params, places := make([]transitions.Params, len(batch)), make([]int, len(batch))
	for i, w := range batch {
		params[i], places[i] = w.params, i
	}
	rule := batch[0].call.rule
	statement := g.store.set.Statement(rule.Event, persist.Gathered)
	return g.by.on(ctx, conn, statement.SQL, arrays(rule, statement.Params, params, places), func(r row) error {
		var ordinal int
		answer, err := g.store.answer(r, &ordinal)
		if err == nil {
			batch[ordinal-1].answer = answer
		}
		return err
	})
}

// tell tells every call of a batch what the statement's end means to it.
func (g *gatherer) tell(ctx context.Context, batch []*gathered, sent bool, err error) {
	for _, w := range batch {
		switch {
		case err != nil && sent && provesNotRun(err):
			w.alone = true // it may be for another's sake
		case err != nil:
			w.err = g.store.ended(ctx, w.call, sent, err)
		case !w.answer.Exists:
			w.alone = true
		default:
			w.err = heeded(w.call, w.answer)
		}
		close(w.done)
	}
}

// answered notes how large a row is that was answered, whatever it was asked by: an event comes after the claim of its
// operation. Rows that are smaller let an earlier one be forgotten, slowly.
func (g *gatherer) answered(row transitions.Row) {
	size := int64(0)
	for _, v := range row {
		if v.Kind() == transitions.Bytes {
			size += int64(len(v.Bytes()))
		}
	}
	last := g.row.Load()
	if now := max(size, last-last/16-1); now != last {
		g.row.Store(max(0, now))
	}
}

// weight is about how much room a call's parameters take.
func weight(p transitions.Params) int {
	n := 0
	for _, v := range p {
		switch v.Kind() {
		case transitions.Text:
			n += len(v.Text())
		case transitions.Bytes:
			n += len(v.Bytes())
		default:
			n += 8
		}
	}
	return n
}
