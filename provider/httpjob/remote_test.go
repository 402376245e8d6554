package httpjob_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

// rawRemote is a TCP server that does to each connection what a test says, and counts what reached it.
type rawRemote struct {
	addr     string
	conns    atomic.Int64
	requests atomic.Int64 // read to the end of their bodies
	quit     chan struct{}
}

// startRaw serves every connection with script. A script that wants to stall waits for r.quit.
func startRaw(t *testing.T, config *tls.Config, script func(r *rawRemote, c net.Conn)) *rawRemote {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	r := &rawRemote{addr: l.Addr().String(), quit: make(chan struct{})}
	done := make(chan struct{})
	t.Cleanup(func() { close(r.quit); _ = l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.conns.Add(1)
			go func() { defer c.Close(); script(r, c) }()
		}
	}()
	return r
}

// readRequest reads one whole request and counts it.
func (r *rawRemote) readRequest(c net.Conn) (*http.Request, error) {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return nil, err
	}
	r.requests.Add(1)
	return req, nil
}

// answer reads a request and writes text as it stands.
func answer(text string) func(*rawRemote, net.Conn) {
	return func(r *rawRemote, c net.Conn) {
		if _, err := r.readRequest(c); err != nil {
			return
		}
		_, _ = io.WriteString(c, text)
	}
}

// framed is a whole answer with its length. The remote ends the connection after it and says so: a client that kept it
// would lose the race between its next request and the end every so often.
func framed(status int, body string, headers ...string) string {
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Length: %d\r\nConnection: close\r\n", status, http.StatusText(status), len(body))
	for _, h := range headers {
		head += h + "\r\n"
	}
	return head + "\r\n" + body
}

// reset ends a connection with RST and not with FIN.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

const secret = "s3cr3t-value/+"

// newHandler makes a handler of a provider file for base, with changes of the text.
func newHandler(t *testing.T, base string, opts httpjob.Options, changes ...string) *httpjob.Handler {
	t.Helper()
	text := `kind: video
submit:
  url: ${BASE}/v1/jobs
  headers: {Authorization: "Bearer ${API}", X-Api-Key: "${API}"}
  id: /id
  keep: {status_url: /urls/get}
  timeout: 5s
observe:
  url: ${BASE}/v1/jobs/{remote_job_id}
  status: /status
  pending: [queued, running]
  succeeded: [succeeded]
  failed: [failed]
  canceled: [canceled]
  error: /error
`
	if opts.OutDir != "" {
		text += "deliver:\n  from: /output/url\n  key: \"{operation_id}.mp4\"\n"
	}
	text = strings.NewReplacer(changes...).Replace(text)
	spec, err := httpjob.Parse("p.yaml", []byte(text), func(name string) (string, bool) {
		return map[string]string{"BASE": base, "API": secret}[name], true
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpjob.New(spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func submission() worker.Submission {
	return worker.Submission{
		OperationID: "op-1", Kind: "video", Provider: "video", Account: "a", Request: []byte(`{"prompt":"a hedge"}`),
		Attempt: 1, Revision: 1, SendBy: time.Now().Add(time.Minute),
	}
}

// submitError gives err as a classified end.
func submitError(t *testing.T, err error) *worker.SubmitError {
	t.Helper()
	var e *worker.SubmitError
	if !errors.As(err, &e) {
		t.Fatalf("want a SubmitError, got %v", err)
	}
	return e
}

func bufioReader(c net.Conn) *bufio.Reader { return bufio.NewReader(c) }
