package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/worker"
)

// A job whose status is read at an address from its own answer is found by it, also where that answer came too late for
// its lease and was attached by the reconciler (contract B5).
func TestALateAnswerIsObservedByTheValuesThatCameWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan map[string]string, 100)
		r := &remote{}
		b := newBench(t, r)
		r.submit = func(context.Context, worker.Submission) (worker.Accepted, error) {
			time.Sleep(2 * time.Minute) // sleep: synthetic, past the lease
			if _, err := b.m.Sweep(context.Background(), "submit_lapsed", 1); err != nil {
				t.Error(err)
			}
			return worker.Accepted{RemoteJobID: "job-a", Keep: map[string]string{"status_url": "https://r/1"}}, nil
		}
		r.observe = func(_ context.Context, o worker.Observation) (worker.Status, error) {
			asked <- o.Keep
			return worker.Status{State: worker.Succeeded}, nil
		}
		b.prepare("a")
		b.run(5 * time.Minute)
		if op := b.get("a"); op.Phase != "uncertain" || op.LateRemoteJobID != "job-a" {
			t.Fatalf("the answer was not late: %s, late id %q", op.Phase, op.LateRemoteJobID)
		}
		if moved, err := b.m.Sweep(context.Background(), "evidence_attach", 1); err != nil || len(moved) != 1 {
			t.Fatalf("attached %d, %v", len(moved), err)
		}
		b.run(time.Minute)
		if diff := cmp.Diff(map[string]string{"status_url": "https://r/1"}, <-asked); diff != "" {
			t.Error(diff)
		}
		if n := r.count("a"); n != 1 {
			t.Errorf("the remote received %d requests", n)
		}
	})
}
