package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/reconcile"
	"github.com/fencerow/fencerow/worker"
)

// defaultOut is the folder of results.
const defaultOut = "results"

// workFlags are how a process works on operations.
type workFlags struct {
	provider, out      string
	workers            int
	lease, drain, poll time.Duration
	brake, maxSends    int
	webhook            string // where the remote's calls are received; "": nowhere
}

func (f *workFlags) add(c *cobra.Command) {
	providerFlag(c, &f.provider)
	flags := c.Flags()
	flags.StringVar(&f.out, "out", defaultOut, "folder that results are delivered to")
	flags.IntVar(&f.workers, "workers", worker.DefaultSlots, "operations worked on at once")
	flags.DurationVar(&f.lease, "lease", machine.DefaultTTL, "length of a lease; the provider file's submit timeout must fit into it")
	flags.DurationVar(&f.drain, "drain", worker.DefaultDrain, "what requests in flight get when the program is stopped")
	flags.DurationVar(&f.poll, "poll", worker.DefaultPoll, "how often the database is asked for due work while there is none")
	flags.IntVar(&f.brake, "brake", worker.DefaultBrake, "submissions in a row with the same bad end that stop further sends; 0 is off")
	flags.IntVar(&f.maxSends, "max-sends", 0, "submissions begun at most; 0 is no bound")
	flags.StringVar(&f.webhook, "webhook", "", "address on which the remote's calls are received, at "+webhookPath+"; the provider file says how they are signed")
}

// check holds the flags against each other and against the provider file, before anything is touched.
func (f *workFlags) check(spec *httpjob.Spec) error {
	switch {
	case f.workers < 1:
		return usagef("--workers %d: want at least 1", f.workers)
	case f.poll <= 0:
		return usagef("--poll %s: must be more than 0", f.poll)
	case f.drain <= 0:
		return usagef("--drain %s: must be more than 0", f.drain)
	case f.lease <= 0:
		return usagef("--lease %s: must be more than 0", f.lease)
	case f.brake < 0:
		return usagef("--brake %d: want 0 for off, or a number of submissions", f.brake)
	case f.maxSends < 0:
		return usagef("--max-sends %d: want 0 for no bound, or a number of submissions", f.maxSends)
	case spec.WantsDelivery() && f.out == "":
		return usagef("--out is empty: the provider file delivers results; name the folder that they go to")
	}
	m, err := machine.New(machine.NewMemory(program()), f.machine())
	if err != nil {
		return usagef("--lease: %w", err)
	}
	if _, err := worker.New(f.config(m, spec, unused{})); err != nil {
		return usagef("--lease %s, submit timeout %s of %s: %w", f.lease, spec.Timeout(), spec.File, err)
	}
	return f.checkWebhook(spec)
}

func (f *workFlags) machine() machine.Config { return machine.Config{TTL: f.lease} }

func (f *workFlags) config(m *machine.Machine, spec *httpjob.Spec, h worker.Handler) worker.Config {
	brake := f.brake
	if brake == 0 {
		brake = -1
	}
	return worker.Config{
		Machine: m, Who: who(spec), Handlers: map[string]worker.Handler{spec.Kind: h}, Slots: f.workers,
		SubmitTimeout: spec.Timeout(), Poll: f.poll, Every: spec.Every(), MaxEvery: spec.MaxEvery(),
		Drain: f.drain, Brake: brake, MaxSends: f.maxSends,
	}
}

// failpoint is told of each step of the work. It is nil but in the program that internal/e2e builds to stop, kill and cut
// off there.
var failpoint func(step string)

// unused stands in for a handler while a configuration is only checked.
type unused struct{ worker.Handler }

// engine is a worker and a reconciler at work in this process.
type engine struct {
	app     *app
	worker  *worker.Worker
	handler *httpjob.Handler
	sweeper *reconcile.Reconciler
	calls   *listener
	cancel  context.CancelFunc
	done    chan error
	swept   chan struct{}
}

// start begins to work. The end of ctx drains it, like stop.
func (a *app) start(ctx context.Context, f *workFlags, m *machine.Machine, spec *httpjob.Spec, log *slog.Logger) (*engine, error) {
	handler, err := httpjob.New(spec, httpjob.Options{OutDir: f.out, Logger: log})
	if err != nil {
		return nil, err
	}
	config := f.config(m, spec, handler)
	config.Log, config.Braked, config.Failpoint = log, a.braked, failpoint
	w, err := worker.New(config)
	if err != nil {
		return nil, err
	}
	// Another process that died is waited for as long as its lease; looking a few times in that time is enough.
	interval := min(max(f.lease/5, time.Second), reconcile.DefaultInterval)
	sweeper, err := reconcile.New(m, reconcile.Options{Interval: interval, Log: log})
	if err != nil {
		return nil, err
	}
	calls, err := a.listen(ctx, f, m, handler, log) // before the first request is sent
	if err != nil {
		return nil, err
	}
	e := &engine{app: a, worker: w, handler: handler, sweeper: sweeper, calls: calls, done: make(chan error, 1), swept: make(chan struct{})}
	ctx, e.cancel = context.WithCancel(ctx)
	go func() { e.done <- w.Run(ctx) }()
	go func() {
		defer close(e.swept)
		sweeper.Run(ctx)
	}()
	return e, nil
}

// stop drains what is in flight and waits for its end.
func (e *engine) stop() error {
	e.cancel()
	err := <-e.done
	<-e.swept
	if stopErr := e.calls.stop(); stopErr != nil {
		e.app.sayf("fencerow: the last calls of the remote were not answered; it is to call again: %v", stopErr)
	}
	if e.worker.Late() > 0 { // it may have come while draining; attached now, it need not wait for the next process
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, _ = e.sweeper.Once(ctx) // what it does not reach, the next process does
	}
	if closeErr := e.handler.Close(); closeErr != nil {
		e.app.sayf("fencerow: closing the provider: %v", closeErr)
	}
	if err != nil {
		return fmt.Errorf("draining: %w", err)
	}
	return nil
}

// braked tells a person why nothing is sent any more, and how it goes on.
func (a *app) braked(reason string) {
	if reason == "" {
		a.sayf("fencerow: the brake is off again: requests are sent")
		return
	}
	a.sayf("fencerow: the brake is on: %s", reason)
	a.sayf("  What to do: mend the cause at the remote (key, credit, address, outage) and let this go on; it tries by itself.")
	a.sayf("  Or stop this with Ctrl-C and run the same command again later: nothing is lost. --brake 0 sends without a brake.")
}
