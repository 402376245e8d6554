package e2e

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The steps at which the remote holds a program; the others are the program's own, and package worker names them.
const (
	stepSent     = "sent"     // the remote has counted the request; no byte of its answer has left
	stepFetching = "fetching" // all but the last byte of the result has left
)

// gate holds the first that comes to a step until it is opened. Whoever comes later passes.
type gate struct {
	step    string
	taken   atomic.Bool
	reached chan struct{}
	opened  chan struct{}
	once    sync.Once
}

func gateAt(step string) *gate {
	return &gate{step: step, reached: make(chan struct{}), opened: make(chan struct{})}
}

func (g *gate) open() {
	if g != nil {
		g.once.Do(func() { close(g.opened) })
	}
}

// holds reports whether the gate is at a step.
func (g *gate) holds(step string) bool { return g != nil && g.step == step }

// pass lets somebody through who has come to a step, or goes away with its context.
func (g *gate) pass(ctx context.Context, step string) {
	if !g.holds(step) || g.taken.Swap(true) {
		return
	}
	close(g.reached)
	select {
	case <-g.opened:
	case <-ctx.Done():
	}
}

// stepPath is where the armed program asks whether it may take a step.
const stepPath = "/_step/"

// serve is the remote, and the gate before it.
func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	step, asked := strings.CutPrefix(r.URL.Path, stepPath)
	switch {
	case asked:
		s.gate.pass(r.Context(), step)
	case s.gate.holds(stepSent) && r.Method == http.MethodPost, s.gate.holds(stepFetching) && strings.HasPrefix(r.URL.Path, "/v1/files/"):
		s.serveHeld(w, r)
	default:
		s.remote.ServeHTTP(w, r)
	}
}

// serveHeld has the remote do what is asked of it, and holds its answer.
func (s *site) serveHeld(w http.ResponseWriter, r *http.Request) {
	done := httptest.NewRecorder()
	s.remote.ServeHTTP(done, r)
	s.gate.pass(r.Context(), stepSent)
	for name, values := range done.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(done.Code)
	body := done.Body.Bytes()
	if last := len(body) - 1; s.gate.holds(stepFetching) && last > 0 {
		_, _ = w.Write(body[:last])
		_ = http.NewResponseController(w).Flush()
		s.gate.pass(r.Context(), stepFetching)
		body = body[last:]
	}
	_, _ = w.Write(body)
}

// armed is the program with the build tag failpoint, built when it is first wanted.
var armed = sync.OnceValues(func() (string, error) {
	path := binary + "-armed"
	return path, build(path, "-tags", "failpoint")
})

// variable is what the armed program reads.
const variable = "FENCEROW_FAILPOINT"

func TestTheProgramThatPeopleUseHasNoFailpoint(t *testing.T) {
	t.Parallel()
	path, err := armed()
	if err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]bool{binary: false, path: true} {
		text, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		if has := bytes.Contains(text, []byte(variable)); has != want {
			t.Errorf("%s reads %s: %t, want %t", program, variable, has, want)
		}
	}
}

// awaitGate waits until a program stands before the gate.
func (s *site) awaitGate(p *process) {
	s.Helper()
	if !s.came(p) {
		s.Fatalf("%v ended with %d before the step %q:\n%s", p.Args, p.status, s.gate.step, tail(p.output()))
	}
}

// came waits until a program stands before the gate; false means that it has ended before.
func (s *site) came(p *process) bool {
	s.Helper()
	select {
	case <-s.gate.reached:
		return true
	case <-p.ended:
		return false
	case <-time.After(time.Minute):
		s.Fatalf("%v has not come to the step %q within a minute:\n%s", p.Args, s.gate.step, tail(p.output()))
		return false
	}
}
