package reports_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/worker"
)

// The variables that make the test's own program another process.
const (
	envRole   = "FENCEROW_TEST_ROLE"
	envDB     = "FENCEROW_TEST_DB"
	envRemote = "FENCEROW_TEST_REMOTE"
	envLabel  = "FENCEROW_TEST_LABEL"
	envStop   = "FENCEROW_TEST_STOP"
)

// roles are what the test's own program can do as another process. Each reads lines from standard input and ends with
// it.
var roles = map[string]func(lines <-chan string) error{"work": workRole, "prepare": prepareRole}

func TestMain(m *testing.M) {
	role := os.Getenv(envRole)
	if role == "" {
		os.Exit(m.Run())
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
	}()
	if err := roles[role](lines); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// storeAt opens the database of the parent.
func storeAt(address string) (machine.Store, error) {
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		return sqlitestore.Open(context.Background(), path, sqlitestore.Options{})
	}
	return pgstore.Open(context.Background(), address, patient)
}

// longLease is the lease of the processes: long enough to be held through a busy moment, short enough to be waited for.
var longLease = machine.Config{TTL: 3 * time.Second}

// workRole is a worker that sends to the parent's remote. At the step that it is told of it says so, and goes on with
// the next line that it is given.
func workRole(lines <-chan string) error {
	store, err := storeAt(os.Getenv(envDB))
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	config := longLease
	config.Label = os.Getenv(envLabel)
	m, err := machine.New(store, config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	proceed := make(chan struct{}, cap(lines))
	go func() {
		defer cancel()
		for range lines {
			proceed <- struct{}{}
		}
	}()
	stop := os.Getenv(envStop)
	w, err := worker.New(worker.Config{
		Machine: m, Who: video, Handlers: map[string]worker.Handler{"video": reckless{}}, Slots: 1,
		Poll: 20 * time.Millisecond, Every: time.Minute, MaxEvery: time.Minute, SubmitTimeout: 2 * time.Second,
		Log: slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Failpoint: func(step string) {
			if step == stop {
				fmt.Println("at", step)
				<-proceed
			}
		},
	})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// reckless is a handler that heeds neither its context nor its deadline: only the engine keeps it from sending.
type reckless struct{}

func (reckless) Submit(_ context.Context, s worker.Submission) (worker.Accepted, error) {
	query := url.Values{"op": {s.OperationID}, "by": {os.Getenv(envLabel)}}
	response, err := http.Post(os.Getenv(envRemote)+"?"+query.Encode(), "application/json", strings.NewReader(string(s.Request)))
	if err != nil {
		return worker.Accepted{}, err
	}
	defer func() { _ = response.Body.Close() }()
	id, err := io.ReadAll(response.Body)
	return worker.Accepted{RemoteJobID: string(id)}, err
}

func (reckless) Observe(context.Context, worker.Observation) (worker.Status, error) {
	return worker.Status{State: worker.Pending}, nil
}

// till counts what is posted to it, by operation and by who did.
type till struct {
	*httptest.Server
	mu    sync.Mutex
	posts []string
}

func newTill(t testing.TB) *till {
	k := &till{}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.posts = append(k.posts, r.FormValue("op")+" by "+r.FormValue("by"))
		_, _ = fmt.Fprintf(w, "job-%d", len(k.posts))
	}))
	t.Cleanup(func() { k.CloseClientConnections(); k.Close() })
	return k
}

func (k *till) received() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string{}, k.posts...)
}

// child is another process.
type child struct {
	testing.TB
	*exec.Cmd
	in    io.WriteCloser
	said  *journal
	ended chan struct{}
}

// spawn starts the test's own program in a role. Its step is where it stops; "" is nowhere.
func (s *stand) spawn(role, remote, label, step string) *child {
	s.Helper()
	c := &child{TB: s.TB, Cmd: exec.Command(os.Args[0]), said: &journal{}, ended: make(chan struct{})}
	c.Env = append(os.Environ(), envRole+"="+role, envDB+"="+s.url, envRemote+"="+remote, envLabel+"="+label, envStop+"="+step)
	c.Stdout, c.Stderr = c.said, c.said
	var err error
	if c.in, err = c.StdinPipe(); err == nil {
		err = c.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	go func() { _ = c.Wait(); close(c.ended) }()
	s.Cleanup(func() { _ = c.Process.Kill(); <-c.ended })
	return c
}

// awaitOneOf waits until the process has said one of these.
func (c *child) awaitOneOf(parts ...string) {
	c.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for {
		for _, part := range parts {
			if c.said.has(part) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-late:
			c.Fatalf("the process has said none of %q:\n%s", parts, c.said.all())
		}
	}
}

func (c *child) signal(signal syscall.Signal) {
	c.Helper()
	if err := c.Process.Signal(signal); err != nil {
		c.Fatal(err)
	}
}

// freeze stops the process where it keeps nobody out: one that is stopped in the middle of SQLite's one write holds the
// file's lock for as long as it sleeps, so it is let go on and stopped anew.
func (c *child) freeze(s *stand) {
	c.Helper()
	for range 20 {
		c.signal(syscall.SIGSTOP)
		if s.exec("UPDATE fencerow_operations SET priority = priority") == nil {
			return
		}
		c.signal(syscall.SIGCONT)
		time.Sleep(100 * time.Millisecond) // sleep: until it has written what it was writing
	}
	c.Fatal("the process holds the database whenever it is stopped")
}

// proceed lets the process go on, n times.
func (c *child) proceed(n int) {
	c.Helper()
	if _, err := io.WriteString(c.in, strings.Repeat("\n", n)); err != nil {
		c.Fatal(err)
	}
}

// end lets the process drain, and waits until it is gone.
func (c *child) end() {
	c.Helper()
	_ = c.in.Close()
	select {
	case <-c.ended:
	case <-time.After(2 * time.Minute):
		c.Fatalf("the process does not end:\n%s", c.said.all())
	}
}
