package verify

import (
	"github.com/fencerow/fencerow/transitions"
)

const (
	maxWorkers = 3
	maxStray   = 2
)

// model is a table, a bound and what both come to.
type model struct {
	p     *transitions.Program
	bound Bound
	fault map[Fault]bool
	only  map[Code]bool
	space *space
	calls []*call
	roles roles
	birth transitions.Params

	newborn transitions.Row
	applied map[string]bool // the events that were applied somewhere

	fenced     bool // every holder's event asks for the revision: one that is superseded is denied for ever
	sendable   []bool
	effecting  []bool
	hasOutcome []bool
	phases     []string
	resends    []bool // a request can still be begun there or later
	telling    []bool // evidence makes a difference there
	owners     map[string]uint32
}

func newModel(p *transitions.Program, b Bound) *model {
	m := &model{p: p, bound: b, fault: map[Fault]bool{}, only: map[Code]bool{}, applied: map[string]bool{}, space: newSpace(p, b.Unreduced), phases: p.PhaseNames(), fenced: true}
	for _, f := range b.Faults {
		m.fault[f] = true
	}
	for _, c := range b.Only {
		m.only[c] = true
	}
	for _, ph := range p.Phases {
		m.sendable = append(m.sendable, ph.Sendable)
		m.effecting = append(m.effecting, ph.Effecting)
		m.hasOutcome = append(m.hasOutcome, ph.HasOutcome)
	}
	for _, r := range p.Rules {
		if r.Fence == transitions.Held && !asksRevision(r) {
			m.fenced = false
		}
	}
	m.list()
	m.resends, m.telling = m.sendsAgain(), m.tells(relevance(p))
	m.owners = map[string]uint32{"": 0, fresh: 1, "w": 2, "w1": 3, "w2": 4, "w3": 5}
	return m
}

func asksRevision(r *transitions.Rule) bool {
	for _, g := range r.Guards {
		x := g.Expr
		if x.Op == transitions.OpEq && x.Args[0].Op == transitions.OpCol && x.Args[0].Name == "revision" && x.Args[1].Op == transitions.OpParam {
			return true
		}
	}
	return false
}

// pc is where a worker is in its program.
type pc uint8

const (
	idle     pc = iota
	holds       // has a lease, and fires what its phase allows
	sending     // its request is under way, and it waits for the answer
	answered    // has an answer, or gave up waiting
	unsure      // a statement's reply did not come
	late        // an accepted answer that the fence refused
)

// What a sender knows of its request.
const (
	notSent  uint8 = iota
	noAnswer       // sent, and nobody answered
	refused        // sent, and the remote created nothing
	accepted       // sent, and the remote created job answer - accepted + 1
)

// worker is one worker's belief: a lease, a phase, and what it knows of its request.
type worker struct {
	pc     pc
	phase  uint8
	rev    uint8
	left   uint8 // ticks until its own deadline
	answer uint8
	flight uint8 // of sending: ticks that the network may still take, + 1
	call   uint16
	flags  uint8
}

const (
	current uint8 = 1 << iota // its lease is the one that the row was last given
	landed                    // of unsure: history has the event under this revision
)

func (w *worker) has(flag uint8) bool { return w.flags&flag != 0 }

// stray is a statement under way without its sender.
type stray struct {
	on    bool
	call  uint16
	who   uint8
	rev   uint8
	flags uint8
}

// reviewer is what the reviewer looked at.
type reviewer struct {
	looked    bool
	phase     uint8
	rev, seq  uint8
	overtaken bool
	sawNone   bool // of the fault LooksTooEarly: the remote showed no job
}

// state is everything that can make a difference.
type state struct {
	row      rowID
	workers  [maxWorkers]worker
	stray    [maxStray]stray
	reviewer reviewer
	air      [2]uint8 // requests without a sender, by the ticks that the network may still take
	jobs     uint8
	begins   uint8
	slack    uint8 // requests that may still be sent
	mistakes uint8
	known    bool // evidence says that a job exists, and no reviewer acknowledged it
}
