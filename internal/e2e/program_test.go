package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/sandbox"
)

// binary is the program, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "fencerow-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "fencerow")
	code := 1
	if err := build(binary); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build(path string, flags ...string) error {
	args := append([]string{"build", "-buildvcs=false", "-o", path}, flags...)
	out, err := exec.Command("go", append(args, "github.com/fencerow/fencerow/cmd/fencerow")...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return nil
}

// site is a folder with a provider file, a remote that counts, and a database.
type site struct {
	testing.TB
	dir    string
	db     string
	remote *sandbox.Sandbox
	url    string        // of the remote
	posts  chan struct{} // one for every POST that reached the remote
	key    string        // what the program sends; the remote may want another
	bodies map[string]string
	gate   *gate         // nil: everything passes
	store  machine.Store // see open
}

// databases are the two that everything is shown on.
var databases = []struct {
	name string
	url  func(t testing.TB, dir string) string
}{
	{"sqlite", func(_ testing.TB, dir string) string { return "sqlite:" + filepath.Join(dir, "fencerow.db") }},
	{"postgres", func(t testing.TB, _ string) string { return pgtest.URL(t) }},
}

func newSite(t testing.TB, db string, o sandbox.Options) *site {
	t.Helper()
	s := &site{TB: t, dir: t.TempDir(), db: db, remote: sandbox.New(o), posts: make(chan struct{}, 1<<20), key: o.APIKey}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			s.posts <- struct{}{}
		}
		s.serve(w, r)
	}))
	t.Cleanup(func() { s.gate.open(); server.CloseClientConnections(); server.Close() })
	s.url = server.URL
	if s.key == "" {
		s.key = "secret-of-the-sandbox"
	}
	return s
}

// provider writes the provider file: the sandbox's own, with what the test needs faster.
func (s *site) provider(replace ...string) {
	s.Helper()
	text := sandbox.SpecYAML
	for i := 0; i < len(replace); i += 2 {
		if !bytes.Contains(text, []byte(replace[i])) {
			s.Fatalf("the sandbox's provider file has no %q", replace[i])
		}
		text = bytes.ReplaceAll(text, []byte(replace[i]), []byte(replace[i+1]))
	}
	s.write("api.yaml", text)
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

func (s *site) write(name string, text []byte) {
	s.Helper()
	if err := os.WriteFile(s.path(name), text, 0o600); err != nil {
		s.Fatal(err)
	}
}

// requests writes n requests, with a fault each in turn, and returns their ids.
func (s *site) requests(n int, faults ...string) []string {
	s.Helper()
	var text bytes.Buffer
	ids := make([]string, n)
	s.bodies = map[string]string{}
	for i := range n {
		ids[i] = fmt.Sprintf("op-%05d", i)
		fault := "none"
		if len(faults) > 0 {
			fault = faults[i%len(faults)]
		}
		s.bodies[ids[i]] = fmt.Sprintf(`{"op": %q,  "fault":%q}`, ids[i], fault)
		fmt.Fprintf(&text, "{\"id\": %q, \"request\": %s}\n", ids[i], s.bodies[ids[i]])
	}
	s.write("requests.jsonl", text.Bytes())
	return ids
}

// requestsDueOver writes n requests without faults that become due one after the other.
func (s *site) requestsDueOver(n int, d time.Duration) []string {
	s.Helper()
	ids := s.requests(n)
	var text bytes.Buffer
	for i, id := range ids {
		due := time.Now().Add(d * time.Duration(i) / time.Duration(n)).UTC().Format(time.RFC3339Nano)
		fmt.Fprintf(&text, "{\"id\": %q, \"request\": %s, \"not_before\": %q}\n", id, s.bodies[id], due)
	}
	s.write("requests.jsonl", text.Bytes())
	return ids
}

// process is the program, started.
type process struct {
	*exec.Cmd
	mu     sync.Mutex
	out    bytes.Buffer // of both streams
	ended  chan struct{}
	lines  chan string
	status int
}

func (s *site) start(args ...string) *process {
	s.Helper()
	return s.startProgram(binary, []string{"FENCEROW_DB=" + s.db}, args...)
}

func (s *site) startProgram(path string, env []string, args ...string) *process {
	s.Helper()
	p := &process{Cmd: exec.Command(path, args...), ended: make(chan struct{}), lines: make(chan string, 1<<16)}
	p.Dir = s.dir
	p.Env = append(append(os.Environ(), "FENCEROW_SANDBOX_URL="+s.url, "FENCEROW_SANDBOX_KEY="+s.key), env...)
	read, write, err := os.Pipe()
	if err != nil {
		s.Fatal(err)
	}
	p.Stdout, p.Stderr = write, write
	if err := p.Start(); err != nil {
		s.Fatal(err)
	}
	_ = write.Close()
	go func() {
		lines := bufio.NewScanner(read)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			p.mu.Lock()
			p.out.Write(append(lines.Bytes(), '\n'))
			p.mu.Unlock()
			p.lines <- lines.Text()
		}
		_ = read.Close()
		_ = p.Wait()
		p.status = p.ProcessState.ExitCode()
		close(p.ended)
	}()
	s.Cleanup(func() { _ = p.Process.Kill(); <-p.ended })
	return p
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// kill9 ends the process as a power cut does.
func (p *process) kill9() {
	_ = p.Process.Signal(syscall.SIGKILL)
	<-p.ended
}

// wait waits until the process has ended, and returns its exit code.
func (s *site) wait(p *process, limit time.Duration) int {
	s.Helper()
	select {
	case <-p.ended:
		return p.status
	case <-time.After(limit):
		p.kill9()
		s.Fatalf("%v has not ended within %s:\n%s\n%s", p.Args, limit, tail(p.output()), s.stdout("stats"))
		return -1
	}
}

// run runs the program to its end.
func (s *site) run(limit time.Duration, args ...string) (status int, output string) {
	s.Helper()
	p := s.start(args...)
	status = s.wait(p, limit)
	return status, p.output()
}

// stdout runs a short command to its end and gives its standard output only.
func (s *site) stdout(args ...string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "FENCEROW_DB="+s.db)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("%v: %v\n%s%s", args, err, out, stderr.String())
	}
	return string(out)
}

// operation is a line of `list --json`.
type operation struct {
	ID              string `json:"operation_id"`
	Phase           string `json:"phase"`
	Outcome         string `json:"outcome"`
	Delivery        string `json:"delivery"`
	RemoteJobID     string `json:"remote_job_id"`
	UncertainReason string `json:"uncertain_reason"`
	Attempts        int    `json:"attempts"`
	ObjectKey       string `json:"object_key"`
}

// list asks the program for every operation.
func (s *site) list(args ...string) map[string]operation {
	s.Helper()
	all := map[string]operation{}
	out := s.stdout(append([]string{"list", "--json", "--limit", "100000"}, args...)...)
	for line := range bytes.Lines([]byte(out)) {
		var op operation
		if err := json.Unmarshal(line, &op); err != nil {
			s.Fatalf("list --json: %v in %s", err, line)
		}
		all[op.ID] = op
	}
	return all
}

func tail(text string) string {
	if len(text) > 8000 {
		return "…" + text[len(text)-8000:]
	}
	return text
}
