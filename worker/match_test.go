package worker_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/worker"
)

// A remote that tells of the end before its answer to the request is heard: the end is taken as soon as the id is stored,
// without a look at the remote, and the result is brought home (C2; B58).
func TestAnEndThatIsToldBeforeTheAnswerIsTakenWithTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &remote{}
		b := newBench(t, r)
		b.config.Every, b.config.MaxEvery, b.config.Poll = time.Hour, time.Hour, time.Hour // nobody looks for as long
		r.submit = func(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
			id := "job-" + s.OperationID
			done, err := b.m.Notify(ctx, machine.Notice{Who: b.config.Who, RemoteJobID: id, Says: machine.SaysSucceeded, Snapshot: []byte(`{}`)})
			if err != nil || done.Fate != machine.NoticeUnmatched {
				t.Errorf("the early end: %s, %v; want it kept", done.Fate, err)
			}
			return worker.Accepted{RemoteJobID: id}, nil
		}
		b.prepare("a")
		b.run(10 * time.Second)
		if op := b.get("a"); op.Outcome != "succeeded" || op.Delivery != "delivered" {
			t.Errorf("after ten seconds the operation is %s, %q, delivery %q; want it succeeded and delivered", op.Phase, op.Outcome, op.Delivery)
		}
	})
}
