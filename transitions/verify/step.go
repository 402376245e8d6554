package verify

import "github.com/fencerow/fencerow/transitions"

// kind says what happened in a step.
type kind uint8

const (
	passes   kind = iota // time
	fires                // an event, answered to whoever fired it
	vanishes             // an event was sent by a worker, and its reply did not come
	lands                // a statement that was under way
	drops                // a statement that was under way never arrives
	asks                 // a worker finds out from history what became of its statement
	crashes              // a worker forgets everything
	sends                // a request leaves
	arrives              // a request reaches the remote, which creates a job
	refuses              // a request reaches the remote, which creates nothing
	givesUp              // a worker waits no longer for the remote's answer
	looks                // a reviewer reads the row
	adopts               // a worker takes what it finds under its own owner string for its own lease (a fault)
	supposes             // a worker takes an unknown begin for begun (a fault)
	fails                // a request without a sender is lost in the network
)

// who fired it.
const (
	nobody     int8 = -1
	reconciler int8 = -2
	person     int8 = -3
	webhook    int8 = -4
	operator   int8 = -5
)

// step is what led from one state to the next.
type step struct {
	kind    kind
	who     int8
	call    int16 // -1: none
	applied bool
	twice   bool // the statement is under way once more
	slot    uint8
	broken  Code // what the step broke
}

// successors visits every state that one step leads to.
func (m *model) successors(st *state, visit func(step, *state)) {
	v := visitor{model: m, from: st, visit: visit}
	v.time()
	v.others()
	v.people()
	v.remote()
	v.strays()
	for w := range m.bound.Workers {
		v.worker(w)
	}
}

type visitor struct {
	*model
	from  *state
	visit func(step, *state)
}

func (v *visitor) row() facts { return v.space.facts[v.from.row] }

// time passes: not before what the network carries has come, or is lost.
func (v *visitor) time() {
	if v.from.air[0] > 0 && !v.fault[SlowNetwork] {
		return
	}
	next := *v.from
	next.row = v.space.later(next.row)
	if !v.fault[SlowNetwork] {
		next.air = [2]uint8{next.air[1], 0}
	}
	for i := range next.workers {
		w := &next.workers[i]
		if w.pc == idle {
			continue
		}
		w.left = less(w.left)
		if w.pc == sending {
			if w.flight == 1 && !v.fault[SlowNetwork] {
				return
			}
			w.flight = max(1, less(w.flight))
		}
	}
	if next != *v.from {
		v.visit(step{kind: passes, who: nobody, call: -1}, &next)
	}
}

func less(n uint8) uint8 {
	if n == 0 {
		return 0
	}
	return n - 1
}

// apply does what an event does to a state, whoever fired it. flags are those of the claim that it was fired under.
func (v *visitor) apply(next *state, c *call, a answer, flags uint8) Code {
	before, after := v.space.facts[v.from.row], v.space.facts[a.row]
	r := c.rule
	broken := a.broken
	broke := func(code Code, cond bool) {
		if cond && broken == "" {
			broken = code
		}
	}
	next.row = a.row
	broke("I4", r.Fence == transitions.Held && flags&current == 0)
	if v.effecting[after.phase] && !v.effecting[before.phase] {
		next.begins++
		broke("I1b", v.from.known)
	}
	if v.sendable[after.phase] && !v.sendable[before.phase] {
		next.slack = min(next.slack+1, uint8(v.bound.Begins)+1)
	}
	if r.Fence == transitions.Noticed {
		next.known = false
	}
	broke("D3", (r.Fence == transitions.Seen || r.Fence == transitions.Noticed && before.seq != int64(v.from.reviewer.seq)) && v.from.reviewer.overtaken)
	moved := before.phase != after.phase || before.seq != after.seq || before.revision != after.revision || r.IsClaim()
	if next.reviewer.looked && moved {
		next.reviewer.overtaken = true
	}
	if r.IsClaim() || after.owner == "" && before.owner != "" || r.Fence != transitions.Held && assigns(r, "lease_owner") {
		v.supersede(next)
	}
	return broken
}

// supersede: the lease that anybody had is over.
func (v *visitor) supersede(next *state) {
	for i := range next.workers {
		next.workers[i].flags &^= current
	}
	for i := range next.stray {
		next.stray[i].flags &^= current
	}
}

// noteLanded lets those who wait for a reply find their event in history.
func (v *visitor) noteLanded(next *state, c *call, rev uint8) {
	for i := range next.workers {
		w := &next.workers[i]
		if w.pc == unsure && w.rev == rev && v.calls[w.call].rule == c.rule {
			w.flags |= landed
		}
	}
}

// others are the reconciler and whoever asks to cancel.
func (v *visitor) others() {
	if !v.fault[NoReconciler] {
		for _, c := range v.roles.sweeps {
			v.plain(c, reconciler)
		}
	}
	for _, c := range v.roles.open {
		v.plain(c, operator)
	}
}

// plain fires an event that binds nothing; a denial changes nothing.
func (v *visitor) plain(c *call, who int8) {
	a := v.ask(v.from.row, c, "", -1, 0)
	if !a.applied {
		return
	}
	next := *v.from
	broken := v.apply(&next, c, a, 0)
	if next != *v.from || broken != "" {
		v.visit(step{kind: fires, who: who, call: int16(c.number), applied: true, broken: broken}, &next)
	}
}

// people look, and decide on what they saw; they may decide again, which is a tired click. They decide only what the
// operation that they looked at offered: nobody abandons what was on its way when it was looked at. The fence would let
// them, since the holder's own end of it changes no revision.
func (v *visitor) people() {
	if v.fault[NoReviewer] || len(v.roles.seen) == 0 {
		return
	}
	row := v.row()
	next := *v.from
	next.reviewer = reviewer{looked: true, phase: row.phase, rev: uint8(row.revision), seq: uint8(row.seq),
		sawNone: v.fault[LooksTooEarly] && v.from.jobs == 0}
	if next != *v.from {
		v.visit(step{kind: looks, who: person, call: -1}, &next)
	}
	if !v.from.reviewer.looked {
		return
	}
	for _, c := range v.roles.seen {
		if c.needs == itsJob && c.job > v.from.jobs || !c.rule.Leaves(v.phases[v.from.reviewer.phase]) {
			continue
		}
		v.decide(c)
	}
}

func (v *visitor) decide(c *call) {
	a := v.ask(v.from.row, c, "", int64(v.from.reviewer.rev), int64(v.from.reviewer.seq))
	if !a.applied {
		return
	}
	next := *v.from
	if v.returns(c.rule) && c.rule.Fence == transitions.Seen {
		if v.from.jobs > 0 && !v.from.reviewer.sawNone || c.needs == overrides {
			if int(v.from.mistakes) >= v.bound.Mistakes {
				return
			}
			next.mistakes++
		}
	}
	broken := v.apply(&next, c, a, 0)
	if next != *v.from || broken != "" {
		v.visit(step{kind: fires, who: person, call: int16(c.number), applied: true, broken: broken}, &next)
	}
}

// remote is the webhook's word, and what the network does to requests whose sender is gone.
func (v *visitor) remote() {
	for _, c := range append(v.roles.remote, v.roles.reports...) {
		if c.job <= v.from.jobs {
			v.plain(c, webhook)
		}
	}
	for left := range uint8(2) {
		if v.from.air[left] == 0 {
			continue
		}
		next := *v.from
		next.air[left]--
		v.visit(step{kind: fails, who: nobody, call: -1}, &next)
		v.create(next, step{kind: arrives, who: nobody, call: -1})
	}
}

// create makes a job at the remote.
func (v *visitor) create(next state, s step) {
	next.jobs++
	if next.jobs > 1+next.mistakes {
		s.broken = "I1a"
	}
	v.visit(s, &next)
}

// strays are the statements under way: each may land now, or never.
func (v *visitor) strays() {
	for i := range v.bound.Statements {
		z := v.from.stray[i]
		if !z.on {
			continue
		}
		next := *v.from
		next.stray[i] = stray{}
		v.visit(step{kind: drops, who: int8(z.who), call: int16(z.call), slot: uint8(i)}, &next)
		c := v.calls[z.call]
		a := v.ask(v.from.row, c, v.owner(int(z.who)), int64(z.rev), 0)
		if !a.applied || v.beyond(c, a) {
			continue
		}
		broken := v.apply(&next, c, a, z.flags)
		v.noteLanded(&next, c, z.rev)
		v.visit(step{kind: lands, who: int8(z.who), call: int16(z.call), applied: true, slot: uint8(i), broken: broken}, &next)
	}
}

// beyond reports whether an event would begin more requests than the bound allows.
func (v *visitor) beyond(c *call, a answer) bool {
	return v.effecting[v.space.facts[a.row].phase] && !v.effecting[v.row().phase] && int(v.from.begins) >= v.bound.Begins
}
