package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// settle stores how a submission ended, under the lease that it was sent under. Shutdown does not cut it short but
// bounds it; an answer that the fence refuses is kept as evidence (contract B5, B9). Attempts counts this one. It gives what
// the brake counts.
func (w *Worker) settle(l *machine.Lease, attempts int64, a Accepted, err error) end {
	ctx := w.last
	if err == nil {
		return w.settleAccepted(ctx, l, a)
	}
	known := w.classify(err)
	var stored error
	var after machine.Operation
	switch known.Class {
	case ClassRejected:
		_, stored = w.machine.Rejected(ctx, l, known.Err.Error())
	case ClassNotSent:
		after, stored = w.machine.NotCreated(ctx, l, machine.ProofNotSent, retryDelay(known.RetryAfter, attempts), known.Err.Error())
	case ClassRefused:
		after, stored = w.machine.NotCreated(ctx, l, machine.ProofRefused, retryDelay(known.RetryAfter, attempts), known.Err.Error())
	default:
		w.keep(ctx, l, machine.Evidence{Kind: machine.EvidenceError, Raw: ending(known)})
		if len(known.Raw) > 0 {
			w.keep(ctx, l, machine.Evidence{Kind: machine.EvidenceAnswer, Raw: known.Raw})
		}
		after, stored = w.machine.Unknown(ctx, l, known.Reason, known.Err.Error())
	}
	w.wakeAfter(after)
	w.refused(ctx, l, stored, machine.Evidence{Kind: "late_" + string(known.Class), Raw: ending(known)})
	return endOf(a, err)
}

// ending is how a submission ended, as evidence: its class, what the connection carried, and the words.
func ending(known *SubmitError) []byte {
	text := "class " + string(known.Class)
	if known.Reason != "" {
		text += ", reason " + known.Reason
	}
	if known.Wire != nil {
		text += fmt.Sprintf(", %d bytes of the request handed to the connection, %d bytes received", known.Wire.Handed, known.Wire.Received)
	}
	return []byte(text + ": " + machine.Text(known.Err.Error()))
}

func (w *Worker) settleAccepted(ctx context.Context, l *machine.Lease, a Accepted) end {
	evidence := machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: a.RemoteJobID, Raw: a.Raw, Keep: a.Keep}
	if !transitions.UsableRemoteJobID(a.RemoteJobID) {
		raw := a.Raw
		if raw == nil {
			raw = []byte(a.RemoteJobID)
		}
		w.keep(ctx, l, machine.Evidence{Kind: machine.EvidenceAnswer, Raw: raw})
		_, err := w.machine.Unknown(ctx, l, ReasonMissingRemoteID, fmt.Sprintf("accepted with an id that cannot be one: %q", a.RemoteJobID))
		w.refused(ctx, l, err, machine.Evidence{Kind: "late_unknown"})
		return endOf(a, nil)
	}
	op, err := w.machine.Accepted(ctx, l, a.RemoteJobID, a.Keep, w.cfg.Every)
	if err == nil {
		w.wakeAfter(op)
		w.match(ctx, op)
	}
	if denied, ok := machine.IsDenied(err); ok && denied.Only("remote_job_id_free") {
		w.keep(ctx, l, evidence)
		taken := fmt.Errorf("another operation of this provider and account holds the remote job id %q", a.RemoteJobID)
		_, err = w.machine.Unknown(ctx, l, ReasonRemoteIDTaken, taken.Error())
		w.refused(ctx, l, err, evidence)
		return end{bad: string(ClassUnknown), cause: taken} // an answer that is everybody's tells of no job
	}
	w.refused(ctx, l, err, evidence)
	return endOf(a, nil)
}

// matchTimeout is short: a slow database has other things to do.
const matchTimeout = 2 * time.Second

// match fires what the remote told of the job before its id was stored (report B58). What fails here the reconciler does.
func (w *Worker) match(ctx context.Context, op machine.Operation) {
	ctx, cancel := context.WithTimeout(ctx, matchTimeout)
	defer cancel()
	early, err := w.machine.Match(ctx, w.cfg.Who, op.RemoteJobID)
	if err != nil {
		w.cfg.Log.Debug("what the remote told early was not looked for; the reconciler finds it", "operation", op.OperationID, "error", err)
	}
	for _, n := range early {
		w.wakeAfter(n.Operation)
	}
}

// refused keeps as evidence what the row did not take, because the lease was gone by then; the reconciler attaches it.
// What cannot be stored at all is written to the log in one line.
func (w *Worker) refused(ctx context.Context, l *machine.Lease, err error, e machine.Evidence) {
	if err == nil {
		return
	}
	if _, denied := machine.IsDenied(err); denied {
		w.cfg.Log.Warn("an answer came after its lease was over; it is kept as evidence", "operation", l.Operation.OperationID,
			"revision", l.Revision, "remote_job_id", e.RemoteJobID, "why", err)
		if err = w.note(ctx, l, e); err == nil {
			w.keptLate.Add(1)
		}
	}
	if err != nil {
		w.unstored.Add(1)
		w.cfg.Log.Error("an answer could not be stored", "operation", l.Operation.OperationID, "revision", l.Revision,
			"remote_job_id", e.RemoteJobID, "kind", e.Kind, "error", err)
	}
}

// keep notes evidence that goes with an event; what cannot be noted is written to the log.
func (w *Worker) keep(ctx context.Context, l *machine.Lease, e machine.Evidence) {
	if err := w.note(ctx, l, e); err != nil {
		w.cfg.Log.Error("evidence could not be stored", "operation", l.Operation.OperationID, "revision", l.Revision,
			"remote_job_id", e.RemoteJobID, "kind", e.Kind, "error", err)
	}
}

func (w *Worker) note(ctx context.Context, l *machine.Lease, e machine.Evidence) error {
	e.Owner, e.Revision = l.Owner, l.Revision
	_, err := w.machine.Note(ctx, l.Operation.OperationID, e)
	return err
}

// kept reads the values that the answer of the submission left.
func kept(op machine.Operation) map[string]string {
	keep := map[string]string{}
	if op.Keep != "" && json.Unmarshal([]byte(op.Keep), &keep) != nil {
		return map[string]string{}
	}
	return keep
}

// stopped reports whether a handler's work was cut off by shutdown or the end of its lease, and not by the remote.
func stopped(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return errors.Is(cause, errShutdown) || errors.Is(cause, errLeaseOver) || errors.Is(cause, errLeaseLost) || ctx.Err() != nil
}
