package machine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

const (
	claimBegin     = "dispatch_claim+submit_begin"
	succeededClaim = "observe_succeeded+deliver_claim"
)

var video = machine.Who{Provider: "video"}

// prepared makes operation a on a memory store behind a wire.
func prepared(t *testing.T, w *wire) (*machine.Machine, machine.Operation) {
	t.Helper()
	w.Store = machine.NewMemory(transitions.MustCompile(transitions.Standard()))
	m, err := machine.New(w, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "video", Request: []byte("{}"), WantsDelivery: true})
	if err != nil {
		t.Fatal(err)
	}
	return m, p.Operation
}

// observed brings operation a to where its remote job has just ended.
func observed(t *testing.T, w *wire) (*machine.Machine, *machine.Lease) {
	t.Helper()
	m, op := prepared(t, w)
	l, err := m.ClaimAndBegin(t.Context(), op, video)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Accepted(t.Context(), l, "job-a", nil, 0); err != nil {
		t.Fatal(err)
	}
	if l, err = m.Claim(t.Context(), transitions.Observe, "a", video); err != nil {
		t.Fatal(err)
	}
	return m, l
}

// happened lists an operation's events.
func happened(t *testing.T, m *machine.Machine) []string {
	t.Helper()
	entries, err := m.Store().History(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range entries {
		events = append(events, e.Event)
	}
	return events
}

func mustHappen(t *testing.T, m *machine.Machine, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, happened(t, m)); diff != "" {
		t.Errorf("the operation's history (-want +got):\n%s", diff)
	}
}

func TestClaimAndBeginLeavesWhatClaimAndThenBeginLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		joined, op := prepared(t, &wire{})
		l, err := joined.ClaimAndBegin(t.Context(), op, video)
		if err != nil {
			t.Fatal(err)
		}
		apart, _ := prepared(t, &wire{})
		want, err := apart.Claim(t.Context(), transitions.Dispatch, "a", video)
		if err != nil {
			t.Fatal(err)
		}
		if want.Operation, err = apart.Begin(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		mustHappen(t, joined, happened(t, apart)...)
		got := l.Operation
		got.LeaseOwner = want.Operation.LeaseOwner // each claim has its own
		if diff := cmp.Diff(want.Operation, got, cmpopts.IgnoreUnexported(machine.Operation{})); diff != "" {
			t.Errorf("the operation (-apart +joined):\n%s", diff)
		}
		if l.Owner != l.Operation.LeaseOwner || l.Revision != want.Revision || l.Left() != want.Left() || l.Action != want.Action {
			t.Errorf("the lease is %s, revision %d, for %s, with %s left; want that of a claim", l.Owner, l.Revision, l.Action, l.Left())
		}
		if _, err := joined.Accepted(t.Context(), l, "job-a", nil, 0); err != nil {
			t.Errorf("the answer is not taken under the lease: %v", err)
		}
	})
}

func TestClaimAndBeginIsDeniedAsTheClaimIsAndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, op := prepared(t, &wire{})
		if _, err := m.Claim(t.Context(), transitions.Dispatch, "a", video); err != nil {
			t.Fatal(err)
		}
		_, err := m.ClaimAndBegin(t.Context(), op, video)
		if denied, ok := machine.IsDenied(err); !ok || !denied.Only("lease_vacant") {
			t.Errorf("got %v, want a denial for lease_vacant alone", err)
		}
		mustHappen(t, m, "prepare", "dispatch_claim")
	})
}

// Whatever happens to the statement on the way, the holder learns whether its intent is durable before anything is sent,
// and nobody begins twice (contract A8, B1; lifecycle, "Three answers").
func TestClaimAndBeginIsResolvedBeforeAnythingIsSent(t *testing.T) {
	for _, fates := range [][]string{
		{"reply lost"}, {"request lost"}, {"lands late"}, {"request lost", "not run", "reply lost"}, {"lands late", "lands late", "request lost"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{event: claimBegin, fates: fates}
			m, op := prepared(t, w)
			w.blind = 1
			trouble, over := 0, false
			m = m.Telling(func(_, _ string, err error) {
				if over = err == nil; !over {
					trouble++
				}
			})
			l, err := m.ClaimAndBegin(t.Context(), op, video)
			if err != nil {
				t.Fatalf("after %q: %v", fates, err)
			}
			if trouble == 0 || !over {
				t.Errorf("after %q %d troubles were told, the end of them: %t", fates, trouble, over)
			}
			w.landLate()
			w.blind = 0
			after, err := m.Get(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			if after.Phase != transitions.Submitting || after.Attempts != 1 || after.LeaseOwner != l.Owner || after.Revision != l.Revision {
				t.Errorf("after %q the row is %s with %d attempts, held by %s under revision %d; want submitting, 1, and the lease's", fates, after.Phase, after.Attempts, after.LeaseOwner, after.Revision)
			}
			mustHappen(t, m, "prepare", "dispatch_claim", "submit_begin")
		})
	}
}

func TestClaimAndBeginStaysUnknownWhereNobodyCanSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{event: claimBegin}
		for range 100 {
			w.fates = append(w.fates, "request lost")
		}
		m, op := prepared(t, w)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := m.ClaimAndBegin(ctx, op, video); !machine.IsUnknown(err) {
			t.Errorf("got %v, want an unknown answer", err)
		}
	})
}

// What landed while nobody knew, and was taken over by the time that it was known, is not sent under.
func TestClaimAndBeginThatWasTakenOverIsNoLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{event: claimBegin, fates: []string{"reply lost"}}
		m, op := prepared(t, w)
		w.read = func() {
			time.Sleep(time.Minute) // sleep: the bubble's clock, past the lease
			if _, err := m.Fire(t.Context(), "submit_lapsed", transitions.Params{"operation_id": transitions.TextValue("a")}); err != nil {
				t.Error(err)
			}
		}
		_, err := m.ClaimAndBegin(t.Context(), op, video)
		var over *machine.LeaseError
		if !errors.As(err, &over) {
			t.Errorf("got %v, want that the lease is over", err)
		}
	})
}

// Once the lease would be over nobody may send, so that nobody asks any longer.
func TestClaimAndBeginAsksNoLongerThanItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{event: claimBegin}
		for range 100 {
			w.fates = append(w.fates, "request lost")
		}
		m, op := prepared(t, w)
		began := time.Now()
		_, err := m.ClaimAndBegin(t.Context(), op, video)
		if took := time.Since(began); !machine.IsUnknown(err) || took > machine.DefaultTTL {
			t.Errorf("got %v after %s, want an unknown answer within the lease of %s", err, took, machine.DefaultTTL)
		}
	})
}

// What repeats another operation is looked at before it is begun; so who does not say that it does is refused.
func TestClaimAndBeginOfARedoneOperationLooksBackFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("a")
		d.abandon("a")
		d.redo("a", "b")
		who := machine.Who{Provider: "video", Account: "main"}
		var invalid *machine.InvalidError
		if _, err := d.ClaimAndBegin(t.Context(), machine.Operation{OperationID: "b"}, who); !errors.As(err, &invalid) {
			t.Errorf("a redone operation that was not said to be one: got %v, want that it must be", err)
		}
		if b := d.op("b"); b.Phase != transitions.Prepared {
			t.Errorf("b is %s, want prepared: nothing was sent", b.Phase)
		}
		if _, err := d.Note(t.Context(), "a", lateA); err != nil {
			t.Fatal(err)
		}
		_, err := d.ClaimAndBegin(t.Context(), d.op("b"), who)
		if _, denied := machine.IsDenied(err); !denied {
			t.Errorf("a job of a came to light, and b: got %v, want a denial", err)
		}
	})
}

// begun brings operation a to where its remote has just answered.
func begun(t *testing.T, w *wire) (*machine.Machine, *machine.Lease) {
	t.Helper()
	m, op := prepared(t, w)
	l, err := m.ClaimAndBegin(t.Context(), op, video)
	if err != nil {
		t.Fatal(err)
	}
	return m, l
}

func TestAcceptedAndClaimLeavesWhatAcceptedAndThenClaimLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		joined, l := begun(t, &wire{})
		op, got, err := joined.AcceptedAndClaim(t.Context(), l, "job-a", map[string]string{"url": "x"}, video)
		if err != nil || got == nil {
			t.Fatalf("lease %v, %v", got, err)
		}
		apart, l := begun(t, &wire{})
		if _, err := apart.Accepted(t.Context(), l, "job-a", map[string]string{"url": "x"}, 0); err != nil {
			t.Fatal(err)
		}
		want, err := apart.Claim(t.Context(), transitions.Observe, "a", video)
		if err != nil {
			t.Fatal(err)
		}
		mustHappen(t, joined, happened(t, apart)...)
		op.LeaseOwner = want.Operation.LeaseOwner
		if diff := cmp.Diff(want.Operation, op, cmpopts.IgnoreUnexported(machine.Operation{})); diff != "" {
			t.Errorf("the operation (-apart +joined):\n%s", diff)
		}
		if _, err := joined.Observed(t.Context(), got, "succeeded", nil, ""); err != nil {
			t.Errorf("the success is not taken under the lease: %v", err)
		}
	})
}

func TestAcceptedAndClaimIsDeniedAsAcceptedIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := begun(t, &wire{})
		var invalid *machine.InvalidError
		if _, _, err := m.AcceptedAndClaim(t.Context(), l, " ", nil, video); !errors.As(err, &invalid) {
			t.Errorf("a blank id: got %v, want that it cannot be one", err)
		}
		if _, err := m.Unknown(t.Context(), l, "no_response", ""); err != nil {
			t.Fatal(err)
		}
		_, next, err := m.AcceptedAndClaim(t.Context(), l, "job-a", nil, video)
		if denied, ok := machine.IsDenied(err); !ok || next != nil || denied.Failed[0] != "phase" {
			t.Errorf("after the lease was given up: lease %v, %v; want a denial for the phase among others", next, err)
		}
	})
}

func TestAcceptedAndClaimIsResolvedThoughItsAnswerIsLost(t *testing.T) {
	for _, fates := range [][]string{{"reply lost"}, {"request lost"}, {"not run"}, {"lands late", "request lost"}} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{event: "submit_accepted+observe_claim"}
			m, l := begun(t, w)
			w.fates = fates
			op, next, err := m.AcceptedAndClaim(t.Context(), l, "job-a", nil, video)
			if err != nil || next == nil || op.RemoteJobID != "job-a" {
				t.Fatalf("after %q: remote job id %q, lease %v, %v", fates, op.RemoteJobID, next, err)
			}
			w.landLate()
			if _, err := m.Observed(t.Context(), next, "succeeded", nil, ""); err != nil {
				t.Errorf("after %q the success is not taken under the lease: %v", fates, err)
			}
		})
	}
}

func TestSucceededAndClaimLeavesWhatObservedAndThenClaimLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		joined, l := observed(t, &wire{})
		op, got, err := joined.SucceededAndClaim(t.Context(), l, []byte("{}"), "", video)
		if err != nil || got == nil {
			t.Fatalf("lease %v, %v", got, err)
		}
		apart, l := observed(t, &wire{})
		if _, err := apart.Observed(t.Context(), l, "succeeded", []byte("{}"), ""); err != nil {
			t.Fatal(err)
		}
		want, err := apart.Claim(t.Context(), transitions.Deliver, "a", video)
		if err != nil {
			t.Fatal(err)
		}
		mustHappen(t, joined, happened(t, apart)...)
		op.LeaseOwner = want.Operation.LeaseOwner
		if diff := cmp.Diff(want.Operation, op, cmpopts.IgnoreUnexported(machine.Operation{})); diff != "" {
			t.Errorf("the operation (-apart +joined):\n%s", diff)
		}
		if _, err := joined.Delivered(t.Context(), got, "results/a", "", 1); err != nil {
			t.Errorf("the delivery is not taken under the lease: %v", err)
		}
	})
}

// A claim that is denied takes nothing from the success.
func TestASuccessIsStoredWhereItsDeliveryIsNotForThisWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, l := observed(t, &wire{})
		op, next, err := m.SucceededAndClaim(t.Context(), l, nil, "", machine.Who{Provider: "print"})
		if err != nil || next != nil || op.Outcome != "succeeded" || op.Delivery != "pending" || op.LeaseOwner != "" {
			t.Errorf("outcome %q, delivery %q, held by %q, lease %v, %v; want succeeded, pending, nobody, none", op.Outcome, op.Delivery, op.LeaseOwner, next, err)
		}
		mustHappen(t, m, "prepare", "dispatch_claim", "submit_begin", "submit_accepted", "observe_claim", "observe_succeeded")
	})
}

func TestSucceededAndClaimIsResolvedThoughItsAnswerIsLost(t *testing.T) {
	for _, fates := range [][]string{{"reply lost"}, {"request lost"}, {"not run"}, {"lands late", "request lost"}} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{event: succeededClaim}
			m, l := observed(t, w)
			w.fates = fates
			op, next, err := m.SucceededAndClaim(t.Context(), l, nil, "", video)
			if err != nil || next == nil || op.Outcome != "succeeded" {
				t.Fatalf("after %q: outcome %q, lease %v, %v", fates, op.Outcome, next, err)
			}
			w.landLate()
			if _, err := m.Delivered(t.Context(), next, "results/a", "", 1); err != nil {
				t.Errorf("after %q the delivery is not taken under the lease: %v", fates, err)
			}
		})
	}
}

// A table that joins nothing has the two events in two statements.
func TestATableThatJoinsNothingHasTheVerbsAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := transitions.Standard()
		table.Joined = nil
		m, err := machine.New(machine.NewMemory(transitions.MustCompile(table)), machine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "video", Request: []byte("{}"), WantsDelivery: true})
		if err != nil {
			t.Fatal(err)
		}
		l, err := m.ClaimAndBegin(t.Context(), p.Operation, video)
		if err != nil || l.Operation.Phase != transitions.Submitting {
			t.Fatalf("lease %+v, %v", l, err)
		}
		if _, l, err = m.AcceptedAndClaim(t.Context(), l, "job-a", nil, video); err != nil || l == nil {
			t.Fatalf("lease %+v, %v", l, err)
		}
		op, next, err := m.SucceededAndClaim(t.Context(), l, nil, "", video)
		if err != nil || op.Outcome != "succeeded" || next == nil || op.LeaseOwner != next.Owner {
			t.Errorf("outcome %q, lease %v, %v; want succeeded, and the lease of its delivery", op.Outcome, next, err)
		}
	})
}
