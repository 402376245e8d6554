package transitions

import (
	"fmt"
	"slices"
	"strings"
)

// Program is a compiled table: the form that evaluation, SQL, documents, diagrams and the checker read. It holds
// nothing that the table does not say; it only merges effects, spells out fences and numbers columns. A Program is
// immutable and may be shared.
type Program struct {
	Name     string
	Columns  []Column
	Phases   []Phase
	Actions  []Action
	Outcomes []string
	Reasons  []string
	Rules    []*Rule
	Joined   []*Rule // of two events each, with the second as Then

	column map[string]int
	rule   map[string]*Rule
	joins  []Joined
}

// Rule is one compiled event.
type Rule struct {
	Event    string
	From     []string // every phase that it may leave, in the table's order; empty for New
	To       string   // "" is the phase that it was in
	New      bool
	Any      bool // From is every phase
	Fence    Fence
	Guards   []Guard // phase first, then the fence's, then the event's own
	Sets     []Set   // one a column, in column order; all computed from the row before the event
	Reason   Expr
	Reviewer Expr
	Owner    Expr // whom history names: the event's owner, else the one who held the lease before
	Detail   Expr // what the event has to tell beside its reason
	Quiet    Expr // no history row when it holds; not set: always one
	Evidence *EvidenceRow
	Forms    []Form
	Action   string // of a claim: the word of next_action
	Actor    string
	Doc      string
	Params   []ParamDef // in the order of first use, operation_id first
	Recorded []int      // the columns that a history row records, by number
	First    *Rule      // of two joined events, the first, of which this rule is otherwise a copy
	Then     *Rule      // of two joined events, the second, fired on the row that the first has left; its parameters are among Params
}

// ParamDef is a parameter that a rule uses.
type ParamDef struct {
	Name string
	Kind Kind
}

// Rule finds an event's rule, or that of two joined ones; nil if the table has no such event.
func (p *Program) Rule(event string) *Rule { return p.rule[event] }

// Column finds a column's number, -1 if the table has no such column.
func (p *Program) Column(name string) int {
	if i, ok := p.column[name]; ok {
		return i
	}
	return -1
}

// Phase finds a phase by name, nil if there is none.
func (p *Program) Phase(name string) *Phase {
	for i := range p.Phases {
		if p.Phases[i].Name == name {
			return &p.Phases[i]
		}
	}
	return nil
}

// PhaseNames lists the phases in the table's order.
func (p *Program) PhaseNames() []string {
	names := make([]string, len(p.Phases))
	for i, ph := range p.Phases {
		names[i] = ph.Name
	}
	return names
}

// RestlessPhases lists the phases in which a row with neither schedule nor lease is due at once.
func (p *Program) RestlessPhases() []string {
	var names []string
	for _, ph := range p.Phases {
		if ph.Restless {
			names = append(names, ph.Name)
		}
	}
	return names
}

// Leaves reports whether the rule may fire in a phase.
func (r *Rule) Leaves(phase string) bool { return slices.Contains(r.From, phase) }

// Lands is the phase after the rule fired in a phase.
func (r *Rule) Lands(phase string) string {
	if r.To == "" {
		return phase
	}
	return r.To
}

// IsClaim reports whether the rule takes a lease.
func (r *Rule) IsClaim() bool { return r.Action != "" }

// Has reports whether the rule has a statement of this form.
func (r *Rule) Has(f Form) bool { return slices.Contains(r.Forms, f) }

// Words lists what a column may hold, nil for anything.
func (p *Program) Words(c Column) []string {
	switch c.Words {
	case "":
		return nil
	case "phases":
		return p.PhaseNames()
	case "actions":
		names := make([]string, len(p.Actions))
		for i, a := range p.Actions {
			names[i] = a.Name
		}
		return names
	case "outcomes":
		return p.Outcomes
	case "reasons":
		return p.Reasons
	default:
		return strings.Fields(c.Words)
	}
}

// String is the canonical dump of the program, one rule a paragraph: what a golden test pins.
func (p *Program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "program %s\nphases %s\n", p.Name, strings.Join(p.PhaseNames(), " "))
	for _, r := range p.Rules {
		fmt.Fprintf(&b, "\n%s\n", r)
	}
	for _, r := range p.Joined {
		fmt.Fprintf(&b, "\n%s\n  then %s\n", r, strings.ReplaceAll(r.Then.String(), "\n", "\n  "))
	}
	return b.String()
}

// String dumps one rule, without what is joined to it.
func (r *Rule) String() string {
	var b strings.Builder
	from, to := strings.Join(r.From, ", "), r.To
	if r.New {
		from = "(new)"
	}
	if r.Any {
		from = "any"
	}
	if to == "" {
		to = "same"
	}
	fmt.Fprintf(&b, "%s: %s -> %s  fence %s  by %s", r.Event, from, to, r.Fence, r.Actor)
	for _, g := range r.Guards {
		fmt.Fprintf(&b, "\n  guard %s: %s", g.Name, g.Expr)
	}
	for _, s := range r.Sets {
		fmt.Fprintf(&b, "\n  set %s = %s", s.Col, s.Expr)
	}
	if r.Quiet.IsSet() {
		fmt.Fprintf(&b, "\n  no history if %s", r.Quiet)
	}
	if e := r.Evidence; e != nil {
		fmt.Fprintf(&b, "\n  evidence %s if %s", e.Kind, e.When)
	}
	names := make([]string, len(r.Params))
	for i, d := range r.Params {
		names[i] = d.Name + " " + d.Kind.String()
	}
	fmt.Fprintf(&b, "\n  params %s", strings.Join(names, ", "))
	forms := make([]string, len(r.Forms))
	for i, f := range r.Forms {
		forms[i] = string(f)
	}
	fmt.Fprintf(&b, "\n  forms %s", strings.Join(forms, " "))
	return b.String()
}
