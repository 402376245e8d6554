package machinetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// The kinds of parts that a mutant can lack.
const (
	PartGuard    = "guard"    // a guard, the phase's among them
	PartFence    = "fence"    // a guard of the fence
	PartSet      = "set"      // an assignment
	PartEffect   = "effect"   // an effect of several assignments
	PartNote     = "note"     // a field of what the event leaves behind beside the row
	PartRecorded = "recorded" // a column that history records
	PartForm     = "form"     // a way to find operations
	PartOperand  = "operand"  // one operand inside a guard, an assignment or a note
)

// Mutant is a table from which one thing was taken away.
type Mutant struct {
	Event   string
	Kind    string // one of the Part constants
	In      string // which one: the guard's name, the column, the note
	Text    string // what is taken away, as it stands in the table
	Program *transitions.Program

	number int // of those that would be called the same
}

// String names the mutant: no other one of its table is called so.
func (m Mutant) String() string {
	id := fmt.Sprintf("%s: %s", m.Event, strings.TrimSpace(m.Kind+" "+m.In))
	if m.number > 1 || m.Kind == PartOperand {
		id = fmt.Sprintf("%s %d", id, m.number)
	}
	return id
}

// MutantsOf lists every mutant of a table: each lacks a guard, a part of a fence, an assignment, an effect of several
// assignments, a note, a column that history records, a way to find operations, or one operand inside of these. It is an
// error if the table does not compile. A mutant's program can send a request twice, so nothing that sends may be given
// one.
func MutantsOf(table transitions.Table) ([]Mutant, error) {
	p, err := transitions.Compile(table)
	if err != nil {
		return nil, fmt.Errorf("list the mutants of table %s: %w", table.Name, err)
	}
	effects := map[string][]transitions.Effect{}
	for _, e := range table.Events {
		effects[e.Name] = e.Effects
	}
	var all []Mutant
	for _, r := range p.Rules {
		l := &lister{program: p, rule: r, count: map[string]int{}}
		l.guards()
		l.sets(effects[r.Event])
		l.notes()
		if l.err != nil {
			return nil, fmt.Errorf("list the mutants of table %s: %w", table.Name, l.err)
		}
		all = append(all, l.all...)
	}
	return all, nil
}

// lister gathers the mutants that lack a part of one rule.
type lister struct {
	program *transitions.Program
	rule    *transitions.Rule
	count   map[string]int
	all     []Mutant
	err     error
}

func (l *lister) add(kind, in, text string, alter func(*transitions.Rule)) {
	l.count[kind+" "+in]++
	m := Mutant{Event: l.rule.Event, Kind: kind, In: in, Text: text, number: l.count[kind+" "+in]}
	var err error
	if m.Program, err = l.program.Altered(l.rule.Event, alter); err != nil && l.err == nil {
		l.err = fmt.Errorf("mutant %s: %w", m, err)
	}
	l.all = append(l.all, m)
}

func (l *lister) guards() {
	r := l.rule
	first, last := 0, 0 // of the fence's
	if !r.New && !r.Any {
		first = 1
	}
	last = first + fenceParts[r.Fence]
	for i, g := range r.Guards {
		kind := PartGuard
		if i >= first && i < last {
			kind = PartFence
		}
		l.add(kind, g.Name, g.Name+": "+g.Expr.String(), func(r *transitions.Rule) { r.Guards = slices.Delete(r.Guards, i, i+1) })
		l.operands("guard "+g.Name, g.Expr, func(r *transitions.Rule, x transitions.Expr) { r.Guards[i].Expr = x })
	}
}

// fenceParts is how many guards a fence has: they come right after the phase's.
var fenceParts = map[transitions.Fence]int{
	transitions.Vacant: 1, transitions.Held: 3, transitions.Lapsed: 1, transitions.Seen: 3, transitions.Noticed: 1, transitions.Remote: 3,
}

func (l *lister) sets(effects []transitions.Effect) {
	p, r := l.program, l.rule
	for i, s := range r.Sets {
		l.add(PartSet, s.Col, s.Col+" = "+s.Expr.String(), func(r *transitions.Rule) { without(p, r, s.Col) })
		l.operands("set "+s.Col, s.Expr, func(r *transitions.Rule, x transitions.Expr) { r.Sets[i].Expr = x })
	}
	for _, e := range effects {
		if len(e.Sets) > 1 {
			l.add(PartEffect, e.Name, e.Name, func(r *transitions.Rule) {
				for _, s := range e.Sets {
					without(p, r, s.Col)
				}
			})
		}
	}
	for n, i := range r.Recorded {
		name := p.Columns[i].Name
		l.add(PartRecorded, name, "history records "+name, func(r *transitions.Rule) { r.Recorded = slices.Delete(r.Recorded, n, n+1) })
	}
}

// without takes the assignment of a column away, from the row and from what history records.
func without(p *transitions.Program, r *transitions.Rule, column string) {
	r.Sets = slices.DeleteFunc(r.Sets, func(s transitions.Set) bool { return s.Col == column })
	r.Recorded = slices.DeleteFunc(r.Recorded, func(i int) bool { return p.Columns[i].Name == column })
}

func (l *lister) notes() {
	r := l.rule
	note := func(name string, x transitions.Expr, with func(*transitions.Rule) *transitions.Expr, empty transitions.Expr) {
		if !x.IsSet() || x.String() == empty.String() {
			return
		}
		l.add(PartNote, name, name+": "+x.String(), func(r *transitions.Rule) { *with(r) = empty })
		l.operands("note "+name, x, func(r *transitions.Rule, x transitions.Expr) { *with(r) = x })
	}
	note("reason", r.Reason, func(r *transitions.Rule) *transitions.Expr { return &r.Reason }, transitions.Null())
	note("reviewer", r.Reviewer, func(r *transitions.Rule) *transitions.Expr { return &r.Reviewer }, transitions.Null())
	note("no history if", r.Quiet, func(r *transitions.Rule) *transitions.Expr { return &r.Quiet }, transitions.No())
	if r.Evidence != nil {
		e := *r.Evidence
		l.add(PartNote, "evidence", "evidence "+e.Kind.String(), func(r *transitions.Rule) { r.Evidence = nil })
		note("evidence when", e.When, func(r *transitions.Rule) *transitions.Expr { return &r.Evidence.When }, transitions.Yes())
		note("evidence kind", e.Kind, func(r *transitions.Rule) *transitions.Expr { return &r.Evidence.Kind }, transitions.Null())
		note("evidence remote_job_id", e.RemoteJobID, func(r *transitions.Rule) *transitions.Expr { return &r.Evidence.RemoteJobID }, transitions.Null())
		note("evidence detail", e.Detail, func(r *transitions.Rule) *transitions.Expr { return &r.Evidence.Detail }, transitions.Null())
		note("evidence revision", e.Revision, func(r *transitions.Rule) *transitions.Expr { return &r.Evidence.Revision }, transitions.Null())
		note("evidence owner", e.Owner, func(r *transitions.Rule) *transitions.Expr { return &r.Evidence.Owner }, transitions.Null())
	}
	for _, f := range r.Forms {
		if f != transitions.One {
			l.add(PartForm, string(f), "finds operations itself: "+string(f), func(r *transitions.Rule) {
				r.Forms = slices.DeleteFunc(r.Forms, func(other transitions.Form) bool { return other == f })
			})
		}
	}
}

// operands lists what can be taken out of an expression: put gives a rule another one in its place.
func (l *lister) operands(in string, x transitions.Expr, put func(*transitions.Rule, transitions.Expr)) {
	for i, a := range x.Args {
		with := func(x transitions.Expr) func(*transitions.Rule) { return func(r *transitions.Rule) { put(r, x) } }
		switch x.Op {
		case transitions.OpAnd, transitions.OpOr, transitions.OpGreatest, transitions.OpLeast, transitions.OpCoalesce:
			if len(x.Args) > 1 {
				l.add(PartOperand, in, a.String()+" of "+x.String(), with(lacking(x, i)))
			}
		case transitions.OpIn:
			if i > 0 && len(x.Args) > 2 {
				l.add(PartOperand, in, a.String()+" of "+x.String(), with(lacking(x, i)))
			}
		case transitions.OpIf:
			if i > 0 { // the other branch goes, and with it the question
				l.add(PartOperand, in, "all but "+a.String()+" of "+x.String(), with(a))
			}
		case transitions.OpPlus, transitions.OpAfter:
			if i == 1 {
				l.add(PartOperand, in, a.String()+" of "+x.String(), with(x.Args[0]))
			}
		}
		if x.Op != transitions.OpIn {
			l.operands(in, a, func(r *transitions.Rule, inner transitions.Expr) {
				outer := x
				outer.Args = slices.Clone(x.Args)
				outer.Args[i] = inner
				put(r, outer)
			})
		}
	}
}

// lacking is an expression without one of its operands.
func lacking(x transitions.Expr, i int) transitions.Expr {
	x.Args = slices.Delete(slices.Clone(x.Args), i, i+1)
	return x
}
