package broken

import (
	"slices"

	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/verify"
)

// change puts a fault into a program.
type change func(p *transitions.Program) (*transitions.Program, error)

// without takes a guard from events; "held" is every event of a lease holder.
func without(guard string, events ...string) change {
	return func(p *transitions.Program) (*transitions.Program, error) {
		for _, r := range p.Rules {
			asked := slices.Contains(events, r.Event) || slices.Contains(events, "held") && r.Fence == transitions.Held
			if !asked {
				continue
			}
			var err error
			if p, err = p.Without(r.Event, guard); err != nil {
				return nil, err
			}
		}
		return p, nil
	}
}

// withoutSets takes assignments from an event.
func withoutSets(event string, columns ...string) change {
	return func(p *transitions.Program) (*transitions.Program, error) {
		for _, col := range columns {
			var err error
			if p, err = p.WithoutSet(event, col); err != nil {
				return nil, err
			}
		}
		return p, nil
	}
}

func keepsLease(event string) change { return withoutSets(event, "lease_owner", "lease_until") }

func both(changes ...change) change {
	return func(p *transitions.Program) (*transitions.Program, error) {
		for _, c := range changes {
			var err error
			if p, err = c(p); err != nil {
				return nil, err
			}
		}
		return p, nil
	}
}

// table edits the declaration.
func table(edit func(tab *transitions.Table)) change {
	return func(*transitions.Program) (*transitions.Program, error) {
		tab := transitions.Standard()
		edit(&tab)
		return transitions.CompileUnchecked(tab)
	}
}

func event(tab *transitions.Table, name string) *transitions.Event {
	i := slices.IndexFunc(tab.Events, func(e transitions.Event) bool { return e.Name == name })
	return &tab.Events[i]
}

// held leaves an event to the holder of a lease.
func held(name string) change {
	return table(func(tab *transitions.Table) { event(tab, name).Fence = transitions.Held })
}

func lapsesBack() change {
	return table(func(tab *transitions.Table) {
		e := event(tab, "submit_lapsed")
		e.To, e.Effects = transitions.Prepared, event(tab, "review_not_created").Effects
	})
}

func deadEnd() change {
	return table(func(tab *transitions.Table) {
		tab.Phases = append(tab.Phases, transitions.Phase{Name: "parked"})
		event(tab, "observe_lost").To = "parked"
	})
}

// limit changes a bound.
type limit func(verify.Bound) verify.Bound

func limits(l ...limit) []limit { return l }

// small is a bound under which a run that finds nothing takes seconds.
func small(b verify.Bound) verify.Bound {
	b.Mistakes, b.Imports = 0, false
	return b
}

func reused(b verify.Bound) verify.Bound {
	b.ReusedOwners = true
	return b
}

// calm is without statements that are late or repeated.
func calm(b verify.Bound) verify.Bound {
	b.Statements = 0
	return b
}

func three(b verify.Bound) verify.Bound {
	b.Begins = 3
	return b
}

func only(codes ...verify.Code) limit {
	return func(b verify.Bound) verify.Bound {
		b.Only = codes
		return b
	}
}

// twice looks only for a request that is sent twice.
var twice = only("I1", "I1a")

func doing(f ...verify.Fault) limit {
	return func(b verify.Bound) verify.Bound {
		b.Faults = append(b.Faults, f...)
		return b
	}
}
