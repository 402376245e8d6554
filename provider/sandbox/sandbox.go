package sandbox

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// SpecYAML is the provider file of the sandbox. It takes the address from ${FENCEROW_SANDBOX_URL} and the key from
// ${FENCEROW_SANDBOX_KEY}.
//
//go:embed spec.yaml
var SpecYAML []byte

// Options say how a sandbox behaves. The zero value goes right always and takes any key.
type Options struct {
	APIKey string   // requests must bear it; empty: any or none will do
	Seed   uint64   // with an operation's name it decides what goes wrong
	Faults []string // names to choose from; an unknown one panics (ParseFaults reports it as an error)
	Rate   float64  // share of operations that meet a fault, from above 0 to 1; 0 means 1

	Queued     time.Duration // a job waits for so long, 300ms by default,
	Running    time.Duration // and then runs for so long, 700ms by default
	SlowFor    time.Duration // how late a slow answer is; 2s by default
	StallFor   time.Duration // when a stalled answer is given up; 10m by default
	LateFor    time.Duration // how long a late-404 job is unknown; 1s by default
	RetryAfter time.Duration // what a 429 asks for, in whole seconds; 1s by default

	Now func() time.Time // the clock; time.Now by default
}

// Sandbox is a remote generation API in memory. It is safe for concurrent use.
type Sandbox struct {
	opts Options
	mux  *http.ServeMux

	mu       sync.Mutex
	jobs     map[string]*job
	order    []*job
	counts   map[string]*Count
	requests []Request
}

// New makes a sandbox.
func New(opts Options) *Sandbox {
	for _, name := range opts.Faults {
		if !isFault(name) {
			panic(fmt.Sprintf("sandbox.New: there is no fault %q", name))
		}
	}
	opts.Rate = cmp.Or(opts.Rate, 1)
	opts.Queued = cmp.Or(opts.Queued, 300*time.Millisecond)
	opts.Running = cmp.Or(opts.Running, 700*time.Millisecond)
	opts.SlowFor = cmp.Or(opts.SlowFor, 2*time.Second)
	opts.StallFor = cmp.Or(opts.StallFor, 10*time.Minute)
	opts.LateFor = cmp.Or(opts.LateFor, time.Second)
	opts.RetryAfter = cmp.Or(opts.RetryAfter, time.Second)
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Sandbox{opts: opts, jobs: map[string]*job{}, counts: map[string]*Count{}, mux: http.NewServeMux()}
	s.mux.HandleFunc("POST /v1/generations", s.guarded(s.create))
	s.mux.HandleFunc("GET /v1/generations", s.guarded(s.list))
	s.mux.HandleFunc("GET /v1/generations/{id}", s.guarded(s.status))
	s.mux.HandleFunc("POST /v1/generations/{id}/cancel", s.guarded(s.cancel))
	s.mux.HandleFunc("GET /v1/files/{id}", s.guarded(s.file))
	s.mux.HandleFunc("GET /_sandbox/counts", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, s.Counts()) })
	s.mux.HandleFunc("GET /_sandbox/requests", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, s.Requests()) })
	return s
}

// Handler gives the API for an HTTP server of the caller's own.
func (s *Sandbox) Handler() http.Handler { return s }

// ServeHTTP serves the API.
func (s *Sandbox) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Server is a sandbox at an address.
type Server struct {
	URL string // http://host:port, without a slash at its end

	server *http.Server
	done   chan error
}

// Serve listens on addr, such as "127.0.0.1:0", and serves until the Server is closed.
func (s *Sandbox) Serve(addr string) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	server := &Server{
		URL:    "http://" + l.Addr().String(),
		server: &http.Server{Handler: s, ReadHeaderTimeout: 30 * time.Second},
		done:   make(chan error, 1),
	}
	go func() { server.done <- server.server.Serve(l) }()
	return server, nil
}

// Close cuts every connection and returns when the server has ended.
func (s *Server) Close() error {
	err := s.server.Close()
	_ = <-s.done
	return err
}

// guarded asks for the key.
func (s *Sandbox) guarded(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.opts.APIKey != "" && r.Header.Get("Authorization") != "Bearer "+s.opts.APIKey {
			if r.Method == http.MethodPost && r.PathValue("id") == "" {
				s.refuseUnread(w, r)
				return
			}
			s.note(Request{Method: r.Method, Path: r.URL.RequestURI(), Status: http.StatusUnauthorized})
			writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "the key is missing or wrong"})
			return
		}
		next(w, r)
	}
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("sandbox: writing an answer: %v", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}
