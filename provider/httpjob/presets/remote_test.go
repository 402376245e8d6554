package presets_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/provider/httpjob/presets"
	"github.com/fencerow/fencerow/worker"
)

const (
	request = `{"prompt":"a hedge at dawn"}`
	result  = "the hedge, filmed at dawn"
	apiKey  = "k3y-of-the-test"
)

// api is what a test knows about the API of a preset, from its documentation.
type api struct {
	name     string
	origin   string // of the API, as the preset and the answers have it
	files    string // origin of the results; empty: they are at the API itself
	env      map[string]string
	provider string // what is frozen in an operation
	id       string
	submit   string // "POST /path"
	created  int    // the status of an answer that took the request
	look     string // path of the status
	between  string // path of an answer between the status and the result, if there is one
	result   string // path
	cancel   string // "PUT /path"; empty: the preset does not cancel
	headers  map[string]string
	words    map[string]worker.State
	failure  string
	proofs   map[int]worker.Class // of the statuses that prove something
}

var apis = []api{
	{
		name: "fal", origin: "https://queue.fal.run", files: "https://v3b.fal.media",
		env:      map[string]string{"FAL_KEY": apiKey, "FAL_MODEL": "acme/hedge-video/text-to-video"},
		provider: "fal/acme/hedge-video/text-to-video",
		id:       "764cabcf-b745-4b3e-ae38-1200304cf45b",
		submit:   "POST /acme/hedge-video/text-to-video", created: 200,
		look:    "/acme/hedge-video/requests/764cabcf-b745-4b3e-ae38-1200304cf45b/status",
		between: "/acme/hedge-video/requests/764cabcf-b745-4b3e-ae38-1200304cf45b",
		result:  "/files/b/hedge/output.mp4",
		cancel:  "PUT /acme/hedge-video/requests/764cabcf-b745-4b3e-ae38-1200304cf45b/cancel",
		headers: map[string]string{"Authorization": "Key " + apiKey, "X-Fal-No-Retry": "1"},
		words: map[string]worker.State{
			"IN_QUEUE": worker.Pending, "IN_PROGRESS": worker.Pending, "COMPLETED": worker.Succeeded,
		},
		failure: "Request timed out",
		proofs:  map[int]worker.Class{401: worker.ClassRefused, 403: worker.ClassRefused},
	},
	{
		name: "openai-videos", origin: "https://videos.example.com",
		env:      map[string]string{"OPENAI_API_KEY": apiKey, "OPENAI_BASE_URL": "https://videos.example.com/v1"},
		provider: "openai-videos",
		id:       "video_68f1c2a9",
		submit:   "POST /v1/videos", created: 200,
		look:    "/v1/videos/video_68f1c2a9",
		result:  "/v1/videos/video_68f1c2a9/content",
		headers: map[string]string{"Authorization": "Bearer " + apiKey},
		words: map[string]worker.State{
			"queued": worker.Pending, "in_progress": worker.Pending, "completed": worker.Succeeded, "failed": worker.Failed,
		},
		failure: "the prompt was blocked",
		proofs: map[int]worker.Class{
			400: worker.ClassRejected, 401: worker.ClassRefused, 403: worker.ClassRefused, 429: worker.ClassRefused,
		},
	},
	{
		name: "replicate", origin: "https://api.replicate.com", files: "https://replicate.delivery",
		env:      map[string]string{"REPLICATE_API_TOKEN": apiKey},
		provider: "replicate",
		id:       "rrr4z55ocneqzikepnug6xezpe",
		submit:   "POST /v1/predictions", created: 201,
		look:    "/v1/predictions/rrr4z55ocneqzikepnug6xezpe",
		result:  "/xezq/5Wq/output.mp4",
		cancel:  "POST /v1/predictions/rrr4z55ocneqzikepnug6xezpe/cancel",
		headers: map[string]string{"Authorization": "Bearer " + apiKey, "Prefer": ""},
		words: map[string]worker.State{
			"starting": worker.Pending, "processing": worker.Pending, "succeeded": worker.Succeeded,
			"failed": worker.Failed, "canceled": worker.Canceled, "aborted": worker.Canceled,
		},
		failure: "the model ran out of memory (E1001)",
		proofs: map[int]worker.Class{
			401: worker.ClassRefused, 402: worker.ClassRefused, 422: worker.ClassRejected, 429: worker.ClassRefused,
		},
	},
	{
		name: "runway", origin: "https://api.dev.runwayml.com", files: "https://dnznrvs05pmza.cloudfront.net",
		env:      map[string]string{"RUNWAYML_API_SECRET": apiKey, "RUNWAY_TASK": "text_to_video"},
		provider: "runway/text_to_video",
		id:       "17f20503-6c24-4c16-946b-35dbbce2af2f",
		submit:   "POST /v1/text_to_video", created: 200,
		look:    "/v1/tasks/17f20503-6c24-4c16-946b-35dbbce2af2f",
		result:  "/output.mp4",
		headers: map[string]string{"Authorization": "Bearer " + apiKey, "X-Runway-Version": "2024-11-06"},
		words: map[string]worker.State{
			"PENDING": worker.Pending, "THROTTLED": worker.Pending, "RUNNING": worker.Pending,
			"SUCCEEDED": worker.Succeeded, "FAILED": worker.Failed, "CANCELLED": worker.Canceled,
		},
		failure: "the input was not accepted",
		proofs: map[int]worker.Class{
			400: worker.ClassRejected, 401: worker.ClassRefused, 404: worker.ClassRefused, 405: worker.ClassRefused,
			429: worker.ClassRefused,
		},
	},
}

// seen is one request that a server received.
type seen struct {
	What   string // "GET /path"
	Body   string
	header http.Header
}

// remote plays an API and the host of its files, with the answers of testdata.
type remote struct {
	api
	t      *testing.T
	server *httptest.Server
	media  *httptest.Server // server itself when the results are at the API

	mu      sync.Mutex
	answers map[string]answer
	atAPI   []seen
	atFiles []seen
}

type answer struct {
	status int
	body   string
}

func start(t *testing.T, a api) *remote {
	t.Helper()
	r := &remote{api: a, t: t, answers: map[string]answer{}}
	r.server = httptest.NewServer(r.handler(&r.atAPI))
	t.Cleanup(r.server.Close)
	r.media = r.server
	if a.files != "" {
		r.media = httptest.NewServer(r.handler(&r.atFiles))
		t.Cleanup(r.media.Close)
	}
	r.set(a.submit, a.created, r.recorded("submit"))
	r.set("GET "+a.result, 200, result)
	if a.between != "" {
		r.set("GET "+a.between, 200, r.recorded("response"))
	}
	return r
}

func (r *remote) handler(log *[]seen) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		what := req.Method + " " + req.URL.Path
		r.mu.Lock()
		*log = append(*log, seen{What: what, Body: string(body), header: req.Header})
		a, ok := r.answers[what]
		r.mu.Unlock()
		if !ok {
			a = answer{http.StatusNotFound, "{}"}
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	})
}

// set says what the servers answer from now on.
func (r *remote) set(what string, status int, body string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[what] = answer{status, body}
}

// recorded is an answer of testdata, with the servers' addresses in the place of the real ones.
func (r *remote) recorded(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", r.name, name+".json"))
	if err != nil {
		r.t.Fatal(err)
	}
	return r.here(string(text))
}

func (r *remote) here(text string) string {
	text = strings.ReplaceAll(text, r.origin, r.server.URL)
	if r.files != "" {
		text = strings.ReplaceAll(text, r.files, r.media.URL)
	}
	return text
}

// open makes the handler of the preset, for the servers.
func (r *remote) open() (*httpjob.Handler, string) {
	r.t.Helper()
	text, err := presets.Read(r.name)
	if err != nil {
		r.t.Fatal(err)
	}
	spec, err := httpjob.Parse(r.name+".yaml", []byte(r.here(string(text))), func(name string) (string, bool) {
		value, ok := r.env[name]
		return r.here(value), ok
	})
	if err != nil {
		r.t.Fatal(err)
	}
	dir := r.t.TempDir()
	h, err := httpjob.New(spec, httpjob.Options{OutDir: dir})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = h.Close() })
	return h, dir
}

func (r *remote) send(h *httpjob.Handler) (worker.Accepted, error) {
	return h.Submit(r.t.Context(), worker.Submission{OperationID: "op-1", Kind: "video", Provider: r.provider,
		Account: r.server.URL, Request: []byte(request), Attempt: 1, Revision: 1, SendBy: time.Now().Add(time.Minute)})
}

// accepted submits a request that is taken.
func (r *remote) accepted(h *httpjob.Handler) worker.Accepted {
	r.t.Helper()
	a, err := r.send(h)
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

// observe reads the status of the job, which is answered with the body.
func (r *remote) observe(h *httpjob.Handler, a worker.Accepted, status int, body string) worker.Status {
	r.t.Helper()
	r.set("GET "+r.look, status, body)
	s, err := h.Observe(r.t.Context(), worker.Observation{OperationID: "op-1", Kind: "video", Provider: r.provider,
		Account: r.server.URL, RemoteJobID: a.RemoteJobID, Keep: a.Keep})
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *remote) deliver(h *httpjob.Handler, a worker.Accepted, s worker.Status) (worker.Delivered, error) {
	return h.Deliver(r.t.Context(), worker.Delivery{OperationID: "op-1", Kind: "video", Provider: r.provider,
		Account: r.server.URL, RemoteJobID: a.RemoteJobID, Keep: a.Keep, Snapshot: s.Snapshot, Attempt: 1})
}
