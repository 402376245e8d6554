package reports_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// B55: a person who wants an operation sent again gets that from uncertain only. In every other phase, the finished ones
// and the ones under way among them, it is refused, the row and its history stay as they are, and nothing is sent (the
// phase of review_not_created; rule: an outcome never changes).
func TestB55ARetryByHandIsRefusedWhereverTheOutcomeIsNotInDoubt(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		held := []string{transitions.Prepared, transitions.Submitting, transitions.Observing, transitions.Delivering}
		ended := []string{"succeeded", "failed", "canceled", "rejected", "abandoned"}
		ids := slices.Concat(held, ended, []string{transitions.Submitted})
		for _, phase := range held {
			s.at(phase, orderToDeliver(phase))
			s.expire(phase) // so that its holder's lease is not what refuses
		}
		for _, outcome := range ended {
			s.endedAs(outcome)
		}
		l := s.at(transitions.Submitting, order(transitions.Submitted))
		if _, err := s.machine.Accepted(t.Context(), l, "job-1", nil, 0); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			before := fmt.Sprint(s.op(id).Row())
			if err := moved(s.machine.ReviewNotCreated(t.Context(), id, s.decided(id), true)); !failsOn(err, "phase") {
				t.Errorf("%s: to send it again says %v, want that the phase is wrong", id, err)
			}
			if diff := cmp.Diff(before, fmt.Sprint(s.op(id).Row())); diff != "" {
				t.Errorf("%s: the row (-before +after):\n%s", id, diff)
			}
			if events := s.events(id); slices.Contains(events, "review_not_created") {
				t.Errorf("%s: history is %q", id, events)
			}
		}
		s.sound(ids...)
	})
}

// orderToDeliver is an order whose result is to be brought home.
func orderToDeliver(id string) machine.Request {
	r := order(id)
	r.WantsDelivery = true
	return r
}

// endedAs brings an operation to an outcome that it is called after.
func (s *stand) endedAs(outcome string) {
	s.Helper()
	ctx := s.Context()
	var err error
	switch outcome {
	case "rejected":
		_, err = s.machine.Rejected(ctx, s.at(transitions.Submitting, order(outcome)), "no")
	case "abandoned":
		s.prepareUncertain(outcome)
		_, err = s.machine.ReviewAbandon(ctx, outcome, s.decided(outcome))
	default:
		_, err = s.machine.Observed(ctx, s.at(transitions.Observing, order(outcome)), outcome, nil, "")
	}
	if err != nil {
		s.Fatal(err)
	}
}

// failsOn reports whether a denial names a guard, among others perhaps.
func failsOn(err error, guard string) bool {
	denied, ok := machine.IsDenied(err)
	return ok && slices.Contains(denied.Failed, guard)
}

// B55, the double click: of ten people who decide at once that nothing was created, one does, and the remote gets one
// more request (fence seen: the revision that was looked at).
func TestB55ADoubleClickSendsItOnceMore(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		s.prepareUncertain("a")
		decision := s.decided("a")
		applied := s.atOnce(10, func(n int) error {
			d := decision
			d.Reviewer = fmt.Sprint("reviewer-", n)
			return moved(s.machine.ReviewNotCreated(t.Context(), "a", d, true))
		})
		if diff := cmp.Diff(1, applied); diff != "" {
			t.Errorf("decisions that were applied (-want +got):\n%s", diff)
		}
		r := &remote{}
		stop := s.working(s.machine, r).start()
		s.await(transitions.Terminal, "a")
		stop()
		want := []string{
			"prepare", "dispatch_claim", "submit_begin", "submit_unknown", "review_not_created",
			"dispatch_claim", "submit_begin", "submit_accepted", "observe_claim", "observe_succeeded",
		}
		if diff := cmp.Diff(want, s.events("a")); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]any{1, int64(2)}, []any{r.sent("a"), s.op("a").Attempts}); diff != "" {
			t.Errorf("requests of the second try, and attempts (-want +got):\n%s", diff)
		}
		s.sound("a")
	})
}

// prepareUncertain brings operations to where a request may have arrived.
func (s *stand) prepareUncertain(ids ...string) {
	s.Helper()
	for _, id := range ids {
		if _, err := s.machine.Unknown(s.Context(), s.at(transitions.Submitting, order(id)), "no_response", ""); err != nil {
			s.Fatal(err)
		}
	}
}

// atOnce does n things beside each other, and counts those that were applied; others must be denied.
func (s *stand) atOnce(n int, do func(int) error) (applied int) {
	s.Helper()
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	for _, err := range errs {
		if _, denied := machine.IsDenied(err); err != nil && !denied {
			s.Error(err)
		}
		if err == nil {
			applied++
		}
	}
	return applied
}

// B55: an operation that has ended is repeated as another one, linked to it: the old one, its outcome and its history
// stay, a double click yields one, and a success is not repeated at all (event redo, guard outcome_redoable).
func TestB55WhatHasEndedIsRepeatedUnderAnotherIDOnly(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		s.endedAs("failed")
		before := s.op("failed")
		decision := s.decided("failed")
		s.atOnce(10, func(int) error {
			_, err := s.machine.Redo(t.Context(), "failed", "again", decision, machine.Risks{})
			return err
		})
		after := s.op("failed")
		again := s.op("again")
		got := []any{after.Phase, after.Outcome, after.Attempts, after.RemoteJobID, again.Phase, again.RedoOf, again.Attempts, string(again.Request)}
		want := []any{before.Phase, "failed", before.Attempts, before.RemoteJobID, transitions.Prepared, "failed", int64(0), string(before.Request)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the old one and the new one (-want +got):\n%s", diff)
		}
		ops, err := s.machine.List(t.Context(), machine.Query{})
		if err != nil || len(ops) != 2 {
			t.Errorf("there are %d operations, %v", len(ops), err)
		}
		s.endedAs("succeeded")
		if _, err := s.machine.Redo(t.Context(), "succeeded", "twice", s.decided("succeeded"), machine.Risks{Override: true}); !only(err, "outcome_redoable") {
			t.Errorf("to repeat a success says %v", err)
		}
		if _, err := s.machine.Get(t.Context(), "twice"); !errors.Is(err, machine.ErrNotFound) {
			t.Errorf("a success was repeated: %v", err)
		}
		s.sound("failed", "again", "succeeded")
	})
}
