package worker_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/worker"
)

// What the process itself makes due it sends at once, without any wake-ups of the database's: one operation, and more at
// once than there are slots for, by one call or by many.
func TestWhatThisProcessPreparesIsSentAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{})
		b.config.Poll = 24 * time.Hour
		b.starts()
		began := time.Now()
		b.prepare("a")
		var many []machine.Request
		for i := range 40 {
			b.prepare(fmt.Sprint("one-", i))
			many = append(many, machine.Request{OperationID: fmt.Sprint("many-", i), Kind: "video", Request: []byte("{}")})
		}
		if _, err := b.m.PrepareMany(t.Context(), many); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(time.Second) // sleep: synthetic; claims that bring some are followed by others after 20 ms
		synctest.Wait()
		if b.remote.count("a") != 1 || time.Since(began) > time.Second {
			t.Errorf("what was prepared first was sent %d times within %s", b.remote.count("a"), time.Since(began))
		}
		for i := range 40 {
			for _, id := range []string{fmt.Sprint("one-", i), fmt.Sprint("many-", i)} {
				if n := b.remote.count(id); n != 1 {
					t.Errorf("%s was sent %d times within a second, want once", id, n)
				}
			}
		}
	})
}

// What a reviewer of the same process attaches is looked at, at once.
func TestWhatIsAttachedInThisProcessIsObservedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looked := make(chan string, 1)
		r := &remote{submit: fails(worker.Unknown(fmt.Errorf("cut"), worker.ReasonNoResponse))}
		r.observe = func(_ context.Context, o worker.Observation) (worker.Status, error) {
			looked <- o.RemoteJobID
			return worker.Status{State: worker.Succeeded}, nil
		}
		b := newBench(t, r)
		b.prepare("a")
		b.config.Poll = 24 * time.Hour
		b.starts()
		op := b.get("a")
		if _, err := b.m.ReviewAttach(t.Context(), "a", "job-1", machine.Decision{Seen: machine.Seen{Revision: op.Revision, EvidenceSeq: op.EvidenceSeq}, Reviewer: "ann", Reason: "found"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case job := <-looked:
			if job != "job-1" {
				t.Errorf("%s was looked at", job)
			}
		default:
			t.Errorf("nothing was looked at; the operation is %s", b.get("a").Phase)
		}
	})
}

// hearable is a store that counts who hears it.
type hearable struct {
	*machine.Memory
	hearers int
}

func (c *hearable) Hear(heard func(machine.Wake) bool) (stop func()) {
	c.hearers++
	end := c.Memory.Hear(heard)
	return func() { c.hearers--; end() }
}

// A worker that was shut down hears nothing any more, and takes nothing that is prepared then.
func TestAWorkerThatWasShutDownHearsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{})
		store := &hearable{Memory: b.m.Store().(*machine.Memory)}
		b.m = b.m.In(store)
		b.config.Machine = b.m
		stop := b.starts()
		if store.hearers != 1 {
			t.Errorf("%d hear the store of a running worker, want 1", store.hearers)
		}
		stop()
		b.prepare("a")
		synctest.Wait()
		if op := b.get("a"); op.Phase != "prepared" || b.remote.count("a") != 0 || store.hearers != 0 {
			t.Errorf("the operation is %s, was sent %d times, and %d still hear", op.Phase, b.remote.count("a"), store.hearers)
		}
	})
}
