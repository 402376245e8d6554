package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/worker"
)

// Nine shutdowns, each in the middle of a delivery, use up none of its eight attempts (contract E1, C4).
func TestAShutdownUsesUpNoDeliveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, _ worker.Delivery) (worker.Delivered, error) {
			<-ctx.Done()
			return worker.Delivered{}, ctx.Err()
		}
		b := newBench(t, &remote{deliver: slow})
		b.prepare("a")
		for range 9 {
			b.run(10 * time.Second)
			op := b.get("a")
			if diff := cmp.Diff([]any{"delivering", int64(0), ""}, []any{op.Phase, op.DeliveryAttempts, op.LeaseOwner}); diff != "" {
				t.Fatalf("phase, attempts and owner after a shutdown (-want +got):\n%s", diff)
			}
		}
		b.remote.deliver = nil
		b.run(10 * time.Second)
		if got := b.get("a").Delivery; got != "delivered" {
			t.Errorf("the delivery is %q", got)
		}
	})
}

// A delivery that hangs is cut off with its lease, which is not renewed for ever, and that was an attempt: after the
// last one it has failed (contract A7, C4).
func TestADeliveryThatHangsUsesUpItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		b := newBench(t, &remote{deliver: func(ctx context.Context, _ worker.Delivery) (worker.Delivered, error) {
			tries++
			<-ctx.Done()
			return worker.Delivered{}, errors.New("cut off")
		}})
		b.config.Hold = time.Minute
		b.prepare("a")
		b.run(time.Hour)
		op := b.get("a")
		if diff := cmp.Diff([]any{"terminal", "failed", 8}, []any{op.Phase, op.Delivery, tries}); diff != "" {
			t.Errorf("phase, delivery and attempts (-want +got):\n%s", diff)
		}
	})
}
