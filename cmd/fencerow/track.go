package main

import (
	"context"
	"time"

	"github.com/fencerow/fencerow/internal/input"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// place is what is kept of an operation while it is followed; a request may be large and is not.
type place struct {
	phase, next, outcome, delivery, reason string
	remoteJobID, objectKey, sha256         string
	attempts, objectBytes                  int64
	notBefore, dueAt, leaseUntil           time.Time
	leaseOwner                             string
	looks                                  bool   // its lost remote job is looked for
	lookDue                                bool   // an investigator is to look for its remote job now
	elsewhere                              string // why what is delivered is not in the folder of this run
}

func placeOf(op machine.Operation) place {
	return place{
		phase: op.Phase, next: op.NextAction, outcome: op.Outcome, delivery: op.Delivery, reason: op.UncertainReason,
		remoteJobID: op.RemoteJobID, objectKey: op.ObjectKey, sha256: op.ObjectSHA256,
		attempts: op.Attempts, objectBytes: op.ObjectBytes, notBefore: op.NotBefore,
		dueAt: op.DueAt, leaseUntil: op.LeaseUntil, leaseOwner: op.LeaseOwner, looks: op.CanInvestigate,
		lookDue: op.NextAction == transitions.Investigate && !op.DueAt.After(time.Now()),
	}
}

func (p place) finished() bool { return p.outcome != "" && p.next == "" }

// settled reports whether a run need not wait for it any more. An uncertain one is waited for while a look for its
// remote job is due, and may still move after that: an answer that came too late is attached.
func (p place) settled() bool { return p.finished() || p.phase == transitions.Uncertain && !p.lookDue }

// tracker follows the operations of one input.
type tracker struct {
	machine *machine.Machine
	items   []input.Item
	places  map[string]place
	now     func() time.Time

	refused bool      // since the run began, a send was proven not to have created anything
	movedOn time.Time // when an operation last left the phases before its remote job, or the first was refused
	looked  bool      // every operation was read once
}

func newTracker(m *machine.Machine, items []input.Item) *tracker {
	return &tracker{machine: m, items: items, places: map[string]place{}, now: time.Now}
}

// look reads every operation that is not finished.
func (t *tracker) look(ctx context.Context) error {
	open := make([]input.Item, 0, len(t.items))
	for _, item := range t.items {
		if !t.places[item.ID].finished() {
			open = append(open, item)
		}
	}
	for _, chunk := range chunks(open) {
		rows, err := t.machine.Store().Get(ctx, ids(chunk)...)
		if err != nil {
			return err
		}
		for _, row := range rows {
			op := machine.OperationOf(t.machine.Store().Program(), row)
			t.note(op.OperationID, placeOf(op))
		}
	}
	t.looked = true
	return nil
}

func unsent(phase string) bool {
	return phase == transitions.Prepared || phase == transitions.Submitting
}

func (t *tracker) note(id string, now place) {
	before, known := t.places[id]
	t.places[id] = now
	switch {
	case !known:
	case now.phase == transitions.Prepared && now.attempts > before.attempts || now.phase == transitions.Prepared && before.phase == transitions.Submitting:
		// Begun, and prepared again: there is proof that nothing was created.
		if !t.refused {
			t.refused, t.movedOn = true, t.now()
		}
	case unsent(before.phase) && !unsent(now.phase):
		t.movedOn = t.now()
	}
}

// over reports whether the run may end: each operation is settled, or is prepared and waited for long enough. Spent
// says that this run may send no more.
func (t *tracker) over(giveUp time.Duration, spent bool) bool {
	gaveUp := t.refused && t.now().Sub(t.movedOn) >= giveUp
	for _, item := range t.items {
		p := t.places[item.ID]
		switch {
		case p.settled():
		case p.phase != transitions.Prepared:
			return false
		case spent:
		case p.attempts == 0 && p.notBefore.After(t.now()):
			return false // its time has not come
		case !gaveUp:
			return false
		}
	}
	return t.looked
}

// counts are what progress shows.
type counts struct{ prepared, submitting, observing, delivering, done, uncertain, total int }

func (t *tracker) counts() counts {
	c := counts{total: len(t.items)}
	for _, item := range t.items {
		p, ok := t.places[item.ID]
		switch {
		case !ok:
		case p.phase == transitions.Uncertain:
			c.uncertain++
		case p.finished():
			c.done++
		case p.phase == transitions.Prepared:
			c.prepared++
		case p.phase == transitions.Submitting:
			c.submitting++
		case p.outcome != "":
			c.delivering++
		default:
			c.observing++
		}
	}
	return c
}
