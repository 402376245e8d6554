package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/reconcile"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// remote is a handler that counts what it sends.
type remote struct {
	d        *database
	mu       sync.Mutex
	rand     *rand.Rand
	sends    map[string]int
	looks    map[string]int
	unproven []string // sends without a durable intent under the sender's own lease
}

func (r *remote) roll(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rand.IntN(n)
}

// Submit sends once, and now and then the remote refuses, or nobody knows, or nothing left.
func (r *remote) Submit(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
	way := r.roll(10)
	if way == 0 {
		return worker.Accepted{}, worker.NotSent(errors.New("no route"))
	}
	row, err := r.d.engine.Get(context.WithoutCancel(ctx), s.OperationID)
	r.mu.Lock()
	r.sends[s.OperationID]++
	n := r.sends[s.OperationID]
	if err != nil || row.Phase != transitions.Submitting || row.Revision != s.Revision {
		r.unproven = append(r.unproven, fmt.Sprintf("%s under revision %d: the row is %s at revision %d (%v)", s.OperationID, s.Revision, row.Phase, row.Revision, err))
	}
	r.mu.Unlock()
	switch way {
	case 1, 2:
		return worker.Accepted{}, worker.Refused(errors.New("429"), 20*time.Millisecond)
	case 3:
		return worker.Accepted{}, errors.New("connection reset")
	default:
		return worker.Accepted{RemoteJobID: fmt.Sprintf("job-%s-%d", s.OperationID, n)}, nil
	}
}

// Observe says once that a job is not done.
func (r *remote) Observe(_ context.Context, o worker.Observation) (worker.Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks[o.OperationID]++
	if r.looks[o.OperationID] == 1 {
		return worker.Status{State: worker.Pending, Snapshot: []byte("running")}, nil
	}
	return worker.Status{State: worker.Succeeded, Snapshot: []byte("done")}, nil
}

// Deliver names the object by its operation, so that doing it again is nothing new.
func (r *remote) Deliver(_ context.Context, d worker.Delivery) (worker.Delivered, error) {
	return worker.Delivered{ObjectKey: d.OperationID + ".mp4", Bytes: 1}, nil
}

// The store's bounds, and the lease, of processes on a wire like this.
var hasty = pgstore.Options{LockTimeout: 300 * time.Millisecond, StatementTimeout: 500 * time.Millisecond, MaxConns: 12}

func (r *remote) worker(engine *machine.Machine) *worker.Worker {
	w, err := worker.New(worker.Config{
		Machine: engine, Who: machine.Who{Provider: "video"}, Handlers: map[string]worker.Handler{"video": r},
		Slots: 8, SubmitTimeout: time.Second, Poll: 20 * time.Millisecond, Every: 20 * time.Millisecond, MaxEvery: 100 * time.Millisecond,
		Drain: 20 * time.Second, Brake: -1, Log: quiet(),
	})
	if err != nil {
		r.d.Fatal(err)
	}
	return w
}

func (d *database) shortLeases(store machine.Store) *machine.Machine {
	d.Helper()
	m, err := machine.New(store, machine.Config{TTL: 3 * time.Second, Margin: 500 * time.Millisecond, Label: "worker"})
	if err != nil {
		d.Fatal(err)
	}
	return m
}

// weather gives one statement in five a random fate.
func (w *wire) weather(seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 1))
	w.proxy.Choose(func(string) pgproxy.Fate {
		if dice.IntN(5) > 0 {
			return pgproxy.Pass
		}
		return pgproxy.Fates[dice.IntN(len(pgproxy.Fates))]
	})
}

// Two workers and a reconciler on wires on which random statements meet random fates: no request is sent again without
// a recorded proof, no request is sent without a durable intent, and in the end every operation is delivered or
// uncertain with a reason (I1, I2, I7, B9).
func TestWorkersOnAHostileWireSendNothingTwice(t *testing.T) {
	t.Parallel()
	const operations = 120
	seed, storm := seeded(t), 6*time.Second
	if long() {
		storm = time.Minute
	}
	d := fresh(t)
	r := &remote{d: d, rand: rand.New(rand.NewPCG(seed, 0)), sends: map[string]int{}, looks: map[string]int{}}
	var requests []machine.Request
	var ids []string
	for i := range operations {
		ids = append(ids, fmt.Sprintf("op-%d", i))
		requests = append(requests, request(ids[i], "video"))
	}
	if _, err := d.engine.PrepareMany(t.Context(), requests); err != nil {
		t.Fatal(err)
	}
	met := r.storm(seed, storm)
	r.calm(ids)
	reasons := map[string]int{}
	for _, id := range ids {
		r.settled(id, reasons)
	}
	d.sound(ids...)
	for _, s := range r.unproven {
		t.Errorf("sent without a durable intent: %s", s)
	}
	t.Logf("statements by fate %v; operations by end %v", met, reasons)
}

// storm runs two workers and a reconciler in the weather, and gives what their statements met.
func (r *remote) storm(seed uint64, length time.Duration) map[pgproxy.Fate]int {
	d := r.d
	ctx, stop := context.WithTimeout(d.Context(), length)
	defer stop()
	wires := []*wire{d.wire(hasty), d.wire(hasty), d.wire(hasty)}
	var busy, weather sync.WaitGroup
	for _, w := range wires[:2] {
		runs := r.worker(d.shortLeases(w.store))
		busy.Go(func() {
			if err := runs.Run(ctx); err != nil {
				d.Errorf("a worker says at its end: %v", err)
			}
		})
	}
	settles, err := reconcile.New(d.shortLeases(wires[2].store), reconcile.Options{Interval: 300 * time.Millisecond, Log: quiet()})
	if err != nil {
		d.Fatal(err)
	}
	busy.Go(func() { settles.Run(ctx) })
	for i, w := range wires {
		w.weather(seed + uint64(i))
		weather.Go(func() { w.strike(ctx, seed+uint64(i)) })
	}
	<-ctx.Done()
	weather.Wait()
	for _, w := range wires {
		w.proxy.Heal()
	}
	busy.Wait()
	met := map[pgproxy.Fate]int{}
	for _, w := range wires {
		w.proxy.Land()
		for fate, n := range w.proxy.Counts() {
			met[fate] += n
		}
	}
	return met
}

// strike lets what is late land, and now and then cuts every connection.
func (w *wire) strike(ctx context.Context, seed uint64) {
	dice := rand.New(rand.NewPCG(seed, 2))
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if dice.IntN(8) == 0 {
			w.proxy.CutAll()
		}
		if dice.IntN(2) == 0 {
			w.proxy.Land()
		}
	}
}

// calm lets one worker finish on a wire without weather, with sweeps until they find nothing.
func (r *remote) calm(ids []string) {
	d := r.d
	engine := d.shortLeases(d.calm)
	settles, err := reconcile.New(engine, reconcile.Options{Log: quiet()})
	if err != nil {
		d.Fatal(err)
	}
	ctx, stop := context.WithCancel(d.Context())
	runs, ended := r.worker(engine), make(chan error, 1)
	go func() { ended <- runs.Run(ctx) }()
	quietly := 0
	d.until("every operation is delivered or uncertain", func() bool {
		moved, err := settles.Once(d.Context())
		if err != nil {
			d.Error(err)
		}
		rows, err := d.calm.Get(d.Context(), ids...)
		if err != nil {
			d.Fatal(err)
		}
		for _, row := range rows {
			if op := machine.OperationOf(d.calm.Program(), row); !op.Finished() && op.Phase != transitions.Uncertain {
				quietly = 0
				return false
			}
		}
		if len(moved) == 0 {
			quietly++
		}
		return quietly > 1
	})
	stop()
	if err := <-ended; err != nil {
		d.Error(err)
	}
}

// settled holds one operation's end against what was sent.
func (r *remote) settled(id string, reasons map[string]int) {
	d := r.d
	op := d.op(id)
	history, err := d.calm.History(d.Context(), id)
	if err != nil {
		d.Fatal(err)
	}
	proofs := 0
	for _, e := range history {
		if e.Event == "submit_not_created" && e.Reason == machine.ProofRefused {
			proofs++
		}
	}
	if sent := r.sends[id]; sent > 1+proofs {
		d.Errorf("%s was sent %d times, and there are %d proofs that nothing was created", id, sent, proofs)
	}
	switch {
	case op.Phase == transitions.Uncertain && op.UncertainReason != "":
		reasons["uncertain: "+op.UncertainReason]++
	case op.Outcome == "succeeded" && op.Delivery == "delivered":
		reasons["delivered"]++
	default:
		d.Errorf("%s ended as %s, outcome %q, delivery %q, reason %q", id, op.Phase, op.Outcome, op.Delivery, op.UncertainReason)
	}
	if op.Marked() {
		d.Errorf("%s is marked: a second job is suspected", id)
	}
}
