package reports_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/worker"
)

// remote is a handler of the tests' own. It counts what it is called for, by operation; what is nil goes well at once.
type remote struct {
	submit  func(ctx context.Context, id string) (remoteJobID string, err error)
	observe func(ctx context.Context, id string) (worker.Status, error)

	mu    sync.Mutex
	sends map[string]int
	looks map[string]int
}

func (r *remote) count(counts *map[string]int, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *counts == nil {
		*counts = map[string]int{}
	}
	(*counts)[id]++
}

// sent and looked tell how often an operation's request was sent, and its job read.
func (r *remote) sent(id string) int   { r.mu.Lock(); defer r.mu.Unlock(); return r.sends[id] }
func (r *remote) looked(id string) int { r.mu.Lock(); defer r.mu.Unlock(); return r.looks[id] }

func (r *remote) Submit(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
	r.count(&r.sends, s.OperationID)
	if r.submit == nil {
		return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
	}
	id, err := r.submit(ctx, s.OperationID)
	return worker.Accepted{RemoteJobID: id}, err
}

func (r *remote) Observe(ctx context.Context, o worker.Observation) (worker.Status, error) {
	r.count(&r.looks, o.OperationID)
	if r.observe == nil {
		return worker.Status{State: worker.Succeeded}, nil
	}
	return r.observe(ctx, o.OperationID)
}

func (r *remote) Deliver(_ context.Context, d worker.Delivery) (worker.Delivered, error) {
	return worker.Delivered{ObjectKey: d.OperationID + ".mp4", Bytes: 1}, nil
}

// team is a worker that is about to start.
type team struct {
	*stand
	config worker.Config
	log    *journal
}

// journal keeps what was logged.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) all() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) has(part string) bool { return strings.Contains(j.all(), part) }

// awaitLine waits until the worker has logged something.
func (w *team) awaitLine(part string) {
	w.Helper()
	await(w, "the worker says "+part, func() bool { return w.log.has(part) })
}

func (s *stand) working(m *machine.Machine, h worker.Handler) *team {
	lease, log := m.Config(), &journal{}
	return &team{s, worker.Config{
		Machine: m, Who: video, Handlers: map[string]worker.Handler{"video": h}, Log: slog.New(slog.NewTextHandler(log, nil)),
		Poll: 20 * time.Millisecond, Every: time.Millisecond, MaxEvery: 10 * time.Millisecond,
		SubmitTimeout: min(worker.DefaultTimeout, lease.TTL-lease.Margin),
	}, log}
}

// start runs the worker until stop is called, which waits until it has drained.
func (w *team) start() (stop func()) {
	w.Helper()
	end := w.begin()
	stop = sync.OnceFunc(func() {
		if err := end(); err != nil {
			w.Error(err)
		}
	})
	w.Cleanup(stop)
	return stop
}

// begin is start where the end may be no clean one.
func (w *team) begin() (end func() error) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := w.until(ctx)
	w.Cleanup(cancel)
	return sync.OnceValue(func() error {
		cancel()
		return ended()
	})
}

// until runs the worker until ctx ends; ended waits until it has drained.
func (w *team) until(ctx context.Context) (ended func() error) {
	w.Helper()
	built, err := worker.New(w.config)
	if err != nil {
		w.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- built.Run(ctx) }()
	return func() error { return <-done }
}
