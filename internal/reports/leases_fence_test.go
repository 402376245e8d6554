package reports_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// deed is one thing that a lease holder can do.
type deed struct {
	name string
	do   func(context.Context, *machine.Machine, *machine.Lease) error
}

func moved(_ machine.Operation, err error) error { return err }

// deeds are everything that a holder can do, by the phase in which it may.
var deeds = map[string][]deed{
	transitions.Prepared: {begin, release, renew},
	transitions.Submitting: {
		{"accepted", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
			return moved(m.Accepted(ctx, l, "job-late", nil, 0))
		}},
		{"rejected", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
			return moved(m.Rejected(ctx, l, ""))
		}},
		{"not created", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
			return moved(m.NotCreated(ctx, l, machine.ProofRefused, 0, ""))
		}},
		{"unknown", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
			return moved(m.Unknown(ctx, l, "no_response", ""))
		}},
		renew,
	},
	transitions.Observing: {
		{"pending", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
			return moved(m.Pending(ctx, l, []byte("late"), 0, ""))
		}},
		observed("succeeded"), observed("failed"), observed("canceled"),
		{"lost", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
			return moved(m.Lost(ctx, l, nil))
		}},
		release, renew,
	},
	transitions.Delivering: {
		{"delivered", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
			return moved(m.Delivered(ctx, l, "late.mp4", "", 1))
		}},
		{"deliver again", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
			return moved(m.DeliverRetry(ctx, l, 0, ""))
		}},
		{"deliver no more", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
			return moved(m.DeliverFailed(ctx, l, ""))
		}},
		release, renew,
	},
	transitions.Uncertain: {
		fired("investigate_found", "remote_job_id", "job-late"), fired("investigate_inconclusive", "reason", "nothing"), release, renew,
	},
}

var (
	begin = deed{"begin", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error { return moved(m.Begin(ctx, l)) }}
	renew = deed{"renew", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
		return m.Renew(ctx, []*machine.Lease{l})[0]
	}}
	release = deed{"release", func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
		return moved(m.Release(ctx, l, 0, ""))
	}}
)

func observed(outcome string) deed {
	return deed{outcome, func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
		return moved(m.Observed(ctx, l, outcome, nil, ""))
	}}
}

func fired(event, param, value string) deed {
	return deed{event, func(ctx context.Context, m *machine.Machine, l *machine.Lease) error {
		return moved(m.Fire(ctx, event, transitions.Params{
			"operation_id": transitions.TextValue(l.Operation.OperationID), "owner": transitions.TextValue(l.Owner),
			"revision": transitions.IntValue(l.Revision), param: transitions.TextValue(value),
		}))
	}}
}

// graceless waits until the remote would know the job, so that its word that there is none is believed.
func (s *stand) graceless(id string) {
	s.Helper()
	await(s, "a new job would be readable", func() bool { return s.now().After(s.op(id).NotFoundUntil) })
}

// investigable is a request that can come to every phase under a lease.
func investigable(id string) machine.Request {
	r := requestOf(id)
	r.CanInvestigate = true
	r.NotFoundGrace = time.Millisecond
	return r
}

// refuses holds a deed to its denial for exactly these reasons, and the row to what it was.
func (s *stand) refuses(d deed, l *machine.Lease, want ...string) {
	s.Helper()
	id := l.Operation.OperationID
	row, events := s.op(id).Row(), s.events(id)
	denied, ok := machine.IsDenied(d.do(context.Background(), s.machine, l))
	if !ok {
		s.Errorf("%s of %s was not denied", d.name, id)
		return
	}
	if diff := cmp.Diff(want, denied.Failed); diff != "" {
		s.Errorf("%s of %s: the guards that failed (-want +got):\n%s", d.name, id, diff)
	}
	if !slices.Equal(row, s.op(id).Row()) {
		s.Errorf("%s of %s was denied and changed the row", d.name, id)
	}
	if diff := cmp.Diff(events, s.events(id)); diff != "" {
		s.Errorf("%s of %s was denied and left history (-want +got):\n%s", d.name, id, diff)
	}
}

// B44: an expired holder whom nobody has followed yet is refused everything, and told why; that nobody has taken the
// operation meanwhile gives it no right (guard lease_live of the held fence; contract A5).
func TestB44AnExpiredHolderIsRefusedEverythingThatAHolderDoes(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		for phase, all := range deeds {
			l := s.at(phase, investigable(phase))
			s.expire(phase)
			s.graceless(phase)
			for _, d := range all {
				s.refuses(d, l, "lease_live")
			}
			s.sound(phase)
		}
	})
}

// B34: the process that loses an operation and claims it anew holds it under another token and another revision, so
// that its own earlier run, which was only slow, writes nothing any more; not even if the token were the same (guards
// owner and revision of the held fence, a token a claim; contract A6).
func TestB34AnEarlierRunOfTheSameProcessWritesNothing(t *testing.T) {
	t.Parallel()
	actions := map[string]string{
		transitions.Prepared: transitions.Dispatch, transitions.Observing: transitions.Observe,
		transitions.Delivering: transitions.Deliver, transitions.Uncertain: transitions.Investigate,
	}
	onStores(t, func(t *testing.T, s *stand) {
		for phase, action := range actions {
			first := s.at(phase, investigable(phase))
			s.expire(phase)
			s.graceless(phase)
			second := s.claim(s.machine, action, phase)
			if first.Owner == second.Owner || first.Revision == second.Revision {
				t.Errorf("%s: both claims are %s at revision %d", phase, first.Owner, first.Revision)
			}
			for _, d := range deeds[phase] {
				s.refuses(d, first, "owner", "revision")
			}
			first.Owner = second.Owner
			for _, d := range deeds[phase] {
				s.refuses(d, first, "revision")
			}
			done := deeds[phase][0] // the second run completes, once
			if err := done.do(t.Context(), s.machine, second); err != nil {
				t.Errorf("%s under the live lease: %v", done.name, err)
			}
			s.sound(phase)
		}
	})
}
