package mutants

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// The kinds of parts of the table.
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

// part is a mutant of the table, and how it is made.
type part struct {
	Mutant
	alter func(*transitions.Rule)
}

// mutate gives the program without the part.
func (m part) mutate(p *transitions.Program) (*transitions.Program, error) {
	q, err := p.Altered(m.Event, m.alter)
	if err != nil {
		return nil, fmt.Errorf("make mutant %s: %w", m.ID, err)
	}
	return q, nil
}

// lister gathers the parts of one rule.
type lister struct {
	program *transitions.Program
	rule    *transitions.Rule
	count   map[string]int
	all     []part
}

// parts lists every part of a program that can be taken away.
func parts(p *transitions.Program) []part {
	effects := map[string][]transitions.Effect{}
	for _, e := range transitions.Standard().Events {
		effects[e.Name] = e.Effects
	}
	var all []part
	for _, r := range p.Rules {
		l := &lister{program: p, rule: r, count: map[string]int{}}
		l.guards()
		l.sets(effects[r.Event])
		l.notes()
		all = append(all, l.all...)
	}
	return all
}

func (l *lister) add(kind, in, text string, alter func(*transitions.Rule)) {
	id := strings.TrimSpace(kind + " " + in)
	if l.count[id]++; kind == PartOperand {
		id = fmt.Sprintf("%s %d", id, l.count[id])
	}
	l.all = append(l.all, part{Mutant{
		ID: fmt.Sprintf("table %s: %s", l.rule.Event, id), Of: Table, Event: l.rule.Event, Kind: kind, In: in, Text: text,
	}, alter})
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
