package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/transitions"
)

// runFlags are those of work, and when to end.
type runFlags struct {
	workFlags
	giveUp time.Duration
	dryRun bool
}

func (a *app) runVerb() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run INPUT.jsonl",
		Short: "Send every request of a file once, and bring the results home",
		Long: `Run prepares every line of the file as an operation, drives all of them to the end and delivers the results.
It can be stopped and run again at any time: what was sent is not sent again. A line of the file is
  {"id": "clip-001", "request": {…}}
with, where wanted, "priority": 5 (higher first) and "not_before": "2026-01-31T15:04:05Z". The request is sent as it stands.

It ends when each operation is finished, or uncertain and no look for its remote job is due. Exit code 0: every one ended with a delivered success.
3: some failed, were rejected, wait for a reviewer, were not sent or are delivered to another folder; the table at the end has the commands that show them.`,
		Example: `  fencerow run requests.jsonl --provider video.yaml --out results
  fencerow run requests.jsonl --provider video.yaml --dry-run
  make-requests | fencerow run - --provider video.yaml --max-sends 10`,
		Args: exactly("INPUT.jsonl"),
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), args[0], &f) },
	}
	f.add(c)
	c.Flags().DurationVar(&f.giveUp, "give-up", time.Hour,
		"end with operations still prepared when no send went through for so long, after one was refused or could not leave")
	c.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be done; prepare nothing and send nothing")
	return c
}

func (a *app) run(ctx context.Context, path string, f *runFlags) error {
	spec, err := a.provider(f.provider)
	if err != nil {
		return err
	}
	if err := f.check(spec); err != nil {
		return err
	}
	if f.giveUp <= 0 {
		return usagef("--give-up %s: must be more than 0", f.giveUp)
	}
	log, err := a.log(slog.LevelWarn)
	if err != nil {
		return err
	}
	in, err := a.input(path, spec)
	if err != nil {
		return err
	}
	defer in.Close()
	if f.dryRun {
		return a.dryRun(ctx, in, spec, f)
	}
	b := &batch{app: a, spec: spec, in: in}
	s, err := a.openUnless(ctx, creating, func(database string) error { return b.refuseForgotten(f.out, database) }, f.machine())
	if err != nil {
		return err
	}
	defer s.close()
	b.machine = s.machine
	if err := b.known(ctx); err != nil {
		return err
	}
	if err := b.refuseForgotten(f.out, s.name); err != nil {
		return err
	}
	b.warn()
	r := &runner{app: a, flags: f, batch: b, track: newTracker(s.machine, in.Items)}
	if err := r.drive(ctx, log); err != nil {
		return err
	}
	return r.finish(ctx)
}

// runner is one run.
type runner struct {
	app   *app
	flags *runFlags
	batch *batch
	track *tracker

	sends, notLeft int               // as ending has them
	held           map[string]string // id → owner of the leases that were live when the run began
	toldHeld       bool

	unclean error // what went wrong while draining; it ends the run, once its table is written
}

// drive prepares and works until the run is over or ctx ends, and drains.
func (r *runner) drive(ctx context.Context, log *slog.Logger) error {
	p := r.app.newProgress()
	defer func() { p.close() }()
	total := len(r.batch.in.Items)
	if err := r.batch.prepare(ctx, func(done int) { p.show(counts{prepared: done, total: total}) }); err != nil {
		if ctx.Err() != nil {
			r.app.sayf("fencerow: stopped while preparing; nothing was sent")
			return errInterrupted
		}
		return err
	}
	r.app.sayf("fencerow: %s", r.batch.summary())
	if err := r.look(ctx, p); err != nil {
		return err
	}
	if r.idle() {
		r.app.sayf("fencerow: nothing is sent: every operation of this input is settled already")
		return nil
	}
	r.held = r.track.leases()
	e, err := r.app.start(ctx, &r.flags.workFlags, r.batch.machine, r.batch.spec, log)
	if err != nil {
		return err
	}
	if r.follow(ctx, e, p) {
		r.tellGivenUp(ctx, e)
	}
	if ctx.Err() != nil {
		r.app.stopping()
	}
	r.unclean = e.stop()
	r.notLeft = e.worker.NotLeft()
	r.sends = e.worker.Sends() - r.notLeft
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := r.track.look(after); err != nil {
		return errors.Join(r.unclean, fmt.Errorf("reading how the operations ended: %w", err))
	}
	p.show(r.track.counts())
	return nil
}

// idle reports whether nobody has to do anything for this input.
func (r *runner) idle() bool {
	for _, item := range r.batch.in.Items {
		if !r.track.places[item.ID].settled() {
			return false
		}
	}
	// A late answer of an uncertain one may wait to be attached.
	return r.track.counts().uncertain == 0
}

// look reads the operations until that works or ctx ends.
func (r *runner) look(ctx context.Context, p progress) error {
	t := &trouble{app: r.app, doing: "reading how far the operations are"}
	for t.note(r.track.look(ctx)) {
		if ctx.Err() != nil {
			return errInterrupted
		}
		wait(ctx, t.pause())
	}
	p.show(r.track.counts())
	return nil
}

// The bounds of the time between two looks.
const (
	followEvery  = 300 * time.Millisecond
	followAtMost = 3 * time.Second
)

// follow reads the operations until the run is over, and reports whether it is; else ctx has ended. It reads so seldom that reading is a small part of the work, but
// a look that took long because the database was away does not put off the next one.
func (r *runner) follow(ctx context.Context, e *engine, p progress) bool {
	settled := false // seen over once, and then swept
	for {
		began := time.Now()
		if r.look(ctx, p) != nil {
			return false
		}
		spent := r.flags.maxSends > 0 && e.worker.Sends() >= r.flags.maxSends
		// This process's own answers may come after their leases: whoever swept them away did not end the request.
		if r.track.over(r.flags.giveUp, spent) && e.worker.Sending() == 0 {
			if settled {
				return true
			}
			// An answer that came too late for its lease may still be attached: sweep once and look again.
			_, err := e.sweeper.Once(ctx)
			settled = err == nil
			continue
		}
		settled = false
		r.tellHeld()
		wait(ctx, min(max(followEvery, 10*time.Since(began)), followAtMost))
		if ctx.Err() != nil {
			return false
		}
	}
}

// finish writes the results and tells how it ended.
func (r *runner) finish(ctx context.Context) error {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	r.lookAtFiles()
	file, err := r.writeResults(after)
	if err != nil {
		return err
	}
	marked, err := r.marked(after)
	if err != nil {
		return err
	}
	end := ending{ends: r.ends(), marked: marked, sends: r.sends, notLeft: r.notLeft, file: file}
	if err := r.app.printEnds(end); err != nil {
		return err
	}
	r.batch.warnLooks(r.track)
	if r.unclean != nil {
		return r.unclean
	}
	for _, end := range end.ends {
		if end.name == "in flight" && end.count > 0 && ctx.Err() != nil || end.name == "still prepared" && end.count > 0 && ctx.Err() != nil {
			return errInterrupted
		}
	}
	if code := end.code(); code != exitOK {
		return &codeError{code: code}
	}
	return nil
}

// inFlight reports phases that a run leaves only when it is stopped.
func (p place) inFlight() bool { return !p.settled() && p.phase != transitions.Prepared }
