package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fencerow/fencerow/machine"
)

// asked is one time that the remote was asked to cancel a job; the zero value is none.
type asked struct {
	said string        // for history
	wish time.Duration // the remote's own for the next look
}

// askToCancel asks the remote to cancel a job that has not ended, where somebody wants that and it is time to ask. What
// it answers is evidence and decides nothing: the next look at the job does (lifecycle, cancel_request). How often it was
// asked is counted from that evidence, so that another worker goes on counting.
func (w *Worker) askToCancel(ctx context.Context, l *machine.Lease, h Handler) asked {
	canceler, ok := h.(Canceler)
	op := l.Operation
	if !ok || op.CancelRequestedAt.IsZero() {
		return asked{}
	}
	before, err := w.machine.Cancels(ctx, op)
	if err != nil {
		w.cfg.Log.Info("the remote is not asked to cancel now; it is later", "operation", op.OperationID, "error", err)
		return asked{}
	}
	n := len(before)
	if n > len(w.cfg.AskAgain) {
		return asked{}
	}
	// Both times are the database's: of the claim, and of the last answer.
	if n > 0 && op.UpdatedAt.Sub(before[n-1]) < w.cfg.AskAgain[n-1] {
		return asked{}
	}
	answer, err := w.ask(ctx, canceler, op, n)
	if errors.Is(err, errors.ErrUnsupported) || err != nil && stopped(ctx) {
		return asked{}
	}
	said := answer.Detail
	if err != nil {
		said = err.Error()
	}
	said = fmt.Sprintf("asked the remote to cancel, %d of at most %d times: %s", n+1, 1+len(w.cfg.AskAgain), said)
	raw := []byte(said)
	if len(answer.Raw) > 0 {
		raw = append(append(raw, '\n'), answer.Raw...)
	}
	w.keep(w.last, l, machine.Evidence{Kind: machine.EvidenceCancel, RemoteJobID: op.RemoteJobID, Raw: raw})
	return asked{said: said, wish: RetryAfter(err)}
}

func (w *Worker) ask(ctx context.Context, c Canceler, op machine.Operation, n int) (a CancelAnswer, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.cfg.Log.Error("a handler panicked in Cancel", "operation", op.OperationID, "panic", p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return c.Cancel(ctx, Cancellation{
		OperationID: op.OperationID, Kind: op.Kind, Provider: op.Provider, Account: op.Account,
		RemoteJobID: op.RemoteJobID, Keep: kept(op), Asked: n,
	})
}
