package transitions

import (
	"fmt"
	"strings"
)

// World is what a verdict needs to know beside the row: the clock, and the other operations.
type World struct {
	Now   int64                                         // Unix microseconds
	Taken func(provider, account, remoteID string) bool // held by another operation; nil: by none
}

// Entry is the history row of an event that was applied.
type Entry struct {
	Event    string
	From, To string // From is "" for the first
	Owner    Value  // who held the lease: the event's owner, else the row's before the event
	Revision int64  // of the row after the event
	Reason   Value
	Reviewer Value
	Detail   Value
	Changes  []Change // the columns that the event assigned, leases and due times apart
}

// Change is one column of an Entry.
type Change struct {
	Column string
	Value  Value
}

// EvidenceEntry is an appended evidence row.
type EvidenceEntry struct {
	Kind, RemoteJobID, Detail, Revision, Owner Value
}

// Verdict is what an event came to.
type Verdict struct {
	Applied  bool
	Failed   []string       // the names of the guards that did not hold, in the rule's order
	Row      Row            // after the event when applied, as it was seen when not
	Entry    *Entry         // nil if the event leaves no history
	Evidence *EvidenceEntry // nil if none is appended
	Then     *Verdict       // of the second of two joined events, where the first was applied; Row is the row after both
}

// Eval is the meaning of the table: what an event does to a row. It is pure; the stores and the looplab/fsm mirror are
// held against it. For an event that creates the row, row is nil. Eval panics on an event that the program has not.
// Whoever evaluates many uses an Evaluator.
func (p *Program) Eval(event string, row Row, params Params, w World) Verdict {
	return *p.Evaluator().Eval(event, row, params, w)
}

// Evaluator evaluates one event after another in the same memory: after the first few it allocates nothing. It is not
// safe for concurrent use.
type Evaluator struct {
	evaluation
	blank    Row // of every event that creates a row
	verdict  Verdict
	failed   []string
	after    Row
	entry    Entry
	changes  []Change
	evidence EvidenceEntry
	then     *Evaluator // of the second of two joined events
}

// Evaluator makes an evaluator of the program.
func (p *Program) Evaluator() *Evaluator {
	return &Evaluator{evaluation: evaluation{program: p}}
}

// Eval is Program.Eval, in memory of the evaluator: the verdict and all that it refers to are good until the next call.
func (e *Evaluator) Eval(event string, row Row, params Params, w World) *Verdict {
	p := e.program
	r := p.Rule(event)
	if r == nil {
		panic(fmt.Sprintf("evaluate: table %s has no event %q", p.Name, event))
	}
	if r.Then == nil {
		return e.eval(r, row, params, w)
	}
	v := e.eval(r.First, row, params, w)
	if v.Applied {
		if e.then == nil {
			e.then = p.Evaluator()
		}
		v.Then = e.then.eval(r.Then, v.Row, params, w)
		v.Row = v.Then.Row
	}
	return v
}

// eval is what one rule does to a row.
func (e *Evaluator) eval(r *Rule, row Row, params Params, w World) *Verdict {
	p := e.program
	if r.New {
		row = e.blankRow()
	}
	e.row, e.params, e.world = row, params, w
	v := &e.verdict
	*v = Verdict{Row: row}
	e.failed = e.failed[:0]
	for i := range r.Guards {
		if g := &r.Guards[i]; !e.holds(&g.Expr) {
			e.failed = append(e.failed, g.Name)
		}
	}
	if len(e.failed) > 0 {
		v.Failed = e.failed
		return v
	}
	v.Applied = true
	e.after = append(e.after[:0], row...)
	v.Row = e.after
	for i := range r.Sets {
		v.Row[p.Column(r.Sets[i].Col)] = e.value(&r.Sets[i].Expr)
	}
	if !r.Quiet.IsSet() || !e.holds(&r.Quiet) {
		v.Entry = e.note(r, v.Row)
	}
	if x := r.Evidence; x != nil && e.holds(&x.When) {
		e.evidence = EvidenceEntry{e.value(&x.Kind), e.value(&x.RemoteJobID), e.value(&x.Detail), e.value(&x.Revision), e.value(&x.Owner)}
		v.Evidence = &e.evidence
	}
	return v
}

func (e *Evaluator) blankRow() Row {
	if e.blank == nil {
		e.blank = e.program.blankRow()
	}
	return e.blank
}

// blankRow is what prepare starts from: every column's default.
func (p *Program) blankRow() Row {
	row := make(Row, len(p.Columns))
	for i, c := range p.Columns {
		row[i] = c.Default
	}
	return row
}

type evaluation struct {
	program *Program
	row     Row
	params  Params
	world   World
}

func (e *Evaluator) note(r *Rule, after Row) *Entry {
	p := e.program
	e.entry = Entry{
		Event: r.Event, From: e.row[p.Column("phase")].Text(), To: after[p.Column("phase")].Text(),
		Owner: e.value(&r.Owner), Revision: after[p.Column("revision")].Int(),
		Reason: e.value(&r.Reason), Reviewer: e.value(&r.Reviewer), Detail: e.value(&r.Detail),
	}
	e.changes = e.changes[:0]
	for _, i := range r.Recorded {
		e.changes = append(e.changes, Change{p.Columns[i].Name, after[i]})
	}
	if len(e.changes) > 0 {
		e.entry.Changes = e.changes
	}
	return &e.entry
}

func (ev *evaluation) holds(x *Expr) bool { return ev.value(x).Bool() }

func (ev *evaluation) value(x *Expr) Value {
	switch x.Op {
	case OpCol:
		return ev.row[ev.program.Column(x.Name)]
	case OpParam:
		return ev.params[x.Name]
	case OpNow:
		return MicrosValue(ev.world.Now)
	case OpLit:
		return x.Value
	case OpAnd, OpOr:
		return ev.connective(x)
	case OpNot:
		if v := ev.value(&x.Args[0]); !v.IsNull() {
			return BoolValue(!v.Bool())
		}
		return NullValue
	case OpIsNull:
		return BoolValue(ev.value(&x.Args[0]).IsNull())
	case OpIf:
		if ev.holds(&x.Args[0]) {
			return ev.value(&x.Args[1])
		}
		return ev.value(&x.Args[2])
	case OpCoalesce:
		for i := range x.Args {
			if v := ev.value(&x.Args[i]); !v.IsNull() {
				return v
			}
		}
		return NullValue
	case OpUsable:
		return BoolValue(UsableRemoteJobID(ev.value(&x.Args[0]).Text()))
	case OpBlank:
		return BoolValue(IsBlank(ev.value(&x.Args[0]).Text()))
	case OpTaken:
		return BoolValue(ev.taken(ev.value(&x.Args[0])))
	case OpGreatest, OpLeast:
		return ev.extreme(x)
	default:
		return ev.binary(x)
	}
}

func (ev *evaluation) taken(id Value) bool {
	if id.IsNull() || ev.world.Taken == nil {
		return false
	}
	p := ev.program
	return ev.world.Taken(ev.row[p.Column("provider")].Text(), ev.row[p.Column("account")].Text(), id.Text())
}

// connective is SQL's three-valued and/or.
func (ev *evaluation) connective(x *Expr) Value {
	decisive, unknown := x.Op == OpOr, false
	for i := range x.Args {
		v := ev.value(&x.Args[i])
		if v.IsNull() {
			unknown = true
		} else if v.Bool() == decisive {
			return BoolValue(decisive)
		}
	}
	if unknown {
		return NullValue
	}
	return BoolValue(!decisive)
}

func (ev *evaluation) extreme(x *Expr) Value {
	best := NullValue
	for i := range x.Args {
		v := ev.value(&x.Args[i])
		if v.IsNull() {
			continue
		}
		if best.IsNull() || (compare(v, best) > 0) == (x.Op == OpGreatest) {
			best = v
		}
	}
	return best
}

// binary evaluates the operators that are null where an operand is.
func (ev *evaluation) binary(x *Expr) Value {
	a := ev.value(&x.Args[0])
	if x.Op == OpIn {
		return ev.in(a, x.Args[1:])
	}
	b := ev.value(&x.Args[1])
	if x.Op == OpSame {
		return BoolValue(a.IsNull() == b.IsNull() && (a.IsNull() || compare(a, b) == 0))
	}
	if a.IsNull() || b.IsNull() {
		return NullValue
	}
	switch x.Op {
	case OpEq:
		return BoolValue(compare(a, b) == 0)
	case OpNe:
		return BoolValue(compare(a, b) != 0)
	case OpLe:
		return BoolValue(compare(a, b) <= 0)
	case OpLt:
		return BoolValue(compare(a, b) < 0)
	case OpPlus:
		return IntValue(a.Int() + b.Int())
	case OpAfter:
		return MicrosValue(a.Micros() + b.Int()*1000)
	}
	panic(fmt.Sprintf("evaluate: operator %d is not known", x.Op))
}

func (ev *evaluation) in(a Value, words []Expr) Value {
	if a.IsNull() {
		return NullValue
	}
	for i := range words {
		if compare(a, words[i].Value) == 0 {
			return BoolValue(true)
		}
	}
	return BoolValue(false)
}

func compare(a, b Value) int {
	if a.kind == Text || a.kind == Bytes {
		return strings.Compare(a.str, b.str)
	}
	switch {
	case a.num < b.num:
		return -1
	case a.num > b.num:
		return 1
	default:
		return 0
	}
}
