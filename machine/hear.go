package machine

import (
	"slices"
	"sync"

	"github.com/fencerow/fencerow/transitions"
)

// Hearer is implemented by a Store that tells its own process what its events made due, as soon as their answers are there
// and without asking the database anything. It is a hint like every wake-up: what other processes make due it does not
// tell (see Waker), nor what was fired in a transaction of the caller's (see Due).
type Hearer interface {
	// Hear has heard called until stop is. Calls come on the goroutine that fired the event, several at once, before it
	// has its answer: heard must not wait for anything. It reports whether it takes the operation that a wake-up names:
	// then nobody else is told of it. Stop returns when no call is under way, so that heard must not call it.
	Hear(heard func(Wake) (taken bool)) (stop func())

	// Wake tells what is due, as if an event had made it so; a store that is a Waker too tells other processes of it. It
	// waits for nothing.
	Wake(due ...Wake)
}

// Notifier tells those who listen in this process what a store's events made due. A nil one has nobody to tell. It is for
// whoever writes a Store.
type Notifier struct {
	columns wakeColumns

	mu      sync.Mutex
	hearers []*hearer // a new slice with each change: it is read while they are called
}

// NewNotifier makes one for a store of a program's operations.
func NewNotifier(p *transitions.Program) *Notifier { return &Notifier{columns: wakeColumnsOf(p)} }

// Hear is Hearer's.
func (n *Notifier) Hear(heard func(Wake) bool) (stop func()) {
	if n == nil {
		return func() {}
	}
	h := &hearer{heard: heard}
	h.none.L = &h.mu
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hearers = append(slices.Clone(n.hearers), h)
	return func() {
		n.mu.Lock()
		n.hearers = slices.DeleteFunc(slices.Clone(n.hearers), func(other *hearer) bool { return other == h })
		n.mu.Unlock()
		h.stop()
	}
}

// Heard tells whether anybody listens.
func (n *Notifier) Heard() bool { return len(n.listening()) > 0 }

func (n *Notifier) listening() []*hearer {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.hearers
}

// Applied tells what an event left due, and free to be taken, in the rows that it was applied to, and gives what nobody
// took.
func (n *Notifier) Applied(r *transitions.Rule, rows ...transitions.Row) []Wake {
	if n == nil {
		return nil
	}
	var due gathering
	for _, row := range rows {
		wake, ok := n.columns.of(row)
		if !ok {
			continue
		}
		if r.Fence == transitions.Held { // its holder gave it up, and it comes in its order again
			wake = wake.Unnamed()
		}
		due.add(wake)
	}
	return n.Tell(due.wakes...)
}

// Answered is Applied for the rows of those answers that say so.
func (n *Notifier) Answered(r *transitions.Rule, answers ...Answer) []Wake {
	var rows []transitions.Row
	for _, a := range answers {
		if a.Applied {
			rows = append(rows, a.Row)
		}
	}
	return n.Applied(r, rows...)
}

// Tell tells those who listen, and gives what none of them took.
func (n *Notifier) Tell(due ...Wake) []Wake {
	hearers := n.listening()
	return slices.DeleteFunc(slices.Clone(due), func(wake Wake) bool {
		return slices.ContainsFunc(hearers, func(h *hearer) bool { return h.tell(wake) })
	})
}

// Due gives what is due now of operations as an event left them, as a store tells it: for what was fired in a transaction of
// the caller's, which no store tells by itself. After its commit: store.Wake(machine.Due(op)...).
func Due(ops ...Operation) []Wake {
	var due gathering
	for _, op := range ops {
		if op.program == nil {
			continue
		}
		if wake, ok := wakeColumnsOf(op.program).of(op.row); ok {
			due.add(wake)
		}
	}
	return due.wakes
}

// gathering is what is due together.
type gathering struct {
	wakes []Wake
	at    map[Wake]int // by what they are without a name
}

// add adds a wake-up. It is named while it is the only one of its kind: of many, whoever works takes as many as it has
// slots for by one statement, which is cheaper than one by one.
func (g *gathering) add(wake Wake) {
	common := wake.Unnamed()
	if i, there := g.at[common]; there {
		g.wakes[i] = common
		return
	}
	if g.at == nil {
		g.at = map[Wake]int{}
	}
	g.at[common] = len(g.wakes)
	g.wakes = append(g.wakes, wake)
}

// hearer is one who listens. Its own lock is held by no call, so that what is called may fire events.
type hearer struct {
	heard func(Wake) bool

	mu      sync.Mutex
	calls   int // under way
	stopped bool
	none    sync.Cond // no call is under way any more
}

// tell tells one who listens still.
func (h *hearer) tell(wake Wake) (taken bool) {
	h.mu.Lock()
	if h.stopped {
		h.mu.Unlock()
		return false
	}
	h.calls++
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.calls--; h.calls == 0 {
			h.none.Broadcast()
		}
	}()
	return h.heard(wake)
}

func (h *hearer) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	for h.calls > 0 {
		h.none.Wait()
	}
}

// wakeColumns are where a table keeps what says what is due. Where there is false it keeps no such thing.
type wakeColumns struct {
	there                                                                 bool
	action, due, updated, provider, account, id, kind, redoOf, leaseUntil int
}

func wakeColumnsOf(p *transitions.Program) wakeColumns {
	c := wakeColumns{there: true, redoOf: p.Column("redo_of")}
	for name, at := range map[string]*int{
		"next_action": &c.action, "due_at": &c.due, "updated_at": &c.updated, "lease_until": &c.leaseUntil,
		"provider": &c.provider, "account": &c.account, "operation_id": &c.id, "kind": &c.kind,
	} {
		*at = p.Column(name)
		c.there = c.there && *at >= 0
	}
	return c
}

// of tells whether work on an operation is due, and free to be taken, at the moment of the event that left it so, by the
// database's clock.
func (c wakeColumns) of(row transitions.Row) (Wake, bool) {
	if !c.there || row == nil || row[c.action].IsNull() || row[c.due].IsNull() {
		return Wake{}, false
	}
	if now := row[c.updated].Micros(); row[c.due].Micros() > now || !row[c.leaseUntil].IsNull() && row[c.leaseUntil].Micros() > now {
		return Wake{}, false
	}
	wake := Wake{Action: row[c.action].Text(), Provider: row[c.provider].Text(), Account: row[c.account].Text(), Kind: row[c.kind].Text()}
	// What repeats an operation is looked at before it is begun: it is not for who takes it by its name.
	if wake.Action == transitions.Dispatch && (c.redoOf < 0 || row[c.redoOf].IsNull()) {
		wake.OperationID = row[c.id].Text()
	}
	return wake, true
}
