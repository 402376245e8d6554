package pgstore

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// AlwaysGather sends a lone event too in the form of those that travel together.
func AlwaysGather(o Options) Options {
	o.GroupCommit, o.alwaysGather = true, true
	return o
}

// Unhurried lets a statement hold back those behind it however slow it is.
func Unhurried(o Options) Options {
	o.GroupCommit, o.slow = true, time.Hour
	return o
}

// Copying copies what an event creates from so many operations on, at most so many in one transaction.
func Copying(o Options, from, most int) Options {
	o.copyFrom, o.copyMost = from, most
	return o
}

// Waiting is how many calls of an event wait for company.
func (s *Store) Waiting(event string) int {
	s.gather.mu.Lock()
	defer s.gather.mu.Unlock()
	if q := s.gather.queues[event]; q != nil {
		return len(q.waiting)
	}
	return 0
}

// Pool is the pool that a store sends its statements on.
func Pool(s *Store) *pgxpool.Pool { return s.pool }
