package worker

import (
	"log/slog"
	"sync"
	"time"
)

// outage tells of a database that is away, or takes nothing, once when that begins and once when it is over, for all
// loops of a worker. It is over when what failed first works again. It is safe for concurrent use.
type outage struct {
	log *slog.Logger

	mu    sync.Mutex
	first string // what failed first; "" while all is well
	since time.Time
}

func (o *outage) note(doing string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err != nil && o.first == "":
		o.first, o.since = doing, time.Now()
		o.log.Warn("the database does not do its work; it is tried again until it does", "trying to", doing, "error", err)
	case err == nil && o.first == doing:
		o.log.Warn("the database works again", "after", time.Since(o.since).Round(time.Millisecond))
		o.first = ""
	}
}

// stretched is the poll interval, doubled with every failure in a row up to five seconds.
func stretched(poll time.Duration, failures int) time.Duration {
	if failures == 0 {
		return poll
	}
	return max(poll, min(poll<<min(failures, 6), 5*time.Second))
}
