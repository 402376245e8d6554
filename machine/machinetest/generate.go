package machinetest

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// generator makes hand-made rows and parameters for one event: any that the tables' constraints allow, from pools small
// enough that they meet. Every time is an hour or more from now, so that a slow machine changes no verdict.
type generator struct {
	p    *transitions.Program
	rule *transitions.Rule
	now  time.Time
	rng  dice

	fixed       transitions.Params // what every trial is fired with; nil: anything
	reference   *machine.Memory    // knows the tables' constraints
	remoteJobID func() string      // further remote job ids to be given; nil: none
	shown       func() string      // further texts that a person may or may not see; nil: none
}

// dice decide. A random source has them, and what shrinks a counterexample.
type dice interface{ IntN(n int) int }

// trial is one row, nil for an event that creates it, and the parameters to fire with.
type trial struct {
	id     string
	row    transitions.Row
	params transitions.Params

	entries, evidence int // that there were before
}

// taken is the remote job id that another operation has, wherever a trial's may be.
const taken = "job-taken"

// holders are all the providers and accounts that trials are made of.
var holders = []values{
	{"provider": provider, "account": account}, {"provider": provider, "account": ""},
	{"provider": "print", "account": account}, {"provider": "print", "account": ""},
}

func (g *generator) world() transitions.World {
	return transitions.World{Now: g.now.UnixMicro(), Taken: func(_, _, id string) bool { return id == taken }}
}

func (g *generator) eval(c trial) transitions.Verdict {
	return g.p.Eval(g.rule.Event, c.row, c.params, g.world())
}

// possible reports whether the tables' constraints allow a trial's row, and the row that the event makes of it.
func (g *generator) possible(c trial) bool {
	if c.row != nil && !g.storable(c.row) {
		return false
	}
	v := g.eval(c)
	return !v.Applied || g.storable(v.Row)
}

// storable reports whether the tables' constraints allow a row.
func (g *generator) storable(row transitions.Row) bool {
	if g.reference == nil {
		g.reference = machine.NewMemory(g.p)
	}
	return g.reference.Put(row) == nil
}

func pick[T any](g *generator, from ...T) T { return from[g.rng.IntN(len(from))] }

// random makes a trial in a phase.
func (g *generator) random(id, phase string) trial {
	for {
		c := trial{id: id, params: transitions.Params{}}
		if !g.rule.New {
			c.row = g.columns(id, phase)
		}
		for _, d := range g.rule.Params {
			if g.fixed != nil && d.Name != "operation_id" {
				c.params[d.Name] = g.fixed[d.Name]
			} else {
				c.params[d.Name] = g.param(d, c)
			}
		}
		if g.possible(c) {
			return c
		}
	}
}

// columns fills a row, whether the tables' constraints allow it or not.
func (g *generator) columns(id, phase string) transitions.Row {
	row := make(transitions.Row, len(g.p.Columns))
	for i := range g.p.Columns {
		row[i] = g.column(i, id, phase)
	}
	g.settle(row)
	return row
}

// anyRow makes a row that the tables' constraints allow.
func (g *generator) anyRow(id, phase string) transitions.Row {
	for {
		row := g.columns(id, phase)
		if g.storable(row) {
			return row
		}
	}
}

// closest makes a trial in a phase that as few guards as possible refuse, the phase's own apart.
func (g *generator) closest(id, phase string) trial {
	cost := func(c trial) int {
		return len(slices.DeleteFunc(slices.Clone(g.eval(c).Failed), func(guard string) bool { return guard == "phase" }))
	}
	best := g.random(id, phase)
	least := cost(best)
	for range 300 {
		if least == 0 {
			break
		}
		next := g.mutated(best, phase)
		if c := cost(next); c <= least && g.possible(next) {
			best, least = next, c
		}
	}
	return best
}

// mutated changes one column or parameter of a trial, whether the tables' constraints allow it or not.
func (g *generator) mutated(c trial, phase string) trial {
	m := trial{id: c.id, row: slices.Clone(c.row), params: maps.Clone(c.params)}
	if n := g.rng.IntN(len(g.rule.Params) + len(c.row)/2); n < len(g.rule.Params) && g.fixed == nil {
		m.params[g.rule.Params[n].Name] = g.param(g.rule.Params[n], m)
	} else {
		i := g.rng.IntN(len(c.row))
		m.row[i] = g.column(i, c.id, phase)
		g.settle(m.row)
	}
	return m
}

// settle makes the outcome fit the phase, as the tables' constraint wants it.
func (g *generator) settle(row transitions.Row) {
	i := g.p.Column("outcome")
	if i < 0 {
		return
	}
	phase := g.p.Phase(row[g.p.Column("phase")].Text())
	switch {
	case !phase.HasOutcome:
		row[i] = transitions.NullValue
	case row[i].IsNull():
		row[i] = transitions.TextValue(pick(g, g.p.Outcomes...))
	}
}

func (g *generator) column(i int, id, phase string) transitions.Value {
	c := g.p.Columns[i]
	switch c.Name {
	case "operation_id":
		return value(id)
	case "phase":
		return value(phase)
	case "provider":
		return value(pick(g, provider, provider, "print"))
	case "account":
		return value(pick(g, account, account, ""))
	case "remote_job_id":
		return value(pick[any](g, nil, "job-"+id))
	case "late_remote_job_id":
		return value(pick[any](g, nil, nil, "job-"+id, "late-"+id, taken))
	case "redo_of": // each operation is redone once
		return value(pick[any](g, nil, "redone-"+id))
	case "lease_owner":
		return value(pick[any](g, nil, "w", "w2"))
	case "revision", "evidence_seq", "not_created_revision":
		return value(pick(g, 2, 3, 4))
	case "created_at", "updated_at":
		return value(g.now.Add(-24 * time.Hour))
	case "quarantine_ms", "not_found_grace_ms":
		return value(pick(g, 0, 7_200_000))
	}
	if !c.NotNull && g.rng.IntN(3) == 0 {
		return transitions.NullValue
	}
	if words := g.p.Words(c); words != nil {
		return value(pick(g, words...))
	}
	return g.ofKind(c.Kind)
}

func (g *generator) ofKind(kind transitions.Kind) transitions.Value {
	switch kind {
	case transitions.Text:
		return value(pick(g, "x", `{"a":"b"}`, "ünïcode \"quoted\" \\ ' <tag>\n"))
	case transitions.Bytes:
		return value(pick(g, []byte{}, []byte("running"), []byte{0, 0xff, '\''}))
	case transitions.Int:
		return value(pick(g, 0, 1, 2, 7))
	case transitions.Bool:
		return value(g.rng.IntN(2) == 0)
	default:
		return value(g.now.Add(pick(g, -2*time.Hour, -time.Hour, time.Hour, 2*time.Hour)))
	}
}

// param makes a parameter's value, often one that the row has.
func (g *generator) param(d transitions.ParamDef, c trial) transitions.Value {
	if d.Name == "operation_id" {
		return value(c.id)
	}
	d.Name = strings.TrimPrefix(d.Name, transitions.ThenPrefix) // of the second of two joined events
	if i := g.p.Column(d.Name); i >= 0 && c.row != nil && g.p.Columns[i].Kind == d.Kind && g.rng.IntN(2) == 0 {
		return c.row[i]
	}
	switch {
	case d.Name == "remote_job_id" && g.remoteJobID != nil && g.rng.IntN(2) == 1:
		return value(g.remoteJobID())
	case (d.Name == "reviewer" || d.Name == "object_key") && g.shown != nil && g.rng.IntN(2) == 1:
		return value(g.shown())
	}
	if words := g.asked(d.Name); d.Kind == transitions.Text && words != nil {
		return value(pick(g, words...))
	}
	switch d.Name {
	case "owner":
		if c.row != nil && g.rng.IntN(2) == 0 {
			return c.row[g.p.Column("lease_owner")]
		}
		return value(pick[any](g, nil, "w", "w2"))
	case "revision", "evidence_seq":
		return value(pick[any](g, nil, 2, 3, 4))
	case "ttl_ms":
		if g.rule.Then != nil && g.rng.IntN(4) == 0 {
			return value(0) // the second of two joined events finds the lease over
		}
		return value(pick(g, 60_000, 36_000_000))
	case "delay_ms":
		return value(pick[any](g, nil, 0, 30_000, 36_000_000))
	case "remote_job_id":
		return value(pick[any](g, nil, "", " ", "a b", "\u200b", "ünusable", "job-"+c.id, "late-"+c.id, "new-"+c.id, taken))
	case "redo_of":
		return value(pick[any](g, nil, "redone-"+c.id))
	case "provider":
		return value(pick[any](g, nil, provider, provider, "print"))
	case "account":
		return value(pick[any](g, nil, account, account, ""))
	case "reason":
		return value(pick[any](g, append([]any{nil, "", "\u00a0\u200b", "because"}, anys(g.p.Reasons)...)...))
	case "reviewer", "object_key":
		return value(pick[any](g, nil, "", "\t\u2800", "ann"))
	case "kind":
		if g.rule.New { // an operation's, which is its provider too where none is given: see holders
			return value(pick(g, provider, "print"))
		}
		return value(pick(g, "accepted", "ended_succeeded", "ended_failed", "ended_canceled", "note"))
	}
	if g.rng.IntN(3) == 0 {
		return transitions.NullValue
	}
	return g.ofKind(d.Kind)
}

// asked lists the words of which a guard of the rule asks whether a parameter is one, null first and one that is none
// last; nil if no guard does.
func (g *generator) asked(param string) []any {
	var words []any
	for _, guard := range g.rule.Guards {
		guard.Expr.Walk(func(x transitions.Expr) {
			if x.Op != transitions.OpIn || x.Args[0].Op != transitions.OpParam || x.Args[0].Name != param {
				return
			}
			for _, a := range x.Args[1:] {
				words = append(words, a.Value)
			}
		})
	}
	if words == nil {
		return nil
	}
	return append(append([]any{nil}, words...), "guess")
}

func anys(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

// search looks for a trial in one of the phases whose verdict costs nothing, by changing one thing at a time; ok is
// false where it finds none.
func (g *generator) search(id string, phases []string, cost func(transitions.Verdict) int) (found trial, ok bool) {
	for range 40 {
		phase := pick(g, phases...)
		best := g.random(id, phase)
		least := cost(g.eval(best))
		for range 400 {
			if least == 0 {
				return best, true
			}
			next := g.mutated(best, phase)
			if c := cost(g.eval(next)); c <= least && g.possible(next) {
				best, least = next, c
			}
		}
	}
	return trial{}, false
}

// applied costs nothing where every guard holds.
func applied(v transitions.Verdict) int { return len(v.Failed) }

// deniedOnlyBy costs nothing where exactly one guard fails: each guard is seen to decide by itself.
func deniedOnlyBy(guard string) func(transitions.Verdict) int {
	return func(v transitions.Verdict) int {
		cost := len(v.Failed)
		if slices.Contains(v.Failed, guard) {
			return cost - 1
		}
		return cost + 1
	}
}

// bothApplied costs nothing where both of two joined events apply.
func bothApplied(v transitions.Verdict) int {
	if v.Then == nil {
		return 10 + len(v.Failed)
	}
	return applied(*v.Then)
}

// thenDeniedOnlyBy costs nothing where the first of two joined events applies and exactly one guard of the second fails.
func thenDeniedOnlyBy(guard string) func(transitions.Verdict) int {
	return func(v transitions.Verdict) int {
		if v.Then == nil {
			return 10 + len(v.Failed)
		}
		return deniedOnlyBy(guard)(*v.Then)
	}
}

// Example gives a row as it could be found, and parameters with which the event is applied to it; for an event that
// creates its row, no row. Times are judged by now, an hour or more apart from it. It gives ok false where no such row is
// found. For a program, an event, an id and a time it gives the same each time.
func Example(p *transitions.Program, event, id string, now time.Time) (row transitions.Row, params transitions.Params, ok bool) {
	rule := p.Rule(event)
	if rule == nil {
		return nil, nil, false
	}
	g := &generator{p: p, rule: rule, now: now, rng: rand.New(rand.NewPCG(5, uint64(len(event))))}
	phases := rule.From
	if rule.New {
		phases = []string{""}
	}
	c, ok := g.search(id, phases, applied)
	return c.row, c.params, ok
}
