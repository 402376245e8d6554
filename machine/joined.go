package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// Two events that one worker does right after the other may go in one statement, and wait once for the disk
// (transitions.Joined). A table that does not join them has the two verbs one after the other.

// The events that the verbs below join.
var (
	claimAndBegin     = transitions.Joined{First: "dispatch_claim", Then: "submit_begin"}
	acceptedAndClaim  = transitions.Joined{First: "submit_accepted", Then: "observe_claim"}
	succeededAndClaim = transitions.Joined{First: "observe_succeeded", Then: "deliver_claim"}
)

// ClaimAndBegin takes one operation in order to send its request and makes the intent to send durable, as Claim and then
// Begin do, in one statement. The lease's Operation is begun; where begin is denied the claim is given up. As with Begin,
// only a nil error allows the request to be sent, once, while Lease.Left says that there is time; who has no use for the
// lease gives it back with NotCreated and ProofNotSent.
//
// Op is the operation as Prepare, Get or List gave it: what repeats another operation is looked at first, and takes two
// statements. An unknown answer is asked of history until ctx or the lease ends, and where ctx ends first, what has landed
// by then is taken back, for a few seconds more. What lands later lapses and is put before a reviewer, although nothing was
// sent.
func (m *Machine) ClaimAndBegin(ctx context.Context, op Operation, who Who) (*Lease, error) {
	event := claimAndBegin.Name()
	rule := m.store.Program().Rule(event)
	if op.RedoOf != "" || rule == nil {
		l, err := m.Claim(ctx, transitions.Dispatch, op.OperationID, who)
		if err != nil {
			return nil, err
		}
		return m.beginUnder(ctx, l)
	}
	params, _, err := m.claimParams(transitions.Dispatch, who)
	if err != nil {
		return nil, err
	}
	params["operation_id"] = transitions.TextValue(op.OperationID)
	before := m.clock()
	begun, err := m.begin(ctx, event, params, deadline{before, m.cfg.TTL - m.cfg.Margin})
	if err != nil {
		return nil, err
	}
	l := m.lease(begun, transitions.Dispatch, before)
	switch {
	case begun.Phase != rule.Then.To:
		return m.beginUnder(ctx, l) // it says why the second event was denied
	case begun.RedoOf == "":
		return l, nil
	}
	if _, err := m.NotCreated(ctx, l, ProofNotSent, 0, "begun without a look at what it repeats"); err != nil {
		return nil, err
	}
	return nil, &InvalidError{"operation", fmt.Sprintf("operation %q repeats %q, which was not said; nothing was sent: give it as Get gives it", op.OperationID, begun.RedoOf)}
}

// beginUnder begins under a claim of its own, and gives that up where it may not.
func (m *Machine) beginUnder(ctx context.Context, l *Lease) (*Lease, error) {
	begun, err := m.Begin(ctx, l)
	if _, denied := IsDenied(err); denied {
		_, _ = m.Release(ctx, l, 0, "") // one that is not given up lapses
	}
	if err != nil {
		return nil, err
	}
	l.Operation = begun
	return l, nil
}

// begin fires claimAndBegin until it is known whether it landed: its owner is of this call alone, so what history has of
// it is this call's.
func (m *Machine) begin(ctx context.Context, event string, params transitions.Params, ends deadline) (op Operation, err error) {
	id, owner := params["operation_id"].Text(), params["owner"].Text()
	var doubt error
	tried := false
	defer func() {
		if tried && err == nil {
			m.told(event, id, nil)
		}
	}()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		op, err = m.Fire(ctx, event, params)
		if IsUnknown(err) {
			doubt = err
		}
		if doubt == nil || err == nil {
			return op, err
		}
		revision, askErr := m.begunBy(ctx, id, owner)
		if _, denied := IsDenied(err); askErr == nil && revision == 0 && denied {
			return op, err // it ran, it was refused, and nothing of this owner is in history
		}
		if askErr == nil && revision > 0 {
			if op, err = m.Get(ctx, id); err == nil {
				return op, heldBy(op, owner, revision)
			}
		}
		if ends.left(m.clock()) <= 0 {
			return Operation{}, doubt // nothing may be sent any more, whatever the answer is
		}
		tried = true
		m.told(event, id, err)
		select {
		case <-ctx.Done():
			m.takeBack(ctx, id, owner, ends)
			return Operation{}, doubt
		case <-time.After(wait):
		}
	}
}

// takeBackTimeout bounds the last look at a begin that nobody waits for any more.
const takeBackTimeout = 5 * time.Second

// takeBack stores that nothing was sent of what an owner has begun, if it has, after its call was given up.
func (m *Machine) takeBack(ctx context.Context, id, owner string, ends deadline) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(takeBackTimeout, ends.left(m.clock())))
	defer cancel()
	revision, err := m.begunBy(ctx, id, owner)
	if err != nil || revision == 0 {
		return
	}
	l := &Lease{Operation: Operation{OperationID: id}, Action: transitions.Dispatch, Owner: owner, Revision: revision, clock: m.clock, ends: ends}
	_, _ = m.NotCreated(ctx, l, ProofNotSent, 0, "it was not known in time whether it was begun; nothing was sent") // else it lapses
}

// begunBy asks history under which revision an owner has begun; 0 means under none that is there yet.
func (m *Machine) begunBy(ctx context.Context, id, owner string) (int64, error) {
	entries, err := m.store.History(ctx, id)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if e.Event == claimAndBegin.Then && e.Owner == owner {
			return e.Revision, nil
		}
	}
	return 0, nil
}

// heldBy is the error where somebody has taken an operation over since.
func heldBy(op Operation, owner string, revision int64) error {
	if op.LeaseOwner != owner || op.Revision != revision {
		return &LeaseError{op.OperationID}
	}
	return nil
}

// AcceptedAndClaim stores the remote job id of a request that the remote took, as Accepted does, and takes the operation in
// order to observe it at once, as Claim does, in one statement: for who carries an operation through alone, or whose
// remote has done its work when it answers. Who is for the claim. The lease is nil where the claim is denied: then there is
// nothing to give up, and another claim may take the observation. The id is stored all the same. L is over in either case.
func (m *Machine) AcceptedAndClaim(ctx context.Context, l *Lease, remoteJobID string, keep map[string]string, who Who) (Operation, *Lease, error) {
	p, err := l.accepted(remoteJobID, keep, 0)
	if err != nil {
		return Operation{}, nil, err
	}
	return m.goOn(ctx, l, acceptedAndClaim, p, transitions.Observe, who)
}

// SucceededAndClaim stores that the remote job succeeded, as Observed does, and takes the operation in order to bring its
// result home, as Claim does, in one statement. Who is for the claim, and takes no other's (contract A2). The lease is nil
// where there is nothing to deliver, or where the claim is denied: then there is nothing to give up, and another claim may
// take the delivery. The success is stored all the same. L is over in either case.
func (m *Machine) SucceededAndClaim(ctx context.Context, l *Lease, snapshot []byte, detail string, who Who) (Operation, *Lease, error) {
	p := l.told(Text(detail), detail)
	p["snapshot"] = transitions.BytesValue(Bounded(snapshot, MaxRaw))
	return m.goOn(ctx, l, succeededAndClaim, p, transitions.Deliver, who)
}

// goOn fires an event under a lease and the claim that comes after it, in one statement where the table joins them.
func (m *Machine) goOn(ctx context.Context, l *Lease, joined transitions.Joined, p transitions.Params, action string, who Who) (Operation, *Lease, error) {
	if m.store.Program().Rule(joined.Name()) == nil {
		return m.goOnApart(ctx, l, joined, p, action, who)
	}
	claim, _, err := m.claimParams(action, who)
	if err != nil {
		return Operation{}, nil, err
	}
	for name, v := range claim {
		p[transitions.ThenPrefix+name] = v
	}
	before := m.clock()
	op, err := m.surely(ctx, l, joined.Name(), p)
	if err != nil || op.LeaseOwner != claim["owner"].Text() {
		return op, nil, err
	}
	return op, m.lease(op, action, before), nil
}

func (m *Machine) goOnApart(ctx context.Context, l *Lease, joined transitions.Joined, p transitions.Params, action string, who Who) (Operation, *Lease, error) {
	op, err := m.surely(ctx, l, joined.First, p)
	if err != nil || op.NextAction != action {
		return op, nil, err
	}
	next, err := m.Claim(ctx, action, op.OperationID, who)
	if err != nil {
		return op, nil, nil //nolint:nilerr // the first is stored; who may, and is free to, claims what comes next
	}
	return next.Operation, next, nil
}
