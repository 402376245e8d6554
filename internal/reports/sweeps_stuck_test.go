package reports_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/reconcile"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// B29: operations whose holders died in every phase are not stuck: once the leases are over, two sweeps later each is due
// for somebody, waits for a person, or has ended, and one healthy worker brings the first kind to an end (every sweep of
// the table, and a claim for every phase whose lease may lapse; lifecycle, invariant 7).
func TestB29WhatDeadHoldersLeftBehindIsNotStuck(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		const each = 3
		want := map[string]string{}
		for phase, end := range map[string]string{
			transitions.Prepared: "terminal", transitions.Submitting: "uncertain", transitions.Observing: "terminal",
			transitions.Delivering: "terminal", transitions.Uncertain: "uncertain",
		} {
			for i := range each {
				id := fmt.Sprintf("%s-%d", phase, i)
				r := requestOf(id)
				r.CanInvestigate = phase == transitions.Uncertain
				s.at(phase, r)
				s.expire(id)
				want[id] = end
			}
		}
		for range 2 {
			if _, err := s.reconciler(2).Once(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string(nil), s.stuck()); diff != "" {
			t.Errorf("stuck after two sweeps (-want +got):\n%s", diff)
		}
		h := &remote{}
		stop := s.working(s.engine(machine.Config{}), h).start()
		await(t, "everything has ended that can", func() bool { return s.ended() == 3*each })
		stop()
		got := map[string]string{}
		for id := range want {
			op := s.op(id)
			got[id] = op.Phase
			if n := h.sent(id); op.Attempts > 1 || n > 0 && !strings.HasPrefix(id, transitions.Prepared) {
				t.Errorf("%s was sent %d times anew, and %d times in all", id, n, op.Attempts)
			}
			s.sound(id)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the phases (-want +got):\n%s", diff)
		}
	})
}

// sweeping runs a reconciler until the test ends.
func (s *stand) sweeping(m *machine.Machine, interval time.Duration) {
	s.Helper()
	r, err := reconcile.New(m, reconcile.Options{Interval: interval, Log: quiet()})
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	s.Cleanup(func() { cancel(); <-done })
}

// stuck are the operations that neither ended nor wait for a person, and that nobody may claim now.
func (s *stand) stuck() []string {
	s.Helper()
	ops, err := s.machine.List(context.Background(), machine.Query{Limit: 10_000})
	if err != nil {
		s.Fatal(err)
	}
	now := s.now()
	var ids []string
	for _, op := range ops {
		claimable := !op.DueAt.IsZero() && !op.DueAt.After(now) && !op.LeaseUntil.After(now) &&
			op.NextAction != "" && op.NextAction != transitions.Review
		if op.NextAction != transitions.Review && !claimable && !(op.Phase == transitions.Terminal && op.NextAction == "") {
			ids = append(ids, op.OperationID)
		}
	}
	return ids
}

// B49: rows whose poll fails each time do not stand in front of fresh ones for ever: a failed poll moves its row back in
// the order (effect due later of observe_pending; batches serve the oldest due first, A3, C3).
func TestB49RowsThatAlwaysFailDoNotStarveFreshOnes(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		failing, fresh := 200, 400
		if s.sqlite != nil {
			failing, fresh = 40, 200
		}
		s.submitted("a-failing", failing) // the oldest, and the first by their names
		s.submitted("b-fresh", fresh)
		h := &remote{observe: func(_ context.Context, id string) (worker.Status, error) {
			if id[0] == 'a' {
				return worker.Status{}, errors.New("500")
			}
			return worker.Status{State: worker.Succeeded}, nil
		}}
		w := s.working(s.machine, h)
		w.config.Slots, w.config.Every, w.config.MaxEvery = 8, time.Hour, time.Hour
		stop := w.start()
		await(t, "every fresh one has ended", func() bool { return s.ended() >= fresh })
		stop()
		for i := range failing {
			if id := fmt.Sprintf("a-failing-%04d", i); h.looked(id) > 1 {
				t.Errorf("%s was read %d times before the fresh ones were done", id, h.looked(id))
			}
		}
	})
}

// submitted makes operations whose jobs are due to be read.
func (s *stand) submitted(name string, n int) {
	s.Helper()
	ctx := context.Background()
	var requests []machine.Request
	for i := range n {
		r := requestOf(fmt.Sprintf("%s-%04d", name, i))
		r.WantsDelivery = false
		requests = append(requests, r)
	}
	s.prepare(requests...)
	leases, err := s.machine.ClaimMany(ctx, transitions.Dispatch, video, n)
	if err != nil || len(leases) != n {
		s.Fatalf("claimed %d, %v", len(leases), err)
	}
	params := make([]transitions.Params, n)
	for i, l := range leases {
		params[i] = transitions.Params{
			"operation_id": transitions.TextValue(l.Operation.OperationID), "owner": transitions.TextValue(l.Owner),
			"revision": transitions.IntValue(l.Revision), "remote_job_id": transitions.TextValue("job-" + l.Operation.OperationID),
		}
	}
	for _, event := range []string{"submit_begin", "submit_accepted"} {
		answers, err := s.store.ApplyMany(ctx, event, params)
		if err != nil {
			s.Fatal(err)
		}
		for i, a := range answers {
			if !a.Applied {
				s.Fatalf("%s on %s was denied: %v", event, leases[i].Operation.OperationID, a.Failed)
			}
		}
	}
}

// ended counts the operations with an outcome.
func (s *stand) ended() int {
	s.Helper()
	stats, err := s.store.Stats(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	n := int64(0)
	for _, line := range stats {
		if line.Outcome != "" {
			n += line.Count
		}
	}
	return int(n)
}
