package render

import "github.com/fencerow/fencerow/transitions"

// SafetyRules writes the rules that every table keeps as a page.
func SafetyRules() string {
	g := &page{}
	g.say("# What every table must keep\n")
	g.say("A table of your own goes through the same compiler as the standard one. `transitions.Compile` holds it against these")
	g.say("rules and reports all findings at once, each with its code, the row at fault and what to do. A table with a finding")
	g.say("does not compile. The example is the standard lifecycle with one thing wrong.\n")
	g.head("code", "rule", "otherwise", "example")
	for _, rule := range transitions.SafetyRules() {
		example := ""
		for _, f := range transitions.Check(rule.Example()) {
			example += code(f.Row) + ": " + f.Text + ". *" + f.Fix + "*"
		}
		g.row(rule.Code, rule.Title, rule.Why, example)
	}
	return g.String()
}
