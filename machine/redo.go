package machine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// An operation that ended without a result may be redone: another one with its request is prepared. Where it turns out
// that it has a remote job after all, whatever repeats it must not be sent, however many were redone in between. The two
// rows are marked by two events. So that no death between them lets the second one be sent, whoever is about to begin a
// repetition looks at what it repeats, and the reconciler finds what was not marked.

// Risks are what a person takes upon itself who orders again what may exist. Each is recorded where it is taken.
type Risks struct {
	Override          bool // of the quarantine: an old sender may still send
	DespiteCandidates bool // of candidates: a job of which the remote told may be the operation's
}

// longestChain bounds how often in a row an operation was redone.
const longestChain = 100

// Redo prepares a new operation with the request of one that ended without a result, linked to it; the old one stays
// as it is. Of an abandoned one it is allowed only under the guards of ReviewNotCreated, NoCandidate among them, and of a repetition only where
// nothing that it repeats is marked or has a late id: the *DeniedError is then about that one. An operation can be redone
// once: a further try redoes the new one, and the error names it.
func (m *Machine) Redo(ctx context.Context, id, newID string, d Decision, risks Risks) (Prepared, error) {
	old, err := m.Get(ctx, id)
	if err != nil {
		return Prepared{}, err
	}
	request := Request{
		OperationID: newID, Kind: old.Kind, Provider: old.Provider, Account: old.Account, Request: old.Request,
		Priority: old.Priority, WantsDelivery: old.WantsDelivery, CanInvestigate: old.CanInvestigate,
		ObserveDeadline:  time.Duration(old.ObserveDeadlineMS) * time.Millisecond,
		NotFoundGrace:    time.Duration(old.NotFoundGraceMS) * time.Millisecond,
		Quarantine:       time.Duration(old.QuarantineMS) * time.Millisecond,
		DeliveryAttempts: int(old.DeliveryAttemptsMax), RedoOf: id,
	}
	if err := request.Validate(); err != nil {
		return Prepared{}, fmt.Errorf("redo operation %q: %w", id, err)
	}
	existing, err := m.Get(ctx, newID)
	switch {
	case err == nil && existing.RedoOf == id:
		return m.repeating(ctx, Prepared{Operation: existing})
	case err == nil:
		return Prepared{}, &ConflictError{OperationID: newID, Differs: []string{"redo_of"}, Existing: existing}
	case !errors.Is(err, ErrNotFound):
		return Prepared{}, err
	}
	if err := m.redoable(ctx, old, newID); err != nil {
		return Prepared{}, err
	}
	despite, err := m.candidatesOfAbandoned(ctx, old)
	if err != nil {
		return Prepared{}, err
	}
	if len(despite) > 0 && !risks.DespiteCandidates {
		return Prepared{}, &DeniedError{Event: "redo", OperationID: id, Failed: []string{NoCandidate}, Seen: old}
	}
	p, detail := d.params(id), "as "+newID
	if risks.Override {
		p["override"] = transitions.BoolValue(true)
		detail += ", " + overridden
	}
	if len(despite) > 0 {
		detail += ", despite " + candidateNames(despite)
	}
	p["detail"] = transitions.TextValue(Text(detail))
	if _, err := m.Fire(ctx, "redo", p); err != nil {
		return Prepared{}, err
	}
	prepared, err := m.Prepare(ctx, request)
	if err != nil {
		return prepared, err
	}
	return m.repeating(ctx, prepared)
}

// redoable looks at what the guards of redo cannot see, which judge one row: what repeats the operation, and what it
// repeats itself. Two who ask at once both get past it; of their operations one is prepared.
func (m *Machine) redoable(ctx context.Context, old Operation, newID string) error {
	if len(proofless(old)) > 0 {
		return nil // the event's own guards say so
	}
	rows, err := m.store.Redone(ctx, old.OperationID)
	if err != nil {
		return fmt.Errorf("redo operation %q: look for what repeats it: %w", old.OperationID, err)
	}
	for _, successor := range m.operations(rows) {
		if successor.OperationID != newID { // else the same was asked for at the same time
			return &InvalidError{"redo_of", fmt.Sprintf("operation %q was redone before, as %q; redo its successor", old.OperationID, successor.OperationID)}
		}
	}
	found, err := m.existing(ctx, old)
	if err != nil {
		return fmt.Errorf("redo operation %q: %w", old.OperationID, err)
	}
	if found != nil {
		return &DeniedError{Event: "redo", OperationID: found.OperationID, Failed: proofless(*found), Seen: *found}
	}
	return nil
}

// proofless names the guards of redo that say that an operation may have a remote job after all.
func proofless(op Operation) []string {
	var failed []string
	if op.Marked() {
		failed = append(failed, "no_mark")
	}
	if op.LateRemoteJobID != "" {
		failed = append(failed, "no_late_remote_job_id")
	}
	return failed
}

// existing finds the nearest of what an operation repeats that may have a remote job after all, nil if none does.
func (m *Machine) existing(ctx context.Context, op Operation) (*Operation, error) {
	for range longestChain {
		if op.RedoOf == "" {
			return nil, nil
		}
		old, err := m.Get(ctx, op.RedoOf)
		if err != nil {
			return nil, fmt.Errorf("look at what operation %q repeats: %w", op.OperationID, err)
		}
		if len(proofless(old)) > 0 {
			return &old, nil
		}
		op = old
	}
	return nil, nil
}

// repeating looks once more at what a new operation repeats: evidence that came meanwhile did not find it.
func (m *Machine) repeating(ctx context.Context, p Prepared) (Prepared, error) {
	if p.Operation.Finished() {
		return p, nil
	}
	old, err := m.existing(ctx, p.Operation)
	if err != nil || old == nil {
		return p, err
	}
	if _, err := m.tell(ctx, *old, p.Operation); err != nil {
		return p, err
	}
	p.Operation, err = m.Get(ctx, p.Operation.OperationID)
	return p, err
}

// lookBack marks a repetition that is about to be begun where what it repeats may have a remote job after all: then
// submit_begin is denied. Whoever died before marking it, or could not, is made good for here.
func (m *Machine) lookBack(ctx context.Context, op Operation) error {
	old, err := m.existing(ctx, op)
	if err == nil && old != nil {
		_, err = m.tell(ctx, *old, op)
	}
	return err
}

// markRepeated notes on the unfinished operation that repeats this one, or one of its own repetitions, that this one has
// a remote job after all, and reports whether it had to. It may be called at any time.
func (m *Machine) markRepeated(ctx context.Context, op Operation) (bool, error) {
	at := op.OperationID
	for range longestChain {
		rows, err := m.store.Redone(ctx, at)
		if err != nil {
			return false, fmt.Errorf("look for what repeats operation %q: %w", at, err)
		}
		if len(rows) == 0 {
			return false, nil
		}
		again := OperationOf(m.store.Program(), rows[0])
		if !again.Finished() {
			return m.tell(ctx, op, again)
		}
		at = again.OperationID
	}
	return false, nil
}

// tell notes on a repetition that what it repeats has a remote job after all, unless it was told of that job: a reviewer
// who has acknowledged it is not asked again.
func (m *Machine) tell(ctx context.Context, old, again Operation) (bool, error) {
	e := original(old)
	there, err := m.store.Evidence(ctx, again.OperationID)
	if err != nil {
		return false, fmt.Errorf("read the evidence of operation %q: %w", again.OperationID, err)
	}
	if slices.ContainsFunc(there, func(h EvidenceEntry) bool {
		return h.Kind == e.Kind && h.RemoteJobID == e.RemoteJobID
	}) {
		return false, nil
	}
	if _, err := m.note(ctx, again.OperationID, e); err != nil {
		return false, fmt.Errorf("note on operation %q that %q, which it repeats, has a remote job: %w", again.OperationID, old.OperationID, err)
	}
	return true, nil
}

// original is the evidence that the operation which one repeats has a remote job.
func original(op Operation) Evidence {
	return Evidence{
		Kind: EvidenceOriginal, RemoteJobID: cmp.Or(op.LateRemoteJobID, op.RemoteJobID),
		Raw: fmt.Appendf(nil, "operation %q, whose request this one repeats, has a remote job after all", op.OperationID),
	}
}

// MarkRepeated notes on the repetitions of contradicted operations what Note could not, because it died in between or the
// row was locked. It reads up to limit of what waits with a mark, from a place of the review list on, and gives the next
// place, the zero one at the end, and how many it noted.
func (m *Machine) MarkRepeated(ctx context.Context, after ReviewCursor, limit int) (ReviewCursor, int, error) {
	rows, err := m.store.Review(ctx, ReviewQuery{After: after, Limit: limit})
	if err != nil {
		return after, 0, fmt.Errorf("look for contradicted operations: %w", err)
	}
	noted := 0
	var failed []error
	for _, op := range m.operations(rows) {
		if !op.Marked() {
			return ReviewCursor{}, noted, errors.Join(failed...) // the rest only waits
		}
		after = ReviewCursor{m.rank(op), op.CreatedAt, op.OperationID}
		if !op.OutcomeContradicted {
			continue
		}
		did, err := m.markRepeated(ctx, op)
		if did {
			noted++
		}
		failed = append(failed, err)
	}
	if len(rows) < limit {
		after = ReviewCursor{}
	}
	return after, noted, errors.Join(failed...)
}

func (m *Machine) rank(op Operation) int {
	if op.DuplicateSuspected {
		return RankDuplicate
	}
	return RankContradicted
}
