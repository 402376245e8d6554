package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// The steps of the work on an operation, as Config.Failpoint is told of them. What a wake-up names is claimed and begun in
// one statement: then the first two are not told.
const (
	StepTaken     = "taken"     // a claim brought some; nothing was done with them
	StepClaimed   = "claimed"   // the lease to send is held; nothing was sent
	StepBegun     = "begun"     // the intent is durable; nothing was sent
	StepAnswered  = "answered"  // the handler returned; its answer is not stored
	StepStored    = "stored"    // the answer is stored
	StepRead      = "read"      // the remote's status was read; it is not stored
	StepObserved  = "observed"  // the status is stored
	StepWritten   = "written"   // the result is in its place; that is not stored
	StepDelivered = "delivered" // the delivery is stored
)

// sendable is how many operations the dispatcher may claim now.
func (w *Worker) sendable() int {
	n := w.brake.quota()
	if w.cfg.MaxSends > 0 {
		n = min(n, w.cfg.MaxSends-w.Sends())
	}
	return max(0, n)
}

// spend counts one send; false means that no more are wanted.
func (w *Worker) spend() bool {
	n := w.sends.Add(1)
	if w.cfg.MaxSends > 0 && n > int64(w.cfg.MaxSends) {
		w.sends.Add(-1)
		return false
	}
	return true
}

// dispatch sends one operation's request, at most once, and stores what that proved.
func (w *Worker) dispatch(l *machine.Lease) {
	w.failpoint(StepClaimed)
	handler := w.cfg.Handlers[l.Operation.Kind]
	if handler == nil {
		w.giveBack(l, time.Minute, fmt.Sprintf("no handler here for kind %q", l.Operation.Kind))
		return
	}
	leave, ok := w.brake.enter()
	if !ok || w.soft.Err() != nil || !w.spend() {
		if ok {
			w.brake.leave(leave, end{mute: true})
		}
		w.giveBack(l, 0, "")
		return
	}
	// A dispatch is renewed no longer than its request may take (contract A7).
	ctx, done := w.renewer.hold(w.hard, l, w.cfg.SubmitTimeout+w.machine.Config().Margin)
	defer done()
	begun, err := w.machine.Begin(ctx, l)
	if err != nil {
		w.sends.Add(-1)
		w.brake.leave(leave, end{mute: true})
		w.notBegun(l, err)
		return
	}
	w.send(ctx, handler, begun, l, leave)
}

// send hands a submission that was begun to its handler, once, and stores what that proved.
func (w *Worker) send(ctx context.Context, handler Handler, begun machine.Operation, l *machine.Lease, leave pass) {
	w.sending.Add(1)
	w.failpoint(StepBegun)
	accepted, err := w.submit(ctx, handler, begun, l)
	w.failpoint(StepAnswered)
	if err != nil && w.classify(err).Class == ClassNotSent {
		w.notLeft.Add(1)
	}
	ended := w.settle(l, begun.Attempts, accepted, err)
	w.sending.Add(-1)
	w.tellSend(l.Operation.OperationID, err)
	w.failpoint(StepStored)
	w.brake.leave(leave, ended)
}

// Sending is the number of submissions that were begun and whose end is not stored. While it is not 0, an operation that
// somebody else has found lapsed may still get its late answer.
func (w *Worker) Sending() int { return int(w.sending.Load()) }

// Late is the number of answers that came after their leases were over and were kept as evidence, which a sweep
// attaches.
func (w *Worker) Late() int { return int(w.keptLate.Load()) }

// notBegun gives the lease up where the intent provably is not durable, and takes it back where nobody knows whether it is:
// nothing was sent, and nothing will be. What cannot be taken back either lapses, and the reconciler asks a reviewer.
func (w *Worker) notBegun(l *machine.Lease, err error) {
	if _, denied := machine.IsDenied(err); denied {
		w.giveBack(l, 0, "")
		return
	}
	ctx, cancel := context.WithTimeout(w.last, claimTimeout)
	defer cancel()
	_, back := w.machine.NotCreated(ctx, l, machine.ProofNotSent, 0, "it was not known in time whether it was begun; nothing was sent")
	if _, denied := machine.IsDenied(back); denied && l.Left() > 0 {
		w.giveBack(l, 0, "") // it was not begun
		return
	}
	if back != nil {
		w.unresolved(l.Operation.OperationID, l.Revision, err)
	}
}

// unresolved tells of what may come before a reviewer although nothing was sent.
func (w *Worker) unresolved(id string, revision int64, err error) {
	w.cfg.Log.Warn("a submission was not begun and nothing was sent", "operation", id, "revision", revision, "error", err)
}

// submit calls the handler. Its context ends with the lease, the submit timeout, or the drain budget; a panic is an
// unknown end.
func (w *Worker) submit(ctx context.Context, h Handler, op machine.Operation, l *machine.Lease) (a Accepted, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.SubmitTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			w.cfg.Log.Error("a handler panicked in Submit", "operation", op.OperationID, "panic", p, "stack", string(debug.Stack()))
			err = Unknown(fmt.Errorf("panic: %v", p), ReasonPanic)
		}
	}()
	left := l.Left()
	if left <= 0 {
		return a, NotSent(errLeaseOver)
	}
	return h.Submit(ctx, Submission{
		OperationID: op.OperationID, Kind: op.Kind, Provider: op.Provider, Account: op.Account, Request: op.Request,
		Attempt: int(op.Attempts), Revision: l.Revision, SendBy: time.Now().Add(left),
	})
}

// classify reads a handler's error. What nobody classified is unknown, and so is what the shutdown cut off.
func (w *Worker) classify(err error) *SubmitError {
	var known *SubmitError
	if !errors.As(err, &known) {
		known = &SubmitError{Class: ClassUnknown, Reason: ReasonUnclassified, Key: ReasonUnclassified, Err: err}
	}
	if known.Class == ClassUnknown && known.Reason == ReasonNoResponse && errors.Is(context.Cause(w.hard), errShutdown) {
		cut := *known
		cut.Reason = ReasonShutdown
		return &cut
	}
	return known
}

// tellSend tells of requests that are to be sent again; how others ended is on record.
func (w *Worker) tellSend(id string, err error) {
	var known *SubmitError
	switch {
	case err == nil:
		w.faults.went(transitions.Dispatch, id)
	case errors.As(err, &known) && known.Class == ClassNotSent && w.hard.Err() == nil:
		w.faults.failed(transitions.Dispatch, id, "", err)
	case errors.As(err, &known) && known.Class == ClassRefused:
		w.faults.failed(transitions.Dispatch, id, known.Key, err)
	default:
		w.faults.over(transitions.Dispatch, id)
	}
}

// endOf is what the brake counts: refused for key or credit, or uncertain.
func endOf(a Accepted, err error) end {
	var known *SubmitError
	switch {
	case err == nil && !transitions.UsableRemoteJobID(a.RemoteJobID):
		return end{bad: string(ClassUnknown), cause: errors.New("accepted without a usable remote job id")}
	case err == nil:
		return end{}
	case !errors.As(err, &known):
		return end{bad: string(ClassUnknown), cause: err}
	case known.Class == ClassNotSent || known.Rate:
		return end{mute: true}
	case known.Class == ClassRejected:
		return end{}
	case known.Class == ClassUnknown:
		return end{bad: string(ClassUnknown), cause: err} // whatever the reason: a reviewer has to look at each
	default:
		return end{bad: string(known.Class) + " " + known.Key, cause: err}
	}
}

// retryDelay is how long a request that provably created nothing waits for its next claim: the remote's own wish,
// else growing with the attempts.
func retryDelay(wish time.Duration, attempts int64) time.Duration {
	if wish > 0 {
		return wish + rand.N(wish/10+1)
	}
	d := min(time.Second<<min(max(attempts, 1)-1, 9), 5*time.Minute)
	return d*3/4 + rand.N(d/4+1)
}

// giveBack releases a lease under which nothing was sent.
func (w *Worker) giveBack(l *machine.Lease, delay time.Duration, reason string) {
	if reason != "" {
		w.cfg.Log.Warn("an operation is given back", "operation", l.Operation.OperationID, "why", reason)
	}
	ctx, cancel := context.WithTimeout(w.last, claimTimeout)
	defer cancel()
	if _, err := w.machine.Release(ctx, l, delay, reason); err != nil {
		w.cfg.Log.Debug("a lease was not released; it lapses", "operation", l.Operation.OperationID, "error", err)
	}
	if l.Action == transitions.Dispatch && w.soft.Err() == nil {
		w.Wake(transitions.Dispatch)
	}
}
