package worker

import (
	"log/slog"
	"time"
)

// outage tells of a database that is away once when it goes and once when it is back, and stretches the pauses
// between.
type outage struct {
	log    *slog.Logger
	what   string
	failed int
	since  time.Time
}

func (o *outage) note(err error) {
	switch {
	case err != nil && o.failed == 0:
		o.since = time.Now()
		o.log.Warn("the database does not answer; it is tried again until it does", "trying to", o.what, "error", err)
		o.failed = 1
	case err != nil:
		o.failed++
	case o.failed > 0:
		o.log.Info("the database answers again", "after", time.Since(o.since).Round(time.Millisecond), "tries", o.failed)
		o.failed = 0
	}
}

// pause is the poll interval, doubled with every failure up to five seconds.
func (o *outage) pause(poll time.Duration) time.Duration {
	if o.failed == 0 {
		return poll
	}
	return max(poll, min(poll<<min(o.failed, 6), 5*time.Second))
}
