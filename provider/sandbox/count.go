package sandbox

import (
	"maps"
	"slices"
	"time"
)

// Count is what reached the sandbox of one operation.
type Count struct {
	Received int      `json:"received"` // requests read to their end
	Accepted int      `json:"accepted"` // jobs created
	Refused  int      `json:"refused"`  // requests that created none
	IDs      []string `json:"ids"`      // of the jobs
	Fault    string   `json:"fault"`    // the last one that was met
}

// Request is one request that reached the sandbox. Status is 0 when it was left without an answer.
type Request struct {
	At        time.Time `json:"at"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Operation string    `json:"operation,omitempty"`
	Fault     string    `json:"fault,omitempty"`
	Status    int       `json:"status"`
}

// maxRequests bounds the log; the oldest go first.
const maxRequests = 100_000

// Counts gives what arrived, per operation.
func (s *Sandbox) Counts() map[string]Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]Count, len(s.counts))
	for operation, c := range s.counts {
		copied := *c
		copied.IDs = slices.Clone(c.IDs)
		counts[operation] = copied
	}
	return counts
}

// Requests gives every request in the order of arrival.
func (s *Sandbox) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request{}, s.requests...)
}

// Duplicates names, in order, the operations of which more than one job was created.
func (s *Sandbox) Duplicates() []string {
	counts := s.Counts()
	maps.DeleteFunc(counts, func(_ string, c Count) bool { return c.Accepted <= 1 })
	return slices.Sorted(maps.Keys(counts))
}

// count gives the operation's count; s.mu is held.
func (s *Sandbox) count(operation string) *Count {
	c, ok := s.counts[operation]
	if !ok {
		c = &Count{IDs: []string{}}
		s.counts[operation] = c
	}
	return c
}

func (s *Sandbox) note(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked(r)
}

func (s *Sandbox) noteLocked(r Request) {
	r.At = s.opts.Now()
	if len(s.requests) >= maxRequests {
		s.requests = slices.Delete(s.requests, 0, maxRequests/10)
	}
	s.requests = append(s.requests, r)
}
