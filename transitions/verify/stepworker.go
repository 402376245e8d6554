package verify

import "github.com/fencerow/fencerow/transitions"

// owner is the string that a worker puts into its lease.
func (m *model) owner(w int) string {
	if m.bound.ReusedOwners {
		return "w"
	}
	return "w" + string(rune('1'+w))
}

// worker visits what a worker may do next.
func (v *visitor) worker(i int) {
	w := &v.from.workers[i]
	if w.pc != idle {
		v.crash(i)
	}
	switch w.pc {
	case idle:
		v.claim(i)
	case holds:
		if v.effecting[w.phase] && w.answer == notSent {
			v.send(i)
		} else if v.fault[SendsFirst] && v.sendable[w.phase] && w.answer == notSent {
			v.send(i)
		}
		v.record(i)
	case sending:
		v.await(i)
	case answered:
		v.record(i)
	case unsure:
		v.resolve(i)
	case late:
		v.note(i)
	}
}

// crash: the process is gone, and with it everything that it knew. Its request stays under way.
func (v *visitor) crash(i int) {
	next := *v.from
	v.forget(&next, i)
	v.visit(step{kind: crashes, who: int8(i), call: -1}, &next)
}

func (v *visitor) forget(next *state, i int) {
	w := &next.workers[i]
	if w.pc == sending {
		next.air[w.flight-1]++
	}
	*w = worker{}
}

// claim: a reply that does not come is a claim that is given up, which is the same as a crash after it.
func (v *visitor) claim(i int) {
	for _, c := range v.roles.claims {
		if v.fault[NoTakeover] && v.row().owner != "" {
			continue
		}
		a := v.ask(v.from.row, c, v.owner(i), -1, 0)
		if !a.applied {
			continue
		}
		next := *v.from
		broken := v.apply(&next, c, a, 0)
		after := v.space.facts[a.row]
		next.workers[i] = worker{pc: holds, phase: after.phase, rev: uint8(after.revision), left: 1, flags: current}
		v.visit(step{kind: fires, who: int8(i), call: int16(c.number), applied: true, broken: broken}, &next)
	}
	if row := v.row(); v.fault[ClaimByOwner] && row.owner == v.owner(i) && row.live && !v.effecting[row.phase] {
		next := *v.from
		next.workers[i] = worker{pc: holds, phase: row.phase, rev: uint8(row.revision), left: 1}
		if !v.bound.ReusedOwners { // it can only be its own
			next.workers[i].flags = current
		}
		v.visit(step{kind: adopts, who: int8(i), call: -1}, &next)
	}
}

// send lets the request leave, if the sender's own deadline has not come.
func (v *visitor) send(i int) {
	w := v.from.workers[i]
	if w.left == 0 && !v.fault[NoOwnDeadline] {
		return
	}
	next := *v.from
	s := step{kind: sends, who: int8(i), call: -1}
	nw := &next.workers[i]
	if v.from.slack == 0 {
		s.broken = "I1"
	} else {
		next.slack--
	}
	if !v.effecting[v.row().phase] || !w.has(current) {
		s.broken = pickCode(v.fired("I2"), "I2", s.broken)
	}
	if v.effecting[w.phase] {
		nw.pc, nw.flight = sending, 2
	} else { // a fault: the request is under way, and what comes of it is not waited for
		nw.answer = noAnswer
		next.air[1]++
	}
	v.visit(s, &next)
}

func pickCode(cond bool, yes, no Code) Code {
	if cond {
		return yes
	}
	return no
}

// fired reports whether an invariant is looked for.
func (m *model) fired(c Code) bool { return len(m.only) == 0 || m.only[c] }

// await: the answer comes, or is waited for no longer. An answer that is lost is a sender that gave up.
func (v *visitor) await(i int) {
	w := v.from.workers[i]
	next := *v.from
	v.forget(&next, i)
	next.workers[i] = w
	next.workers[i].pc, next.workers[i].flight, next.workers[i].answer = answered, 0, noAnswer
	v.visit(step{kind: givesUp, who: int8(i), call: -1}, &next)

	next = *v.from
	next.workers[i].pc, next.workers[i].flight, next.workers[i].answer = answered, 0, refused
	v.visit(step{kind: refuses, who: int8(i), call: -1}, &next)

	next.workers[i].answer = accepted + v.from.jobs
	v.create(next, step{kind: arrives, who: int8(i), call: -1})
}

// honest reports whether a worker may fire a call, for what it knows.
func (v *visitor) honest(w *worker, c *call) bool {
	onWire := v.effecting[w.phase]
	switch c.needs {
	case itsJob:
		if onWire {
			return w.answer >= accepted && (c.job == 0 || c.job == w.answer-accepted+1)
		}
		return c.job <= v.from.jobs && v.from.jobs > 0
	case nothing:
		return !onWire || w.answer == refused || w.answer == notSent || w.answer == noAnswer && v.fault[GuessesNotSent]
	case unclear:
		return onWire && w.answer == noAnswer
	default:
		return true
	}
}

// record fires what the worker's phase allows.
func (v *visitor) record(i int) {
	w := &v.from.workers[i]
	for _, c := range v.roles.held[w.phase] {
		if !v.honest(w, c) {
			continue
		}
		a := v.ask(v.from.row, c, v.owner(i), int64(w.rev), 0)
		if v.beyond(c, a) {
			continue
		}
		v.hold(i, c, a)
	}
}

// hold fires a holder's event: answered; answered and under way once more; or under way, the reply outstanding.
func (v *visitor) hold(i int, c *call, a answer) {
	w := v.from.workers[i]
	next := *v.from
	s := step{kind: fires, who: int8(i), call: int16(c.number), applied: a.applied}
	if a.applied {
		s.broken = v.apply(&next, c, a, w.flags)
		v.noteLanded(&next, c, w.rev)
		v.settle(&next, i, c)
	} else {
		v.denied(&next, i, c)
	}
	if next != *v.from || s.broken != "" {
		v.visit(s, &next)
	}
	slot, free := v.slot()
	if !free {
		return
	}
	under := stray{on: true, call: c.number, who: uint8(i), rev: w.rev, flags: w.flags & current}
	if a.applied { // the copy of one that was denied is the late one below
		twice := next
		twice.stray[slot] = under
		if after := v.space.facts[a.row]; after.owner == "" {
			twice.stray[slot].flags = 0
		}
		s.twice = true
		v.visit(s, &twice)
	}
	next = *v.from
	next.stray[slot] = under
	next.workers[i].pc, next.workers[i].call = unsure, c.number
	next.workers[i].flags &^= landed
	v.visit(step{kind: vanishes, who: int8(i), call: int16(c.number), slot: uint8(slot)}, &next)
}

func (v *visitor) slot() (int, bool) {
	for i := range v.bound.Statements {
		if !v.from.stray[i].on {
			return i, true
		}
	}
	return 0, false
}

// settle is what a worker believes after its event was applied.
func (v *visitor) settle(next *state, i int, c *call) {
	w := &next.workers[i]
	r := c.rule
	if releases(r) {
		*w = worker{}
		return
	}
	w.call, w.flags = 0, w.flags&current
	was := w.phase
	if r.To != "" {
		w.phase = v.phaseNumber(r.To)
	}
	w.pc = holds
	if w.answer != notSent && v.effecting[w.phase] && v.effecting[was] {
		w.pc = answered
	}
	if v.effecting[was] != v.effecting[w.phase] && !v.fault[SendsFirst] {
		w.answer = notSent
	}
	if assigns(r, "lease_until") {
		w.left = 1
	}
}

func (m *model) phaseNumber(name string) uint8 {
	for i, ph := range m.phases {
		if ph == name {
			return uint8(i)
		}
	}
	return 0
}

// releases reports whether an event gives the lease up.
func releases(r *transitions.Rule) bool {
	for _, s := range r.Sets {
		if s.Col == "lease_owner" {
			return s.Expr.Op == transitions.OpLit && s.Expr.Value.IsNull()
		}
	}
	return false
}

// denied: the work is over. An accepted answer goes to evidence.
func (v *visitor) denied(next *state, i int, c *call) {
	w := &next.workers[i]
	row := v.row()
	mine := row.owner == v.owner(i) && row.live
	switch {
	case v.fault[DeniedRereads] && v.effecting[row.phase] && mine && c.rule.To != "" && v.effecting[v.phaseNumber(c.rule.To)]:
		v.settle(next, i, c)
	case v.fault[AdoptsRevision] && assigns(c.rule, "lease_until") && mine && !releases(c.rule):
		w.rev, w.left, w.pc = uint8(row.revision), 1, pick8(w.answer != notSent, answered, holds)
	case w.answer >= accepted:
		*w = worker{pc: late, phase: w.phase, rev: w.rev, answer: w.answer}
	default:
		*w = worker{}
	}
}

func pick8(cond bool, yes, no pc) pc {
	if cond {
		return yes
	}
	return no
}

// resolve: the reply did not come. History tells whether the event landed; no is an answer only once the revision moved
// on or the statement can land no more. The same event may be fired again.
func (v *visitor) resolve(i int) {
	w := v.from.workers[i]
	c := v.calls[w.call]
	row := v.row()
	enters := c.rule.To != "" && v.effecting[v.phaseNumber(c.rule.To)] && !v.effecting[w.phase]
	begun := enters && v.effecting[row.phase] && row.revision == int64(w.rev)
	if w.has(landed) || begun { // a renewal counts from when it was sent, and that is as long ago as its reply is late
		next := *v.from
		v.settle(&next, i, c)
		if next.workers[i].pc != idle {
			next.workers[i].left = w.left
		}
		v.visit(step{kind: asks, who: int8(i), call: int16(c.number), applied: true}, &next)
		return
	}
	if v.fault[AssumesBegun] && enters {
		next := *v.from
		v.settle(&next, i, c)
		v.visit(step{kind: supposes, who: int8(i), call: int16(c.number)}, &next)
	}
	if row.revision != int64(w.rev) || !v.underWay(i) {
		next := *v.from
		v.denied(&next, i, c)
		v.visit(step{kind: asks, who: int8(i), call: int16(c.number)}, &next)
	}
	a := v.ask(v.from.row, c, v.owner(i), int64(w.rev), 0)
	if a.applied && !v.beyond(c, a) {
		next := *v.from
		s := step{kind: fires, who: int8(i), call: int16(c.number), applied: true}
		s.broken = v.apply(&next, c, a, w.flags)
		v.noteLanded(&next, c, w.rev)
		v.settle(&next, i, c)
		v.visit(s, &next)
	}
}

func (v *visitor) underWay(i int) bool {
	for _, z := range v.from.stray {
		if z.on && z.who == uint8(i) {
			return true
		}
	}
	return false
}

// note keeps an answer that came too late as evidence.
func (v *visitor) note(i int) {
	w := v.from.workers[i]
	for _, c := range v.roles.evidence {
		if c.job != w.answer-accepted+1 {
			continue
		}
		a := v.ask(v.from.row, c, v.owner(i), int64(w.rev), 0)
		next := *v.from
		broken := a.broken
		if a.applied {
			broken = v.apply(&next, c, a, 0)
			next.known = v.known(c, a.row) || next.known
		}
		next.workers[i] = worker{}
		v.visit(step{kind: fires, who: int8(i), call: int16(c.number), applied: a.applied, broken: broken}, &next)
	}
}

// known reports whether the evidence tells of a job that the row does not hold.
func (m *model) known(c *call, row rowID) bool {
	return m.id(m.space.rows[row]) != c.params["remote_job_id"]
}
