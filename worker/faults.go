package worker

import (
	"errors"
	"log/slog"
	"sync"
	"time"
)

// The bounds of what faults tells.
const (
	mostFaults = 5                // kinds of one work that are told apart at a time
	tellAgain  = 10 * time.Minute // while a kind lasts
)

// faults tells of attempts that fail and are made again, and would be quiet until somebody gives up: once for each kind
// when the first operation meets it, again now and then while it lasts, and once when no operation is in it any more.
// It is safe for concurrent use.
type faults struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	last map[string]map[string]*spell // by work and kind
	met  map[[2]string]string         // the kind that an operation is in, by work and operation
	left map[string]time.Time         // when what was given up for good was told last, by kind
}

// spell is a kind of failure while it lasts.
type spell struct {
	since, told time.Time
	in          int // operations
	most        int
}

func newFaults(log *slog.Logger) *faults {
	return &faults{log: log, now: time.Now, last: map[string]map[string]*spell{}, met: map[[2]string]string{}, left: map[string]time.Time{}}
}

// failed notes an attempt that failed and will be made again. What kind it was the error's root says, where there is
// no better name for it.
func (f *faults) failed(doing, operation, kind string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if kind == "" {
		kind = rootOf(err).Error()
	}
	kinds := f.last[doing]
	if kinds == nil {
		kinds = map[string]*spell{}
		f.last[doing] = kinds
	}
	if kinds[kind] == nil && len(kinds) >= mostFaults {
		kind = "more"
	}
	if f.met[[2]string{doing, operation}] != kind {
		f.leave(doing, operation, false)
		if kinds[kind] == nil {
			kinds[kind] = &spell{since: f.now()}
		}
		f.met[[2]string{doing, operation}] = kind
		kinds[kind].in++
		kinds[kind].most = max(kinds[kind].most, kinds[kind].in)
	}
	s := kinds[kind]
	if now := f.now(); s.told.IsZero() || now.Sub(s.told) >= tellAgain {
		s.told = now
		f.log.Warn("an attempt failed; it is made again", "trying to", doing, "operation", operation,
			"failing", s.in, "error", err)
	}
}

// went notes an attempt that went well.
func (f *faults) went(doing, operation string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave(doing, operation, true)
}

// gaveUp notes that an operation's attempts have ended without success.
func (f *faults) gaveUp(doing, operation string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave(doing, operation, false)
	kind := rootOf(err).Error()
	if _, known := f.left[kind]; !known && len(f.left) >= mostFaults {
		kind = "more"
	}
	if told, now := f.left[kind], f.now(); told.IsZero() || now.Sub(told) >= tellAgain {
		f.left[kind] = now
		f.log.Warn("an operation's attempts have failed for good", "trying to", doing, "operation", operation, "error", err)
	}
}

// over notes that an operation's attempts have come to another end, which is told elsewhere.
func (f *faults) over(doing, operation string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave(doing, operation, false)
}

func (f *faults) leave(doing, operation string, well bool) {
	kind, in := f.met[[2]string{doing, operation}]
	if !in {
		return
	}
	delete(f.met, [2]string{doing, operation})
	s := f.last[doing][kind]
	if s.in--; s.in > 0 {
		return
	}
	delete(f.last[doing], kind)
	if well {
		f.log.Warn("attempts go well again", "trying to", doing, "operations", s.most,
			"after", f.now().Sub(s.since).Round(time.Millisecond))
	}
}

func rootOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
