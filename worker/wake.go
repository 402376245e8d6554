package worker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

const (
	// idleStretch is how many polls long the pauses of a loop with nothing to do become while wake-ups are heard.
	idleStretch = 8

	// listenAgain is how long a worker waits, at first, before it listens again where it was cut off.
	listenAgain = time.Second
)

// ears hear what other processes make due, and remember what this one made due for later, so that nobody has to ask the
// database every second. Whatever they miss a poll finds.
type ears struct {
	waker   machine.Waker // nil: the store has none
	hearing atomic.Bool

	mu  sync.Mutex
	due map[alarm]struct{}
}

// alarm is a moment at which work of an action becomes due, in polls since 1970: one wake-up serves all of a poll.
type alarm struct {
	action string
	poll   int64
}

// listen hears wake-ups until ctx ends.
func (w *Worker) listen(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; failures++ {
		err := w.ears.waker.Wakes(ctx, func() {
			failures = 0
			w.ears.hearing.Store(true)
			for action := range w.wake { // what became due while nobody listened
				w.Wake(action)
			}
		}, func(k machine.Wake) { w.heard(k) })
		w.ears.hearing.Store(false)
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		if ctx.Err() == nil {
			w.cfg.Log.Debug("wake-ups are not heard; the database is polled", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(stretched(listenAgain, failures)):
		}
	}
}

// hear begins to hear what this process makes due, and gives what waits for ctx and then ends it. It comes before the first
// claim, so that nothing is missed between the two.
func (w *Worker) hear(ctx context.Context) (untilEnd func()) {
	from, ok := w.cfg.Machine.Store().(machine.Hearer)
	if !ok {
		return func() {}
	}
	stop := from.Hear(w.heard)
	return func() {
		<-ctx.Done()
		stop()
	}
}

// heard tells whether it takes what a wake-up names.
func (w *Worker) heard(k machine.Wake) bool {
	if k.Provider != w.cfg.Who.Provider || k.Account != w.cfg.Who.Account {
		return false
	}
	if k.Kind != "" && w.cfg.Handlers[k.Kind] == nil { // whoever can work on it should come first
		return false
	}
	if k.OperationID != "" && k.Action == transitions.Dispatch && w.takesNamed(k) {
		return true
	}
	w.Wake(k.Action)
	return false
}

// dueAfter wakes the loop of what an operation waits for when it becomes due: at once, or at the end of the poll in which
// it does.
func (w *Worker) dueAfter(op machine.Operation) {
	if w.ears.waker == nil || op.NextAction == "" || op.NextAction == transitions.Review || op.DueAt.IsZero() {
		return
	}
	left := op.DueAt.Sub(op.UpdatedAt) // both by the database's clock
	if left <= 0 {
		w.Wake(op.NextAction)
		return
	}
	w.wakeIn(op.NextAction, left)
}

// wakeIn wakes an action's loop at the end of the poll that is under way then.
func (w *Worker) wakeIn(action string, left time.Duration) {
	now := time.Now()
	a := alarm{action, now.Add(left).UnixNano()/int64(w.cfg.Poll) + 1}
	w.ears.mu.Lock()
	defer w.ears.mu.Unlock()
	if _, set := w.ears.due[a]; set {
		return
	}
	w.ears.due[a] = struct{}{}
	time.AfterFunc(time.Unix(0, a.poll*int64(w.cfg.Poll)).Sub(now), func() {
		w.ears.mu.Lock()
		delete(w.ears.due, a)
		w.ears.mu.Unlock()
		w.Wake(a.action)
	})
}

// passOn tells others of what this worker had taken by its name and could not begin: nobody else was told of it.
func (w *Worker) passOn() {
	if s, ok := w.cfg.Machine.Store().(machine.Hearer); ok {
		s.Wake(machine.Wake{Action: transitions.Dispatch, Provider: w.cfg.Who.Provider, Account: w.cfg.Who.Account})
	}
}

// pause is how long a loop waits that found nothing so many times in a row, of which so many failed.
func (w *Worker) pause(nothing, failures int) time.Duration {
	if failures > 0 || !w.ears.hearing.Load() {
		return stretched(w.cfg.Poll, failures)
	}
	return min(w.cfg.Poll<<min(max(nothing-1, 0), 6), idleStretch*w.cfg.Poll)
}
