package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/worker"
)

// idle is a system with nothing to do, in which now and then one operation is prepared: how long until its request is
// handed to whoever sends it?
type idle struct {
	prepare func(ctx context.Context, n int) error
	handed  chan struct{}
	stop    func()
	number  int
}

func (i *idle) close() { i.stop() }

// work prepares one operation after the other, with pauses in which the system falls asleep.
func (i *idle) work(ctx context.Context, length time.Duration) (tally, error) {
	var each []time.Duration
	for began := time.Now(); time.Since(began) < length || len(each) < 20; {
		time.Sleep(20*time.Millisecond + rand.N(40*time.Millisecond))
		i.number++
		if err := i.prepare(ctx, i.number); err != nil {
			return tally{}, err
		}
		prepared := time.Now()
		select {
		case <-i.handed:
			each = append(each, time.Since(prepared))
		case <-ctx.Done():
			return tally{}, ctx.Err()
		}
	}
	slices.Sort(each)
	return tally{operations: len(each), took: time.Second, each: each[len(each)/2]}, nil
}

// handler tells when it is asked to send, and that the job goes on for ever.
type handler chan struct{}

// Submit tells that it was asked.
func (h handler) Submit(_ context.Context, s worker.Submission) (worker.Accepted, error) {
	h <- struct{}{}
	return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
}

// Observe says that the job goes on.
func (handler) Observe(context.Context, worker.Observation) (worker.Status, error) {
	return worker.Status{State: worker.Pending}, nil
}

// byWorker prepares through one store and sends through another, as two processes do, or does both through one.
func byWorker(together bool) func(ctx context.Context, url string) (lane, error) {
	return func(ctx context.Context, url string) (lane, error) {
		prepares, err := quietly(ctx, url)
		if err != nil {
			return nil, err
		}
		if together {
			return idleWorker(ctx, prepares, prepares)
		}
		works, err := quietly(ctx, url)
		if err != nil {
			return nil, err
		}
		return idleWorker(ctx, prepares, works)
	}
}

// quietly opens a store for what has little to do.
func quietly(ctx context.Context, url string) (*machine.Machine, error) {
	store, err := pgstore.Open(ctx, url, pgstore.Options{Prepare: true, WakeUps: true, MaxConns: 8})
	if err != nil {
		return nil, err
	}
	if _, err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	return machine.New(store, machine.Config{})
}

func idleWorker(ctx context.Context, prepares, works *machine.Machine) (lane, error) {
	handed := make(handler, 1)
	w, err := worker.New(worker.Config{
		Machine: works, Who: machine.Who{Provider: provider}, Handlers: map[string]worker.Handler{provider: handed}, Every: time.Hour, MaxEvery: time.Hour, Log: quiet,
	})
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- w.Run(running) }()
	return &idle{
		handed: handed,
		prepare: func(ctx context.Context, n int) error {
			_, err := prepares.Prepare(ctx, machine.Request{OperationID: fmt.Sprint("op-", n), Kind: provider, Request: request})
			return err
		},
		stop: func() {
			cancel()
			_ = <-done
			_, _ = works.Store().Close(), prepares.Store().Close()
		},
	}, nil
}

// riverIdle inserts single jobs into a River client that has nothing to do.
func riverIdle(ctx context.Context, url string) (lane, error) {
	handed := make(chan struct{}, 1)
	l, err := newRivers(ctx, url, 16, func() river.JobArgs { return link{} }, func(workers *river.Workers, _ *rivers) {
		river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[link]) error {
			handed <- struct{}{}
			return nil
		}))
	})
	if err != nil {
		return nil, err
	}
	r := l.(*rivers)
	if err := r.client.Start(ctx); err != nil {
		return nil, err
	}
	return &idle{
		handed: handed,
		prepare: func(ctx context.Context, n int) error {
			_, err := r.client.Insert(ctx, link{n, string(request)}, nil)
			return err
		},
		stop: func() {
			_ = r.client.StopAndCancel(context.WithoutCancel(ctx))
			r.pool.Close()
		},
	}, nil
}
