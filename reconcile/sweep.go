// Package reconcile settles what is not known: it fires the events of those who are gone. Lapsed submissions, missing
// remote job ids, overdue observations, recalled and late evidence, exhausted deliveries and asked-for cancels are each
// one conditional statement of the transition table, which any number of processes may run at once; there is no
// leader (contract D1). So is what a remote told of a job before the job's id was stored, and so is a repetition of what
// turned out to have a remote job marked. What a statement finds already settled it leaves alone.
//
// It guarantees that nothing is moved but by the table's guards. It does not look at the remote, and decides nothing
// that a person must decide.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/fencerow/fencerow/machine"
)

// The defaults of Options.
const (
	DefaultInterval = 10 * time.Second
	DefaultPage     = 100
)

// Options is how often and how much is swept.
type Options struct {
	Interval time.Duration // between two sweeps, less or more a quarter at random; 0 means DefaultInterval
	Page     int           // operations a statement moves at most; 0 means DefaultPage
	Log      *slog.Logger  // nil means slog.Default
}

// Reconciler runs the sweeps of a machine's table.
type Reconciler struct {
	machine *machine.Machine
	options Options
}

// New makes a reconciler. It runs every sweep that the table declares.
func New(m *machine.Machine, o Options) (*Reconciler, error) {
	if o.Interval < 0 || o.Page < 0 {
		return nil, fmt.Errorf("reconcile: interval %s and page %d must not be negative", o.Interval, o.Page)
	}
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	if o.Page == 0 {
		o.Page = DefaultPage
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Reconciler{m, o}, nil
}

// Moved is what one sweep did: the operations that an event moved.
type Moved struct {
	Event      string
	Operations []machine.Operation
}

// Once runs every sweep until it finds nothing more, and tells what was moved. An error of one sweep does not keep
// the others from running; all of them are returned.
func (r *Reconciler) Once(ctx context.Context) ([]Moved, error) {
	moved, failed := r.sweep(ctx)
	matched, err := r.match(ctx, &place{}, 0)
	return append(moved, matched...), errors.Join(failed, err, r.mark(ctx, &machine.ReviewCursor{}, 0))
}

func (r *Reconciler) sweep(ctx context.Context) ([]Moved, error) {
	var all []Moved
	var failed []error
	for _, event := range r.machine.Sweeps() {
		moved := Moved{Event: event}
		for {
			page, err := r.machine.Sweep(ctx, event, r.options.Page)
			for _, op := range page {
				r.options.Log.Info("swept", "event", event, "operation", op.OperationID, "phase", op.Phase,
					"revision", op.Revision, "reason", op.UncertainReason)
			}
			moved.Operations = append(moved.Operations, page...)
			if err != nil {
				failed = append(failed, fmt.Errorf("sweep %s: %w", event, err))
				break
			}
			if len(page) < r.options.Page {
				break
			}
		}
		if len(moved.Operations) > 0 {
			all = append(all, moved)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return all, errors.Join(failed...)
}

// Run sweeps at once and then at every interval, until ctx ends. A database that cannot be reached is logged and
// tried again at the next interval. Of the evidence that belongs to no operation each interval reads a part, so that it
// is no burden where there is much of it.
func (r *Reconciler) Run(ctx context.Context) {
	var at place
	var marked machine.ReviewCursor
	for {
		_, failed := r.sweep(ctx)
		_, err := r.match(ctx, &at, matchPages)
		if err = errors.Join(failed, err, r.mark(ctx, &marked, markPages)); err != nil && ctx.Err() == nil {
			r.options.Log.Warn("sweep did not run; it is tried again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(jittered(r.options.Interval)):
		}
	}
}

// jittered keeps many processes from sweeping at the same moment.
func jittered(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}
