package promela

import "github.com/fencerow/fencerow/transitions"

// Cone lists, in the table's order, the columns on which some guard depends, directly or through what an event assigns.
// No other column can make a difference to what may happen, so the model leaves the others out.
func Cone(p *transitions.Program) []transitions.Column {
	in := map[string]bool{"phase": true, "outcome": true, "next_action": true} // of these the invariants speak
	see := func(x transitions.Expr) {
		if x.Op == transitions.OpCol {
			in[x.Name] = true
		}
	}
	for _, r := range p.Rules {
		for _, g := range r.Guards {
			g.Expr.Walk(see)
		}
	}
	for before := -1; before != len(in); {
		before = len(in)
		for _, r := range p.Rules {
			for _, s := range r.Sets {
				if in[s.Col] {
					s.Expr.Walk(see)
				}
			}
		}
	}
	var cone []transitions.Column
	for _, c := range p.Columns {
		if in[c.Name] {
			cone = append(cone, c)
		}
	}
	return cone
}
