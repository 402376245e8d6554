package machine

import (
	"context"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// Evidence is something learnt about an operation, whoever learnt it. It moves nothing.
type Evidence struct {
	Kind        string // "accepted", "answer", "error", "ended_succeeded", … (docs/review.md)
	RemoteJobID string // raw; what is no usable id is kept in Raw only
	Raw         []byte
	Keep        map[string]string // further values of the remote's answer, which belong to RemoteJobID
	Owner       string
	Revision    int64 // under which it was learnt; 0: not known
}

// The kinds of evidence that the table looks at.
const (
	EvidenceAccepted = "accepted"        // the remote named a job as this operation's
	EvidenceAnswer   = "answer"          // an answer that is not usable
	EvidenceError    = "error"           // how a request ended without one
	EvidenceOriginal = "original_exists" // the operation that this one repeats has a remote job after all
)

// Note appends evidence. It is never refused for a reason of ownership. Where the answer is lost it is appended again:
// evidence may stand twice, but is not lost while ctx lives. What contradicts an end whose request was sent again under
// another id is noted there too, so that the other one is not sent, or is known to be a second one. Where that fails, Telling
// is told: the reconciler does it (MarkRepeated), and Begin looks.
func (m *Machine) Note(ctx context.Context, id string, e Evidence) (Operation, error) {
	op, err := m.note(ctx, id, e)
	if err == nil && op.OutcomeContradicted {
		if _, failed := m.markRepeated(ctx, op); failed != nil {
			m.told("evidence_noted", id, failed)
		}
	}
	return op, err
}

func (m *Machine) note(ctx context.Context, id string, e Evidence) (Operation, error) {
	p := transitions.Params{
		"operation_id": transitions.TextValue(id),
		"kind":         transitions.TextValue(e.Kind),
		"owner":        transitions.OptText(e.Owner),
	}
	raw := e.Raw
	if transitions.UsableRemoteJobID(e.RemoteJobID) {
		p["remote_job_id"] = transitions.TextValue(e.RemoteJobID)
	} else if e.RemoteJobID != "" && raw == nil {
		raw = []byte(e.RemoteJobID)
	}
	p["raw"] = transitions.BytesValue(Bounded(raw, MaxRaw))
	p["keep"] = keepValue(e.Keep)
	if e.Revision != 0 {
		p["revision"] = transitions.IntValue(e.Revision)
	}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		op, err := m.Fire(ctx, "evidence_noted", p)
		if err == nil || (!IsUnknown(err) && !notRun(err)) {
			return op, err
		}
		m.told("evidence_noted", id, err)
		select {
		case <-ctx.Done():
			return Operation{}, err
		case <-time.After(wait):
		}
	}
}

// Decision is a person's: who, why, and what was looked at.
type Decision struct {
	Seen     Seen
	Reviewer string
	Reason   string
}

func (d Decision) params(id string) transitions.Params {
	return transitions.Params{
		"operation_id": transitions.TextValue(id),
		"revision":     transitions.IntValue(d.Seen.Revision),
		"evidence_seq": transitions.IntValue(d.Seen.EvidenceSeq),
		"reviewer":     transitions.OptText(Text(d.Reviewer)),
		"reason":       transitions.OptText(Text(d.Reason)),
	}
}

// ReviewAttach gives an uncertain operation the remote job that a person found; Decide takes further values of the job.
func (m *Machine) ReviewAttach(ctx context.Context, id, remoteJobID string, d Decision) (Operation, error) {
	return m.Decide(ctx, Review{Choice: ChoiceAttach, OperationID: id, Decision: d, RemoteJobID: remoteJobID})
}

// ReviewNotCreated states that a person has proof that nothing was created: the request will be sent again. It is
// denied before the quarantine is over, unless override takes that risk by name.
func (m *Machine) ReviewNotCreated(ctx context.Context, id string, d Decision, override bool) (Operation, error) {
	return m.Decide(ctx, Review{Choice: ChoiceNotCreated, OperationID: id, Decision: d, Override: override})
}

// ReviewAbandon gives an uncertain operation up.
func (m *Machine) ReviewAbandon(ctx context.Context, id string, d Decision) (Operation, error) {
	return m.Decide(ctx, Review{Choice: ChoiceAbandon, OperationID: id, Decision: d})
}

// ReviewAcknowledge clears the marks that a person has seen.
func (m *Machine) ReviewAcknowledge(ctx context.Context, id string, d Decision) (Operation, error) {
	return m.Decide(ctx, Review{Choice: ChoiceAcknowledge, OperationID: id, Decision: d})
}

// Redeliver tries a failed delivery again, from the first attempt.
func (m *Machine) Redeliver(ctx context.Context, id string, d Decision) (Operation, error) {
	return m.decide(ctx, "redeliver", d.Seen, d.params(id))
}

// Cancel asks to cancel an operation, and ends it at once where nothing was sent yet. The operation comes back as it is
// then: canceled, or marked. What was sent goes on, and the observer asks the remote to cancel its job where it can: the
// remote's status decides.
func (m *Machine) Cancel(ctx context.Context, id string, d Decision) (Operation, error) {
	op, err := m.Fire(ctx, "cancel_request", d.params(id))
	if denied, ok := IsDenied(err); ok && denied.Only("cancel_not_asked") {
		err = nil // asked before
	}
	if err != nil {
		return op, err
	}
	ended, err := m.Fire(ctx, "cancel", d.params(id))
	if denied, ok := IsDenied(err); ok {
		return denied.Seen, nil
	}
	return ended, err
}
