package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// page is a Markdown text that grows.
type page struct {
	strings.Builder
	program *transitions.Program
	links   Links
}

// Links are the addresses of what lies beside a page. What has none is not mentioned; the diagram is then drawn in the
// page, by Mermaid.
type Links struct {
	Picture string // of SVG
	SQL     []Link // of the statements, by dialect
}

// Link is a text that leads somewhere.
type Link struct{ Text, To string }

// Markdown writes the whole table as a page that needs nothing beside it.
func Markdown(p *transitions.Program) string { return Page(p, Links{}) }

// Page writes the whole table as a page: phases, diagram, matrix, events, fences, guards, columns, a glossary, and every
// rule in full.
func Page(p *transitions.Program, links Links) string {
	g := &page{program: p, links: links}
	g.say("# The lifecycle %s\n", code(p.Name))
	g.say("Every event that can happen to an operation, who may fire it, and what it does. What this page does not allow is refused.\n")
	g.phases()
	g.diagram()
	g.matrix()
	g.events()
	g.joined()
	g.fences()
	g.guards()
	g.columns()
	g.glossary()
	g.rules()
	return g.String()
}

func (g *page) say(format string, args ...any) { fmt.Fprintf(g, format+"\n", args...) }

// row writes a line of a table. A bar or a line break in a cell would end it.
func (g *page) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.NewReplacer("|", "\\|", "\n", " ").Replace(c)
	}
	g.say("| %s |", strings.Join(cells, " | "))
}

func (g *page) head(cells ...string) {
	g.row(cells...)
	g.say("|%s", strings.Repeat("---|", len(cells)))
}

func code(s string) string { return "`" + s + "`" }

func codes(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = code(w)
	}
	return strings.Join(quoted, ", ")
}

func (g *page) phases() {
	g.say("## Phases\n")
	g.head("phase", "what is true of the row and the world", "who may hold the lease", "when the lease expires", "marks")
	for i := range g.program.Phases {
		ph := &g.program.Phases[i]
		var marks []string
		if ph.Sendable {
			marks = append(marks, "a request may be sent from here")
		}
		if ph.Effecting {
			marks = append(marks, "a request may be on the wire")
		}
		if ph.HasOutcome {
			marks = append(marks, "the outcome is set")
		}
		if ph.Restless {
			marks = append(marks, "due at once without a schedule")
		}
		if isEnd(ph) {
			marks = append(marks, "an operation may rest here")
		}
		g.row(code(ph.Name), ph.True, g.holder(ph), ph.Lapse, strings.Join(marks, "; "))
	}
	g.say("")
	if len(g.program.Actions) == 0 {
		return
	}
	g.head("action", "claimed by", "work")
	for _, a := range g.program.Actions {
		by := a.By
		if by == "" {
			by = "nobody"
		}
		g.row(code(a.Name), by, a.Doc)
	}
	g.say("")
}

func (g *page) holder(ph *transitions.Phase) string {
	for _, a := range g.program.Actions {
		if a.Name == ph.Action && a.By != "" {
			return a.By
		}
	}
	return "nobody"
}

func (g *page) diagram() {
	also := ""
	if events := everywhere(g.program); len(events) > 0 {
		also = " Those of every phase are not drawn: " + codes(events) + "."
	}
	g.say("## The ways between them\n")
	g.say("A box lists the events that stay in its phase.%s\n", also)
	if g.links.Picture != "" {
		g.say("![%s](%s)\n", Caption(g.program), g.links.Picture)
		return
	}
	g.say("```mermaid\n%s```\n", Mermaid(g.program))
}

// matrix shows every pair of event and phase, the refused ones too.
func (g *page) matrix() {
	g.say("## Every event in every phase\n")
	g.say("A cell names the phase after the event, `same` where it stays as it is; `·` is refused, whoever asks.\n")
	g.head(append([]string{"event", "(new)"}, g.program.PhaseNames()...)...)
	for _, r := range g.program.Rules {
		cells := []string{code(r.Event), "·"}
		if r.New {
			cells[1] = r.To
		}
		for _, phase := range g.program.PhaseNames() {
			switch {
			case !r.Leaves(phase):
				cells = append(cells, "·")
			case r.Lands(phase) == phase:
				cells = append(cells, "same")
			default:
				cells = append(cells, r.Lands(phase))
			}
		}
		g.row(cells...)
	}
	g.say("")
}

func (g *page) events() {
	g.say("## Events\n")
	g.say("Guards are listed without the phase. A denial names those that did not hold.\n")
	g.head("event", "from → to", "fence", "guards", "assigns", "leaves", "by", "what it means")
	for _, r := range g.program.Rules {
		var guards, columns []string
		for _, guard := range r.Guards {
			if guard.Name != "phase" {
				guards = append(guards, guard.Name)
			}
		}
		for _, s := range r.Sets {
			if s.Col != "phase" && s.Col != "updated_at" {
				columns = append(columns, s.Col)
			}
		}
		g.row(code(r.Event), way(r), string(r.Fence), codes(guards), codes(columns), leaves(r), r.Actor, r.Doc)
	}
	g.say("")
}

// joined lists the events that one statement may fire.
func (g *page) joined() {
	if len(g.program.Joined) == 0 {
		return
	}
	g.say("## Joined events\n")
	g.say("Two events in one statement, for whoever does both right after the other and would wait for the disk in between. The second is judged on what the first has left, and fired only where that was applied; where it is denied, the first stands. Each leaves its own history row, so nothing is possible that the two do not allow one after the other.\n")
	g.head("first", "then", "what it is for")
	for _, r := range g.program.Joined {
		g.row(code(r.First.Event), code(r.Then.Event), r.Doc)
	}
	g.say("")
}

// leaves says what an event leaves behind beside the row.
func leaves(r *transitions.Rule) string {
	left := "history"
	switch {
	case r.Quiet.Op == transitions.OpLit && r.Quiet.Value == transitions.BoolValue(true):
		left = "no history"
	case r.Quiet.IsSet():
		left += " unless " + code(r.Quiet.String())
	}
	for _, given := range []struct {
		what string
		expr transitions.Expr
	}{{"reason", r.Reason}, {"reviewer", r.Reviewer}} {
		if given.expr.String() != transitions.Null().String() {
			left += "; " + given.what + " " + code(given.expr.String())
		}
	}
	if e := r.Evidence; e != nil {
		left += "; evidence " + code(e.Kind.String())
		if when := e.When.String(); when != transitions.Yes().String() {
			left += " if " + code(when)
		}
	}
	return left
}

func way(r *transitions.Rule) string {
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
	return from + " → " + to
}

var fenceDocs = []struct {
	fence    transitions.Fence
	who, why string
}{
	{transitions.Open, "anybody", "the event creates the row, or can only make guards stricter"},
	{transitions.Vacant, "nobody holds the lease", "a claim installs its own; revision + 1"},
	{transitions.Held, "the claim's own owner and revision, the lease unexpired", "keeps, extends or releases the lease; the revision stays"},
	{transitions.Lapsed, "nobody holds the lease", "the reconciler clears it; revision + 1"},
	{transitions.Seen, "nobody holds the lease, and the row is as the decider saw it", "clears the lease; revision + 1"},
	{transitions.Noticed, "the evidence is as the decider saw it", "leaves the lease as it is"},
	{transitions.Remote, "the remote's own word about its own job", "clears the lease; revision + 1"},
}

func (g *page) fences() {
	g.say("## Fences\n")
	g.head("fence", "who may fire", "what it does to the lease", "events")
	for _, d := range fenceDocs {
		var events []string
		for _, r := range g.program.Rules {
			if r.Fence == d.fence {
				events = append(events, r.Event)
			}
		}
		if len(events) > 0 {
			g.row(string(d.fence), d.who, d.why, codes(events))
		}
	}
	g.say("")
}

// guards lists each condition once, by name and text: a name may stand for several, each in an event of its own.
func (g *page) guards() {
	type condition struct{ name, expr, doc string }
	var order []condition
	events := map[condition][]string{}
	for _, r := range g.program.Rules {
		for _, guard := range r.Guards {
			if guard.Name == "phase" {
				continue
			}
			c := condition{guard.Name, guard.Expr.String(), guard.Doc}
			if events[c] == nil {
				order = append(order, c)
			}
			events[c] = append(events[c], r.Event)
		}
	}
	slices.SortStableFunc(order, func(a, b condition) int { return strings.Compare(a.name, b.name) })
	g.say("## Guards\n")
	g.say("`now` is the database's wall clock once the row is locked; `:name` is a parameter of the event. A guard that is null does not hold.\n")
	g.head("guard", "holds when", "that is", "events")
	for _, c := range order {
		g.row(code(c.name), c.doc, code(c.expr), codes(events[c]))
	}
	g.say("")
}

func (g *page) columns() {
	g.say("## Columns\n")
	g.head("column", "kind", "null", "default", "what is true when it is set")
	for _, c := range g.program.Columns {
		null, def, doc := "yes", "", c.Doc
		if c.NotNull {
			null = "no"
		}
		if !c.Default.IsNull() {
			def = code(c.Default.String())
		}
		if words := g.program.Words(c); words != nil {
			doc += ": " + codes(words)
		}
		g.row(code(c.Name), c.Kind.String(), null, def, doc)
	}
	g.say("")
}

func (g *page) rules() {
	g.say("## The rules in full\n")
	g.say("What the statements of both databases are compiled from. All assignments see the row as it was before the event.\n")
	for _, l := range g.links.SQL {
		g.say("- [the statements for %s](%s)", l.Text, l.To)
	}
	if g.links.SQL != nil {
		g.say("")
	}
	g.say("```")
	for i, r := range g.program.Rules {
		if i > 0 {
			g.say("")
		}
		g.say("%s", r)
	}
	g.say("```")
}
