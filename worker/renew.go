package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/fencerow/fencerow/machine"
)

// renewer extends all leases that the process holds, in one statement, at a third of the lease (contract A7).
type renewer struct {
	machine *machine.Machine
	log     *slog.Logger
	mu      sync.Mutex
	held    map[*machine.Lease]*holding
}

// holding is one lease with the context of the handler that works under it.
type holding struct {
	lease  *machine.Lease
	until  time.Time // never renewed past this: a hung handler is not renewed for ever
	cancel context.CancelCauseFunc
}

// letGo is how long after a denied renewal a holder may still be busy with the answer to its own last event, which has
// given the lease up.
const letGo = time.Second

func newRenewer(m *machine.Machine, log *slog.Logger) *renewer {
	return &renewer{machine: m, log: log, held: map[*machine.Lease]*holding{}}
}

// hold registers a lease for renewal, for at most as long as longest, and gives the context for its handler: it ends
// with parent, when the lease is over by the holder's own clock, and when a renewal is denied.
func (r *renewer) hold(parent context.Context, l *machine.Lease, longest time.Duration) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	h := &holding{lease: l, until: time.Now().Add(longest), cancel: cancel}
	r.mu.Lock()
	r.held[l] = h
	r.mu.Unlock()
	stop := watch(l, cancel)
	return ctx, func() {
		r.drop(l)
		stop()
		cancel(nil)
	}
}

func (r *renewer) drop(l *machine.Lease) {
	r.mu.Lock()
	delete(r.held, l)
	r.mu.Unlock()
}

// watch ends a context when the lease is over. It looks at least once a second, since a timer does not run while the
// machine is suspended and the wall clock does.
func watch(l *machine.Lease, cancel context.CancelCauseFunc) (stop func()) {
	var mu sync.Mutex
	stopped := false
	var timer *time.Timer
	var look func()
	look = func() {
		mu.Lock()
		defer mu.Unlock()
		if stopped {
			return
		}
		left := l.Left()
		if left <= 0 {
			stopped = true
			cancel(errLeaseOver)
			return
		}
		timer = time.AfterFunc(min(left, time.Second), look)
	}
	look()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		if timer != nil {
			timer.Stop()
		}
	}
}

func (r *renewer) run(ctx context.Context) {
	tick := time.NewTicker(r.machine.Config().TTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.renew(ctx)
		}
	}
}

func (r *renewer) renew(ctx context.Context) {
	now := time.Now()
	var due []*holding
	var leases []*machine.Lease
	r.mu.Lock()
	for l, h := range r.held {
		if now.Before(h.until) {
			due, leases = append(due, h), append(leases, l)
		}
	}
	r.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, r.machine.Config().TTL/3)
	defer cancel()
	for i, err := range r.machine.Renew(bounded, leases) {
		l := due[i].lease
		if _, denied := machine.IsDenied(err); denied {
			due[i].cancel(errLeaseLost)
			time.AfterFunc(letGo, func() {
				if r.holds(l) { // else it was given up while the renewal was under way
					r.log.Info("a lease was lost", "operation", l.Operation.OperationID, "revision", l.Revision, "why", err)
				}
			})
		} else if err != nil && ctx.Err() == nil {
			// Neither extended nor lost: its holder stops at the end that was confirmed last.
			r.log.Debug("a lease was not renewed", "operation", l.Operation.OperationID, "error", err)
		}
	}
}

func (r *renewer) holds(l *machine.Lease) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.held[l]
	return ok
}
