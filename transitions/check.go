package transitions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Finding is one broken safety rule.
type Finding struct {
	Code string // stable, e.g. FR001
	Row  string // the event, phase or column at fault
	Text string // what is wrong
	Fix  string // what to do
}

// String writes the finding on one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s %s: %s; %s", f.Code, f.Row, f.Text, f.Fix)
}

// CodesPage is the page of this repository that has a section for every code: why it is a rule, and a table that breaks
// it.
const CodesPage = "docs/codes.md"

// Page is the section that the finding's code has.
func (f Finding) Page() string { return CodesPage + "#" + strings.ToLower(f.Code) }

// CheckError holds every finding of a table.
type CheckError struct {
	Table    string
	Findings []Finding
}

// Error lists the findings, one a line, and says where the codes are explained.
func (e *CheckError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
	}
	return fmt.Sprintf("check table %s: %d findings:\n%s\nwhat each code means, and an example that breaks it: %s",
		e.Table, len(e.Findings), strings.Join(lines, "\n"), CodesPage)
}

// Check holds a table against every safety rule and returns all findings, sorted by code, row and text. The rules look
// at the table as it was written, so that a table that cannot be compiled is judged as well as one that can.
func Check(t Table) []Finding {
	s := look(&t)
	var findings []Finding
	for _, rule := range safetyRules {
		rule.check(s, func(row, text, fix string) {
			findings = append(findings, Finding{rule.Code, row, text, fix})
		})
	}
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.Row, b.Row), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(findings)
}

// report takes one finding of the rule that is being checked.
type report func(row, text, fix string)

// survey is a table as the rules look at it: names are looked up, and what one rule finds wrong (an unknown word, a
// second assignment) is left out of sight of the others, so that one fault gives one finding.
type survey struct {
	*Table
	column map[string]*Column
	phase  map[string]*Phase
	deeds  []*deed
}

// deed is one event of a survey.
type deed struct {
	*Event
	from   []string // the known phases that it may leave, each once
	guards []Guard  // the fence's, then its own
	sets   []Set    // the first assignment of each known column
}

func look(t *Table) *survey {
	s := &survey{Table: t, column: map[string]*Column{}, phase: map[string]*Phase{}}
	for i := range t.Columns {
		s.column[t.Columns[i].Name] = &t.Columns[i]
	}
	for i := range t.Phases {
		s.phase[t.Phases[i].Name] = &t.Phases[i]
	}
	for i := range t.Events {
		e := &t.Events[i]
		d := &deed{Event: e, guards: append(slices.Clone(guardsOfFence[e.Fence]), e.Guards...)}
		for _, ph := range t.Phases {
			if !e.New && (e.From == nil || slices.Contains(e.From, ph.Name)) && !slices.Contains(d.from, ph.Name) {
				d.from = append(d.from, ph.Name)
			}
		}
		for _, x := range e.allSets() {
			if _, again := d.assigns(x.Col); !again && s.column[x.Col] != nil {
				d.sets = append(d.sets, x)
			}
		}
		s.deeds = append(s.deeds, d)
	}
	return s
}

func (e *Event) allSets() []Set {
	var sets []Set
	for _, effect := range e.Effects {
		sets = append(sets, effect.Sets...)
	}
	return sets
}

// assigns finds what the event writes into a column.
func (d *deed) assigns(col string) (Expr, bool) {
	for _, x := range d.sets {
		if x.Col == col {
			return x.Expr, true
		}
	}
	return Expr{}, false
}

// lands gives the phase after the event fired in a phase, nil where the table has none of that name.
func (s *survey) lands(d *deed, from string) *Phase {
	if d.To == "" {
		return s.phase[from]
	}
	return s.phase[d.To]
}

// moves reports whether the event may change the phase.
func (s *survey) moves(d *deed) bool {
	return slices.ContainsFunc(d.from, func(from string) bool {
		to := s.lands(d, from)
		return to != nil && to.Name != from
	})
}

// isFinal reports whether an operation may rest in a phase: its outcome is known, and no lease is taken there.
func (ph *Phase) isFinal() bool { return ph.HasOutcome && ph.Action == "" }

// takesLease reports whether the event installs a lease owner.
func (d *deed) takesLease() bool {
	x, ok := d.assigns("lease_owner")
	return ok && !isNullLiteral(x)
}

// givesLeaseUp reports whether the event clears the lease.
func (d *deed) givesLeaseUp() bool {
	owner, hasOwner := d.assigns("lease_owner")
	until, hasUntil := d.assigns("lease_until")
	return hasOwner && isNullLiteral(owner) || hasUntil && isNullLiteral(until)
}

func (d *deed) bumps() bool {
	_, ok := d.assigns("revision")
	return ok
}

// demands reports whether a guard, or a part of one that must hold, is of a form.
func (d *deed) demands(form func(Expr) bool) bool {
	return slices.ContainsFunc(d.guards, func(g Guard) bool {
		return slices.ContainsFunc(conjuncts(g.Expr), form)
	})
}

// conjuncts takes an expression apart into what must all hold for it to hold.
func conjuncts(e Expr) []Expr {
	if e.Op != OpAnd {
		return []Expr{e}
	}
	var parts []Expr
	for _, a := range e.Args {
		parts = append(parts, conjuncts(a)...)
	}
	return parts
}

func isNullLiteral(e Expr) bool { return e.Op == OpLit && e.Value.IsNull() }

func isCol(e Expr, name string) bool { return e.Op == OpCol && e.Name == name }

func hasCol(e Expr, name string) bool {
	return slices.ContainsFunc(e.Args, func(a Expr) bool { return isCol(a, name) })
}

// operand is the only operand of an expression of this operator.
func (e Expr) operand(op Op) (Expr, bool) {
	if e.Op != op || len(e.Args) != 1 {
		return Expr{}, false
	}
	return e.Args[0], true
}

// isBlankRefused recognizes the demand that a parameter be given: not blank(:name).
func isBlankRefused(e Expr, param string) bool {
	inner, _ := e.operand(OpNot)
	arg, ok := inner.operand(OpBlank)
	return ok && arg.Op == OpParam && (param == "" || arg.Name == param)
}

// results lists what an expression may come to, through its choices.
func results(e Expr) []Expr {
	var from []Expr
	switch e.Op {
	case OpIf:
		from = e.Args[min(1, len(e.Args)):]
	case OpCoalesce, OpGreatest, OpLeast:
		from = e.Args
	default:
		return []Expr{e}
	}
	var all []Expr
	for _, a := range from {
		all = append(all, results(a)...)
	}
	return all
}

func list(words []string) string { return strings.Join(words, ", ") }
