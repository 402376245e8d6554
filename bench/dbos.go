package main

import (
	"context"
	"fmt"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"
)

// dboses is DBOS running workflows in the process that asks for them, which is its fastest form: a queue of its would
// be polled once a second. It has a pool of our making, with a connection for each that waits and some to spare (its own
// default is 20 for all), so that its statements are counted as everybody's are. With them come the few that it sends
// when nothing happens, about one a second.
type dboses struct {
	pool *pgxpool.Pool
	ctx  dbos.Context
	many int
	sent sent
}

// byDBOS is an operation as a workflow of four steps, with so many workflows at once.
func byDBOS(many int) way {
	return func(ctx context.Context, url string) (lane, error) {
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		d := &dboses{many: many}
		config.MaxConns = int32(many + 6)
		config.ConnConfig.Tracer = &d.sent
		if d.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
			return nil, err
		}
		d.ctx, err = dbos.NewContext(ctx, dbos.Config{
			AppName: "bench", ApplicationVersion: "1", ExecutorID: "bench", SystemDBPool: d.pool, Logger: quiet,
		})
		if err != nil {
			d.pool.Close()
			return nil, err
		}
		dbos.RegisterWorkflow(d.ctx, fourSteps)
		if err := dbos.Launch(d.ctx); err != nil {
			d.close()
			return nil, fmt.Errorf("launch DBOS: %w", err)
		}
		return d, nil
	}
}

func (d *dboses) close() {
	_ = dbos.Shutdown(d.ctx, 5*time.Second)
	d.pool.Close()
}

func (d *dboses) work(ctx context.Context, length time.Duration) (tally, error) {
	return together(ctx, d.many, length, &d.sent, func(context.Context, int) (int, error) {
		running, err := dbos.RunWorkflow(d.ctx, fourSteps, string(request))
		if err != nil {
			return 0, fmt.Errorf("run a workflow: %w", err)
		}
		_, err = running.GetResult()
		return 1, err
	})
}

// fourSteps makes durable what the engine does, but neither the intent before the request is sent nor a history: the
// request, its answer, the end of the remote job, the delivery.
func fourSteps(ctx dbos.Context, _ string) (string, error) {
	id, err := dbos.GetWorkflowID(ctx)
	if err != nil {
		return "", err
	}
	var last string
	for _, step := range []struct{ name, result string }{
		{"request", "sent"}, {"answer", "job-" + id}, {"end", string(snapshot)}, {"delivery", "results/" + id},
	} {
		if last, err = dbos.RunAsStep(ctx, func(context.Context) (string, error) { return step.result, nil }, dbos.WithStepName(step.name)); err != nil {
			return "", err
		}
	}
	return last, nil
}
