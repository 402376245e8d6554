package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// observe reads the remote status of one operation and stores what it means.
func (w *Worker) observe(l *machine.Lease) {
	op := l.Operation
	handler := w.cfg.Handlers[op.Kind]
	if handler == nil {
		w.giveBack(l, time.Minute, fmt.Sprintf("no handler here for kind %q", op.Kind))
		return
	}
	ctx, done := w.renewer.hold(w.soft, l, w.cfg.Hold)
	defer done()
	status, err := w.look(ctx, handler, op)
	w.failpoint(StepRead)
	if err != nil && stopped(ctx) {
		w.giveBack(l, 0, "")
		return
	}
	w.tellTry(l, err)
	var after machine.Operation
	var stored error
	switch {
	case err != nil:
		after, stored = w.goesOn(ctx, l, Status{Detail: err.Error(), RetryAfter: RetryAfter(err)})
	case status.State == Pending:
		after, stored = w.goesOn(ctx, l, status)
	case status.State == NotFound:
		after, stored = w.machine.Lost(w.last, l, status.Snapshot)
		if denied, ok := machine.IsDenied(stored); ok && denied.Only("not_found_grace_over") {
			after, stored = w.machine.Pending(w.last, l, nil, w.nextLook(op, status.RetryAfter), "the remote does not know the job yet")
		}
	case status.State == Succeeded && w.goesOnToDeliver(op, handler):
		after, stored = w.succeeded(l, status)
		w.late(l, status, stored)
	default:
		after, stored = w.machine.Observed(w.last, l, string(status.State), status.Snapshot, status.Detail)
		w.late(l, status, stored)
	}
	w.failpoint(StepObserved)
	w.observed(l, after, stored)
}

// goesOnToDeliver takes a slot to deliver in, where the result is wanted and this worker can bring it home at once. A slot
// is free only where nothing else that is due waits for one.
func (w *Worker) goesOnToDeliver(op machine.Operation, h Handler) bool {
	_, can := h.(Deliverer)
	return can && op.WantsDelivery && w.soft.Err() == nil && w.slots[transitions.Deliver].tryTake()
}

// succeeded stores a success together with the claim of its delivery, and delivers in the slot that was taken for it.
func (w *Worker) succeeded(l *machine.Lease, s Status) (machine.Operation, error) {
	free := w.slots[transitions.Deliver]
	after, next, err := w.machine.SucceededAndClaim(w.last, l, s.Snapshot, s.Detail, w.cfg.Who)
	if next == nil {
		free.give(1)
		return after, err
	}
	w.busy.Go(func() {
		defer free.give(1)
		w.deliver(next)
	})
	return after, err
}

// goesOn stores a look at a job that has not ended, as far as is known, and asks the remote to cancel it first where that
// is wanted. The answer is looked for soon.
func (w *Worker) goesOn(ctx context.Context, l *machine.Lease, s Status) (machine.Operation, error) {
	next := w.nextLook(l.Operation, s.RetryAfter)
	if asked := w.askToCancel(ctx, l, w.cfg.Handlers[l.Operation.Kind]); asked.said != "" {
		next = max(min(next, w.cfg.Every), s.RetryAfter, asked.wish)
		s.Detail = strings.TrimPrefix(s.Detail+"; "+asked.said, "; ")
	}
	return w.machine.Pending(w.last, l, s.Snapshot, next, s.Detail)
}

// observed follows up on a stored poll: a result to deliver, or a deadline that has passed.
func (w *Worker) observed(l *machine.Lease, after machine.Operation, err error) {
	if err != nil {
		w.cfg.Log.Info("a look at the remote was not stored; it is repeated", "operation", l.Operation.OperationID, "error", err)
		return
	}
	w.wakeAfter(after)
	// Both times are the database's. The guard decides; this only saves asking.
	if !after.ObserveDeadline.IsZero() && after.Outcome == "" && !after.UpdatedAt.Before(after.ObserveDeadline) {
		ctx, cancel := context.WithTimeout(w.last, claimTimeout)
		defer cancel()
		if _, err := w.machine.Overdue(ctx, after.OperationID); err != nil {
			w.cfg.Log.Debug("overdue was not stored; the reconciler finds it", "operation", after.OperationID, "error", err)
		}
	}
}

// late keeps an end that the row did not take as evidence: a contradiction is never lost (contract D4, lifecycle).
func (w *Worker) late(l *machine.Lease, s Status, err error) {
	if denied, ok := machine.IsDenied(err); ok && denied.Seen.Outcome != string(s.State) {
		if err := w.note(w.last, l, machine.Evidence{Kind: "ended_" + string(s.State), RemoteJobID: l.Operation.RemoteJobID, Raw: s.Snapshot}); err != nil {
			w.cfg.Log.Error("an end came too late and could not be kept", "operation", l.Operation.OperationID, "state", s.State, "error", err)
		}
	}
}

func (w *Worker) look(ctx context.Context, h Handler, op machine.Operation) (s Status, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.cfg.Log.Error("a handler panicked in Observe", "operation", op.OperationID, "panic", p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	s, err = h.Observe(ctx, Observation{
		OperationID: op.OperationID, Kind: op.Kind, Provider: op.Provider, Account: op.Account,
		RemoteJobID: op.RemoteJobID, Keep: kept(op), Snapshot: op.Snapshot,
	})
	if err != nil {
		return s, err
	}
	switch s.State {
	case Pending, Succeeded, Failed, Canceled, NotFound:
		return s, nil
	default:
		return s, fmt.Errorf("the handler reported the state %q, which is none", s.State)
	}
}

// nextLook is when an operation is observed again: at first every so often, then the more rarely the longer it takes,
// with jitter, never sooner than the remote wishes.
func (w *Worker) nextLook(op machine.Operation, wish time.Duration) time.Duration {
	age := op.UpdatedAt.Sub(op.SubmittedAt) // both the database's clock
	d := min(max(w.cfg.Every, age/8), w.cfg.MaxEvery)
	d = d*3/4 + rand.N(d/4+1)
	return max(d, wish)
}
