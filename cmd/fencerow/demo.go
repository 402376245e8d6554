package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/sandbox"
	"github.com/fencerow/fencerow/transitions"
)

func (a *app) demoVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show on the built-in sandbox what happens when things go wrong",
		Long: `Demo sends requests to the built-in sandbox, each of which meets another fault, from worker processes of which one
is killed in the middle of a request. It takes a few seconds, needs nothing, costs nothing, and leaves its database and
results in a new folder here. At the end it holds what the remote received against what it promises.`,
		Example: `  fencerow demo`,
		Args:    exactly(),
		RunE:    func(c *cobra.Command, _ []string) error { return a.demo(c.Context()) },
	}
}

// Short leases make a takeover quick to watch; the request timeout and the margin fit into them.
const (
	demoLease   = 3 * time.Second
	demoTimeout = 1500 * time.Millisecond
	demoLimit   = 50 * time.Second
	demoVictim  = "killed-mid-request"
	demoBroke   = sandbox.NoCredit // never gets through
)

// demo is one showing.
type demo struct {
	app     *app
	dir     string
	db      string
	remote  *sandbox.Sandbox
	orders  []demoOrder
	session *session
	track   *tracker
	workers []*demoWorker
}

// demoOrder is one request and what will go wrong with it.
type demoOrder struct {
	id, fault, explains string
	request             []byte
}

func (a *app) demo(ctx context.Context) error {
	dir, err := os.MkdirTemp(".", "fencerow-demo-")
	if err != nil {
		return fmt.Errorf("making the demo's folder: %w", err)
	}
	if a.db != "" || a.schema != "" || a.prefix != "" {
		a.sayf("fencerow: demo has a database of its own; --db, --schema and --table-prefix are left alone")
		a.schema, a.prefix = "", ""
	}
	d := &demo{app: a, dir: dir, db: "sqlite:" + filepath.Join(dir, "demo.db")}
	a.db = d.db
	d.remote = sandbox.New(sandbox.Options{SlowFor: 1200 * time.Millisecond, StallFor: demoLimit, APIKey: sandboxKey})
	server, err := d.remote.Serve("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer server.Close()
	if err := d.lay(server.URL); err != nil {
		return fmt.Errorf("laying out the demo: %w", err)
	}
	fmt.Fprintf(a.stdout, "The remote: the built-in sandbox at %s, with a fault for each operation.\n", server.URL)
	fmt.Fprintf(a.stdout, "The folder: %s, new, with a database that knows of nothing.\n", dir)
	if err := a.prepare(ctx, filepath.Join(dir, "requests.jsonl"), filepath.Join(dir, "provider.yaml")); err != nil {
		return err
	}
	if d.session, err = a.open(ctx, reading); err != nil {
		return err
	}
	defer d.session.close()
	limited, cancel := context.WithTimeout(ctx, demoLimit)
	defer cancel()
	err = d.play(limited)
	stopErr := d.stop()
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err := errors.Join(err, stopErr); err != nil {
		return err
	}
	return d.report(ctx)
}

// lay writes the provider file and the requests: some that go well, the victim of the kill, and one for each fault.
func (d *demo) lay(url string) error {
	spec := strings.NewReplacer("timeout: 5s", "timeout: "+demoTimeout.String(), "max_every: 2s", "max_every: 1s").Replace(sandboxSpec(url))
	if err := os.WriteFile(filepath.Join(d.dir, "provider.yaml"), []byte(spec), 0o600); err != nil {
		return err
	}
	var input strings.Builder
	add := func(id, fault, explains string, priority int) error {
		request, err := json.Marshal(map[string]string{"op": id, "fault": fault, "prompt": "a hedge in the wind"})
		if err != nil {
			return err
		}
		d.orders = append(d.orders, demoOrder{id, fault, explains, request})
		_, err = fmt.Fprintf(&input, "{\"id\":%q,\"priority\":%d,\"request\":%s}\n", id, priority, request)
		return err
	}
	for i := range 3 {
		if err := add(fmt.Sprintf("fine-%d", i+1), "none", "nothing", 2); err != nil {
			return err
		}
	}
	if err := add(demoVictim, sandbox.Slow, "its worker is killed while the answer is on its way", 1); err != nil {
		return err
	}
	for _, f := range sandbox.Faults() {
		if err := add(f.Name, f.Name, f.Explains, 0); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(d.dir, "requests.jsonl"), []byte(input.String()), 0o600)
}

// play starts a worker, kills it in the middle of a request, starts two others and waits for the end.
func (d *demo) play(ctx context.Context) error {
	say := func(format string, args ...any) { fmt.Fprintf(d.app.stdout, format+"\n", args...) }
	first, err := d.work("1")
	if err != nil {
		return err
	}
	say("Worker 1 has started: process %d, leases of %s.", first.cmd.Process.Pid, demoLease)
	if err := d.until(ctx, first, func() (bool, error) { return d.remote.Counts()[demoVictim].Received > 0, nil }); err != nil {
		return fmt.Errorf("waiting for the request of %s to arrive: %w", demoVictim, err)
	}
	if err := first.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("killing worker 1: %w", err)
	}
	first.killed = true
	_ = <-first.done
	say("Worker 1 was killed with SIGKILL: the remote has the request of %s, nobody has the answer.", demoVictim)
	second, err := d.work("2")
	if err != nil {
		return err
	}
	third, err := d.work("3")
	if err != nil {
		return err
	}
	say("Workers 2 and 3 have started: processes %d and %d. They wait for the lease of worker 1 to end, which takes a few seconds.", second.cmd.Process.Pid, third.cmd.Process.Pid)
	d.track = newTracker(d.session.machine, nil)
	for _, o := range d.orders {
		d.track.items = append(d.track.items, itemOf(o.id, o.request))
	}
	p := d.app.newProgress()
	defer p.close()
	err = d.until(ctx, second, func() (bool, error) {
		err := d.track.look(ctx)
		p.show(d.track.counts())
		return err == nil && d.over(), nil // a busy database is looked at again
	})
	if err != nil {
		return fmt.Errorf("waiting for the operations to settle: %w", err)
	}
	return nil
}

// over reports whether all is settled but the one that never gets through, which was tried twice.
func (d *demo) over() bool {
	for _, o := range d.orders {
		p := d.track.places[o.id]
		waits := o.fault == demoBroke && p.phase == transitions.Prepared && p.attempts >= 2
		if !p.settled() && !waits {
			return false
		}
	}
	return true
}

// demoWorker is a worker process.
type demoWorker struct {
	cmd    *exec.Cmd
	leash  io.Closer // its standard input: it drains when that ends, also when this process dies
	done   chan error
	killed bool
}

func (d *demo) work(name string) (*demoWorker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("starting worker %s: %w", name, err)
	}
	log, err := os.Create(filepath.Join(d.dir, "worker-"+name+".log"))
	if err != nil {
		return nil, fmt.Errorf("starting worker %s: %w", name, err)
	}
	defer log.Close()
	slots := "4"
	if name == "1" {
		slots = "1" // so that the kill meets one request and no other
	}
	w := &demoWorker{done: make(chan error, 1)}
	w.cmd = exec.Command(self, "work", "--leashed", "--db", d.db, "--provider", filepath.Join(d.dir, "provider.yaml"),
		"--out", filepath.Join(d.dir, defaultOut), "--lease", demoLease.String(), "--workers", slots,
		"--poll", "200ms", "--drain", "3s", "--brake", "0")
	w.cmd.Stdout, w.cmd.Stderr = log, log
	if w.leash, err = w.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting worker %s: %w", name, err)
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting worker %s: %w", name, err)
	}
	go func() { w.done <- w.cmd.Wait(); close(w.done) }()
	d.workers = append(d.workers, w)
	return w, nil
}

// until asks again and again, as long as the worker lives.
func (d *demo) until(ctx context.Context, w *demoWorker, ask func() (bool, error)) error {
	for {
		if yes, err := ask(); yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; the workers' logs are in %s", ctx.Err(), d.dir)
		case err := <-w.done:
			return fmt.Errorf("the worker has ended (%w); its log is in %s", err, d.dir)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stop drains the workers.
func (d *demo) stop() error {
	var failed []error
	for _, w := range d.workers {
		_ = w.leash.Close()
	}
	for i, w := range d.workers {
		if w.killed {
			continue
		}
		select {
		case _ = <-w.done:
		case <-time.After(15 * time.Second):
			_ = w.cmd.Process.Signal(syscall.SIGKILL)
			failed = append(failed, fmt.Errorf("worker %d did not drain and was killed; its log is in %s", i+1, d.dir))
		}
	}
	return errors.Join(failed...)
}

// proofs counts what history has recorded as proof that a request of an operation created nothing.
func proofs(history []machine.HistoryEntry) int {
	return counted(history, "submit_not_created", "review_not_created")
}

func counted(history []machine.HistoryEntry, events ...string) int {
	n := 0
	for _, h := range history {
		if contains(events, h.Event) {
			n++
		}
	}
	return n
}
