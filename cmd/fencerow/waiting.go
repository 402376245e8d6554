package main

import (
	"context"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// tellGivenUp says why a run that is over leaves operations prepared.
func (r *runner) tellGivenUp(ctx context.Context, e *engine) {
	left, refused := 0, ""
	for _, item := range r.batch.in.Items {
		p := r.track.places[item.ID]
		if p.phase != transitions.Prepared {
			continue
		}
		if left++; refused == "" && p.attempts > 0 {
			refused = item.ID
		}
	}
	switch {
	case left == 0:
	case r.flags.maxSends > 0 && e.worker.Sends() >= r.flags.maxSends:
		r.app.sayf("fencerow: ended by --max-sends %d: %d operations are still prepared", r.flags.maxSends, left)
	default:
		why := ""
		if refused != "" {
			if last, err := r.lastReason(ctx, refused); err == nil && last != "" {
				why = "; the last that is known of " + called(refused) + ": " + last
			}
		}
		r.app.sayf("fencerow: gave up, since no send went through for %s after one was refused or could not leave (--give-up): %d operations are still prepared%s",
			r.flags.giveUp, left, why)
	}
}

// leases are the owners of the leases that are live, by operation.
func (t *tracker) leases() map[string]string {
	held := map[string]string{}
	for id, p := range t.places {
		if !p.settled() && p.leaseUntil.After(t.now()) {
			held[id] = p.leaseOwner
		}
	}
	return held
}

// tellHeld says once that nothing is left to do but to wait for leases that another process held when this one began:
// it may have died, and then nobody ends them.
func (r *runner) tellHeld() {
	if r.toldHeld {
		return
	}
	count, now := 0, r.track.now()
	var until time.Time
	for _, item := range r.batch.in.Items {
		p := r.track.places[item.ID]
		switch {
		case p.settled():
		case p.leaseUntil.After(now) && r.held[item.ID] == p.leaseOwner:
			count++
			if p.leaseUntil.After(until) {
				until = p.leaseUntil
			}
		case p.leaseUntil.After(now) || !p.dueAt.After(now):
			return // there is work here
		}
	}
	if count == 0 {
		return
	}
	r.toldHeld = true
	r.app.sayf("fencerow: waiting for %d operations that another process holds: it goes on with them, or it has died and its leases end by %s; what was being sent then is uncertain",
		count, stamp(until))
}
