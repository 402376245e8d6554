package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/fencerow/fencerow/machine"
)

// The defaults of a Config.
const (
	DefaultMaxBody    = 1 << 20
	DefaultTimeout    = 5 * time.Second
	DefaultConcurrent = 16
)

// retryAfter is when a remote is asked to call again, in seconds.
const retryAfter = "10"

// Verifier reports why a call is not the remote's; nil means that it is. It must look at nothing of the call that it
// does not verify but the path, and its error must hold no secret.
type Verifier func(r *http.Request, body []byte) error

// Reader reads a call. What it gives has neither provider nor account: which those are was verified, and not read. An
// error means that the call is none about a job; it must hold no secret.
type Reader interface {
	ReadCall(r *http.Request, body []byte) (machine.Notice, error)
}

// ReaderFunc is a function that reads a call.
type ReaderFunc func(r *http.Request, body []byte) (machine.Notice, error)

// ReadCall calls f.
func (f ReaderFunc) ReadCall(r *http.Request, body []byte) (machine.Notice, error) { return f(r, body) }

// Notifier stores what a remote says; *machine.Machine is one.
type Notifier interface {
	Notify(ctx context.Context, n machine.Notice) (machine.Noticed, error)
}

// Config is what a handler needs to know of one remote.
type Config struct {
	Machine Notifier
	Who     machine.Who // whose jobs the verified caller may tell of
	Verify  Verifier
	Reader  Reader

	// Unverified takes calls that nobody can verify, with Verify left nil. They are answered and change nothing.
	Unverified bool

	MaxBody    int64         // bytes of a body; 0 means DefaultMaxBody
	Timeout    time.Duration // what a place, then the body, then the database may take; 0 means DefaultTimeout
	Concurrent int           // calls at once, of all callers, verified or not; 0 means DefaultConcurrent
	Log        *slog.Logger  // nil means slog.Default
}

// Handler answers the calls of one remote.
type Handler struct {
	cfg   Config
	slots chan struct{}

	mu      sync.Mutex
	quietTo time.Time // calls that are not verified are not logged again before
	unsaid  int       // how many were not logged
}

// New makes a handler.
func New(c Config) (*Handler, error) {
	switch {
	case c.Unverified && c.Verify != nil:
		return nil, errors.New("webhook: there is a verifier, and Unverified is set: want one of them")
	case !c.Unverified && (c.Machine == nil || c.Verify == nil || c.Reader == nil || c.Who.Provider == ""):
		return nil, errors.New("webhook: a machine, a provider, a verifier and a reader are needed")
	case c.MaxBody < 0 || c.Timeout < 0 || c.Concurrent < 0:
		return nil, fmt.Errorf("webhook: a body of %d bytes, a timeout of %s, %d calls at once: none may be negative", c.MaxBody, c.Timeout, c.Concurrent)
	}
	if c.MaxBody == 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Concurrent == 0 {
		c.Concurrent = DefaultConcurrent
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return &Handler{cfg: c, slots: make(chan struct{}, c.Concurrent)}, nil
}

// reply is how a call is answered.
type reply struct {
	code int
	text string // for whoever looks at the remote's log of its calls
}

var (
	nothingNew  = reply{code: http.StatusNoContent}
	kept        = reply{http.StatusAccepted, "kept as evidence"}
	notPost     = reply{http.StatusMethodNotAllowed, "want POST"}
	tooLarge    = reply{http.StatusRequestEntityTooLarge, "the body is too large"}
	cutShort    = reply{http.StatusBadRequest, "the body did not come whole"}
	notVerified = reply{http.StatusUnauthorized, "the signature is missing, wrong or old"}
	unreadable  = reply{http.StatusBadRequest, "this tells of no job"}
	notStored   = reply{http.StatusServiceUnavailable, "not stored; call again"}
	broken      = reply{http.StatusInternalServerError, "not stored; call again"}
)

// ServeHTTP answers one call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, whole := broken, false
	defer func() {
		if p := recover(); p != nil {
			h.cfg.Log.Error("a call of the remote ended in a panic; it is to call again", "panic", p)
			answer = broken
		}
		switch answer.code {
		case http.StatusMethodNotAllowed:
			w.Header().Set("Allow", http.MethodPost)
		case http.StatusServiceUnavailable, http.StatusInternalServerError:
			w.Header().Set("Retry-After", retryAfter)
		}
		if !whole {
			w.Header().Set("Connection", "close") // nobody waits for the rest of the body
		}
		if answer.text == "" {
			w.WriteHeader(answer.code)
			return
		}
		http.Error(w, answer.text, answer.code)
	}()
	h.deadline(w)
	if r.Method != http.MethodPost {
		answer = notPost
		return
	}
	if !h.place() {
		answer = notStored
		return
	}
	defer func() { <-h.slots }()
	var body []byte
	if body, answer = h.body(w, r); answer.code != 0 {
		return
	}
	answer, whole = broken, true
	answer = h.answer(r, body)
}

// answer is what becomes of a call whose body is there.
func (h *Handler) answer(r *http.Request, body []byte) reply {
	if h.cfg.Unverified {
		return nothingNew
	}
	if err := h.cfg.Verify(r, body); err != nil {
		h.refused(err)
		return notVerified
	}
	n, err := h.cfg.Reader.ReadCall(r, body)
	if err != nil {
		h.cfg.Log.Warn("a call of the remote could not be read; nothing is stored of it", "error", err)
		return unreadable
	}
	n.Who = h.cfg.Who
	// A remote that gives up early is not asked to call again for what can be stored now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), h.cfg.Timeout)
	defer cancel()
	return h.notify(ctx, n)
}

// place waits until a call may be handled.
func (h *Handler) place() bool {
	late := time.NewTimer(h.cfg.Timeout)
	defer late.Stop()
	select {
	case h.slots <- struct{}{}:
		return true
	case <-late.C:
		h.cfg.Log.Warn("a call of the remote found no place in time; it is to call again", "at_once", h.cfg.Concurrent)
		return false
	}
}

// body reads a call's body, which is bounded in length and time. A reply without a code means that it is whole.
func (h *Handler) body(w http.ResponseWriter, r *http.Request) ([]byte, reply) {
	if r.ContentLength > h.cfg.MaxBody {
		return nil, tooLarge
	}
	h.deadline(w)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.cfg.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge
	case err != nil:
		return nil, cutShort
	}
	return body, reply{} // the server takes the deadline away where a body ends
}

// deadline bounds the time in which a body is read: here, and by the server, which reads some of what was not read here.
// Not every ResponseWriter knows deadlines; the server's own timeouts hold then.
func (h *Handler) deadline(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.cfg.Timeout))
}

// notify stores what was read.
func (h *Handler) notify(ctx context.Context, n machine.Notice) reply {
	done, err := h.cfg.Machine.Notify(ctx, n)
	var invalid *machine.InvalidError
	switch {
	case errors.As(err, &invalid):
		h.cfg.Log.Warn("a call of the remote tells of no job; nothing is stored of it", "error", err)
		return unreadable
	case err != nil:
		h.cfg.Log.Warn("what the remote said was not stored; it is to call again", "remote_job_id", n.RemoteJobID, "says", n.Says, "error", err)
		return notStored
	}
	level, answer := slog.LevelInfo, kept
	switch done.Fate {
	case machine.NoticeKnown:
		level, answer = slog.LevelDebug, nothingNew
	case machine.NoticeApplied:
		answer = nothingNew
	}
	h.cfg.Log.Log(ctx, level, "the remote told of a job", "remote_job_id", n.RemoteJobID, "says", n.Says,
		"fate", done.Fate, "operation", done.Operation.OperationID)
	return answer
}

// quiet is how long calls that are not verified are only counted after one was logged: anybody can make them.
const quiet = time.Minute

func (h *Handler) refused(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Before(h.quietTo) {
		h.unsaid++
	} else {
		h.cfg.Log.Warn("a call was not verified; it changes nothing", "error", err, "not_logged_before", h.unsaid)
		h.quietTo, h.unsaid = now.Add(quiet), 0
	}
}
