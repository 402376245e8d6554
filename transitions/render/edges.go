package render

import (
	"slices"

	"github.com/fencerow/fencerow/transitions"
)

// edge is one arrow of a diagram: every rule that leads from one phase to another. Two arrows between the same two
// phases would be drawn on top of each other.
type edge struct {
	from, to string // from is "" where the row is created
	rules    []*transitions.Rule
}

// edges lists the arrows in the order of the phases, those that create the row first.
func edges(p *transitions.Program) []edge {
	var all []edge
	for _, from := range append([]string{""}, p.PhaseNames()...) {
		for _, to := range p.PhaseNames() {
			e := edge{from: from, to: to}
			for _, r := range p.Rules {
				if r.New && from == "" && r.To == to || !r.New && r.Leaves(from) && r.Lands(from) == to {
					e.rules = append(e.rules, r)
				}
			}
			if len(e.rules) > 0 {
				all = append(all, e)
			}
		}
	}
	return all
}

// isEnd reports whether an operation may stay in the phase for good.
func isEnd(ph *transitions.Phase) bool { return ph.HasOutcome && !ph.Restless }

// isDoubt reports whether it takes more than a worker to leave the phase: nobody comes back by itself, and there is
// no outcome.
func isDoubt(ph *transitions.Phase) bool { return !ph.HasOutcome && !ph.Restless }

// classOf is the color of a phase.
func classOf(ph transitions.Phase) string {
	switch {
	case ph.Sendable:
		return "sendable"
	case ph.Effecting:
		return "effecting"
	case ph.HasOutcome:
		return "ended"
	default:
		return ""
	}
}

// reasonOf is the reason for doubt that a rule always gives, "" if it gives none or takes it from its caller.
func reasonOf(r *transitions.Rule) string {
	for _, s := range r.Sets {
		if s.Col == "uncertain_reason" && s.Expr.Op == transitions.OpLit {
			return s.Expr.Value.Text()
		}
	}
	return ""
}

// brief keeps the way that an operation takes when all goes well, the way back from a request that created nothing,
// and the ways into doubt after sending and out of it.
func brief(p *transitions.Program, all []edge) []edge {
	var kept []edge
	for _, e := range all {
		if e.from == e.to {
			continue
		}
		if e.from == "" || isDoubt(p.Phase(e.from)) || e.to == next(p, all, e.from) {
			kept = append(kept, e)
			continue
		}
		if to := p.Phase(e.to); p.Phase(e.from).Effecting && (to.Sendable || isDoubt(to)) {
			kept = append(kept, e)
		}
	}
	return kept
}

// next is the nearest phase that the table, which lists them in the order of an operation's life, has after this one;
// if none can be reached, the nearest before.
func next(p *transitions.Program, all []edge, from string) string {
	names := p.PhaseNames()
	i := slices.Index(names, from)
	near := slices.Clone(names[i+1:])
	if !isEnd(&p.Phases[i]) {
		before := slices.Clone(names[:i])
		slices.Reverse(before)
		near = append(near, before...)
	}
	for _, to := range near {
		if !isDoubt(p.Phase(to)) && slices.ContainsFunc(all, func(e edge) bool { return e.from == from && e.to == to }) {
			return to
		}
	}
	return ""
}
