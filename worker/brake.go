package worker

import (
	"fmt"
	"sync"
	"time"
)

// The pause before the brake lets one submission through, doubled with every try that ends badly.
const (
	firstPause = 5 * time.Second
	maxPause   = 5 * time.Minute
)

// brake stops further sends after a number of submissions in a row that ended the same bad way: an outage must not
// turn a file of requests into as many questions for a reviewer (contract B10).
type brake struct {
	limit  int // negative: off
	tell   func(reason string)
	now    func() time.Time
	mu     sync.Mutex
	key    string // of the last bad end
	count  int    // in a row
	closed bool
	until  time.Time // closed: one is let through after this
	pause  time.Duration
	trying bool // the one that was let through has not ended
}

func newBrake(limit int, tell func(string)) *brake {
	return &brake{limit: limit, tell: tell, now: time.Now}
}

// quota is how many sends may be begun now: any number, one to try, or none.
func (b *brake) quota() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.closed:
		return int(^uint(0) >> 1)
	case b.trying || b.now().Before(b.until):
		return 0
	default:
		return 1
	}
}

// pass is the leave to send one request.
type pass struct{ trial bool }

// enter asks for leave to send one request, immediately before it is begun. Whoever gets it must call leave with it.
func (b *brake) enter() (pass, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		return pass{}, true
	}
	if b.trying || b.now().Before(b.until) {
		return pass{}, false
	}
	b.trying = true
	return pass{trial: true}, true
}

// end is how a submission ended, as the brake sees it.
type end struct {
	bad   string // the key of a bad end; equal ends have equal keys
	mute  bool   // it says nothing either way
	cause error  // shown to a person
}

// leave reports how a submission ended.
func (b *brake) leave(p pass, e end) {
	b.mu.Lock()
	if p.trial {
		b.trying = false
	}
	reason, changed := "", false
	switch {
	case b.limit < 0 || e.mute:
	case e.bad == "":
		changed = b.closed
		b.key, b.count, b.closed, b.pause = "", 0, false, 0
	default:
		if e.bad != b.key {
			b.key, b.count = e.bad, 0
		}
		b.count++
		if b.count >= b.limit && (!b.closed || p.trial) {
			b.pause = min(max(2*b.pause, firstPause), maxPause)
			b.until = b.now().Add(b.pause)
			b.closed, changed = true, true
			reason = fmt.Sprintf("%d submissions in a row ended the same way (%v); no more are sent until one goes through; one is tried in %s", b.count, e.cause, b.pause)
		}
	}
	b.mu.Unlock()
	if changed {
		b.tell(reason)
	}
}
