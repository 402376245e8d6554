package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencerow/fencerow/machine"
)

// What a remote tells of a job before the job's id is stored is evidence of no operation. Whoever stores the id looks for
// it, and whoever notes it looks for the id once more; what both missed, because they died in between, is found here.

// matchPage is how much evidence is read at once, and matchPages how many pages Run reads in one interval.
const (
	matchPage  = 500
	matchPages = 20
)

// place is how far the evidence was read; the zero place is its beginning. It is worth nothing but time: whoever loses it
// begins anew, and what is read twice is matched once.
type place struct{ seq int64 }

// match reads evidence of no operation from a place on, at most so many pages (0: all), and fires what the operations
// that hold the jobs by now do not have. At the end it begins anew.
func (r *Reconciler) match(ctx context.Context, at *place, pages int) ([]Moved, error) {
	if r.machine.Store().Program().Rule("notified_"+machine.SaysSucceeded) == nil {
		return nil, nil // another table
	}
	byEvent := map[string]*Moved{}
	var all []*Moved
	var failed []error
	for n := 0; (pages == 0 || n < pages) && ctx.Err() == nil; n++ {
		page, err := r.machine.Store().Unmatched(ctx, machine.UnmatchedQuery{After: at.seq, Limit: matchPage})
		if err != nil {
			failed = append(failed, fmt.Errorf("match what remotes told early: %w", err))
			break
		}
		ended, err := r.matchAll(ctx, page)
		failed = append(failed, err)
		for _, op := range ended {
			event := "notified_" + op.Outcome
			if byEvent[event] == nil {
				byEvent[event] = &Moved{Event: event}
				all = append(all, byEvent[event])
			}
			byEvent[event].Operations = append(byEvent[event].Operations, op)
		}
		if len(page) < matchPage {
			*at = place{}
			break
		}
		at.seq = page[len(page)-1].Seq
	}
	moved := make([]Moved, len(all))
	for i, m := range all {
		moved[i] = *m
	}
	return moved, errors.Join(failed...)
}

// matchAll fires what a page of evidence tells, and gives the operations that it ended.
func (r *Reconciler) matchAll(ctx context.Context, page []machine.Unmatched) ([]machine.Operation, error) {
	type job struct {
		who machine.Who
		id  string
	}
	done := map[job]bool{}
	var ended []machine.Operation
	var failed []error
	for _, u := range page {
		j := job{machine.Who{Provider: u.Provider, Account: u.Account}, u.RemoteJobID}
		if !u.Waits() || done[j] {
			continue
		}
		done[j] = true
		found, err := r.machine.Match(ctx, j.who, j.id)
		for _, n := range found {
			if n.Fate != machine.NoticeApplied {
				continue
			}
			ended = append(ended, n.Operation)
			r.options.Log.Info("matched what the remote told early", "operation", n.Operation.OperationID,
				"remote_job_id", j.id, "outcome", n.Operation.Outcome)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("match what the remote told of job %q early: %w", j.id, err))
		}
	}
	return ended, errors.Join(failed...)
}
