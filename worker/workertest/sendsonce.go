package workertest

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/fencerow/fencerow/worker"
)

// Remote is what a handler needs to find at the other end. The zero value is an API that answers a request with
// 200 and {"id":"job-1"}.
type Remote struct {
	// Accepted is the body of a 200 that the handler takes as accepted; "" means {"id":"job-1"}.
	Accepted string
	// Request is what the handler is told to send; nil means {"prompt":"a hedge"}.
	Request []byte
	// Sends tells the requests that create jobs from others, such as a log-in, which are answered with Accepted and
	// not counted; nil means that every request counts but GET and HEAD.
	Sends func(*http.Request) bool
}

// end is one way in which a remote may end a submission.
type end struct {
	name     string
	answer   func(*conn, Remote)
	accepted bool // the only end that may be reported without an error
	refused  bool // a whole answer that may prove that nothing was created; every other end but accepted proves nothing
}

// ends are met by a second submission, after one that went well: clients send again on connections that are used again.
var ends = []end{
	{name: "is answered", answer: status(200), accepted: true},
	{name: "is taken and the connection cut", answer: cut},
	{name: "is taken and the connection reset", answer: reset},
	{name: "is taken and never answered", answer: stall},
	{name: "is answered 500", answer: status(500)},
	{name: "is answered 502", answer: status(502)},
	{name: "is answered 503", answer: status(503)},
	{name: "is answered 504", answer: status(504)},
	{name: "is answered 429", answer: status(429), refused: true},
	{name: "is redirected with 307", answer: status(307)},
}

// limit is how long a call of Submit may take. A handler that sends again after pauses of its own is waited for.
const limit = 30 * time.Second

// SendsOnce runs handler's Submit against servers that answer well, that take the request and then cut, reset or fall
// silent, that answer 429 and 5xx, and that redirect. It fails t unless each call of Submit sends exactly one request
// and claims no more than its end proves: after a cut, a reset, silence, a redirect or a 5xx nobody knows whether a job
// exists, so an error made by worker.NotSent, worker.Refused or worker.Rejected would have the engine send again, or
// give up a job that was paid for.
//
// It calls handler once for every server, with the address of that server: "http://host:port". Where the handler's
// client speaks TLS or HTTP/2 to the real API, that side of it is not seen here.
func SendsOnce(t testing.TB, remote Remote, handler func(base string) worker.Handler) {
	t.Helper()
	if remote.Accepted == "" {
		remote.Accepted = `{"id":"job-1"}`
	}
	if remote.Request == nil {
		remote.Request = []byte(`{"prompt":"a hedge"}`)
	}
	if remote.Sends == nil {
		remote.Sends = func(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }
	}
	for _, e := range ends {
		s, err := listen(remote, e.answer)
		if err != nil {
			t.Fatalf("a server of the test's own: %v", err)
		}
		e.judge(t, s, handler(s.base))
		s.close()
	}
}

// judge submits twice: the first one goes well, the second meets the end.
func (e end) judge(t testing.TB, s *server, h worker.Handler) {
	t.Helper()
	accepted, err := s.submit(h, 1)
	if n := s.sent(); n != 1 || err != nil || accepted.RemoteJobID == "" {
		t.Errorf("a request that is answered 200 with %s: %d requests arrived and Submit gave the id %q and the error %v; "+
			"want 1 and an id (is this what the API answers?)", s.remote.Accepted, n, accepted.RemoteJobID, err)
		return
	}
	s.meetEnd()
	_, err = s.submit(h, 2)
	if n := s.sent(); n != 1 {
		t.Errorf("a request that %s: one call of Submit sent %d requests, want 1", e.name, n)
	}
	if wrong := e.contradicts(err); wrong != "" {
		t.Errorf("a request that %s: Submit says %s: %v", e.name, wrong, err)
	}
}

// contradicts says what is claimed that the end does not prove.
func (e end) contradicts(err error) string {
	var known *worker.SubmitError
	classified := errors.As(err, &known)
	switch {
	case e.accepted && err != nil:
		return "that it was not accepted"
	case !e.accepted && err == nil:
		return "that it was accepted"
	case classified && known.Class == worker.ClassNotSent:
		return "that it was not sent"
	case classified && known.Class != worker.ClassUnknown && !e.refused && !e.accepted:
		return "that it is known what became of it"
	}
	return ""
}

// submit calls the handler as a worker does. A remote that falls silent has the context ended.
func (s *server) submit(h worker.Handler, attempt int) (worker.Accepted, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	s.onSilence(cancel)
	return h.Submit(ctx, worker.Submission{
		OperationID: "workertest", Kind: "workertest", Provider: "workertest", Request: s.remote.Request,
		Attempt: attempt, Revision: int64(attempt), SendBy: time.Now().Add(limit),
	})
}
