package worker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
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

// counted is a store that counts the events that are fired by name.
type counted struct {
	machine.Store
	mu    sync.Mutex
	fired map[string]int
}

func (c *counted) Apply(ctx context.Context, event string, p transitions.Params) (machine.Answer, error) {
	c.mu.Lock()
	c.fired[event]++
	c.mu.Unlock()
	return c.Store.Apply(ctx, event, p)
}

// A success and the claim of its delivery go in one statement where there is a slot to deliver in; where there is none
// the success is stored alone, and the delivery waits for its turn.
func TestASuccessGoesOnToItsDeliveryWhereASlotIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{deliver: func(ctx context.Context, d worker.Delivery) (worker.Delivered, error) {
			time.Sleep(time.Minute) // sleep: synthetic
			return worker.Delivered{ObjectKey: d.OperationID + ".mp4"}, nil
		}})
		store := &counted{Store: b.m.Store(), fired: map[string]int{}}
		b.config.Machine = b.m.In(store)
		b.config.Slots = 2
		b.prepare("a", "b", "c")
		b.run(10 * time.Minute)
		for _, id := range []string{"a", "b", "c"} {
			if op := b.get(id); op.Delivery != "delivered" || op.DeliveryAttempts != 1 {
				t.Errorf("%s: delivery %q after %d attempts, want delivered after 1", id, op.Delivery, op.DeliveryAttempts)
			}
		}
		got := map[string]int{}
		for _, event := range []string{"observe_succeeded+deliver_claim", "observe_succeeded", "deliver_done"} {
			got[event] = store.fired[event]
		}
		want := map[string]int{"observe_succeeded+deliver_claim": 2, "observe_succeeded": 1, "deliver_done": 3}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the events that were fired (-want +got):\n%s", diff)
		}
	})
}

// What is not to be delivered, or cannot be here, takes no slot.
func TestASuccessWithNothingToDeliverTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{})
		store := &counted{Store: b.m.Store(), fired: map[string]int{}}
		b.config.Machine = b.m.In(store)
		if _, err := b.m.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "video", Request: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		b.run(10 * time.Minute)
		if op := b.get("a"); op.Outcome != "succeeded" || store.fired["observe_succeeded"] != 1 {
			t.Errorf("outcome %q, fired %v; want succeeded, by observe_succeeded alone", op.Outcome, store.fired)
		}
	})
}
