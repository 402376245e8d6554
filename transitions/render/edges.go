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

func (e edge) events() []string {
	names := make([]string, len(e.rules))
	for i, r := range e.rules {
		names[i] = r.Event
	}
	return names
}

// edges lists the arrows in the order of the phases, those that create the row first. Events of every phase are left
// out: drawn, they would be a loop at each phase and say nothing.
func edges(p *transitions.Program) []edge {
	var all []edge
	for _, from := range append([]string{""}, p.PhaseNames()...) {
		for _, to := range p.PhaseNames() {
			e := edge{from: from, to: to}
			for _, r := range p.Rules {
				if r.New && from == "" && r.To == to || !r.New && !r.Any && r.Leaves(from) && r.Lands(from) == to {
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

// everywhere lists the events that may happen in every phase.
func everywhere(p *transitions.Program) []string {
	var events []string
	for _, r := range p.Rules {
		if r.Any {
			events = append(events, r.Event)
		}
	}
	return events
}

// brief keeps the way that an operation takes when all goes well, the way back from a request that created nothing,
// and the ways into doubt and out of it. Of the events that take the first it keeps the first.
func brief(p *transitions.Program, all []edge) []edge {
	var kept []edge
	for _, e := range all {
		switch {
		case e.from == e.to:
		case e.from == "" || isDoubt(p.Phase(e.from)) || isDoubt(p.Phase(e.to)):
			kept = append(kept, e)
		case e.to == next(p, all, e.from) || p.Phase(e.from).Effecting && p.Phase(e.to).Sendable:
			kept = append(kept, edge{e.from, e.to, e.rules[:1]})
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
