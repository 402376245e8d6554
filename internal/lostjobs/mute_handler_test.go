package lostjobs_test

import (
	"context"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

// mute is a handler that can neither look for a lost job nor cancel one.
type mute struct{ h *httpjob.Handler }

func (m mute) Submit(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
	return m.h.Submit(ctx, s)
}

func (m mute) Observe(ctx context.Context, o worker.Observation) (worker.Status, error) {
	return m.h.Observe(ctx, o)
}
