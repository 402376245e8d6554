package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// The kinds of evidence that come of asking the remote. The table looks at none of them: what is to count as a job of the
// operation is noted as EvidenceAccepted. A decision about many leaves alone what has EvidenceFound.
const (
	EvidenceFound         = "found"         // a job that names the operation, and that could not be attached
	EvidenceInvestigation = "investigation" // what was found, or answered, when a job was looked for
	EvidenceCancel        = "cancel"        // what the remote answered to the wish that it cancel a job
)

// Found stores the one remote job that an investigation found, with the values that belong to it and the words that say
// how it was matched, and makes observing due (contract D4). A *DeniedError may name remote_job_id_free: another operation
// holds the id.
func (m *Machine) Found(ctx context.Context, l *Lease, remoteJobID string, keep map[string]string, how string) (Operation, error) {
	if !transitions.UsableRemoteJobID(remoteJobID) {
		return Operation{}, &InvalidError{"remote_job_id", fmt.Sprintf("%q cannot be a remote job id: want 1 to %d printable ASCII characters without a space", remoteJobID, transitions.MaxRemoteJobID)}
	}
	p := l.told(how, "")
	p["remote_job_id"] = transitions.TextValue(remoteJobID)
	p["keep"] = keepValue(keep)
	return m.surely(ctx, l, "investigate_found", p)
}

// Inconclusive stores that an investigation came to nothing certain: the next one is due after next, and where next is 0
// a reviewer is left with the operation. It is never proof that nothing was created (contract D4).
func (m *Machine) Inconclusive(ctx context.Context, l *Lease, next time.Duration, reason, detail string) (Operation, error) {
	p := l.told(reason, detail)
	if next > 0 {
		p["delay_ms"] = millis(next)
	}
	return m.surely(ctx, l, "investigate_inconclusive", p)
}

// Investigations counts the inconclusive ones in history since the operation last became uncertain. A look that nobody
// concluded, because its investigator died or shut down, does not count.
func (m *Machine) Investigations(ctx context.Context, id string) (int, error) {
	entries, err := m.store.History(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("counting the investigations of operation %q: %w", id, err)
	}
	n := 0
	for _, e := range entries {
		switch {
		case e.To == transitions.Uncertain && e.From != transitions.Uncertain:
			n = 0
		case e.Event == "investigate_inconclusive":
			n++
		}
	}
	return n, nil
}

// Cancels reads when the remote was asked to cancel the job that an operation holds: what is noted as EvidenceCancel,
// oldest first.
func (m *Machine) Cancels(ctx context.Context, op Operation) ([]time.Time, error) {
	entries, err := m.store.Evidence(ctx, op.OperationID)
	if err != nil {
		return nil, fmt.Errorf("counting the asked cancels of operation %q: %w", op.OperationID, err)
	}
	var asked []time.Time
	for _, e := range entries {
		if e.Kind == EvidenceCancel && e.RemoteJobID == op.RemoteJobID {
			asked = append(asked, e.At)
		}
	}
	return asked, nil
}
