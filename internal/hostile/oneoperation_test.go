package hostile_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// view is what can be read of one operation.
type view struct {
	phase, owner       string
	revision, attempts int64
	until              int64 // the lease's end in microseconds of the database's clock; 0: no lease
}

// state is the sequential model of one operation. Time is part of it: clock is the latest moment that the database is
// known to have reached, because an event was applied then, or because a lease was judged to be over. A lease may
// therefore be judged over at any moment from its end on, and never again live after that; whether it was live is not
// left open: an applied event tells the moment at which it was judged.
type state struct {
	view
	clock int64
}

// ask is what a client asked for.
type ask struct {
	event    string // "read" reads the row
	batch    bool   // the form that finds the operation by itself, and may find it locked
	owner    string
	revision int64
	ttl      int64 // microseconds
}

// told is what it was told.
type told struct {
	applied, nothing bool // nothing: a batch that took nothing
	failed           string
	view             view
	at               int64 // when an applied event was judged
}

func (a ask) String() string {
	if a.batch {
		return "take " + a.event
	}
	return fmt.Sprintf("%s as %s.%d", a.event, a.owner, a.revision)
}

func (t told) String() string {
	switch {
	case t.nothing:
		return "nothing"
	case t.applied:
		return fmt.Sprintf("applied at %d: %+v", t.at, t.view)
	default:
		return fmt.Sprintf("denied (%s): %+v", t.failed, t.view)
	}
}

// rule is an event of the model, written down here a second time, from the documents and not from the table.
type rule struct {
	from   []string
	held   bool // needs owner, revision and a live lease
	vacant bool // needs that there is no live lease
	seen   bool // needs the revision
	claim  bool // needs work that is due: here, that it is prepared
	effect func(v view, a ask, at int64) view
}

func free(v view) view { v.owner, v.until = "", 0; return v }

var rules = map[string]rule{
	"dispatch_claim": {from: []string{"prepared"}, vacant: true, claim: true, effect: func(v view, a ask, at int64) view {
		v.owner, v.until, v.revision = a.owner, at+a.ttl, v.revision+1
		return v
	}},
	"renew": {from: []string{"prepared", "submitting", "uncertain"}, held: true, effect: func(v view, a ask, at int64) view {
		v.until = max(v.until, at+a.ttl)
		return v
	}},
	"submit_begin": {from: []string{"prepared"}, held: true, effect: func(v view, _ ask, _ int64) view {
		v.phase, v.attempts = "submitting", v.attempts+1
		return v
	}},
	"submit_not_created": {from: []string{"submitting"}, held: true, effect: func(v view, _ ask, _ int64) view {
		v.phase = "prepared"
		return free(v)
	}},
	"release": {from: []string{"prepared", "uncertain"}, held: true, effect: func(v view, _ ask, _ int64) view { return free(v) }},
	"submit_lapsed": {from: []string{"submitting"}, vacant: true, effect: func(v view, _ ask, _ int64) view {
		v.phase, v.revision = "uncertain", v.revision+1
		return free(v)
	}},
	"review_not_created": {from: []string{"uncertain"}, vacant: true, seen: true, effect: func(v view, _ ask, _ int64) view {
		v.phase, v.revision = "prepared", v.revision+1
		return free(v)
	}},
}

// fails lists the guards that do not hold, time apart.
func (r rule) fails(v view, a ask) []string {
	var names []string
	fail := func(holds bool, name ...string) {
		if !holds {
			names = append(names, name...)
		}
	}
	fail(slices.Contains(r.from, v.phase), "phase")
	fail(!r.held || v.owner != "" && v.owner == a.owner, "owner")
	fail(!r.held && !r.seen || v.revision == a.revision, "revision")
	fail(!r.held || v.until != 0, "lease_live")
	fail(!r.claim || v.phase == "prepared", "next_action", "due")
	return names
}

// step is the model: may the database, in this state, have told this to who asked that?
func step(s state, a ask, t told) (bool, state) {
	if a.event == "read" {
		return t.view == s.view, s
	}
	if t.nothing {
		return a.batch, s // it may have found the row locked
	}
	r := rules[a.event]
	fails := r.fails(s.view, a)
	timed := s.until != 0 && (r.held || r.vacant)
	if t.applied {
		live := t.at < s.until
		if len(fails) > 0 || t.at < s.clock || timed && r.held && !live || timed && r.vacant && live {
			return false, s
		}
		next := state{r.effect(s.view, a, t.at), t.at}
		return t.view == next.view, next
	}
	over := strings.Contains(t.failed, "lease_live") // as it was judged
	if r.vacant {
		over = !strings.Contains(t.failed, "lease_vacant")
	}
	if timed && over != r.vacant {
		fails = append(fails, map[bool]string{true: "lease_live", false: "lease_vacant"}[r.held])
	}
	slices.Sort(fails)
	if len(fails) == 0 || t.view != s.view || t.failed != strings.Join(fails, " ") {
		return false, s
	}
	switch {
	case timed && over:
		s.clock = max(s.clock, s.until)
	case timed && s.clock >= s.until:
		return false, s // it was judged live after it was known to be over
	}
	return true, s
}

// model is for porcupine.
func model(first view, clock int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return state{first, clock} },
		Step: func(s, a, t any) (bool, any) {
			ok, next := step(s.(state), a.(ask), t.(told))
			return ok, next
		},
		DescribeOperation: func(a, t any) string { return fmt.Sprintf("%s: %s", a, t) },
	}
}

func viewOf(op machine.Operation) view {
	v := view{phase: op.Phase, owner: op.LeaseOwner, revision: op.Revision, attempts: op.Attempts}
	if !op.LeaseUntil.IsZero() {
		v.until = op.LeaseUntil.UnixMicro()
	}
	return v
}

// params are what an event of the model is fired with.
func (a ask) params(id string) transitions.Params {
	p := transitions.Params{
		"operation_id": transitions.TextValue(id), "owner": transitions.TextValue(a.owner),
		"revision": transitions.IntValue(a.revision), "ttl_ms": transitions.IntValue(a.ttl / 1000),
		"provider": transitions.TextValue(id), "account": transitions.TextValue(""),
		"proof": transitions.TextValue(machine.ProofRefused), "delay_ms": transitions.IntValue(0),
	}
	if a.event == "release" {
		delete(p, "delay_ms")
	}
	if a.event == "review_not_created" {
		p = transitions.Params{
			"operation_id": p["operation_id"], "revision": p["revision"], "evidence_seq": transitions.IntValue(0),
			"reviewer": transitions.TextValue("ann"), "reason": transitions.TextValue("looked"), "override": transitions.BoolValue(true),
		}
	}
	if a.batch {
		p["limit"] = transitions.IntValue(1)
	}
	return p
}
