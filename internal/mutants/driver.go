package mutants

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
)

// Options says how a run goes.
type Options struct {
	Root     string // of the project
	Table    string // whose mutants they are; Standard for the standard one
	State    string // the file with what is known so far
	Parallel int    // workers
	Chosen   func(Mutant) bool
	Again    bool      // judge anew what survived, as after a case was added
	Quick    bool      // ask only the cases and the agreement about the mutant's event
	Log      io.Writer // progress
}

// limit is how long one mutant may take before its worker is given up.
const limit = 5 * time.Minute

// lifetime is what a server of PostgreSQL is bound to: a run, which is no test.
type lifetime struct {
	testing.TB
	ends []func()
}

// Helper does nothing.
func (l *lifetime) Helper() {}

// Cleanup keeps what is to be done at the end.
func (l *lifetime) Cleanup(f func()) { l.ends = append(l.ends, f) }

// Fatalf gives the run up.
func (l *lifetime) Fatalf(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

// Fatal gives the run up.
func (l *lifetime) Fatal(args ...any) { panic(errors.New(fmt.Sprint(args...))) }

// Errorf tells of what went wrong at the end.
func (l *lifetime) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (l *lifetime) end() {
	for _, f := range l.ends {
		f()
	}
}

// driver is a run.
type driver struct {
	Options
	state   *state
	folder  string
	overlay string
	built   string // the worker's program
	server  string // address of PostgreSQL
	log     *os.File

	building sync.Mutex
	sound    map[string]bool // tests that were seen to pass with nothing cut
}

// Run judges every mutant of a table that is chosen and not yet judged, and gives all verdicts, in the order of mutants. A context
// that ends stops it; what was found out is kept.
func Run(ctx context.Context, mutants []Mutant, o Options) (verdicts []Verdict, err error) {
	sources, err := Sources(o.Root, o.Table)
	if err != nil {
		return nil, err
	}
	d := &driver{Options: o, sound: map[string]bool{}}
	if d.state, err = openState(o.State, sources); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.state.file.Close()) }()
	var left []Mutant
	for _, m := range mutants {
		if v, known := d.state.verdict(m.ID); !known || v.Error != "" || o.Again && !v.Killed() {
			left = append(left, m)
		}
	}
	if len(left) > 0 {
		if err := d.judge(ctx, left); err != nil {
			return nil, err
		}
	}
	for _, m := range mutants {
		v, _ := d.state.verdict(m.ID)
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// judge lets the workers judge mutants.
func (d *driver) judge(ctx context.Context, left []Mutant) error {
	folder, clean, err := scratch()
	if err != nil {
		return err
	}
	defer clean()
	d.folder = folder
	if d.log, err = os.Create(filepath.Join(folder, "workers.log")); err != nil {
		return err
	}
	defer func() { _ = d.log.Close() }()
	if err := d.build(ctx); err != nil {
		return err
	}
	var life lifetime
	defer life.end()
	if slices.ContainsFunc(left, func(m Mutant) bool { return m.Of == Postgres }) {
		d.server = pgtest.NewServer(&life, pgtest.Fast).URL()
	}
	if !d.Quick {
		if err := d.covers(ctx, left); err != nil {
			return err
		}
	}
	return d.all(ctx, left)
}

// build builds the worker with the overlay.
func (d *driver) build(ctx context.Context) error {
	var err error
	if d.overlay, err = WriteOverlay(d.Root, d.folder); err != nil {
		return err
	}
	d.built = filepath.Join(d.folder, "worker")
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", d.overlay, "-o", d.built, "./internal/mutants/cmd")
	cmd.Dir = d.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the worker with the overlay: %w\n%s", err, out)
	}
	return nil
}

func (d *driver) worker() (*client, error) {
	return startWorker(d.built, d.Root, d.Table, []string{"FENCEROW_TEST_DATABASE_URL=" + d.server}, d.log)
}

// covers finds out which judges use which statements, unless it is known.
func (d *driver) covers(ctx context.Context, left []Mutant) error {
	needed := map[string]bool{}
	for _, m := range left {
		if _, known := d.state.covers[m.Of]; m.Of != Table && !known {
			needed[m.Of] = true
		}
	}
	var done sync.WaitGroup
	failures := make(chan error, len(needed))
	for dialect := range needed {
		done.Go(func() {
			failures <- func() error {
				w, err := d.worker()
				if err != nil {
					return err
				}
				defer w.end()
				began := time.Now()
				a, err := w.ask(request{Cover: dialect}, 20*time.Minute)
				if err != nil {
					return fmt.Errorf("play everything on %s with nothing cut: %w", dialect, err)
				}
				fmt.Fprintf(d.Log, "everything passes on %s with nothing cut, in %s\n", dialect, time.Since(began).Round(time.Second))
				return d.state.add(stateLine{Covers: map[string]Cover{dialect: *a.Cover}})
			}()
		})
	}
	done.Wait()
	close(failures)
	var all []error
	for err := range failures {
		all = append(all, err)
	}
	return errors.Join(append(all, ctx.Err())...)
}

// all hands mutants to the workers until there are none.
func (d *driver) all(ctx context.Context, left []Mutant) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan Mutant)
	progress := &progress{total: len(left), began: time.Now(), to: d.Log}
	var done sync.WaitGroup
	for range d.Parallel {
		done.Go(func() {
			if err := d.work(ctx, queue, progress); err != nil {
				cancel(err)
				for range queue { // nobody else may be there to take them
				}
			}
		})
	}
	for _, m := range left {
		if ctx.Err() != nil {
			break
		}
		queue <- m
	}
	close(queue)
	done.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// work is the life of one worker, and of those that follow it where a mutant ends it.
func (d *driver) work(ctx context.Context, queue <-chan Mutant, progress *progress) error {
	var w *client
	defer func() {
		if w != nil {
			w.end()
		}
	}()
	for m := range queue {
		if w == nil {
			var err error
			if w, err = d.worker(); err != nil {
				return err
			}
			if _, err := w.ask(request{Learn: d.state.covers}, time.Minute); err != nil {
				return err
			}
		}
		a, err := w.ask(request{Try: &m}, limit)
		var v Verdict
		if err != nil {
			v = Verdict{ID: m.ID, Millis: limit.Milliseconds()}
			_ = w.cmd.Process.Kill()
			w.end()
			w = nil
			// What ends the process that plays the cases, or keeps it for ever, is noticed by whoever plays them. It has to do
			// so twice: a worker may have died of something else.
			if known, judged := d.state.verdict(m.ID); judged && known.Error != "" {
				v.Killer, v.By, v.Says = BySuite, "the process that plays the cases does not end, or dies", err.Error()
			} else {
				v.Error = err.Error()
			}
		} else {
			v = *a.Verdict
		}
		if v.Error == "" && !v.Killed() && v.Same == "" && !d.Quick && m.Own == Standard {
			if err := d.byTests(ctx, m, &v); err != nil {
				v.Error = err.Error()
			}
		}
		if ctx.Err() != nil {
			return nil // whoever stopped it knows why
		}
		if err := d.state.add(stateLine{Verdict: &v}); err != nil {
			return err
		}
		progress.one(m, v)
	}
	return nil
}

// progress tells how far a run is.
type progress struct {
	mu                    sync.Mutex
	total, done, survived int
	began, told           time.Time
	to                    io.Writer
}

func (p *progress) one(m Mutant, v Verdict) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	switch {
	case v.Error != "":
		fmt.Fprintf(p.to, "not judged: %s: %s\n", m.ID, v.Error)
	case !v.Killed():
		p.survived++
		fmt.Fprintf(p.to, "survives so far: %s (%s)\n", m.ID, m.Text)
	}
	if time.Since(p.told) > 10*time.Second || p.done == p.total {
		p.told = time.Now()
		fmt.Fprintf(p.to, "%d of %d judged in %s, %d survive so far\n", p.done, p.total, time.Since(p.began).Round(time.Second), p.survived)
	}
}
