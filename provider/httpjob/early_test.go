package httpjob_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

// earlyReader hands the first byte of the request over when the first byte of the answer was read, and reads none
// before the HTTP client has begun to write: it takes what comes before that for no answer.
type earlyReader struct {
	net.Conn
	writing, read, sent chan struct{}
	begin, got, left    func()
}

func newEarlyReader(c net.Conn) net.Conn {
	e := &earlyReader{Conn: c, writing: make(chan struct{}), read: make(chan struct{}), sent: make(chan struct{})}
	e.begin = sync.OnceFunc(func() { close(e.writing) })
	e.got = sync.OnceFunc(func() { close(e.read) })
	e.left = sync.OnceFunc(func() { close(e.sent) })
	return e
}

func (e *earlyReader) Write(p []byte) (int, error) {
	e.begin()
	<-e.read
	defer e.left()
	return e.Conn.Write(p)
}

func (e *earlyReader) Read(p []byte) (int, error) {
	<-e.writing
	n, err := e.Conn.Read(p)
	e.got()
	<-e.sent
	return n, err
}

func TestAnAnswerThatBeganBeforeTheRequestProvesNothing(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"refused": framed(401, "who are you"), "rejected": framed(422, "no"), "accepted": withID(`"job-1"`), "limited": framed(429, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remote := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
				_, _ = io.WriteString(c, text)
				_, _ = r.readRequest(c)
				<-r.quit
			})
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
			h.WrapConn(newEarlyReader)
			_, err := h.Submit(t.Context(), submission())
			if e := submitError(t, err); e.Class != worker.ClassUnknown || e.Reason != worker.ReasonUnclearAnswer {
				t.Errorf("got %v", e)
			}
		})
	}
}

func TestAnAnswerAfterTheFirstByteOfTheRequestCounts(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		_, _ = io.WriteString(c, framed(401, "who are you"))
		<-r.quit
	})
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
	_, err := h.Submit(t.Context(), submission())
	if e := submitError(t, err); e.Class != worker.ClassRefused {
		t.Errorf("got %v", e)
	}
}
