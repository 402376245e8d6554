package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// errShutdown and errLeaseOver are the causes with which a handler's context ends.
var (
	errShutdown  = errors.New("the worker is shutting down")
	errLeaseOver = errors.New("the lease is over by the holder's own clock")
	errLeaseLost = errors.New("the lease was lost: its renewal was denied")
)

// Worker runs the dispatcher, the observer, the deliverer and the investigator of one process, for one provider and
// account.
type Worker struct {
	cfg      Config
	machine  *machine.Machine
	brake    *brake
	renewer  *renewer
	outage   *outage
	faults   *faults
	wake     map[string]chan struct{}
	slots    map[string]*slots
	ears     ears
	idle     atomic.Bool  // the dispatcher's last claim left nothing that was due then
	sends    atomic.Int64 // submissions begun
	notLeft  atomic.Int64 // of those, how many ended with proof that not one byte of the request left
	sending  atomic.Int64 // submissions begun whose end is not stored
	keptLate atomic.Int64 // answers that were kept as evidence
	unstored atomic.Int64 // answers that could not be stored, and stand in the log
	busy     sync.WaitGroup

	soft context.Context // ends when shutdown begins: no claims, no new sends, no observing
	hard context.Context // ends with the drain budget: requests in flight
	last context.Context // ends when nothing can be stored any more
}

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Worker, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Worker{cfg: cfg, outage: &outage{log: cfg.Log}, faults: newFaults(cfg.Log), wake: map[string]chan struct{}{}, slots: map[string]*slots{}}
	w.machine = cfg.Machine.Telling(func(_, _ string, err error) { w.outage.note("store what was learnt", err) })
	for _, action := range []string{transitions.Dispatch, transitions.Observe, transitions.Deliver, transitions.Investigate} {
		w.wake[action] = make(chan struct{}, 1)
		w.slots[action] = newSlots(cfg.Slots)
	}
	w.ears.due = map[alarm]struct{}{}
	if waker, ok := cfg.Machine.Store().(machine.Waker); ok {
		w.ears.waker = waker
	}
	w.brake = newBrake(cfg.Brake, func(reason string) {
		if cfg.Braked != nil {
			cfg.Braked(reason)
		}
		w.Wake(transitions.Dispatch)
	})
	w.renewer = newRenewer(cfg.Machine, cfg.Log)
	return w, nil
}

// Wake makes the loop of an action ask the database at once instead of at the next poll.
func (w *Worker) Wake(action string) {
	if action == transitions.Dispatch {
		w.idle.Store(false)
	}
	select {
	case w.wake[action] <- struct{}{}:
	default:
	}
}

// Sends is the number of submissions that were begun.
func (w *Worker) Sends() int { return int(w.sends.Load()) }

// NotLeft is how many of Sends ended with proof that not one byte of the request left.
func (w *Worker) NotLeft() int { return int(w.notLeft.Load()) }

// storeBudget is what storing answers gets after the drain budget is spent.
const storeBudget = 10 * time.Second

// Run works until ctx ends, then drains (contract E1): it claims nothing more, gives a request in flight the drain
// budget, writes what is still open then as uncertain with reason shutdown, and returns. The error tells what could
// not be stored.
func (w *Worker) Run(ctx context.Context) error {
	base := context.WithoutCancel(ctx)
	var endHard, endLast context.CancelCauseFunc
	w.soft = ctx
	w.hard, endHard = context.WithCancelCause(base)
	w.last, endLast = context.WithCancelCause(base)
	defer endHard(nil)
	defer endLast(nil)

	renewing, stopRenewing := context.WithCancel(base)
	var loops, renewal sync.WaitGroup
	renewal.Go(func() { w.renewer.run(renewing) })
	loops.Go(w.hear(ctx))
	loops.Go(func() { w.loop(transitions.Dispatch, w.dispatch, w.sendable) })
	loops.Go(func() { w.loop(transitions.Observe, w.observe, nil) })
	if w.delivers() {
		loops.Go(func() { w.loop(transitions.Deliver, w.deliver, nil) })
	}
	if w.investigates() {
		loops.Go(func() { w.loop(transitions.Investigate, w.investigate, nil) })
	}
	if w.ears.waker != nil {
		loops.Go(func() { w.listen(ctx) })
	}
	loops.Wait() // they end with ctx
	err := w.drain(endHard, endLast)
	stopRenewing()
	renewal.Wait()
	if n := w.unstored.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d answers could not be stored: each stands in the log, with its operation and remote job id, for the reviewer of that operation", n))
	}
	return err
}

func (w *Worker) delivers() bool {
	for _, h := range w.cfg.Handlers {
		if _, ok := h.(Deliverer); ok {
			return true
		}
	}
	return false
}

// drain waits for what is in flight, in three steps that each end sooner if nothing is left.
func (w *Worker) drain(endHard, endLast context.CancelCauseFunc) error {
	done := make(chan struct{})
	go func() { w.busy.Wait(); close(done) }()
	steps := []struct {
		budget time.Duration
		end    context.CancelCauseFunc
	}{{w.cfg.Drain, endHard}, {storeBudget, endLast}}
	for _, step := range steps {
		select {
		case <-done:
			return nil
		case <-time.After(step.budget):
			step.end(errShutdown)
		}
	}
	select {
	case <-done:
		return nil
	case <-time.After(time.Second):
		return errors.New("shut down with a handler that does not heed its context: what it does is not known")
	}
}

func (w *Worker) failpoint(step string) {
	if w.cfg.Failpoint != nil {
		w.cfg.Failpoint(step)
	}
}
