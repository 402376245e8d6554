package httpjob

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// grace is how long an answer is still read when the context of a submission has ended: a process that was stopped finds
// its timers run out when it wakes up, although the answer has long been there. It is counted in steps, so that being
// stopped again uses up one of them and not all.
const (
	graceStep  = 50 * time.Millisecond
	graceSteps = 10
)

// outlive gives the context of the exchange itself. When ctx ends and nothing was handed over, nothing ever will be and
// the exchange ends at once. Otherwise no further byte is handed over, and the exchange ends after the grace.
func (w *wire) outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	exchange, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		why := endOf(ctx)
		if w.quiet() > 0 {
			wait(exchange)
		}
		end(why)
	})
	return exchange, func() {
		stop()
		end(context.Canceled)
	}
}

// wait lets the grace pass, or less if ctx ends before.
func wait(ctx context.Context) {
	step := time.NewTimer(graceStep)
	defer step.Stop()
	for range graceSteps {
		select {
		case <-step.C:
			step.Reset(graceStep)
		case <-ctx.Done():
			return
		}
	}
}

// quiet lets the wire take no further byte, and a write that is stuck take none either. Reading goes on. It returns how
// many bytes the wire was handed.
func (w *wire) quiet() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sealed = true
	if w.gate != nil && w.handed > 0 {
		_ = w.gate.SetWriteDeadline(time.Unix(1, 0))
	}
	return w.handed
}

// endOf says why ctx ended, in words in which errors.Is finds a deadline or a cancellation.
func endOf(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}
