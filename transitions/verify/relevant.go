package verify

import (
	"slices"

	"github.com/fencerow/fencerow/transitions"
)

// always are the columns that the invariants read in every phase.
var always = []string{"phase", "revision", "outcome", "next_action", "lease_owner", "lease_until", "evidence_seq"}

// relevance says of each phase which columns can still make a difference there: a guard of some event that moves
// anything reads it, now or later, before it is assigned anew. It is the usual analysis of live variables, with phases in
// place of a program's lines. An event that assigns only what makes no difference makes none itself.
func relevance(p *transitions.Program) []map[string]bool {
	in := make([]map[string]bool, len(p.Phases))
	for i := range in {
		in[i] = map[string]bool{}
		for _, col := range always {
			in[i][col] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for i, ph := range p.Phases {
			for _, r := range p.Rules {
				if leaves(r, ph.Name) && changes(r) {
					to := in[slices.Index(p.PhaseNames(), r.Lands(ph.Name))]
					grown = readBy(r, in[i], to) || grown
				}
			}
		}
	}
	return in
}

// readBy adds to the columns that matter before an event those that it reads for what matters after it.
func readBy(r *transitions.Rule, from, to map[string]bool) (grown bool) {
	add := func(col string) {
		if col != "" && col != "snapshot" && !from[col] {
			from[col], grown = true, true
		}
	}
	see := func(x transitions.Expr) {
		x.Walk(func(x transitions.Expr) {
			if x.Op == transitions.OpCol {
				add(x.Name)
			}
		})
	}
	assigned, matters := map[string]bool{}, false
	for _, s := range r.Sets {
		assigned[s.Col] = true
		if to[s.Col] && !(s.Col == "evidence_seq" && isEvidence(r)) {
			matters = true
			see(s.Expr)
		}
	}
	if matters {
		for _, g := range r.Guards {
			see(g.Expr)
		}
	}
	for col := range to {
		if !assigned[col] {
			add(col)
		}
	}
	return grown
}

// sendsAgain says of each phase whether a request can be begun there or later.
func (m *model) sendsAgain() []bool {
	can := slices.Clone(m.effecting)
	for range m.phases {
		for i, ph := range m.phases {
			for _, r := range m.p.Rules {
				if leaves(r, ph) {
					can[i] = can[i] || can[m.phaseNumber(r.Lands(ph))]
				}
			}
		}
	}
	return can
}

// tells says of each phase whether evidence makes a difference there beside being counted.
func (m *model) tells(relevant []map[string]bool) []bool {
	out := make([]bool, len(m.phases))
	for i := range m.phases {
		for _, c := range m.roles.evidence {
			for _, s := range c.rule.Sets {
				out[i] = out[i] || s.Col != "evidence_seq" && relevant[i][s.Col]
			}
		}
	}
	return out
}

// leaves reports whether a rule's guards let it fire in a phase: a rule whose guard on the phase was taken away may fire
// in every phase, whatever its From says.
func leaves(r *transitions.Rule, phase string) bool {
	if r.New {
		return false
	}
	for _, g := range r.Guards {
		if x := g.Expr; x.Op == transitions.OpIn && x.Args[0].Op == transitions.OpCol && x.Args[0].Name == "phase" {
			return r.Leaves(phase)
		}
	}
	return true
}
