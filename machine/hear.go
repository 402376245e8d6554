package machine

import (
	"slices"
	"sync"

	"github.com/fencerow/fencerow/transitions"
)

// Hearer is implemented by a Store that tells its own process what its events made due, as soon as their answers are there
// and without asking the database anything. It is a hint like every wake-up: what other processes make due it does not
// tell (see Waker), nor what was fired in a transaction of the caller's.
type Hearer interface {
	// Hear has heard called until stop is. Calls come on the goroutine that fired the event, several at once, before it
	// has its answer: heard must not wait for anything, and must call neither Hear nor stop. It reports whether it takes
	// the operation that a wake-up names: then nobody else is told of it. Stop returns when no call is under way.
	Hear(heard func(Wake) (taken bool)) (stop func())
}

// Notifier tells those who listen in this process what a store's events made due. A nil one has nobody to tell. It is for
// whoever writes a Store.
type Notifier struct {
	columns struct{ action, due, updated, provider, account, id, kind, redoOf int }
	tells   bool // the table has the columns that say what is due

	mu      sync.RWMutex
	hearers []*hearer
}

type hearer struct{ heard func(Wake) bool }

// NewNotifier makes one for a store of a program's operations.
func NewNotifier(p *transitions.Program) *Notifier {
	n := &Notifier{tells: true}
	c := &n.columns
	c.id, c.kind, c.redoOf = p.Column("operation_id"), p.Column("kind"), p.Column("redo_of")
	for name, at := range map[string]*int{"next_action": &c.action, "due_at": &c.due, "updated_at": &c.updated, "provider": &c.provider, "account": &c.account} {
		*at = p.Column(name)
		n.tells = n.tells && *at >= 0
	}
	return n
}

// Hear is Hearer's.
func (n *Notifier) Hear(heard func(Wake) bool) (stop func()) {
	if n == nil {
		return func() {}
	}
	h := &hearer{heard}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hearers = append(n.hearers, h)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.hearers = slices.DeleteFunc(n.hearers, func(other *hearer) bool { return other == h })
	}
}

// Heard tells whether anybody listens.
func (n *Notifier) Heard() bool {
	if n == nil {
		return false
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return len(n.hearers) > 0
}

// Applied tells what an event left due in the rows that it was applied to, and gives what nobody took. Who holds a lease
// goes on by itself; only what others are to do is told.
func (n *Notifier) Applied(r *transitions.Rule, rows ...transitions.Row) []Wake {
	if n == nil || !n.tells || r.Fence == transitions.Held || r.IsClaim() {
		return nil
	}
	return n.Tell(n.due(rows)...)
}

// Due gives what is due now of operations as an event left them, as a store tells it: for what was fired in a transaction of
// the caller's, which no store tells by itself. After its commit: store.Wake(machine.Due(op)...).
func Due(ops ...Operation) []Wake {
	var rows []transitions.Row
	var n *Notifier
	for _, op := range ops {
		if n == nil && op.program != nil {
			n = NewNotifier(op.program)
		}
		rows = append(rows, op.row)
	}
	if n == nil || !n.tells {
		return nil
	}
	return n.due(rows)
}

func (n *Notifier) due(rows []transitions.Row) []Wake {
	var due []Wake
	at := map[Wake]int{}
	for _, row := range rows {
		wake, ok := n.of(row)
		if !ok {
			continue
		}
		// It is named while it is the only one of its kind: of many, whoever works takes as many as it has slots for by
		// one statement, which is cheaper than one by one.
		if i, there := at[wake.Unnamed()]; there {
			due[i] = wake.Unnamed()
			continue
		}
		at[wake.Unnamed()] = len(due)
		due = append(due, wake)
	}
	return due
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
	if n == nil {
		return due
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.DeleteFunc(slices.Clone(due), func(wake Wake) bool {
		return slices.ContainsFunc(n.hearers, func(h *hearer) bool { return h.heard(wake) })
	})
}

// of tells whether work on an operation is due at the moment of the event that left it so, by the database's clock.
func (n *Notifier) of(row transitions.Row) (Wake, bool) {
	c := n.columns
	if row == nil || row[c.action].IsNull() || row[c.due].IsNull() || row[c.due].Micros() > row[c.updated].Micros() {
		return Wake{}, false
	}
	wake := Wake{Action: row[c.action].Text(), Provider: row[c.provider].Text(), Account: row[c.account].Text()}
	// What repeats an operation is looked at before it is begun: it is not for who takes it by its name.
	if wake.Action == transitions.Dispatch && c.id >= 0 && c.kind >= 0 && (c.redoOf < 0 || row[c.redoOf].IsNull()) {
		wake.OperationID, wake.Kind = row[c.id].Text(), row[c.kind].Text()
	}
	return wake, true
}
