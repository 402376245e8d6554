package httpjob_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

func observation() worker.Observation {
	return worker.Observation{OperationID: "op-1", Kind: "video", Provider: "video", Account: "a", RemoteJobID: "job-1"}
}

func TestAStatusWordIsReadAndNeverGuessed(t *testing.T) {
	t.Parallel()
	type got struct {
		State  worker.State
		Detail string
	}
	for _, c := range []struct {
		body string
		want got
	}{
		{`{"status":"queued"}`, got{worker.Pending, ""}},
		{`{"status":"running"}`, got{worker.Pending, ""}},
		{`{"status":"succeeded"}`, got{worker.Succeeded, ""}},
		{`{"status":"failed","error":"no GPU"}`, got{worker.Failed, "no GPU"}},
		{`{"status":"failed","error":{"code": 7, "message": "x"}}`, got{worker.Failed, `{"code":7,"message":"x"}`}},
		{`{"status":"failed","error":null}`, got{worker.Failed, ""}},
		{`{"status":"failed"}`, got{worker.Failed, ""}},
		{`{"status":"failed","error":"a\u0000b\u001b[31m"}`, got{worker.Failed, `a\x00b\x1b[31m`}},
		{`{"status":"canceled","error":"by you"}`, got{worker.Canceled, "by you"}},
		{`{"status":"Queued "}`, got{worker.Pending, `status word "Queued " is in no list of the provider file; kept as pending`}},
		{`{"status":"SUCCEEDED"}`, got{worker.Pending, `status word "SUCCEEDED" is in no list of the provider file; kept as pending`}},
		{`{"status":null}`, got{worker.Pending, "status null is no text; kept as pending"}},
		{`{"status":17}`, got{worker.Pending, "status 17 is no text; kept as pending"}},
		{`{"Status":"failed"}`, got{worker.Pending, "no status word: at /status: there is no value; kept as pending"}},
		{`{"status":"failed","status":"succeeded"}`, got{worker.Pending, "no status word: at /status: the object has the key twice; kept as pending"}},
	} {
		t.Run(c.body, func(t *testing.T) {
			t.Parallel()
			remote := startRaw(t, nil, answer(framed(200, c.body)))
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
			status, err := h.Observe(context.Background(), observation())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got{status.State, status.Detail}); diff != "" {
				t.Error(diff)
			}
			if string(status.Snapshot) != c.body {
				t.Errorf("the snapshot is %q", status.Snapshot)
			}
		})
	}
}

func TestAnAnswerThatIsNoStatusTeachesNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"HTML":           framed(200, "<html>"),
		"no end":         "HTTP/1.1 200 OK\r\n\r\n{\"status\":\"failed\"}",
		"cut":            "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"status\":\"failed\"}",
		"nothing":        "",
		"500":            framed(500, `{"status":"failed"}`),
		"503":            framed(503, `{"status":"failed"}`),
		"401":            framed(401, `{"status":"failed"}`),
		"429":            framed(429, `{"status":"failed"}`),
		"a cut 404":      "HTTP/1.1 404 Not Found\r\nContent-Length: 99\r\n\r\n{",
		"two values":     framed(200, `{"status":"failed"}{"status":"succeeded"}`),
		"a body too big": framed(200, `{"status":"failed","x":"`+strings.Repeat("x", 9<<20)+`"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := startRaw(t, nil, answer(text))
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
			status, err := h.Observe(context.Background(), observation())
			if err == nil || status.State != "" {
				t.Errorf("got %v, %v", status, err)
			}
		})
	}
}

func TestAJobTheRemoteDoesNotHaveIsNotFound(t *testing.T) {
	t.Parallel()
	for _, code := range []int{404, 410} {
		remote := startRaw(t, nil, answer(framed(code, "no such job")))
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
		got, err := h.Observe(context.Background(), observation())
		if diff := cmp.Diff(worker.Status{State: worker.NotFound, Snapshot: []byte("no such job")}, got); diff != "" || err != nil {
			t.Error(err, diff)
		}
	}
}

func TestTheRemotesWishForTheNextLookIsHandedOn(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, answer(framed(429, "", "Retry-After: 7")))
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
	_, err := h.Observe(context.Background(), observation())
	if got := worker.RetryAfter(err); got != 7*time.Second {
		t.Errorf("got %v of %v", got, err)
	}
	remote = startRaw(t, nil, answer(framed(200, `{"status":"queued"}`, "Retry-After: 9")))
	h = newHandler(t, "http://"+remote.addr, httpjob.Options{})
	status, err := h.Observe(context.Background(), observation())
	if err != nil || status.RetryAfter != 9*time.Second {
		t.Errorf("got %v, %v", status, err)
	}
}

func TestALargeSnapshotIsBoundedButReadWhole(t *testing.T) {
	t.Parallel()
	body := `{"x":"` + strings.Repeat("x", 200<<10) + `","status":"succeeded"}`
	remote := startRaw(t, nil, answer(framed(200, body)))
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
	got, err := h.Observe(context.Background(), observation())
	if err != nil || got.State != worker.Succeeded {
		t.Fatal(got.State, err)
	}
	want := fmt.Sprintf("[%d more bytes]", len(body)-64<<10)
	if len(got.Snapshot) > 65<<10 || !strings.HasSuffix(string(got.Snapshot), want) {
		t.Errorf("%d bytes, want the end %q", len(got.Snapshot), want)
	}
}

func TestAnUnlistedWordIsLoggedOnceAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, answer(framed(200, `{"status":"odd `+secret+`"}`)))
	var log bytes.Buffer
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		status, err := h.Observe(context.Background(), observation())
		if err != nil || strings.Contains(status.Detail+string(status.Snapshot), "s3cr3t") {
			t.Errorf("got %v, %v", status, err)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || strings.Contains(log.String(), "s3cr3t") {
		t.Errorf("%d lines: %s", n, log.String())
	}
}

func TestAnIDStaysWithinItsPlaceInTheAddress(t *testing.T) {
	t.Parallel()
	paths := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.RequestURI
		_, _ = io.WriteString(w, `{"status":"queued"}`)
	}))
	t.Cleanup(server.Close)
	h := newHandler(t, server.URL, httpjob.Options{})
	for id, want := range map[string]string{
		"job-1":       "/v1/jobs/job-1",
		"a/b":         "/v1/jobs/a%2Fb",
		"../../admin": "/v1/jobs/..%2F..%2Fadmin",
		"a?x=1&y#z":   "/v1/jobs/a%3Fx%3D1%26y%23z",
		"a%2Fb":       "/v1/jobs/a%252Fb",
		"~a:b@c+d":    "/v1/jobs/~a%3Ab%40c%2Bd",
	} {
		o := observation()
		o.RemoteJobID = id
		if _, err := h.Observe(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		if got := <-paths; got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
	for _, id := range []string{".", "..", ""} {
		o := observation()
		o.RemoteJobID = id
		if _, err := h.Observe(context.Background(), o); err == nil {
			t.Errorf("%q was put into an address", id)
		}
	}
}

func TestAKeptValueMayBeTheWholeAddress(t *testing.T) {
	t.Parallel()
	paths := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.RequestURI + " " + r.Header.Get("X-Api-Key")
		_, _ = io.WriteString(w, `{"status":"queued"}`)
	}))
	t.Cleanup(server.Close)
	h := newHandler(t, server.URL, httpjob.Options{}, "url: ${BASE}/v1/jobs/{remote_job_id}", `url: "{status_url}"`)
	for kept, want := range map[string]string{
		server.URL + "/s/1?sig=a%2Fb": "/s/1?sig=a%2Fb " + secret,
		"/s/2":                        "/s/2 " + secret,
	} {
		o := observation()
		o.Keep = map[string]string{"status_url": kept}
		if _, err := h.Observe(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		if got := <-paths; got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
	for _, kept := range []string{"", "file:///etc/passwd", "http://", "http://u:p@example.com/", "[redacted]"} {
		o := observation()
		o.Keep = map[string]string{"status_url": kept}
		if _, err := h.Observe(context.Background(), o); err == nil && kept != "[redacted]" {
			t.Errorf("%q was taken for an address", kept)
		}
		select {
		case <-paths:
		default:
		}
	}
}

// headersAt starts a server that notes the API's headers and where it sends the reader on to.
func headersAt(t *testing.T, seen chan string, name string, next func() string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- name + " " + r.Header.Get("Authorization") + "|" + r.Header.Get("X-Api-Key") + "|" + r.Header.Get("Referer")
		if to := next(); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, `{"status":"queued"}`)
	}))
	t.Cleanup(server.Close)
	return server
}

func TestTheHeadersOfTheAPIStayAtItsOrigin(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 10)
	both := "Bearer " + secret + "|" + secret + "|"
	var api, other *httptest.Server
	steps := []func() string{}
	next := func() string {
		if len(steps) == 0 {
			return ""
		}
		step := steps[0]
		steps = steps[1:]
		return step()
	}
	// Both servers are 127.0.0.1: for net/http one host. They differ in their port.
	api = headersAt(t, seen, "api", next)
	other = headersAt(t, seen, "other", next)
	h := newHandler(t, api.URL, httpjob.Options{}, "url: ${BASE}/v1/jobs/{remote_job_id}", `url: "{status_url}"`)
	toAPI := func() string { return api.URL + "/next" }
	toOther := func() string { return other.URL + "/next" }
	for _, c := range []struct {
		name  string
		start string
		steps []func() string
		want  []string
	}{
		{"at the origin", api.URL, nil, []string{"api " + both}},
		{"elsewhere", other.URL, nil, []string{"other ||"}},
		{"redirected within the origin", api.URL, []func() string{toAPI}, []string{"api " + both, "api " + both}},
		{"redirected to another port", api.URL, []func() string{toOther}, []string{"api " + both, "other ||"}},
		{"redirected away and back", api.URL, []func() string{toOther, toAPI}, []string{"api " + both, "other ||", "api ||"}},
		{"redirected from elsewhere to the origin", other.URL, []func() string{toAPI}, []string{"other ||", "api ||"}},
	} {
		steps = c.steps
		o := observation()
		o.Keep = map[string]string{"status_url": c.start + "/x?sig=1"}
		if _, err := h.Observe(context.Background(), o); err != nil {
			t.Fatal(err)
		}
		var got []string
		for range c.want {
			got = append(got, <-seen)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestARedirectLoopAndAForeignSchemeEnd(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"/again", "file:///etc/passwd"} {
		server := httptest.NewServer(http.RedirectHandler(to, http.StatusFound))
		t.Cleanup(server.Close)
		h := newHandler(t, server.URL, httpjob.Options{})
		if _, err := h.Observe(context.Background(), observation()); err == nil {
			t.Errorf("%s was followed", to)
		}
	}
}
