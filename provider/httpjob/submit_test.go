package httpjob_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quietTLS starts a TLS server that also offers HTTP/2 and keeps handshake errors to itself.
func quietTLS(t *testing.T, handler http.Handler) (*httptest.Server, *x509.CertPool) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return server, pool
}

func TestTheRequestArrivesByteForByteOverHTTP1(t *testing.T) {
	t.Parallel()
	type seen struct {
		Proto, Method, Path, Body, Auth, Key, Type string
		Close                                      bool
	}
	requests := make(chan seen, 10)
	server, pool := quietTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- seen{r.Proto, r.Method, r.URL.Path, string(body), r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"),
			r.Header.Get("Content-Type"), r.Close}
		_, _ = io.WriteString(w, `{"id": 900719925474099312345, "urls": {"get": "https://example.com/s"}}`)
	}))
	h := newHandler(t, server.URL, httpjob.Options{RootCAs: pool})
	s := submission()
	s.Request = []byte("{ \"prompt\" :\t\"ä\\u0000<&>\" }\n")
	got, err := h.Submit(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	want := worker.Accepted{RemoteJobID: "900719925474099312345", Keep: map[string]string{"status_url": "https://example.com/s"},
		Raw: []byte(`{"id": 900719925474099312345, "urls": {"get": "https://example.com/s"}}`)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantSeen := seen{"HTTP/1.1", "POST", "/v1/jobs", string(s.Request), "Bearer " + secret, secret, "application/json", true}
	if diff := cmp.Diff(wantSeen, <-requests); diff != "" {
		t.Error(diff)
	}
	if len(requests) != 0 {
		t.Errorf("%d requests too many", len(requests))
	}
}

func TestAnUntrustedCertificateIsNotSent(t *testing.T) {
	t.Parallel()
	var count atomic.Int64
	server, _ := quietTLS(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { count.Add(1) }))
	h := newHandler(t, server.URL, httpjob.Options{RootCAs: x509.NewCertPool()})
	_, err := h.Submit(context.Background(), submission())
	if e := submitError(t, err); e.Class != worker.ClassNotSent || count.Load() != 0 {
		t.Errorf("got %v, %d requests", e, count.Load())
	}
}

// A connection that is closed after the request was read makes net/http's shared client send again when a header says
// that it may (reports B19 and B22). The file's reader refuses such headers, so they are put into the Spec by hand here.
func TestNothingIsSentAgainWhenTheConnectionIsClosedAfterTheRequest(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"Idempotency-Key", "X-Idempotency-Key", "X-Other"} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			keys := make(chan string, 100)
			remote := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
				if req, err := r.readRequest(c); err == nil {
					keys <- req.Header.Get("Idempotency-Key") + req.Header.Get("X-Idempotency-Key")
				}
			})
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
			h.Spec().Submit.Headers[header] = []string{"k"}
			for range 5 {
				_, err := h.Submit(context.Background(), submission())
				if e := submitError(t, err); e.Class != worker.ClassUnknown || e.Reason != worker.ReasonNoResponse {
					t.Errorf("got %v", e)
				}
				if key := <-keys; key != "" {
					t.Errorf("the header was sent: %q", key)
				}
			}
			if diff := cmp.Diff([]int64{5, 5}, []int64{remote.requests.Load(), remote.conns.Load()}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Report B21.
func TestARedirectIsNotFollowedAndItsTargetIsSaid(t *testing.T) {
	t.Parallel()
	for _, code := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			var count atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				count.Add(1)
				http.Redirect(w, r, "/elsewhere", code)
			}))
			t.Cleanup(server.Close)
			h := newHandler(t, server.URL, httpjob.Options{})
			_, err := h.Submit(context.Background(), submission())
			e := submitError(t, err)
			if e.Reason != worker.ReasonUnclearAnswer || count.Load() != 1 || !strings.Contains(e.Error(), `"/elsewhere"`) {
				t.Errorf("got %v after %d requests", e, count.Load())
			}
		})
	}
}

func TestTheDeadlineIsJudgedAfterTheHandshake(t *testing.T) {
	t.Parallel()
	server, pool := quietTLS(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") }))
	by := time.Now().Add(400 * time.Millisecond)
	// A relay that hands the handshake's last flight over only when the deadline has passed.
	relay := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
		up, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			return
		}
		defer up.Close()
		go func() { _, _ = io.Copy(up, c) }()
		buf := make([]byte, 64<<10)
		n, err := up.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-time.After(time.Until(by) + 100*time.Millisecond):
		case <-r.quit:
		}
		_, _ = c.Write(buf[:n])
		_, _ = io.Copy(c, up)
	})
	h := newHandler(t, "https://"+relay.addr, httpjob.Options{RootCAs: pool})
	s := submission()
	s.SendBy = by
	_, err := h.Submit(context.Background(), s)
	if e := submitError(t, err); e.Class != worker.ClassNotSent {
		t.Errorf("got %v", e)
	}
}

func TestTheConnectionCarriesNothingAfterTheDeadline(t *testing.T) {
	t.Parallel()
	given, read := make(chan struct{}), make(chan error, 1)
	remote := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
		<-given // reads nothing before: the request gets stuck
		_, err := io.Copy(io.Discard, c)
		read <- err
	})
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{}, "timeout: 5s", "timeout: 1h")
	s := submission()
	s.Request = bytes.Repeat([]byte("x"), 64<<20)
	s.SendBy = time.Now().Add(300 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err := h.Submit(ctx, s)
	close(given)
	e := submitError(t, err)
	if e.Class != worker.ClassUnknown || e.Reason != worker.ReasonNoResponse || ctx.Err() != nil {
		t.Errorf("got %v (context: %v)", e, ctx.Err())
	}
	// What the kernel still held was dropped with the connection and did not follow later.
	if err := <-read; !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the remote read on to %v", err)
	}
}

func TestAnAnswerBeforeTheRequestProvesNoAcceptance(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
		_, _ = io.WriteString(c, withID(`"of somebody else"`))
		_, _ = r.readRequest(c)
	})
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
	_, err := h.Submit(context.Background(), submission())
	e := submitError(t, err)
	if e.Class == worker.ClassNotSent && remote.requests.Load() > 0 {
		t.Errorf("got %v, but the request arrived", e)
	}
}

// connectProxy is a proxy that tunnels everything to one address.
func connectProxy(t *testing.T, target string, auth *atomic.Value) *rawRemote {
	t.Helper()
	return startRaw(t, nil, func(r *rawRemote, c net.Conn) {
		req, err := http.ReadRequest(bufioReader(c))
		if err != nil || req.Method != http.MethodConnect {
			return
		}
		auth.Store(req.Header.Get("Proxy-Authorization"))
		up, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		defer up.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		var both sync.WaitGroup
		both.Go(func() { _, _ = io.Copy(up, c); _ = up.(*net.TCPConn).CloseWrite() })
		_, _ = io.Copy(c, up)
		both.Wait()
	})
}

func TestAProxyOfTheFileIsTunnelledThrough(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, answer(withID(`"job-1"`)))
	server, pool := quietTLS(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"id":"job-2"}`) }))
	for _, c := range []struct{ base, target, want string }{
		{"http://api.example.com", remote.addr, "job-1"},
		{"https://example.com", server.Listener.Addr().String(), "job-2"},
	} {
		t.Run(c.base, func(t *testing.T) {
			t.Parallel()
			var auth atomic.Value
			proxy := connectProxy(t, c.target, &auth)
			h := newHandler(t, c.base, httpjob.Options{RootCAs: pool}, "kind: video\n", "kind: video\nproxy: http://u:pass@"+proxy.addr+"\n")
			got, err := h.Submit(context.Background(), submission())
			if err != nil || got.RemoteJobID != c.want {
				t.Errorf("got %v, %v", got, err)
			}
			if auth.Load() != "Basic dTpwYXNz" {
				t.Errorf("got %v", auth.Load())
			}
		})
	}
}

// Not parallel: it sets the environment.
func TestAProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	proxy := startRaw(t, nil, func(*rawRemote, net.Conn) {})
	t.Setenv("HTTP_PROXY", "http://"+proxy.addr)
	t.Setenv("http_proxy", "http://"+proxy.addr)
	h := newHandler(t, "http://no-such-host.invalid", httpjob.Options{})
	_, err := h.Submit(context.Background(), submission())
	if e := submitError(t, err); e.Class != worker.ClassNotSent || proxy.conns.Load() != 0 {
		t.Errorf("got %v, the proxy saw %d connections", e, proxy.conns.Load())
	}
}

// A wrong path is the likeliest cause of a 404, so it is shown; its query and its secrets are not.
func TestAnAddressThatIsNotThereIsShownWithItsPath(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{
		404: "/v1/[redacted]/jobz answered 404 Not Found", 405: "/v1/[redacted]/jobz answered 405 Method Not Allowed", 402: " answered 402 Payment Required",
	} {
		remote := startRaw(t, nil, answer(framed(status, "")))
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{}, "url: ${BASE}/v1/jobs\n", "url: ${BASE}/v1/${API}/jobz?team=7\n")
		_, err := h.Submit(context.Background(), submission())
		if diff := cmp.Diff("refused: POST http://"+remote.addr+want, submitError(t, err).Error()); diff != "" {
			t.Errorf("%d: %s", status, diff)
		}
	}
}

func TestSecretsAreCutOutOfWhatTheRemoteEchoes(t *testing.T) {
	t.Parallel()
	quoted, _ := json.Marshal("Bearer " + secret)
	for _, status := range []int{201, 401, 422, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			body := fmt.Sprintf(`{"id":"","your":%s,"q":"s3cr3t-value%%2F%%2B","raw":"%s"}`, quoted, secret)
			remote := startRaw(t, nil, answer(framed(status, body)))
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
			_, err := h.Submit(context.Background(), submission())
			e := submitError(t, err)
			if text := e.Error() + string(e.Raw) + e.Key + fmt.Sprintf("%+v", e); strings.Contains(text, "s3cr3t") {
				t.Errorf("a secret got through: %s", text)
			}
			if !strings.Contains(string(e.Raw), `"your":"Bearer [redacted]"`) {
				t.Errorf("the evidence lost more than the secret: %s", e.Raw)
			}
		})
	}
}

func TestASecretCutInTheMiddleIsCutOutAsWell(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, answer("HTTP/1.1 201 Created\r\nContent-Length: 1000\r\n\r\n{\"your\":\""+secret[:9]))
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
	_, err := h.Submit(context.Background(), submission())
	e := submitError(t, err)
	if want := `{"your":"[redacted]` + "\n[982 more bytes]"; string(e.Raw) != want {
		t.Errorf("got %q", e.Raw)
	}
}

func TestEvidenceIsBoundedAndTheRestCounted(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, answer(framed(500, strings.Repeat("x", 100<<10))))
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
	_, err := h.Submit(context.Background(), submission())
	e := submitError(t, err)
	if want := fmt.Sprintf("[%d more bytes]", 36<<10); len(e.Raw) > 66<<10 || !strings.HasSuffix(string(e.Raw), want) {
		t.Errorf("%d bytes, ending in %q", len(e.Raw), e.Raw[len(e.Raw)-40:])
	}
}

func TestEqualFailuresHaveEqualKeysForTheBrake(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		framed(402, "a"):                 "402",
		framed(502, "a"):                 "unclear_answer 502",
		"":                               "no_response",
		framed(201, `{"id":""}`):         "missing_remote_id",
		framed(422, `{"error":"words"}`): "422",
	} {
		remote := startRaw(t, nil, answer(text))
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
		_, err := h.Submit(context.Background(), submission())
		if e := submitError(t, err); e.Key != want {
			t.Errorf("%q: want %q, got %q", text, want, e.Key)
		}
	}
}

func TestManySubmissionsAtOnceStayApart(t *testing.T) {
	t.Parallel()
	var count atomic.Int64
	server, pool := quietTLS(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		count.Add(1)
		_, _ = fmt.Fprintf(w, `{"id":%s}`, body)
	}))
	h := newHandler(t, server.URL, httpjob.Options{RootCAs: pool}, "timeout: 5s", "timeout: 1m")
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			s := submission()
			s.Request = fmt.Appendf(nil, `"job-%d"`, i)
			got, err := h.Submit(context.Background(), s)
			if err != nil || got.RemoteJobID != fmt.Sprintf("job-%d", i) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	all.Wait()
	if count.Load() != 40 {
		t.Errorf("%d requests", count.Load())
	}
}
