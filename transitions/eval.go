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
}

// Eval is the meaning of the table: what an event does to a row. It is pure; the stores and the looplab/fsm mirror are
// held against it. For an event that creates the row, row is nil. Eval panics on an event that the program has not.
func (p *Program) Eval(event string, row Row, params Params, w World) Verdict {
	r := p.Rule(event)
	if r == nil {
		panic(fmt.Sprintf("evaluate: table %s has no event %q", p.Name, event))
	}
	if r.New {
		row = p.blankRow()
	}
	ev := evaluation{program: p, row: row, params: params, world: w}
	v := Verdict{Row: row}
	for _, g := range r.Guards {
		if !ev.holds(g.Expr) {
			v.Failed = append(v.Failed, g.Name)
		}
	}
	if len(v.Failed) > 0 {
		return v
	}
	v.Applied = true
	v.Row = append(Row(nil), row...)
	for _, s := range r.Sets {
		v.Row[p.Column(s.Col)] = ev.value(s.Expr)
	}
	if !r.Quiet.IsSet() || !ev.holds(r.Quiet) {
		v.Entry = ev.entry(r, v.Row)
	}
	if e := r.Evidence; e != nil && ev.holds(e.When) {
		v.Evidence = &EvidenceEntry{ev.value(e.Kind), ev.value(e.RemoteJobID), ev.value(e.Detail), ev.value(e.Revision), ev.value(e.Owner)}
	}
	return v
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

func (ev *evaluation) entry(r *Rule, after Row) *Entry {
	p := ev.program
	e := &Entry{
		Event: r.Event, From: ev.row[p.Column("phase")].Text(), To: after[p.Column("phase")].Text(),
		Owner: ev.column("lease_owner"), Revision: after[p.Column("revision")].Int(),
		Reason: ev.value(r.Reason), Reviewer: ev.value(r.Reviewer), Detail: ev.params["detail"],
	}
	if r.Uses("owner") {
		e.Owner = ev.params["owner"]
	}
	for _, i := range r.Recorded {
		e.Changes = append(e.Changes, Change{p.Columns[i].Name, after[i]})
	}
	return e
}

func (ev *evaluation) holds(x Expr) bool { return ev.value(x).Bool() }

func (ev *evaluation) value(x Expr) Value {
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
		if v := ev.value(x.Args[0]); !v.IsNull() {
			return BoolValue(!v.Bool())
		}
		return NullValue
	case OpIsNull:
		return BoolValue(ev.value(x.Args[0]).IsNull())
	case OpIf:
		if ev.holds(x.Args[0]) {
			return ev.value(x.Args[1])
		}
		return ev.value(x.Args[2])
	case OpCoalesce:
		for _, a := range x.Args {
			if v := ev.value(a); !v.IsNull() {
				return v
			}
		}
		return NullValue
	case OpUsable:
		return BoolValue(UsableRemoteJobID(ev.value(x.Args[0]).Text()))
	case OpBlank:
		return BoolValue(IsBlank(ev.value(x.Args[0]).Text()))
	case OpTaken:
		return BoolValue(ev.taken(ev.value(x.Args[0])))
	case OpGreatest, OpLeast:
		return ev.extreme(x)
	default:
		return ev.binary(x)
	}
}

// column is null where the table has no such column: one without leases has no lease_owner.
func (ev *evaluation) column(name string) Value {
	if i := ev.program.Column(name); i >= 0 {
		return ev.row[i]
	}
	return NullValue
}

func (ev *evaluation) taken(id Value) bool {
	if id.IsNull() || ev.world.Taken == nil {
		return false
	}
	p := ev.program
	return ev.world.Taken(ev.row[p.Column("provider")].Text(), ev.row[p.Column("account")].Text(), id.Text())
}

// connective is SQL's three-valued and/or.
func (ev *evaluation) connective(x Expr) Value {
	decisive, unknown := x.Op == OpOr, false
	for _, a := range x.Args {
		v := ev.value(a)
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

func (ev *evaluation) extreme(x Expr) Value {
	best := NullValue
	for _, a := range x.Args {
		v := ev.value(a)
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
func (ev *evaluation) binary(x Expr) Value {
	a := ev.value(x.Args[0])
	if x.Op == OpIn {
		return ev.in(a, x.Args[1:])
	}
	b := ev.value(x.Args[1])
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
	for _, w := range words {
		if compare(a, w.Value) == 0 {
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
