package httpjob_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

func TestAWordOfSuccessWithAValueBesideItIsAFailure(t *testing.T) {
	t.Parallel()
	type got struct {
		State  worker.State
		Detail string
	}
	for body, want := range map[string]got{
		`{"status":"succeeded"}`:                          {worker.Succeeded, ""},
		`{"status":"succeeded","problem":null}`:           {worker.Succeeded, ""},
		`{"status":"succeeded","problem":""}`:             {worker.Succeeded, ""},
		`{"status":"succeeded","problem":"x"}`:            {worker.Failed, ""},
		`{"status":"succeeded","problem":{},"error":"y"}`: {worker.Failed, "y"},
		`{"status":"running","problem":"x"}`:              {worker.Pending, ""},
		`{"status":"canceled","problem":"x"}`:             {worker.Canceled, ""},
		`{"status":"succeeded","problem":"","problem":"x"}`: {worker.Pending,
			"no telling success from failure: at /problem: the object has the key twice; kept as pending"},
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			remote := startRaw(t, nil, answer(framed(200, body)))
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{}, "  error: /error", "  error: /error\n  failed_if: /problem")
			status, err := h.Observe(context.Background(), observation())
			if diff := cmp.Diff(want, got{status.State, status.Detail}); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

// viaHandler reads the address of a result from an answer of its own.
func viaHandler(t *testing.T, base string) *httpjob.Handler {
	t.Helper()
	return newHandler(t, base, httpjob.Options{OutDir: t.TempDir()},
		"  from: /output/url", "  from: /video/url\n  via: \"{response_url}\"", "status_url: /urls/get", "response_url: /urls/response")
}

func TestAnAddressIsReadFromAnAnswerOfItsOwn(t *testing.T) {
	t.Parallel()
	files, fetched := fileServer(t, result)
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/response" || r.Header.Get("X-Api-Key") != secret {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = fmt.Fprintf(w, `{"video":{"url":%q}}`, files.URL+"/f")
	}))
	t.Cleanup(server.Close)
	d := delivery("")
	d.Snapshot = []byte(`{"video":{"url":"http://127.0.0.1:1/not/this"}}`)
	d.Keep = map[string]string{"response_url": server.URL + "/response"}
	got, err := viaHandler(t, server.URL).Deliver(context.Background(), d)
	if diff := cmp.Diff(delivered("op-1.mp4", result), got); diff != "" || err != nil || asked.Load() != 1 || fetched.Load() != 1 {
		t.Errorf("%v, asked %d times, fetched %d times %s", err, asked.Load(), fetched.Load(), diff)
	}
}

func TestAFreshAddressThatIsNoGoodIsNotAskedForTwice(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/response" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		asked.Add(1)
		_, _ = io.WriteString(w, `{"video":{"url":"/gone"}}`)
	}))
	t.Cleanup(server.Close)
	d := delivery("")
	d.Keep = map[string]string{"response_url": server.URL + "/response"}
	_, err := viaHandler(t, server.URL).Deliver(context.Background(), d)
	if err == nil || worker.IsDeliverFailed(err) || asked.Load() != 1 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

func TestTheHeadersStayAwayFromAnAnswerElsewhere(t *testing.T) {
	t.Parallel()
	files, _ := fileServer(t, result)
	var leaked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked.Store(r.Header.Get("Authorization") != "" || r.Header.Get("X-Api-Key") != "")
		_, _ = fmt.Fprintf(w, `{"video":{"url":%q}}`, files.URL+"/f")
	}))
	t.Cleanup(elsewhere.Close)
	d := delivery("")
	d.Keep = map[string]string{"response_url": elsewhere.URL}
	if _, err := viaHandler(t, "http://127.0.0.1:1").Deliver(context.Background(), d); err != nil || leaked.Load() {
		t.Errorf("%v, leaked %v", err, leaked.Load())
	}
}

func TestAnAnswerWithoutAnAddressIsAskedForAgainLater(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status     int
		body, want string
		wait       time.Duration
	}{
		{422, `{"detail":"no"}`, `answered 422: it said: {"detail":"no"}`, 7 * time.Second},
		{200, `{"video":null}`, "finding the result's address in the answer: at /video/url: there is no value", 0},
		{200, `<html>`, "the body is not exactly one JSON value", 7 * time.Second},
		{404, `{}`, "reading the result's address: the remote says that it has no such job", 0},
	} {
		t.Run(fmt.Sprint(c.status, c.body), func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			t.Cleanup(server.Close)
			d := delivery("")
			d.Keep = map[string]string{"response_url": server.URL}
			_, err := viaHandler(t, server.URL).Deliver(context.Background(), d)
			if err == nil || worker.IsDeliverFailed(err) || !strings.Contains(err.Error(), c.want) || asked.Load() != 1 {
				t.Errorf("asked %d times: %v", asked.Load(), err)
			}
			if got := worker.RetryAfter(err); got != c.wait {
				t.Errorf("the next look is in %v", got)
			}
		})
	}
}

func TestAnAnswerOnTheWayNeedsAPlaceToLookAt(t *testing.T) {
	t.Parallel()
	text := strings.Replace(fullFile, "  from: /output/url", "  via: \"{status_url}\"\n  url: https://api.example.com/{remote_job_id}", 1)
	_, err := httpjob.Parse("p.yaml", []byte(text), env)
	if err == nil || !strings.Contains(err.Error(), "deliver.via: there is no from") {
		t.Errorf("got %v", err)
	}
}
