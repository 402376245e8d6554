package machine

import (
	"sync"
	"time"
)

// Lease is a claim on one operation: the owner and revision that its claim installed, and the holder's own idea of
// when it ends. One lease is one revision; a holder never reads a newer one.
type Lease struct {
	Operation Operation // as the claim returned it
	Action    string
	Owner     string
	Revision  int64

	clock func() instant
	mu    sync.Mutex
	ends  deadline
	open  map[string]error // unknown answers that were never resolved, by event
}

// Left is how long the holder may still work, by its own clocks and less the margin. It never trusts that two
// machines' clocks agree: it is measured from before the claim (or the last renewal) was sent (contract A7).
func (l *Lease) Left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends.left(l.clock())
}

// extend moves the end after a renewal that was sent at from; an earlier end is never installed.
func (l *Lease) extend(from instant, length time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	later := deadline{from, length}
	if now := l.clock(); later.left(now) > l.ends.left(now) {
		l.ends = later
	}
}

// doubt remembers that an event's answer is unknown, and forgets it when there is an answer.
func (l *Lease) doubt(event string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !IsUnknown(err) {
		delete(l.open, event)
		return
	}
	if l.open == nil {
		l.open = map[string]error{}
	}
	l.open[event] = err
}

// doubted gives the unknown answer that is remembered, nil if there is none.
func (l *Lease) doubted(event string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[event]
}

// instant is one moment on both of the process's clocks. The monotonic one stops while the machine is suspended; the
// wall clock may be set.
type instant struct{ mono, wall time.Time }

func readClocks() instant {
	now := time.Now()
	return instant{mono: now, wall: now.Round(0)} // Round strips the monotonic reading
}

// deadline is a length of time from an instant on.
type deadline struct {
	from   instant
	length time.Duration
}

// left takes whichever clock says that more time has passed.
func (d deadline) left(now instant) time.Duration {
	return d.length - max(now.mono.Sub(d.from.mono), now.wall.Sub(d.from.wall))
}
