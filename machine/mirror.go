package machine

import (
	"context"
	"errors"
	"fmt"

	"github.com/looplab/fsm"

	"github.com/fencerow/fencerow/transitions"
)

// Mirror is the phase graph as another state machine library understands it: a second opinion, never the engine. It
// knows where an event leads, and nothing of guards, fences, leases or effects. A test holds it against the table for
// every phase and event; nothing that moves an operation asks it.
type Mirror struct {
	phases map[string]bool
	events fsm.Events
}

// NewMirror mirrors a program. It panics if an event has two ways out of one phase: the library would silently keep the
// last one, and a second opinion about half of a table is worth nothing.
func NewMirror(p *transitions.Program) *Mirror {
	m := &Mirror{phases: map[string]bool{}}
	for _, name := range p.PhaseNames() {
		m.phases[name] = true
	}
	type way struct{ event, from string }
	seen := map[way]bool{}
	for _, r := range p.Rules {
		if r.New {
			continue // it leads out of nothing, which is no phase
		}
		sources := r.From
		if r.Any {
			sources = p.PhaseNames()
		}
		for _, from := range sources {
			to := r.To
			if to == "" {
				to = from
			}
			if seen[way{r.Event, from}] {
				panic(fmt.Sprintf("machine: mirror: event %q has two ways out of phase %q", r.Event, from))
			}
			seen[way{r.Event, from}] = true
			m.events = append(m.events, fsm.EventDesc{Name: r.Event, Src: []string{from}, Dst: to})
		}
	}
	return m
}

// Next says where an event leads from a phase, and whether it may happen there at all.
func (m *Mirror) Next(phase, event string) (to string, ok bool) {
	if !m.phases[phase] {
		return "", false // the library takes any text for a state
	}
	// A machine of its own for each question, and a context that cannot be canceled: one that is canceled on the way
	// leaves the library's machine in a transition for ever.
	machine := fsm.NewFSM(phase, m.events, nil)
	err := machine.Event(context.Background(), event)
	// An event that stays where it was is reported as an error that wraps nothing.
	if stayed := (fsm.NoTransitionError{}); err != nil && (!errors.As(err, &stayed) || stayed.Err != nil) {
		return "", false
	}
	return machine.Current(), true
}
