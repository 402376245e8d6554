package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fencerow/fencerow/transitions"
)

// MaxDetail is the number of bytes of a text that history keeps, and MaxRaw of what evidence and snapshots keep; the
// rest is counted.
const (
	MaxDetail = 4 << 10
	MaxRaw    = 64 << 10
)

// Begin makes the intent to send durable. Only a nil error allows the request to be sent, once, while Lease.Left says
// that there is time (contract B1). An unknown answer is resolved through history before the lease's own end. What repeats
// an operation that turned out to have a remote job is marked first, and so denied.
func (m *Machine) Begin(ctx context.Context, l *Lease) (Operation, error) {
	if l.Left() <= 0 {
		return Operation{}, &LeaseError{l.Operation.OperationID}
	}
	if l.Operation.RedoOf != "" {
		if err := m.lookBack(ctx, l.Operation); err != nil {
			return Operation{}, err
		}
	}
	op, err := m.surely(ctx, l, "submit_begin", l.params())
	if err != nil {
		return op, err
	}
	if op.Revision != l.Revision || op.LeaseOwner != l.Owner {
		return op, &LeaseError{l.Operation.OperationID} // it landed, and somebody has taken over since
	}
	return op, nil
}

// Accepted stores the remote job id of a request that the remote took, and makes observing due after first. The
// error is a *DeniedError with only remote_job_id_free where another operation holds the id.
func (m *Machine) Accepted(ctx context.Context, l *Lease, remoteJobID string, keep map[string]string, first time.Duration) (Operation, error) {
	p, err := l.accepted(remoteJobID, keep, first)
	if err != nil {
		return Operation{}, err
	}
	return m.surely(ctx, l, "submit_accepted", p)
}

func (l *Lease) accepted(remoteJobID string, keep map[string]string, first time.Duration) (transitions.Params, error) {
	if !transitions.UsableRemoteJobID(remoteJobID) {
		return nil, &InvalidError{"remote_job_id", fmt.Sprintf("%q cannot be a remote job id: want 1 to %d printable ASCII characters without a space", remoteJobID, transitions.MaxRemoteJobID)}
	}
	p := l.params()
	p["remote_job_id"] = transitions.TextValue(remoteJobID)
	p["delay_ms"] = millis(first)
	p["keep"] = keepValue(keep)
	return p, nil
}

// keepValue writes kept values as the column does; null where there are none.
func keepValue(keep map[string]string) transitions.Value {
	if len(keep) == 0 {
		return transitions.NullValue
	}
	text, _ := json.Marshal(keep) // texts by name cannot fail to encode
	return transitions.TextValue(strings.ReplaceAll(string(text), `\u0000`, `\ufffd`))
}

// Rejected stores that the remote created nothing and never will.
func (m *Machine) Rejected(ctx context.Context, l *Lease, detail string) (Operation, error) {
	return m.surely(ctx, l, "submit_rejected", l.told("rejected", detail))
}

// The proofs that nothing was created.
const (
	ProofNotSent = "not_sent"
	ProofRefused = "refused"
)

// NotCreated stores the proof that nothing was created: the operation is prepared again, due after delay, and the
// lease is released, so that the next send needs a new claim and a new revision.
func (m *Machine) NotCreated(ctx context.Context, l *Lease, proof string, delay time.Duration, detail string) (Operation, error) {
	p := l.told("", detail)
	p["proof"] = transitions.TextValue(proof)
	p["delay_ms"] = millis(delay)
	return m.surely(ctx, l, "submit_not_created", p)
}

// Unknown stores that the request may have arrived and that no reliable answer came.
func (m *Machine) Unknown(ctx context.Context, l *Lease, reason, detail string) (Operation, error) {
	return m.surely(ctx, l, "submit_unknown", l.told(reason, detail))
}

// Pending stores a poll that ended nothing; the next is due after delay.
func (m *Machine) Pending(ctx context.Context, l *Lease, snapshot []byte, delay time.Duration, detail string) (Operation, error) {
	p := l.told("", detail)
	p["snapshot"] = transitions.BytesValue(Bounded(snapshot, MaxRaw))
	p["delay_ms"] = millis(delay)
	return m.surely(ctx, l, "observe_pending", p)
}

// Observed stores how the remote job ended: outcome is succeeded, failed or canceled.
func (m *Machine) Observed(ctx context.Context, l *Lease, outcome string, snapshot []byte, detail string) (Operation, error) {
	p := l.told(Text(detail), detail)
	p["snapshot"] = transitions.BytesValue(Bounded(snapshot, MaxRaw))
	return m.surely(ctx, l, "observe_"+outcome, p)
}

// Lost stores that the remote says that it has no such job. It is denied, with not_found_grace_over, while the job
// may only be too new to be read.
func (m *Machine) Lost(ctx context.Context, l *Lease, snapshot []byte) (Operation, error) {
	p := l.params()
	p["snapshot"] = transitions.BytesValue(Bounded(snapshot, MaxRaw))
	return m.surely(ctx, l, "observe_lost", p)
}

// Delivered stores where the result is.
func (m *Machine) Delivered(ctx context.Context, l *Lease, key, sha256 string, size int64) (Operation, error) {
	p := l.params()
	p["object_key"] = transitions.TextValue(Text(key))
	p["object_sha256"] = transitions.OptText(sha256)
	p["object_bytes"] = transitions.IntValue(size)
	return m.surely(ctx, l, "deliver_done", p)
}

// DeliverRetry gives a delivery that did not work back, due after delay.
func (m *Machine) DeliverRetry(ctx context.Context, l *Lease, delay time.Duration, detail string) (Operation, error) {
	p := l.told(detail, detail)
	p["delay_ms"] = millis(delay)
	return m.surely(ctx, l, "deliver_retry", p)
}

// DeliverFailed ends the delivery; the outcome stays.
func (m *Machine) DeliverFailed(ctx context.Context, l *Lease, detail string) (Operation, error) {
	return m.surely(ctx, l, "deliver_failed", l.told(detail, detail))
}

// Release gives a lease up, due again no earlier than after delay; it is refused while a request may be on the wire.
func (m *Machine) Release(ctx context.Context, l *Lease, delay time.Duration, reason string) (Operation, error) {
	p := l.told(reason, "")
	if delay > 0 {
		p["delay_ms"] = millis(delay)
	}
	return m.surely(ctx, l, "release", p)
}

func (l *Lease) told(reason, detail string) transitions.Params {
	p := l.params()
	p["reason"] = transitions.OptText(Text(reason))
	p["detail"] = transitions.OptText(Text(detail))
	return p
}

func millis(d time.Duration) transitions.Value { return transitions.IntValue(max(0, d.Milliseconds())) }

// Overdue fires observe_overdue on one operation; an observer does so after a poll past the deadline, since a row
// that is polled is hardly ever vacant and due when a sweep looks.
func (m *Machine) Overdue(ctx context.Context, id string) (Operation, error) {
	return m.Fire(ctx, "observe_overdue", transitions.Params{"operation_id": transitions.TextValue(id)})
}

// Text makes any string storable as text: NUL and invalid UTF-8 are shown as escapes, and what is longer than
// MaxDetail is cut with the rest counted.
func Text(s string) string {
	if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		quoted := fmt.Sprintf("%q", s)
		s = quoted[1 : len(quoted)-1]
	}
	if len(s) <= MaxDetail {
		return s
	}
	return string(cutShort(s, MaxDetail, func(cut int) bool { return utf8.RuneStart(s[cut]) }))
}

// Bounded cuts b to at most limit bytes, of which the last say how many there were more. What it gives it leaves as it
// is. Nil stays nil.
func Bounded(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	return cutShort(b, limit, func(int) bool { return true })
}

// cutShort keeps as much as fits beside the number of the rest, up to a place where it may be cut.
func cutShort[T string | []byte](all T, limit int, may func(cut int) bool) []byte {
	cut := max(0, limit-len(rest(len(all))))
	for cut > 0 && !may(cut) {
		cut--
	}
	return append([]byte(all[:cut]), rest(len(all)-cut)...)
}

func rest(n int) string { return fmt.Sprintf("… (%d more bytes)", n) }
