package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/provider/sandbox"
)

// asProgram makes the test binary be the program, for tests that need processes.
const asProgram = "FENCEROW_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// cli is the program with a folder, a database and a remote of its own.
type cli struct {
	*testing.T
	dir    string
	db     string
	stdin  string
	remote *sandbox.Sandbox
	server *sandbox.Server
	spec   string // the provider file
	env    map[string]string
}

func newCLI(t *testing.T) *cli {
	t.Helper()
	c := &cli{T: t, dir: t.TempDir()}
	c.db = "sqlite:" + filepath.Join(c.dir, "fencerow.db")
	return c
}

// withRemote starts a sandbox whose jobs are quick. Its provider file does not say how to look for a lost job, so that
// what is uncertain waits for a reviewer.
func (c *cli) withRemote(o sandbox.Options) *cli {
	c.Helper()
	o.APIKey = sandboxKey
	o.Queued, o.Running = 20*time.Millisecond, cmp.Or(o.Running, 30*time.Millisecond)
	c.remote = sandbox.New(o)
	server, err := c.remote.Serve("127.0.0.1:0")
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = server.Close() })
	c.server = server
	before, after, _ := strings.Cut(c.wholeSpec(), "investigate:\n")
	_, after, found := strings.Cut(after, "cancel:")
	if !found {
		c.Fatal("the sandbox's provider file has no investigate section with cancel behind it")
	}
	c.spec = c.file("provider.yaml", before+"cancel:"+after)
	return c
}

func (c *cli) wholeSpec() string {
	return strings.NewReplacer("every: 200ms", "every: 30ms", "max_every: 2s", "max_every: 100ms").Replace(sandboxSpec(c.server.URL))
}

// investigating has the provider file say how to look for a lost job.
func (c *cli) investigating() *cli {
	c.Helper()
	c.spec = c.file("provider.yaml", c.wholeSpec())
	return c
}

func (c *cli) file(name, text string) string {
	c.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	return path
}

// request is a line of the input; fault is what the sandbox does to it.
func request(id, fault string) string {
	line, _ := json.Marshal(map[string]any{"id": id, "request": map[string]string{"op": id, "fault": fault}})
	return string(line) + "\n"
}

func (c *cli) lookup(name string) (string, bool) {
	if name == "FENCEROW_DB" {
		return c.db, true
	}
	value, ok := c.env[name]
	return value, ok
}

type result struct {
	code           int
	stdout, stderr string
}

// run runs the program to its end.
func (c *cli) run(args ...string) result {
	c.Helper()
	return c.runIn(context.Background(), args...)
}

func (c *cli) runIn(ctx context.Context, args ...string) result {
	c.Helper()
	var stdout, stderr bytes.Buffer
	code := run(ctx, args, strings.NewReader(c.stdin), &stdout, &stderr, c.lookup)
	return result{code, stdout.String(), stderr.String()}
}

// want runs the program and asks for an exit code.
func (c *cli) want(code int, args ...string) result {
	c.Helper()
	r := c.run(args...)
	if r.code != code {
		c.Fatalf("fencerow %s: want exit code %d, got %d\n%s%s", strings.Join(args, " "), code, r.code, r.stdout, r.stderr)
	}
	return r
}

// runFile is a run on an input, with flags that make it quick.
func (c *cli) runFile(input string, more ...string) []string {
	return append([]string{"run", input, "--provider", c.spec, "--out", filepath.Join(c.dir, "out"), "--poll", "50ms"}, more...)
}

// lines decodes one JSON object a line.
func (c *cli) lines(text string) []map[string]any {
	c.Helper()
	var all []map[string]any
	for line := range strings.Lines(text) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			c.Fatalf("%q is no JSON object: %v", line, err)
		}
		all = append(all, one)
	}
	return all
}

func (c *cli) received() int {
	n := 0
	for _, count := range c.remote.Counts() {
		n += count.Received
	}
	return n
}

func (c *cli) contains(text string, parts ...string) {
	c.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			c.Errorf("want %q in:\n%s", part, text)
		}
	}
}

// onEach runs a test on both databases.
func onEach(t *testing.T, test func(*testing.T, *cli)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newCLI(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		c := newCLI(t)
		c.db = pgtest.URL(t)
		test(t, c)
	})
}
