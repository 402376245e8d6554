package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// deliver brings one result home.
func (w *Worker) deliver(l *machine.Lease) {
	op := l.Operation
	handler := w.cfg.Handlers[op.Kind]
	if handler == nil {
		w.giveBack(l, time.Minute, fmt.Sprintf("no handler here for kind %q", op.Kind))
		return
	}
	ctx, done := w.renewer.hold(w.soft, l, w.cfg.Hold)
	defer done()
	d, err := w.bring(ctx, handler, op)
	w.failpoint(StepWritten)
	if err != nil && stopped(ctx) {
		if w.soft.Err() != nil {
			w.giveBack(l, 0, "")
			return
		}
		// One that hangs until its lease is over has used up an attempt, or it would hang for ever.
		err = fmt.Errorf("not done in its time: %w", err)
	}
	switch {
	case err == nil:
		w.tellTry(l, nil)
		_, err = w.machine.Delivered(w.last, l, d.ObjectKey, d.SHA256, d.Bytes)
	case IsDeliverFailed(err) || op.DeliveryAttempts >= op.DeliveryAttemptsMax:
		w.faults.gaveUp(transitions.Deliver, op.OperationID, err)
		_, err = w.machine.DeliverFailed(w.last, l, err.Error())
	default:
		w.tellTry(l, err)
		var after machine.Operation
		after, err = w.machine.DeliverRetry(w.last, l, retryDelay(RetryAfter(err), op.DeliveryAttempts), err.Error())
		w.wakeAfter(after)
	}
	w.failpoint(StepDelivered)
	if err != nil {
		w.cfg.Log.Info("a delivery was not stored; it is repeated", "operation", op.OperationID, "error", err)
	}
}

// tellTry tells of an observation or a delivery that is to be made again, and of one that went well after that.
func (w *Worker) tellTry(l *machine.Lease, err error) {
	if err == nil {
		w.faults.went(l.Action, l.Operation.OperationID)
		return
	}
	w.faults.failed(l.Action, l.Operation.OperationID, "", err)
}

func (w *Worker) bring(ctx context.Context, h Handler, op machine.Operation) (d Delivered, err error) {
	deliverer, ok := h.(Deliverer)
	if !ok {
		return d, DeliverFailed(fmt.Errorf("the handler for kind %q cannot deliver", op.Kind))
	}
	defer func() {
		if p := recover(); p != nil {
			w.cfg.Log.Error("a handler panicked in Deliver", "operation", op.OperationID, "panic", p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return deliverer.Deliver(ctx, Delivery{
		OperationID: op.OperationID, Kind: op.Kind, Provider: op.Provider, Account: op.Account,
		RemoteJobID: op.RemoteJobID, Keep: kept(op), Snapshot: op.Snapshot, Attempt: int(op.DeliveryAttempts),
	})
}
