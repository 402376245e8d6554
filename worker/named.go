package worker

import (
	"context"
	"errors"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// takesNamed takes an operation that a wake-up names, and begins it in the same statement: one wait for the disk less on
// the way from a prepare to its request. Only a dispatcher with nothing else to do, nothing to count and a slot to spare
// takes it so: what waits comes in its order by a claim of many, and a name, which may be of anything that anybody thought
// of, must not stand in its way.
func (w *Worker) takesNamed(k machine.Wake) bool {
	free := w.slots[transitions.Dispatch]
	asked := len(w.wake[transitions.Dispatch]) > 0
	if w.cfg.Handlers[k.Kind] == nil || w.cfg.MaxSends > 0 || asked || !w.idle.Load() || w.soft.Err() != nil || !free.trySpare() {
		return false
	}
	leave, ok := w.brake.enter()
	if !ok || leave.trial {
		if ok {
			w.brake.leave(leave, end{mute: true})
		}
		free.give(1)
		return false
	}
	if w.ears.hearing.Load() { // what became due by its schedule is not overtaken for longer than one that polls would let it be
		w.wakeIn(transitions.Dispatch, 0)
	}
	w.busy.Go(func() {
		defer free.give(1)
		w.dispatchNamed(k.OperationID, leave)
	})
	return true
}

// dispatchNamed is dispatch for who knows the operation's id and nothing else of it. Others have heard of it too: all but
// one are denied, and that one has it.
func (w *Worker) dispatchNamed(id string, leave pass) {
	l, err := w.machine.ClaimAndBegin(w.hard, machine.Operation{OperationID: id}, w.cfg.Who)
	if err != nil {
		w.brake.leave(leave, end{mute: true})
		w.notTaken(id, err)
		return
	}
	ctx, done := w.renewer.hold(w.hard, l, w.cfg.SubmitTimeout+w.machine.Config().Margin)
	defer done()
	handler, why := w.cfg.Handlers[l.Operation.Kind], w.mayNotSend(l)
	if handler == nil || why != nil {
		w.brake.leave(leave, end{mute: true})
		w.takeBack(l, handler == nil, why)
		return
	}
	w.sends.Add(1)
	w.send(ctx, handler, l.Operation, l, leave)
}

// mayNotSend says why what was begun is not to be sent: the shutdown has begun, or the begin has taken so long that the
// lease is too far gone and cannot be renewed.
func (w *Worker) mayNotSend(l *machine.Lease) error {
	if w.soft.Err() != nil {
		return errShutdown
	}
	c := w.machine.Config()
	if l.Left() > c.TTL-c.Margin-c.TTL/3 {
		return nil // the renewer comes in time
	}
	ctx, cancel := context.WithTimeout(w.hard, c.TTL/3)
	defer cancel()
	return errors.Join(w.machine.Renew(ctx, []*machine.Lease{l})...)
}

// takeBack stores that nothing was sent of what was begun. A kind that nobody here can send is left to others for a while:
// the wake-up may have told of another.
func (w *Worker) takeBack(l *machine.Lease, strange bool, why error) {
	delay, detail := time.Duration(0), "begun, and not sent"
	switch {
	case strange:
		delay, detail = time.Minute, "no handler here for kind "+l.Operation.Kind
	case why != nil:
		detail = "begun, and not sent: " + why.Error()
	}
	if _, err := w.machine.NotCreated(w.last, l, machine.ProofNotSent, delay, detail); err != nil {
		w.unresolved(l.Operation.OperationID, l.Revision, err)
		return
	}
	if w.soft.Err() == nil && !strange {
		w.Wake(transitions.Dispatch)
	}
}

// notTaken follows up on a name that was not begun here. That somebody else has it is the rule; where the claim stood and
// its begin was denied, it is due again.
func (w *Worker) notTaken(id string, err error) {
	denied, ok := machine.IsDenied(err)
	if ok && denied.Event != "submit_begin" || errors.Is(err, machine.ErrNotFound) { // anybody may name anything
		return
	}
	if !ok {
		w.unresolved(id, 0, err)
	}
	w.Wake(transitions.Dispatch)
	w.passOn()
}
