package worker

import (
	"context"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// takesNamed takes an operation that a wake-up names, and begins it in the same statement: one wait for the disk less on
// the way from a prepare to its request. Only a dispatcher with nothing else to do takes it so, since what waits comes in
// its order by a claim of many.
func (w *Worker) takesNamed(k machine.Wake) bool {
	handler, free := w.cfg.Handlers[k.Kind], w.slots[transitions.Dispatch]
	if handler == nil || !w.idle.Load() || !free.tryTake() {
		return false
	}
	leave, ok := w.mayBegin()
	if !ok {
		free.give(1)
		return false
	}
	w.busy.Go(func() {
		defer free.give(1)
		w.dispatchNamed(k.OperationID, handler, leave)
	})
	return true
}

// dispatchNamed is dispatch for who knows the operation's id and nothing else of it. Others have heard of it too: all but
// one are denied, and that one has it.
func (w *Worker) dispatchNamed(id string, handler Handler, leave pass) {
	ctx, cancel := context.WithTimeout(w.hard, claimTimeout)
	l, err := w.machine.ClaimAndBegin(ctx, machine.Operation{OperationID: id}, w.cfg.Who)
	cancel()
	if err != nil {
		w.unbegin(leave)
		if _, denied := machine.IsDenied(err); !denied {
			w.cfg.Log.Debug("an operation that was named was not begun and nothing was sent", "operation", id, "error", err)
			w.Wake(transitions.Dispatch)
		}
		return
	}
	held, done := w.renewer.hold(w.hard, l, w.cfg.SubmitTimeout+w.machine.Config().Margin)
	defer done()
	w.send(held, handler, l.Operation, l, leave)
}
