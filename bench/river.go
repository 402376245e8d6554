package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverSteps is how many durable steps an operation has in River's terms: the request, its answer, the end of the
// remote job, the delivery. River keeps no history, and no intent before the request is sent.
const riverSteps = 4

// rivers is River working off a backlog that is filled up all the time, with its shortest pause between two fetches:
// by default it pauses 100 ms, which bounds everything else.
type rivers struct {
	pool    *pgxpool.Pool
	client  *river.Client[pgx.Tx]
	many    int
	first   func() river.JobArgs // what begins an operation
	waiting atomic.Int64         // operations that were begun and are not through
	steps   atomic.Int64         // durable steps, of which an operation has riverSteps
	sent    sent
}

func newRivers(ctx context.Context, url string, many int, first func() river.JobArgs, add func(*river.Workers, *rivers)) (lane, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	r := &rivers{many: many, first: first}
	config.MaxConns = connections(many) + 4 // it keeps some for itself
	config.ConnConfig.Tracer = &r.sent
	if r.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(r.pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: quiet})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	add(workers, r)
	r.client, err = river.NewClient(driver, &river.Config{
		Logger: quiet, Workers: workers, FetchCooldown: time.Millisecond,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: many}},
	})
	return r, err
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func (r *rivers) close() { r.pool.Close() }

// work lets the client run for so long from its first step on: a client that starts looks for its peers before it works.
// What is under way at the end is finished, and counts, its time too, as it does for the engine; of operations that are
// half through the steps count. What is left over is worked off in the next run, of which more is waiting then.
func (r *rivers) work(ctx context.Context, length time.Duration) (tally, error) {
	idle, statements := r.steps.Load(), r.sent.n.Load()
	if err := r.fill(ctx); err != nil {
		return tally{}, err
	}
	if err := r.client.Start(ctx); err != nil {
		return tally{}, err
	}
	for r.steps.Load() == idle && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	began, before := time.Now(), r.steps.Load()
	for (time.Since(began) < length || r.steps.Load()-before < riverSteps) && ctx.Err() == nil {
		if err := r.fill(ctx); err != nil {
			return tally{}, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err := r.client.Stop(ctx); err != nil {
		return tally{}, fmt.Errorf("stop River: %w", err)
	}
	operations := int(r.steps.Load()-before) / riverSteps
	return tally{operations: operations, took: time.Since(began), statements: r.sent.n.Load() - statements}, ctx.Err()
}

// fill keeps twice as many waiting as there are workers. With more of them a chain's next job would wait behind the first
// jobs of all others.
func (r *rivers) fill(ctx context.Context) error {
	n := 2*r.many - int(r.waiting.Load())
	if n < r.many/4 {
		return nil
	}
	jobs := make([]river.InsertManyParams, n)
	for i := range jobs {
		jobs[i].Args = r.first()
	}
	r.waiting.Add(int64(n))
	_, err := r.client.InsertManyFast(ctx, jobs)
	return err
}

// stepped counts a durable step, the last of an operation or not.
func (r *rivers) stepped(last bool) {
	r.steps.Add(1)
	if last {
		r.waiting.Add(-1)
	}
}

// inTx does something in a transaction of its own.
func (r *rivers) inTx(ctx context.Context, do func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, r.pool, do)
}

// link is one job of a chain of four.
type link struct {
	Step    int    `json:"step"`
	Request string `json:"request"`
}

// Kind is the job's name.
func (link) Kind() string { return "link" }

type linkWorker struct {
	river.WorkerDefaults[link]
	r *rivers
}

// Work ends the job and begins the next one in one transaction.
func (w *linkWorker) Work(ctx context.Context, job *river.Job[link]) error {
	err := w.r.inTx(ctx, func(tx pgx.Tx) error {
		if job.Args.Step+1 < riverSteps {
			if _, err := w.r.client.InsertTx(ctx, tx, link{job.Args.Step + 1, job.Args.Request}, nil); err != nil {
				return err
			}
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
	if err == nil {
		w.r.stepped(job.Args.Step+1 == riverSteps)
	}
	return err
}

// riverChain is an operation as four jobs, each of which begins the next, with so many workers.
func riverChain(many int) way {
	return func(ctx context.Context, url string) (lane, error) {
		return newRivers(ctx, url, many, func() river.JobArgs { return link{0, string(request)} }, func(all *river.Workers, r *rivers) {
			river.AddWorker(all, &linkWorker{r: r})
		})
	}
}

// whole is one job with four steps.
type whole struct {
	Request string `json:"request"`
}

// Kind is the job's name.
func (whole) Kind() string { return "whole" }

type wholeWorker struct {
	river.WorkerDefaults[whole]
	r *rivers
}

// Work makes each step durable before the next begins; the job is ended by River, several jobs a statement.
func (w *wholeWorker) Work(ctx context.Context, job *river.Job[whole]) error {
	for step := range riverSteps {
		river.ResumableStep(ctx, fmt.Sprintf("step-%d", step), nil, func(ctx context.Context) error {
			err := w.r.inTx(ctx, func(tx pgx.Tx) error {
				_, err := river.ResumableSetStepTx[*riverpgxv5.Driver](ctx, tx, job)
				return err
			})
			if err == nil {
				w.r.stepped(step+1 == riverSteps)
			}
			return err
		})
	}
	return nil
}

// riverResumable is an operation as one job of four resumable steps, with so many workers.
func riverResumable(many int) way {
	return func(ctx context.Context, url string) (lane, error) {
		return newRivers(ctx, url, many, func() river.JobArgs { return whole{string(request)} }, func(all *river.Workers, r *rivers) {
			river.AddWorker(all, &wholeWorker{r: r})
		})
	}
}
