package transitions

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// The columns without which no event can be fired, fenced and told apart.
var engineColumns = []Column{
	{Name: "operation_id", Kind: Text}, {Name: "phase", Kind: Text, Words: "phases"}, {Name: "revision", Kind: Int}, {Name: "updated_at", Kind: Time},
}

func checkEngineColumns(s *survey, found report) {
	for _, need := range engineColumns {
		have := s.column[need.Name]
		if have == nil {
			found(need.Name, "the table has no such column", fmt.Sprintf("declare a column %s of kind %s", need.Name, need.Kind))
		} else if have.Kind != need.Kind {
			found(need.Name, fmt.Sprintf("the column is of kind %s", have.Kind), fmt.Sprintf("make it %s", need.Kind))
		} else {
			if !have.NotNull {
				found(need.Name, "the column may be null, and then no event can be told what it is about", "declare it NotNull")
			}
			if need.Words != "" && have.Words != need.Words {
				found(need.Name, "the column may hold what is no phase", `declare its Words as "phases"`)
			}
		}
	}
}

func checkDeclaredOnce(s *survey, found report) {
	once := func(what string, names []string) {
		for i, name := range names {
			if name == "" {
				found(s.Name, fmt.Sprintf("%s number %d has no name", what, i+1), "give it one")
			} else if slices.Contains(names[:i], name) {
				found(name, fmt.Sprintf("the %s is declared twice", what), "keep one of them")
			} else if strings.ContainsFunc(name, unseen) {
				found(name, fmt.Sprintf("the %s's name holds what cannot be seen", what), "leave it out")
			}
		}
	}
	once("column", namesOf(s.Columns, func(c Column) string { return c.Name }))
	// SQLite does not tell apart what differs in case only.
	folded := namesOf(s.Columns, func(c Column) string { return strings.ToLower(c.Name) })
	for i, c := range s.Columns {
		if j := slices.Index(folded, folded[i]); j < i && s.Columns[j].Name != c.Name {
			found(c.Name, fmt.Sprintf("the column is called %s but for the case, and a database takes them for one", s.Columns[j].Name), "name them apart")
		}
	}
	once("phase", namesOf(s.Phases, func(p Phase) string { return p.Name }))
	once("action", namesOf(s.Actions, func(a Action) string { return a.Name }))
	once("outcome", s.Outcomes)
	once("reason", s.Reasons)
}

func unseen(c rune) bool { return !unicode.IsPrint(c) }

func namesOf[T any](items []T, name func(T) string) []string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = name(item)
	}
	return names
}

func checkAmbiguous(s *survey, found report) {
	seen, claims := map[string]bool{}, map[string]string{}
	for _, d := range s.deeds {
		for _, g := range d.guards {
			action := claimedAction(g)
			if first := claims[action]; action != "" && d.takesLease() && first != "" && first != d.Name {
				found(d.Name, fmt.Sprintf("it claims to %s, as %s does, so that which of them a worker fires is a matter of luck", action, first), "make them one, or claim another action")
			} else if action != "" && d.takesLease() {
				claims[action] = d.Name
			}
		}
		if seen[d.Name] {
			found(d.Name, "two events have this name, so that what it does is a matter of luck", "name them apart, or make them one")
		}
		if strings.ContainsFunc(d.Name, unseen) {
			found(d.Name, "its name holds what cannot be seen", "leave it out")
		}
		seen[d.Name] = true
		for i, from := range d.From {
			if slices.Contains(d.From[:i], from) {
				found(d.Name, fmt.Sprintf("it leaves %s twice", from), "list the phase once")
			}
		}
	}
}

func checkKnownWords(s *survey, found report) {
	actions := namesOf(s.Actions, func(a Action) string { return a.Name })
	for _, c := range s.Columns {
		if !slices.Contains([]string{"", "usable", "natural"}, c.Check) {
			found(c.Name, fmt.Sprintf("there is no check %q", c.Check), `use "usable" or "natural", or none`)
		}
		if words := s.words(&c); words != nil && !c.Default.IsNull() && !slices.Contains(words, c.Default.Text()) {
			found(c.Name, fmt.Sprintf("the default %s is none of its words", c.Default), "use one of "+list(words))
		}
	}
	for _, ph := range s.Phases {
		if ph.Action != "" && !slices.Contains(actions, ph.Action) {
			found(ph.Name, fmt.Sprintf("there is no action %q", ph.Action), "use one of "+list(actions))
		}
	}
	for _, d := range s.deeds {
		s.checkEventWords(d, found)
	}
}

func (s *survey) checkEventWords(d *deed, found report) {
	phases := namesOf(s.Phases, func(p Phase) string { return p.Name })
	for _, name := range append(slices.Clone(d.From), d.To) {
		if name != "" && s.phase[name] == nil {
			found(d.Name, fmt.Sprintf("there is no phase %q", name), "use one of "+list(phases))
		}
	}
	if _, ok := guardsOfFence[d.Fence]; !ok {
		found(d.Name, fmt.Sprintf("there is no fence %q", d.Fence), "use one of the declared fences")
	}
	if !slices.Contains([]Form{"", Batch, Sweep}, d.Also) {
		found(d.Name, fmt.Sprintf("there is no further form %q", d.Also), "use Batch, Sweep or none")
	}
	if len(d.Notes.Unless) > 1 {
		found(d.Name, "more than one condition says when it leaves no history", "join them with Or")
	}
	for _, x := range d.sets {
		for _, r := range results(x.Expr) {
			s.checkWord(d, x.Col, r, found)
		}
	}
	s.expressions(d, func(e Expr) {
		if !slices.Contains([]Op{OpEq, OpNe, OpSame, OpIn}, e.Op) || len(e.Args) == 0 || e.Args[0].Op != OpCol {
			return
		}
		for _, word := range e.Args[1:] {
			s.checkWord(d, e.Args[0].Name, word, found)
		}
	})
}

// checkWord holds a constant against the words of the column that it is written to or compared with.
func (s *survey) checkWord(d *deed, col string, e Expr, found report) {
	c := s.column[col]
	if c == nil || e.Op != OpLit || e.Value.Kind() != Text {
		return
	}
	if words := s.words(c); words != nil && !slices.Contains(words, e.Value.Text()) {
		found(d.Name, fmt.Sprintf("%s is no word of the column %s", e.Value, col), "use one of "+list(words))
	}
}

func (s *survey) words(c *Column) []string {
	p := &Program{Phases: s.Phases, Actions: s.Actions, Outcomes: s.Outcomes, Reasons: s.Reasons}
	return p.Words(*c)
}

// expressions visits every expression of an event and every part of one.
func (s *survey) expressions(d *deed, visit func(Expr)) {
	for _, g := range d.guards {
		g.Expr.Walk(visit)
	}
	for _, x := range d.allSets() {
		x.Expr.Walk(visit)
	}
	for _, n := range d.Notes.parts() {
		n.expr.Walk(visit)
	}
}

// note is one expression that an event leaves behind beside the row, and the kind that it has to be of.
type note struct {
	what string
	expr Expr
	kind Kind
}

func (n Notes) parts() []note {
	var parts []note
	if n.Reason.IsSet() {
		parts = append(parts, note{"the reason", n.Reason, Text})
	}
	if n.Reviewer.IsSet() {
		parts = append(parts, note{"the reviewer", n.Reviewer, Text})
	}
	for _, x := range n.Unless {
		parts = append(parts, note{"the condition of no history", x, Bool})
	}
	if e := n.Evidence; e != nil {
		parts = append(parts,
			note{"the evidence's condition", e.When, Bool}, note{"the evidence's kind", e.Kind, Text},
			note{"the evidence's remote job id", e.RemoteJobID, Text}, note{"the evidence's detail", e.Detail, Bytes},
			note{"the evidence's revision", e.Revision, Int}, note{"the evidence's owner", e.Owner, Text})
	}
	return parts
}

func checkKnownColumns(s *survey, found report) {
	for _, d := range s.deeds {
		need := func(col, what string) {
			if s.column[col] == nil {
				found(d.Name, fmt.Sprintf("%s the column %q, which the table does not have", what, col), "declare the column, or speak of another")
			}
		}
		for _, x := range d.allSets() {
			need(x.Col, "it assigns")
		}
		s.expressions(d, func(e Expr) {
			switch e.Op {
			case OpCol:
				need(e.Name, "it reads")
			case OpTaken:
				need("provider", "taken() reads")
				need("account", "taken() reads")
				need("remote_job_id", "taken() reads")
			}
		})
	}
}

func checkAssignedOnce(s *survey, found report) {
	for _, d := range s.deeds {
		fix := "leave one of the assignments, and let it say what both meant"
		seen := map[string]bool{}
		for _, x := range d.allSets() {
			if x.Col == "phase" || x.Col == "updated_at" {
				found(d.Name, fmt.Sprintf("an effect assigns %s, which the event itself does", x.Col), "say where it goes with To, and leave the time to the engine")
			} else if seen[x.Col] {
				found(d.Name, fmt.Sprintf("two effects assign %s", x.Col), fix)
			}
			seen[x.Col] = true
		}
	}
}

func checkGuardNames(s *survey, found report) {
	for _, d := range s.deeds {
		var seen []string
		for _, g := range d.guards {
			switch {
			case g.Name == "":
				found(d.Name, "a guard has no name, so that a denial cannot say which it was", "name it for what must hold")
			case slices.Contains(seen, g.Name):
				found(d.Name, fmt.Sprintf("two guards are called %s, so that a denial cannot say which it was", g.Name), "name them apart, or join them")
			case strings.ContainsFunc(g.Name, func(c rune) bool { return c == ',' || unseen(c) }):
				found(d.Name, fmt.Sprintf("the guard %q cannot stand in a list of names", g.Name), "leave commas and what cannot be seen out of its name")
			}
			seen = append(seen, g.Name)
		}
	}
}

func checkCreation(s *survey, found report) {
	created := false
	for _, d := range s.deeds {
		if !d.New {
			continue
		}
		created = true
		to := s.phase[d.To]
		switch {
		case d.From != nil:
			found(d.Name, "it creates the row and leaves a phase", "an event that creates a row has no From")
		case d.To == "":
			found(d.Name, "it creates a row in no phase", "name the first phase with To")
		case d.Fence != Open:
			found(d.Name, fmt.Sprintf("it creates a row and asks for the fence %s, which no new row satisfies", d.Fence), "make its fence Open")
		case to != nil && to.Effecting:
			found(d.Name, "it creates a row that may already be on the wire", "create it in a phase in which nothing was sent")
		case d.Notes.Evidence != nil:
			found(d.Name, "it creates a row and leaves evidence, which no database statement of a creation does", "note the evidence with an event of its own")
		}
	}
	if !created {
		found(s.Name, "no event creates an operation", "declare an event with New and the first phase")
	}
}

func checkRequired(s *survey, found report) {
	for _, d := range s.deeds {
		for _, c := range s.Columns {
			x, assigned := d.assigns(c.Name)
			byEngine := c.Name == "phase" || c.Name == "updated_at"
			switch {
			case !c.NotNull:
			case d.New && !assigned && !byEngine && c.Default.IsNull():
				found(d.Name, fmt.Sprintf("it creates rows without %s, which is never null", c.Name), "assign the column, or declare a default")
			case assigned && x.Op != OpCoalesce && slices.ContainsFunc(results(x), isNullLiteral):
				found(d.Name, fmt.Sprintf("it may clear %s, which is never null", c.Name), "assign a value, or allow null in the column")
			}
		}
	}
}
