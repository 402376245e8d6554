package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// caller is a remote that tells of its jobs in calls of its own, and whose status address never says more than running.
type caller struct {
	*cli
	address string // where the program listens
	mu      sync.Mutex
	answers []int // to the calls
	calls   sync.WaitGroup
}

const signature = "signature: {header: X-Signature, prefix: sha256=, secret: '${HOOK_SECRET}'}"

func newCaller(t *testing.T, signature string) *caller {
	t.Helper()
	c := &caller{cli: newCLI(t)}
	c.env = map[string]string{"HOOK_SECRET": "the signing secret"}
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.address = free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	remote := httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(func() { c.calls.Wait(); remote.Close() })
	c.spec = c.file("provider.yaml", `kind: video
submit: {url: "`+remote.URL+`/jobs", id: /id}
observe: {url: "`+remote.URL+`/jobs/{remote_job_id}", status: /status, pending: [running], succeeded: [done], failed: [failed], every: 1h, max_every: 1h}
webhook: {id: /id, status: /status, `+signature+`}
`)
	return c
}

// serve creates a job: of "early" it tells before it answers, of "late" afterwards, of "forged" under a wrong secret too.
func (c *caller) serve(w http.ResponseWriter, r *http.Request) {
	var order struct{ Op string }
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&order) != nil {
		_, _ = w.Write([]byte(`{"status":"running"}`))
		return
	}
	body := fmt.Sprintf(`{"id":"job-%s","status":"done"}`, order.Op)
	switch order.Op {
	case "early":
		c.call(body, "the signing secret")
	case "forged":
		c.call(strings.Replace(body, "done", "failed", 1), "another secret")
		c.call(body, "the signing secret")
	default:
		c.calls.Go(func() {
			for range 3 {
				c.call(body, "the signing secret")
			}
		})
	}
	_, _ = fmt.Fprintf(w, `{"id":"job-%s"}`, order.Op)
}

// call tells of a job until somebody listens.
func (c *caller) call(body, secret string) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // sleep: another process is waited for
		r, err := http.NewRequest(http.MethodPost, "http://"+c.address+"/webhook", strings.NewReader(body))
		if err != nil {
			c.Error(err)
			return
		}
		r.Header.Set("X-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			continue
		}
		_ = resp.Body.Close()
		c.mu.Lock()
		c.answers = append(c.answers, resp.StatusCode)
		c.mu.Unlock()
		return
	}
}

// A run whose remote tells of the ends, before its answer and after it, does not wait for a look at the status (C2, B58).
func TestARunEndsByTheCallsOfItsRemote(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, on *cli) {
		c := newCaller(t, signature)
		c.db = on.db
		input := c.file("in.jsonl", `{"id":"early","request":{"op":"early"}}`+"\n"+`{"id":"forged","request":{"op":"forged"}}`+"\n"+`{"id":"late","request":{"op":"late"}}`+"\n")
		r := c.want(exitOK, c.runFile(input, "--webhook", c.address)...)
		c.contains(r.stderr, "the remote may call http://"+c.address+"/webhook", "a call was not verified")
		if strings.Contains(r.stderr, "the signing secret") {
			t.Errorf("the secret is told:\n%s", r.stderr)
		}
		for _, op := range c.lines(c.want(exitOK, "list", "--json").stdout) {
			if op["outcome"] != "succeeded" || op["snapshot"] != fmt.Sprintf(`{"id":"job-%s","status":"done"}`, op["operation_id"]) {
				t.Errorf("%v ended %v with %v", op["operation_id"], op["outcome"], op["snapshot"])
			}
		}
		c.calls.Wait()
		if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", c.address); err == nil {
			t.Error("somebody listens after the run has ended")
		}
	})
}

// What was told of a job whose answer was lost is shown to the reviewer as a candidate (B58, the crash).
func TestAJobThatWasToldOfIsACandidateOfTheReview(t *testing.T) {
	t.Parallel()
	c := newCaller(t, signature)
	c.spec = c.file("lost.yaml", strings.Replace(c.read("provider.yaml"), "id: /id}\nobserve", "id: /nowhere}\nobserve", 1))
	c.want(exitUnfinished, c.runFile(c.file("in.jsonl", `{"id":"early","request":{"op":"early"}}`+"\n"), "--webhook", c.address)...)
	c.contains(c.want(exitOK, "review", "list").stdout, "job-early")
	c.contains(c.want(exitOK, "show", "early").stdout, "job-early")
}

// Calls that nobody can verify change nothing, and a file has to say that it wants them.
func TestCallsWithoutASignatureChangeNothing(t *testing.T) {
	t.Parallel()
	c := newCaller(t, "signature: none")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan result, 1)
	go func() {
		ended <- c.runIn(ctx, c.runFile(c.file("in.jsonl", `{"id":"late","request":{"op":"late"}}`+"\n"), "--webhook", c.address)...)
	}()
	c.until(func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.answers) == 3 })
	cancel()
	r := <-ended
	c.contains(r.stderr, "change nothing")
	if r.code != exitInterrupted || c.answers[0] != http.StatusNoContent {
		t.Errorf("exit code %d, answers %v; want 130 and 204\n%s", r.code, c.answers, r.stderr)
	}
	if op := c.lines(c.want(exitOK, "list", "--json").stdout)[0]; op["outcome"] != nil {
		t.Errorf("the operation ended %v", op["outcome"])
	}
}

func TestAWebhookNeedsASectionASignatureAndAnAddress(t *testing.T) {
	t.Parallel()
	c := newCaller(t, signature)
	input := c.file("in.jsonl", `{"id":"late","request":{"op":"late"}}`+"\n")
	text := c.read("provider.yaml")
	none, _, _ := strings.Cut(text, "webhook:")
	for name, file := range map[string]string{
		"has no webhook section": none,
		"has no signature, so anybody could say what became of a job": strings.Replace(text, ", "+signature, "", 1),
		"the environment variable OTHER_SECRET is not set":            strings.Replace(text, "HOOK_SECRET", "OTHER_SECRET", 1),
	} {
		c.spec = c.file("other.yaml", file)
		c.contains(c.want(exitUsage, c.runFile(input, "--webhook", c.address)...).stderr, name)
	}
	c.spec = c.file("provider.yaml", text)
	c.contains(c.want(exitUsage, c.runFile(input, "--webhook", "8081")...).stderr, `--webhook "8081": want HOST:PORT`)
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", c.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	c.contains(c.want(exitError, c.runFile(input, "--webhook", c.address)...).stderr, "--webhook "+c.address, "address already in use")
}
