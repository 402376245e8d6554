package worker

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// claimTimeout bounds a claim. Shutdown does not cut it short: a claim whose answer is lost holds its operations until
// the lease lapses.
const claimTimeout = 10 * time.Second

// claimAgain is how soon a claim that brought some, but not all that were wanted, is followed by another: others' claims
// may have locked the rest just then. At once it would compete with the work that was brought.
const claimAgain = 20 * time.Millisecond

// loop claims work for one action by demand, as much as there are free slots, and runs each claim on its own
// goroutine. quota, where there is one, says how many more may be claimed now.
func (w *Worker) loop(action string, work func(*machine.Lease), quota func() int) {
	free := w.slots[action]
	failures, nothing := 0, 0 // in a row
	for {
		n := free.take(w.soft)
		if n == 0 {
			return
		}
		want := n
		if quota != nil {
			want = min(n, quota())
		}
		var leases []*machine.Lease
		var err error
		if want > 0 {
			leases, err = w.claim(action, want)
		}
		if len(leases) > 0 {
			w.failpoint(StepTaken)
		}
		free.give(n - len(leases))
		for _, l := range leases {
			w.busy.Go(func() {
				defer free.give(1)
				work(l)
			})
		}
		if want > 0 {
			w.outage.note("claim for "+action, err)
		}
		failures++
		if err == nil {
			failures = 0
		}
		if action == transitions.Dispatch {
			w.idle.Store(err == nil && len(leases) < want)
		}
		nothing++
		if len(leases) > 0 || want == 0 { // where the quota forbids to ask, nobody tells when it does no more
			nothing = 0
		}
		switch {
		case len(leases) == 0:
			w.rest(action, w.pause(nothing, failures))
		case len(leases) < want:
			w.rest(action, claimAgain)
		}
	}
}

func (w *Worker) claim(action string, n int) ([]*machine.Lease, error) {
	ctx, cancel := context.WithTimeout(w.last, claimTimeout)
	defer cancel()
	return w.machine.ClaimMany(ctx, action, w.cfg.Who, n)
}

// rest waits for the next poll, a wake-up or shutdown.
func (w *Worker) rest(action string, d time.Duration) {
	timer := time.NewTimer(d*3/4 + rand.N(d/4+1))
	defer timer.Stop()
	select {
	case <-w.soft.Done():
	case <-w.wake[action]:
		if action == transitions.Dispatch {
			w.idle.Store(false) // a claim that ended meanwhile may have set it
		}
	case <-timer.C:
	}
}

// wakeAfter wakes an action's loop when work that this process made due becomes due.
func (w *Worker) wakeAfter(op machine.Operation) {
	if op.NextAction == transitions.Deliver {
		w.Wake(transitions.Deliver)
	}
	w.dueAfter(op)
}

// slots counts what may be worked on at once.
type slots struct {
	mu   sync.Mutex
	free int
	more chan struct{}
}

func newSlots(n int) *slots { return &slots{free: n, more: make(chan struct{}, 1)} }

// take waits until a slot is free and takes all that are; 0 means that ctx ended.
func (s *slots) take(ctx context.Context) int {
	for ctx.Err() == nil {
		s.mu.Lock()
		n := s.free
		s.free = 0
		s.mu.Unlock()
		if n > 0 {
			return n
		}
		select {
		case <-ctx.Done():
		case <-s.more:
		}
	}
	return 0
}

// tryTake takes a slot if one is free.
func (s *slots) tryTake() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free == 0 {
		return false
	}
	s.free--
	return true
}

// trySpare takes a slot if another stays free.
func (s *slots) trySpare() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free < 2 {
		return false
	}
	s.free--
	return true
}

func (s *slots) give(n int) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	s.free += n
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}
