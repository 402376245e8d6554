package httpjob_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/worker"
)

func cancellation() worker.Cancellation {
	return worker.Cancellation{OperationID: "op-1", Kind: "video", Provider: "video", Account: "a", RemoteJobID: "job/1"}
}

// What the remote answers to a cancel is told as it is, and decides nothing.
func TestWhatTheRemoteAnswersToACancelIsTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		said string // with %s for the origin
		fine bool
	}{
		"200":             {framed(200, `{"status":"canceled"}`), "POST %s answered 200 OK", true},
		"202 and no body": {framed(202, ""), "POST %s answered 202 Accepted", true},
		"no such job":     {framed(404, "no such job"), "POST %s answered 404 Not Found", true},
		"too late":        {framed(409, "done"), "POST %s answered 409 Conflict", true},
		"gone":            {framed(410, ""), "POST %s answered 410 Gone", true},
		"500":             {framed(500, "oops"), "asking to cancel job job/1: POST %s answered 500 Internal Server Error; it said: oops", false},
		"401":             {framed(401, "key"), "asking to cancel job job/1: POST %s answered 401 Unauthorized; it said: key", false},
		"a redirect":      {framed(307, "", "Location: /v1/jobs"), "asking to cancel job job/1: POST %s answered 307 Temporary Redirect; it said: ", false},
		"nothing":         {"", "asking to cancel job job/1: POST %s: EOF", false},
		"5 MB":            {framed(200, strings.Repeat("x", 5<<20)), "POST %s answered 200 OK", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := startRaw(t, nil, answer(c.text))
			got, err := newLooking(t, "http://"+remote.addr).Cancel(context.Background(), cancellation())
			said := got.Detail
			if err != nil {
				said = err.Error()
			}
			if diff := cmp.Diff(fmt.Sprintf(c.said, "http://"+remote.addr), said); diff != "" || c.fine != (err == nil) {
				t.Error(diff)
			}
			if len(got.Raw) > 65<<10 {
				t.Errorf("%d bytes are kept", len(got.Raw))
			}
			if n := remote.requests.Load(); n != 1 {
				t.Errorf("the remote received %d requests, want 1: a redirect is not followed", n)
			}
		})
	}
}

// A cancel goes to its own address, without a body, with the API's headers there only.
func TestACancelNamesItsJobAndTellsNobodyElseTheHeaders(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 10)
	server := func() string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			seen <- fmt.Sprintf("%s %s %t %q", r.Method, r.RequestURI, r.Header.Get("X-Api-Key") == secret, body)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	api, other := server(), server()
	for _, c := range []struct{ url, want string }{
		{`{method: DELETE, url: "${BASE}/v1/jobs/{remote_job_id}"}`, `DELETE /v1/jobs/job%2F1 true ""`},
		{`{method: PUT, url: "{status_url}"}`, `PUT /cancel false ""`},
		{`{url: "${BASE}/v1/jobs/{remote_job_id}/cancel"}`, `POST /v1/jobs/job%2F1/cancel true ""`},
	} {
		h := newLooking(t, api, `{url: "${BASE}/v1/jobs/{remote_job_id}/cancel"}`, c.url)
		asked := cancellation()
		asked.Keep = map[string]string{"status_url": other + "/cancel"}
		if _, err := h.Cancel(context.Background(), asked); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != c.want {
			t.Errorf("want %s, got %s", c.want, got)
		}
	}
}

// Contract D4, I1: asking to cancel never creates a job, whatever address the remote gave for it.
func TestACancelIsNotSentToWhereJobsAreCreated(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, answer(framed(201, `{"id":"job-2"}`)))
	h := newLooking(t, "http://"+remote.addr, `"${BASE}/v1/jobs/{remote_job_id}/cancel"`, `"{status_url}"`)
	_, port, _ := strings.Cut(remote.addr, ":")
	for _, address := range []string{
		"/v1/jobs", "/v1/jobs?x=y", "/v1/jobs/", "/v1/%6Aobs", "http://" + remote.addr + "/v1/../v1/jobs", "/v1//jobs",
		"http://" + remote.addr + "//v1/jobs", "//" + remote.addr + "//v1//jobs", "/x/%2e%2e/v1/jobs", "/v1%2Fjobs", "/v1/%256Aobs",
		`/v1\jobs`, "/V1/Jobs", "/v1/jobs;a=b", "/v1;x/jobs/.", "http://localhost:" + port + "/v1/jobs", "http://LOCALHOST:" + port + "/v1/jobs",
		"http://localhost.:" + port + "/v1/jobs", "http://127.1:" + port + "/v1/jobs", "http://0x7f.1:" + port + "/v1/jobs",
		"http://0177.0.0.1:" + port + "/v1/jobs", "http://2130706433:" + port + "/v1/jobs", "http://0:" + port + "/v1/jobs",
		"http://[::1]:" + port + "/v1/jobs", "http://[::ffff:127.0.0.1]:" + port + "/v1/jobs", "http://127.0.0.2:" + port + "/v1/jobs",
		"http://alias.example:" + port + "/v1/jobs", "https://" + remote.addr + "/v1/jobs", "http://127.0.0.1:0" + port + "/v1/jobs",
	} {
		asked := cancellation()
		asked.Keep = map[string]string{"status_url": address}
		_, err := h.Cancel(context.Background(), asked)
		if err == nil || !strings.Contains(err.Error(), "where jobs are created") || remote.conns.Load() != 0 {
			t.Errorf("%s: %v, %d connections", address, err, remote.conns.Load())
		}
	}
}

func TestAPlaceIsAnotherWhereItIsCertain(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, answer(framed(200, "")))
	h := newLooking(t, "http://"+remote.addr, `"${BASE}/v1/jobs/{remote_job_id}/cancel"`, `"{status_url}"`)
	for _, address := range []string{"/v1/jobs/1", "/v1/jobs/1/cancel", "/v1/jobs/cancel", "/v1/job", "/jobs", "/"} {
		asked := cancellation()
		asked.Keep = map[string]string{"status_url": address}
		if _, err := h.Cancel(context.Background(), asked); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestAnAddressThatCannotBeAskedIsToldWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	h := newLooking(t, "http://127.0.0.1:1", `"${BASE}/v1/jobs/{remote_job_id}/cancel"`, `"{status_url}"`,
		"?op={operation_id}", "?key=${API}&op={operation_id}")
	asked := cancellation()
	asked.Keep = map[string]string{"status_url": "ftp://example.com/" + secret}
	_, canceled := h.Cancel(context.Background(), asked)
	look := investigation()
	look.OperationID = ".." // stands in no address
	_, looked := h.Investigate(context.Background(), look)
	for _, err := range []error{canceled, looked} {
		if err == nil || strings.Contains(err.Error(), "s3cr3t") || !strings.Contains(err.Error(), "[redacted]") {
			t.Error(err)
		}
	}
}

func TestACancelShowsNoSecretAndHandsTheRemotesWishOn(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 429} {
		remote := startRaw(t, nil, answer(framed(status, "you sent "+secret, "Retry-After: 7")))
		got, err := newLooking(t, "http://"+remote.addr).Cancel(context.Background(), cancellation())
		if all := fmt.Sprint(got.Detail, string(got.Raw), err); strings.Contains(all, "s3cr3t") || !strings.Contains(all, "[redacted]") {
			t.Error(all)
		}
		if wish := worker.RetryAfter(err); status == 429 && wish != 7*time.Second {
			t.Errorf("the wish is %s", wish)
		}
	}
}
