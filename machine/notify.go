package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// What a remote says of its job, in a call of its own.
const (
	SaysPending   = "pending" // anything that is no end
	SaysSucceeded = "succeeded"
	SaysFailed    = "failed"
	SaysCanceled  = "canceled"
)

// EvidencePending is the kind of evidence that a remote told of a job that has not ended.
const EvidencePending = "pending"

// endedKind begins the kinds of evidence that a remote told of an end.
const endedKind = "ended_"

// kindOf is the kind under which what the remote says is kept, and stateOf the way back.
func kindOf(says string) string {
	if says == SaysPending {
		return EvidencePending
	}
	return endedKind + says
}

func stateOf(kind string) string { return strings.TrimPrefix(kind, endedKind) }

// Notice is what a remote has said of one of its jobs in a call of its own. Whoever makes one has verified that the call
// is the remote's, and from which account (contract C6).
type Notice struct {
	Who
	RemoteJobID string
	Says        string
	Snapshot    []byte // the remote's words
	Detail      string // why a job failed, for people
}

// Validate reports why a notice is none.
func (n Notice) Validate() error {
	if !transitions.UsableRemoteJobID(n.RemoteJobID) {
		return &InvalidError{"remote_job_id", fmt.Sprintf("%q cannot be a remote job id: want 1 to %d printable ASCII characters without a space", n.RemoteJobID, transitions.MaxRemoteJobID)}
	}
	if !slices.Contains([]string{SaysPending, SaysSucceeded, SaysFailed, SaysCanceled}, n.Says) {
		return &InvalidError{"says", fmt.Sprintf("%q is nothing that a remote says of a job", n.Says)}
	}
	return nil
}

// Fate is what became of a notice. Each is stored, or needs no storing, when Notify returns.
type Fate string

// The fates.
const (
	NoticeApplied   Fate = "applied"   // it ended the operation
	NoticeKnown     Fate = "known"     // it adds nothing to what is stored
	NoticeNoted     Fate = "noted"     // it is kept as evidence of the operation, which it contradicts
	NoticeUnmatched Fate = "unmatched" // no operation holds the id: it is kept, and found when one does
)

// Noticed is a notice's fate, and the operation that it is about.
type Noticed struct {
	Fate      Fate
	Operation Operation // zero where no operation holds the id
}

// A notice is tried so often, where the row moved under it or the database gave no answer, with growing pauses: a pool
// whose connections have died is through with them by then. After that the remote has to call again.
const (
	noticeTries = 5
	noticePause = 20 * time.Millisecond
)

// Notify stores what a remote says of its job, without a lease: the fence is the remote's own word (contract C2). An
// end is fired at the operation that holds the job's id. Where that has ended otherwise, the notice is kept as evidence
// of it; where no operation holds the id, as evidence of none, since the submission that started the job may still be in
// flight. The same notice again, and a pending one after an end, change nothing.
//
// An error means that the notice is not known to be stored: let the remote call again. A notice may be repeated at any
// time.
func (m *Machine) Notify(ctx context.Context, n Notice) (Noticed, error) {
	if err := n.Validate(); err != nil {
		return Noticed{}, err
	}
	n.Snapshot = Bounded(n.Snapshot, MaxRaw)
	var last, unknown error
	for try := range noticeTries {
		if try > 0 && pause(ctx, time.Duration(try)*noticePause) != nil {
			break
		}
		done, err := m.storeOnce(ctx, n, unknown != nil)
		var invalid *InvalidError
		if err == nil && done.Fate != "" || errors.As(err, &invalid) {
			return done, err
		}
		last = err
		if IsUnknown(err) {
			unknown = err
		}
	}
	switch {
	case unknown != nil:
		last = unknown
	case last == nil:
		last = fmt.Errorf("its operation moved at each of %d tries", noticeTries)
	}
	return Noticed{}, fmt.Errorf("store what the remote says of job %q: %w; let it call again", n.RemoteJobID, last)
}

// storeOnce tries once to store a notice. An empty fate means that it is to be tried again, since the row has moved. Doubt
// says that an earlier try may have landed.
func (m *Machine) storeOnce(ctx context.Context, n Notice, doubt bool) (Noticed, error) {
	row, err := m.store.Find(ctx, n.Provider, n.Account, n.RemoteJobID)
	if err != nil {
		return Noticed{}, fmt.Errorf("look for its operation: %w", err)
	}
	if row == nil {
		return m.keepUnmatched(ctx, n)
	}
	op := OperationOf(m.store.Program(), row)
	if doubt && op.Outcome == n.Says {
		return Noticed{NoticeKnown, op}, nil
	}
	return m.notified(ctx, op, n, "")
}

// notified fires a notice at the operation that was seen to hold its id. An empty fate means that it does not any more.
func (m *Machine) notified(ctx context.Context, op Operation, n Notice, detail string) (Noticed, error) {
	if n.Says == SaysPending {
		return Noticed{NoticeKnown, op}, nil
	}
	after, err := m.Fire(ctx, "notified_"+n.Says, transitions.Params{
		"operation_id": transitions.TextValue(op.OperationID), "provider": transitions.TextValue(n.Provider),
		"account": transitions.TextValue(n.Account), "remote_job_id": transitions.TextValue(n.RemoteJobID),
		"snapshot": transitions.BytesValue(n.Snapshot), "reason": transitions.OptText(Text(n.Detail)),
		"detail": transitions.OptText(detail),
	})
	denied, ok := IsDenied(err)
	switch {
	case err == nil:
		return Noticed{NoticeApplied, after}, nil
	case !ok:
		return Noticed{}, err
	case denied.Seen.RemoteJobID != n.RemoteJobID:
		return Noticed{}, nil
	case denied.Seen.Outcome == n.Says:
		return Noticed{NoticeKnown, denied.Seen}, nil
	}
	return m.noteOnce(ctx, denied.Seen, n)
}

// noteOnce keeps a notice as evidence of an operation, unless it is there: each one more would deny a reviewer's
// decision once. Equal calls that come at once to one process wait for each other. What repeats the operation is marked
// before the notice is said to be stored, so that a remote whose call failed calls again.
func (m *Machine) noteOnce(ctx context.Context, op Operation, n Notice) (Noticed, error) {
	unlock, err := m.notices.lock(ctx, op.OperationID)
	if err != nil {
		return Noticed{}, err
	}
	defer unlock()
	there, err := m.store.Evidence(ctx, op.OperationID)
	if err != nil {
		return Noticed{}, fmt.Errorf("read the evidence of operation %q: %w", op.OperationID, err)
	}
	fate := NoticeKnown
	if !n.among(there) {
		fate = NoticeNoted
		op, err = m.note(ctx, op.OperationID, Evidence{Kind: kindOf(n.Says), RemoteJobID: n.RemoteJobID, Raw: n.Snapshot})
		if err != nil {
			return Noticed{}, err
		}
	}
	if op.OutcomeContradicted {
		if _, err := m.markRepeated(ctx, op); err != nil {
			return Noticed{}, err
		}
	}
	return Noticed{fate, op}, nil
}

// among reports whether a notice adds nothing to some evidence: a pending one once anything of its job is there, an end
// once the same words are.
func (n Notice) among(there []EvidenceEntry) bool {
	return slices.ContainsFunc(there, func(e EvidenceEntry) bool {
		same := e.Kind == kindOf(n.Says) && (n.Says == SaysPending || bytes.Equal(e.Detail, n.Snapshot))
		return e.RemoteJobID == n.RemoteJobID && (same || n.Says == SaysPending && strings.HasPrefix(e.Kind, endedKind))
	})
}

// keepUnmatched keeps a notice of a job that no operation holds, and then looks once more whether one does by now: who
// stores an id looks for evidence afterwards (Match), so that one of the two finds the other. An empty fate means that
// an operation holds it.
func (m *Machine) keepUnmatched(ctx context.Context, n Notice) (Noticed, error) {
	naming, err := m.store.EvidenceNaming(ctx, n.Provider, n.Account, n.RemoteJobID)
	if err != nil {
		return Noticed{}, fmt.Errorf("read the evidence of remote job %q: %w", n.RemoteJobID, err)
	}
	of, none := split(naming)
	fate := NoticeKnown
	if !n.among(none) {
		fate = NoticeUnmatched
		err := m.store.NoteUnmatched(ctx, EvidenceEntry{
			Provider: n.Provider, Account: n.Account, Kind: kindOf(n.Says), RemoteJobID: n.RemoteJobID, Detail: n.Snapshot,
		})
		if err != nil {
			return Noticed{}, err
		}
	}
	row, err := m.store.Find(ctx, n.Provider, n.Account, n.RemoteJobID)
	if err != nil || row != nil {
		return Noticed{}, err
	}
	if late, ok, err := m.lateHolder(ctx, n.RemoteJobID, of); err != nil || ok && n.Says != SaysPending {
		if err != nil {
			return Noticed{}, err
		}
		return m.noteOnce(ctx, late, n)
	}
	return Noticed{Fate: fate}, nil
}

// split tells the evidence of operations from that of none.
func split(naming []EvidenceEntry) (of, none []EvidenceEntry) {
	for _, e := range naming {
		if e.OperationID == "" {
			none = append(none, e)
		} else {
			of = append(of, e)
		}
	}
	return of, none
}

// lateHolder finds the operation whose late remote job id this is: a reviewer may have to decide about it.
func (m *Machine) lateHolder(ctx context.Context, remoteJobID string, of []EvidenceEntry) (Operation, bool, error) {
	var ids []string
	for _, e := range of {
		if !slices.Contains(ids, e.OperationID) {
			ids = append(ids, e.OperationID)
		}
	}
	if ids == nil {
		return Operation{}, false, nil
	}
	rows, err := m.store.Get(ctx, ids...)
	if err != nil {
		return Operation{}, false, fmt.Errorf("read who was told of remote job %q: %w", remoteJobID, err)
	}
	for _, op := range m.operations(rows) {
		if op.LateRemoteJobID == remoteJobID {
			return op, true, nil
		}
	}
	return Operation{}, false, nil
}

// Match fires what the remote said of a job before its id was stored: call it when an operation has got a remote job id.
// The reconciler does so for whoever did not come to it. It gives the notices that were found, in the order in which
// they came, and may be repeated at any time.
func (m *Machine) Match(ctx context.Context, who Who, remoteJobID string) ([]Noticed, error) {
	naming, err := m.store.EvidenceNaming(ctx, who.Provider, who.Account, remoteJobID)
	if err != nil {
		return nil, fmt.Errorf("read the evidence of remote job %q: %w", remoteJobID, err)
	}
	var all []Noticed
	_, early := split(naming)
	for _, e := range early {
		n := Notice{Who: who, RemoteJobID: remoteJobID, Says: stateOf(e.Kind), Snapshot: e.Detail}
		if n.Says == SaysPending || n.Validate() != nil {
			continue
		}
		row, err := m.store.Find(ctx, who.Provider, who.Account, remoteJobID)
		if err != nil {
			return all, fmt.Errorf("look for the operation of remote job %q: %w", remoteJobID, err)
		}
		if row == nil {
			return all, nil
		}
		done, err := m.notified(ctx, OperationOf(m.store.Program(), row), n, "said before the remote job id was stored")
		if err != nil {
			return all, err
		}
		if done.Fate != "" {
			all = append(all, done)
		}
	}
	return all, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
