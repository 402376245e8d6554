package render

import (
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// SafetyRules writes the rules that every table keeps as one table, whose codes lead to their place in the page Codes,
// which lies at that address.
func SafetyRules(codesPage string) string {
	g := &page{}
	g.say("# What every table must keep\n")
	g.say("A table of your own goes through the same compiler as the standard one. `transitions.Compile` holds it against these")
	g.say("rules and reports all findings at once, each with its code, the row at fault and what to do. A table with a finding")
	g.say("does not compile.\n")
	g.head("code", "rule", "otherwise")
	for _, rule := range transitions.SafetyRules() {
		g.row("["+rule.Code+"]("+codesPage+"#"+strings.ToLower(rule.Code)+")", rule.Title, rule.Why)
	}
	return g.String()
}

// Codes writes a section for every safety rule: why it is one, a table that breaks it, and what the finding says of
// that. Its heading is the code alone, so that a link to it outlives another wording.
func Codes() string {
	g := &page{}
	g.say("# The codes of the safety rules\n")
	g.say("A finding of `transitions.Compile`, `transitions.Check` or `fencerow transitions check` begins with one of these codes. A")
	g.say("code is never given to another rule. Each example is the standard lifecycle with one thing changed, shown as a")
	g.say("difference in its table (`-` is taken away, `+` is added); it breaks this rule and no other. The examples are in the")
	g.say("library, so that you can run them:\n")
	g.say("```go")
	g.say("for _, rule := range transitions.SafetyRules() {")
	g.say("\tif rule.Code == \"FR028\" {")
	g.say("\t\t_, err := transitions.Compile(rule.Example())")
	g.say("\t\tfmt.Println(err)")
	g.say("\t}")
	g.say("}")
	g.say("```")
	standard := transitions.Standard()
	for _, rule := range transitions.SafetyRules() {
		broken := rule.Example()
		g.say("\n## %s\n", rule.Code)
		g.say("**%s.** Otherwise: %s.\n", capital(rule.Title), rule.Why)
		g.say("```diff\n%s```\n", difference(standard, broken))
		for _, f := range transitions.Check(broken) {
			g.say("- row at fault: %s\n- found: %s\n- fix: %s", code(f.Row), f.Text, f.Fix)
		}
	}
	return g.String()
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// block is one row of a table as text: what it is, and a line for each thing that it says.
type block struct {
	name, head string
	lines      []string
}

// blocks writes a table as it was declared. The compiler is not asked: it may refuse the table.
func blocks(t transitions.Table) []block {
	var all []block
	for _, c := range t.Columns {
		all = append(all, block{"column " + c.Name, "column " + c.Name + ": " + c.Kind.String(), nil})
	}
	for _, ph := range t.Phases {
		b := block{name: "phase " + ph.Name, head: "phase " + ph.Name}
		for _, mark := range []struct {
			set  bool
			text string
		}{{ph.Action != "", "action " + ph.Action}, {ph.Sendable, "sendable"}, {ph.Effecting, "effecting"}, {ph.HasOutcome, "has an outcome"}, {ph.Restless, "restless"}} {
			if mark.set {
				b.lines = append(b.lines, mark.text)
			}
		}
		all = append(all, b)
	}
	for i := range t.Events {
		all = append(all, eventBlock(&t.Events[i]))
	}
	return all
}

func eventBlock(e *transitions.Event) block {
	from, to := strings.Join(e.From, ", "), e.To
	switch {
	case e.New:
		from = "(new)"
	case e.From == nil:
		from = "any"
	}
	if to == "" {
		to = "same"
	}
	b := block{name: "event " + e.Name, head: "event " + e.Name + ": " + from + " → " + to + ", fence " + string(e.Fence)}
	if e.Also != "" {
		b.head += ", also " + string(e.Also)
	}
	for _, guard := range e.Guards {
		b.lines = append(b.lines, "guard "+guard.Name+": "+guard.Expr.String())
	}
	for _, effect := range e.Effects {
		for _, s := range effect.Sets {
			b.lines = append(b.lines, "set "+s.Col+" = "+s.Expr.String())
		}
	}
	for _, unless := range e.Notes.Unless {
		b.lines = append(b.lines, "no history if "+unless.String())
	}
	if row := e.Notes.Evidence; row != nil {
		b.lines = append(b.lines, "evidence "+row.Kind.String()+" if "+row.When.String())
	}
	return b
}

// difference shows the rows in which two tables differ.
func difference(was, is transitions.Table) string {
	var text strings.Builder
	old := blocks(was)
	for _, now := range blocks(is) {
		at := -1
		for i := range old {
			if old[i].name == now.name {
				at = i
				break
			}
		}
		if at < 0 {
			text.WriteString(lined("+ ", now.head) + lined("+     ", now.lines...))
			continue
		}
		before := old[at]
		old = append(old[:at:at], old[at+1:]...) // a second row of the name is one more
		gone, added := beyond(before.lines, now.lines), beyond(now.lines, before.lines)
		switch {
		case before.head != now.head:
			text.WriteString(lined("- ", before.head) + lined("+ ", now.head))
		case gone != nil || added != nil:
			text.WriteString(lined("  ", now.head))
		}
		text.WriteString(lined("-     ", gone...) + lined("+     ", added...))
	}
	for _, b := range old {
		text.WriteString(lined("- ", b.head) + lined("-     ", b.lines...))
	}
	return text.String()
}

// beyond lists what there is more of in the first than in the second.
func beyond(all, less []string) []string {
	count := map[string]int{}
	for _, l := range less {
		count[l]++
	}
	var more []string
	for _, l := range all {
		if count[l]--; count[l] < 0 {
			more = append(more, l)
		}
	}
	return more
}

func lined(prefix string, lines ...string) string {
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(prefix + l + "\n")
	}
	return text.String()
}
