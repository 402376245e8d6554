package main

import (
	"context"
	"fmt"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// eachOf calls f with every operation that a query selects, newest first, until f says no.
func eachOf(ctx context.Context, m *machine.Machine, q machine.Query, f func(machine.Operation) bool) error {
	q.Limit = defaultPage
	for {
		ops, err := m.List(ctx, q)
		if err != nil {
			return err
		}
		for _, op := range ops {
			if !f(op) {
				return nil
			}
		}
		if len(ops) < q.Limit {
			return nil
		}
		last := ops[len(ops)-1]
		q.After = &machine.Cursor{CreatedAt: last.CreatedAt, OperationID: last.OperationID}
	}
}

// eachMarked calls f with every operation that has a mark which waits for a reviewer, newest first, until f says no.
func eachMarked(ctx context.Context, m *machine.Machine, who machine.Who, f func(machine.Operation) bool) error {
	err := eachOf(ctx, m, machine.Query{Marked: true, Provider: who.Provider, Account: who.Account}, f)
	if err != nil {
		return fmt.Errorf("reading which operations are marked: %w", err)
	}
	return nil
}

// marked counts the marked operations of the input. A mark may come after an end, so it is asked for anew.
func (r *runner) marked(ctx context.Context) (int, error) {
	n := 0
	err := eachMarked(ctx, r.batch.machine, who(r.batch.spec), func(op machine.Operation) bool {
		if _, ours := r.track.places[op.OperationID]; ours {
			n++
		}
		return true
	})
	return n, err
}

// maxMarked is how many marked operations stats counts.
const maxMarked = 1000

// countMarked counts all marked operations, up to maxMarked.
func countMarked(ctx context.Context, m *machine.Machine) (int, error) {
	n := 0
	err := eachMarked(ctx, m, machine.Who{}, func(machine.Operation) bool {
		n++
		return n < maxMarked
	})
	return n, err
}

// warnLooks says of uncertain operations whose remote jobs nobody looks for, although the provider file says how: that,
// too, is stored with each when it is prepared.
func (b *batch) warnLooks(t *tracker) {
	n := 0
	for _, p := range t.places {
		if p.phase == transitions.Uncertain && !p.looks {
			n++
		}
	}
	if n > 0 && b.spec.CanInvestigate() {
		b.app.sayf("fencerow: warning: the remote jobs of %d uncertain operations are not looked for: they were prepared with a provider file that had no investigate section; look at the remote yourself, %s has them", n, b.app.command("review", "list"))
	}
}
