package lostjobs_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/provider/sandbox"
	"github.com/fencerow/fencerow/reconcile"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// world is a store, the sandbox behind an HTTP server that counts, and the sandbox's own provider file.
type world struct {
	testing.TB
	store   machine.Store
	machine *machine.Machine
	remote  *sandbox.Sandbox
	handler *httpjob.Handler
	config  worker.Config

	ahead   atomic.Int64 // of the sandbox's clock, in nanoseconds
	mu      sync.Mutex
	script  func(w http.ResponseWriter, r *http.Request) bool // answers by itself and says so; nil: never
	reached map[string]int                                    // requests by what they are: "submit", "list", "cancel", "status", "file"
}

// onStores runs a scenario on every store.
func onStores(t *testing.T, options sandbox.Options, scenario func(*testing.T, *world)) {
	t.Helper()
	program := transitions.MustCompile(transitions.Standard())
	for name, open := range map[string]func(*testing.T) machine.Store{
		"memory": func(*testing.T) machine.Store { return machine.NewMemory(program) },
		"sqlite": func(t *testing.T) machine.Store {
			store, err := sqlitestore.Open(context.Background(), filepath.Join(t.TempDir(), "fencerow.db"), sqlitestore.Options{Program: program})
			if err != nil {
				t.Fatal(err)
			}
			return migrated(t, store)
		},
		"postgres": func(t *testing.T) machine.Store {
			store, err := pgstore.Open(context.Background(), pgtest.URL(t), pgstore.Options{Program: program, MaxConns: 8})
			if err != nil {
				t.Fatal(err)
			}
			return migrated(t, store)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenario(t, newWorld(t, open(t), options))
		})
	}
}

func migrated[S interface {
	machine.Store
	Migrate(context.Context) ([]persist.Migration, error)
}](t *testing.T, store S) machine.Store {
	t.Helper()
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(context.Background()); err != nil {
		t.Fatal(err)
	}
	return store
}

func newWorld(t *testing.T, store machine.Store, options sandbox.Options) *world {
	t.Helper()
	w := &world{TB: t, store: store, reached: map[string]int{}}
	options.Now = func() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }
	w.remote = sandbox.New(options)
	server := httptest.NewServer(w)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	text := strings.NewReplacer("${FENCEROW_SANDBOX_URL}", server.URL, "${FENCEROW_SANDBOX_KEY}", "the-key-of-the-test").Replace(string(sandbox.SpecYAML))
	spec, err := httpjob.Parse("sandbox.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if w.handler, err = httpjob.New(spec, httpjob.Options{OutDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.handler.Close() })
	w.machine = w.engine(machine.Config{TTL: 30 * time.Second})
	w.config = worker.Config{
		Machine: w.machine, Who: machine.Who{Provider: spec.Provider(), Account: spec.Account},
		Handlers: map[string]worker.Handler{spec.Kind: w.handler}, SubmitTimeout: spec.Timeout(),
		Poll: 20 * time.Millisecond, Every: 20 * time.Millisecond, MaxEvery: 100 * time.Millisecond, Brake: -1, Log: slog.New(slog.DiscardHandler),
	}
	return w
}

// engine is a machine on the store: another process's, as far as the store can tell.
func (w *world) engine(c machine.Config) *machine.Machine {
	w.Helper()
	m, err := machine.New(w.store, c)
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// ServeHTTP counts what arrives, then answers as the test says, or as the sandbox does.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	what := "other"
	switch path := r.URL.Path; {
	case r.Method == http.MethodPost && path == "/v1/generations":
		what = "submit"
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/cancel"):
		what = "cancel"
	case r.Method == http.MethodGet && path == "/v1/generations":
		what = "list"
	case r.Method == http.MethodGet && strings.HasPrefix(path, "/v1/generations/"):
		what = "status"
	case r.Method == http.MethodGet && strings.HasPrefix(path, "/v1/files/"):
		what = "file"
	}
	w.mu.Lock()
	w.reached[what]++
	script := w.script
	w.mu.Unlock()
	if script == nil || !script(rw, r) {
		w.remote.ServeHTTP(rw, r)
	}
}

// answers has the server answer by itself what the path and the method begin with.
func (w *world) answers(method, path string, status int, body func() string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.script = func(rw http.ResponseWriter, r *http.Request) bool {
		if r.Method != method || !strings.HasSuffix(r.URL.Path, path) {
			return false
		}
		rw.WriteHeader(status)
		_, _ = rw.Write([]byte(body()))
		return true
	}
}

func (w *world) count(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reached[what]
}

// prepare stores operations, each with what goes wrong with it.
func (w *world) prepare(fault string, ids ...string) {
	w.Helper()
	for _, id := range ids {
		spec := w.handler.Spec()
		_, err := w.machine.Prepare(context.Background(), machine.Request{
			OperationID: id, Kind: spec.Kind, Provider: spec.Provider(), Account: spec.Account, WantsDelivery: true,
			CanInvestigate: spec.CanInvestigate(), Request: fmt.Appendf(nil, `{"op":%q,"fault":%q}`, id, fault),
		})
		if err != nil {
			w.Fatal(err)
		}
	}
}

// start begins to work and gives what ends it.
func (w *world) start() (stop func()) {
	w.Helper()
	runs, err := worker.New(w.config)
	if err != nil {
		w.Fatal(err)
	}
	sweeps, err := reconcile.New(w.machine, reconcile.Options{Interval: 100 * time.Millisecond, Log: w.config.Log})
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var busy sync.WaitGroup
	busy.Go(func() {
		if err := runs.Run(ctx); err != nil {
			w.Error(err)
		}
	})
	busy.Go(func() { sweeps.Run(ctx) })
	stop = sync.OnceFunc(func() { cancel(); busy.Wait() })
	w.Cleanup(stop)
	return stop
}

// work works until an operation is as a test wants it.
func (w *world) work(id, what string, done func(machine.Operation) bool) machine.Operation {
	w.Helper()
	defer w.start()()
	return w.await(id, what, done)
}

func (w *world) await(id, what string, done func(machine.Operation) bool) machine.Operation {
	w.Helper()
	tick, late := time.NewTicker(10*time.Millisecond), time.After(2*time.Minute)
	defer tick.Stop()
	for {
		op := w.op(id)
		if done(op) {
			return op
		}
		select {
		case <-tick.C:
		case <-late:
			w.Fatalf("%s: not within two minutes; it is %s, %s, outcome %q", what, op.Phase, op.NextAction, op.Outcome)
		}
	}
}

func (w *world) op(id string) machine.Operation {
	w.Helper()
	op, err := w.machine.Get(context.Background(), id)
	if err != nil {
		w.Fatal(err)
	}
	return op
}

// told gives, for one event, what history has: "reason; detail" of each.
func (w *world) told(id, event string) []string {
	w.Helper()
	entries, err := w.store.History(context.Background(), id)
	if err != nil {
		w.Fatal(err)
	}
	var told []string
	for _, e := range entries {
		if e.Event == event {
			told = append(told, strings.Trim(e.Reason+"; "+e.Detail, "; "))
		}
	}
	return told
}

// evidence gives what was noted of a kind.
func (w *world) evidence(id, kind string) []machine.EvidenceEntry {
	w.Helper()
	entries, err := w.store.Evidence(context.Background(), id)
	if err != nil {
		w.Fatal(err)
	}
	var noted []machine.EvidenceEntry
	for _, e := range entries {
		if e.Kind == kind {
			noted = append(noted, e)
		}
	}
	return noted
}

// sentOnce fails the test unless each operation's request reached the remote once, and its history explains its row.
func (w *world) sentOnce(ids ...string) {
	w.Helper()
	for _, id := range ids {
		if n := w.remote.Counts()[id].Received; n != 1 {
			w.Errorf("%s: the remote received %d requests, want 1", id, n)
		}
		findings, err := w.machine.Audit(context.Background(), id)
		if err != nil {
			w.Error(err)
		}
		for _, f := range findings {
			w.Error(f)
		}
	}
	if n := w.count("submit"); n != len(ids) {
		w.Errorf("%d requests reached the address where jobs are created, want %d", n, len(ids))
	}
}

func (w *world) cancel(id string) (machine.Operation, error) {
	return w.machine.Cancel(context.Background(), id, machine.Decision{Reviewer: "ann", Reason: "not wanted any more"})
}
