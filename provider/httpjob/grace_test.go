package httpjob_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

// lateReader is a connection whose answer is not read before the test says so, as if the process had been stopped.
type lateReader struct {
	net.Conn
	begin <-chan struct{}
}

func (l lateReader) Read(p []byte) (int, error) {
	<-l.begin
	return l.Conn.Read(p)
}

// answerThen answers whole and calls then when every byte has been given to the connection.
func answerThen(text string, then func()) func(*rawRemote, net.Conn) {
	return func(r *rawRemote, c net.Conn) {
		if _, err := r.readRequest(c); err != nil {
			return
		}
		_, _ = io.WriteString(c, text)
		then()
	}
}

func TestAnAnswerThatIsThereWhenTheContextEndsIsStillRead(t *testing.T) {
	t.Parallel()
	cause := errors.New("the lease is over")
	for name, end := range map[string]func(context.Context) (context.Context, func()){
		"by a cancellation": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancel(ctx)
			return ctx, cancel
		},
		"by a cause": func(ctx context.Context) (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(cause) }
		},
		"by the submit timeout": func(ctx context.Context) (context.Context, func()) {
			return ctx, func() { <-time.After(400 * time.Millisecond) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := end(t.Context())
			read := make(chan struct{})
			remote := startRaw(t, nil, answerThen(withID(`"job-1"`), func() {
				cancel()
				<-time.After(50 * time.Millisecond) // whoever would throw the answer away has done so by now
				close(read)
			}))
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{}, "timeout: 5s", "timeout: 300ms")
			h.WrapConn(func(c net.Conn) net.Conn { return lateReader{c, read} })
			got, err := h.Submit(ctx, submission())
			if err != nil || got.RemoteJobID != "job-1" {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestNoAnswerIsLostToAContextThatEndsAsItArrives(t *testing.T) {
	t.Parallel()
	lost := 0
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		remote := startRaw(t, nil, answerThen(withID(`"job-1"`), cancel))
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
		if got, err := h.Submit(ctx, submission()); err != nil || got.RemoteJobID != "job-1" {
			lost++
			t.Logf("got %v, %v", got, err)
		}
	}
	if lost != 0 {
		t.Errorf("%d of 200 answers were lost", lost)
	}
}

func TestARefusalThatIsReadInTheGraceIsOne(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	remote := startRaw(t, nil, answerThen(framed(402, "no credit"), cancel))
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
	_, err := h.Submit(ctx, submission())
	if e := submitError(t, err); e.Class != worker.ClassRefused {
		t.Errorf("got %v", e)
	}
}

func TestARemoteThatStaysSilentEndsAfterTheGrace(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{
		"without a byte": "", "within the head": "HTTP/1.1 201 Cr", "within the body": "HTTP/1.1 201 Created\r\nContent-Length: 20\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			remote := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
				if _, err := r.readRequest(c); err != nil {
					return
				}
				_, _ = io.WriteString(c, begin)
				cancel(errors.New("the lease is over"))
				<-r.quit
			})
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{}, "timeout: 5s", "timeout: 1h")
			began := time.Now()
			_, err := h.Submit(ctx, submission())
			e := submitError(t, err)
			got := []string{string(e.Class), e.Reason}
			if diff := cmp.Diff([]string{string(worker.ClassUnknown), worker.ReasonNoResponse}, got); diff != "" {
				t.Errorf("%s: %v", diff, e)
			}
			if took := time.Since(began); took < 400*time.Millisecond || took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// writeHook calls before whenever a byte is about to be handed over, and closed when the client gives the connection up.
type writeHook struct {
	net.Conn
	before func()
	closed func()
}

func (w writeHook) Close() error {
	w.closed()
	return w.Conn.Close()
}

func (w writeHook) Write(p []byte) (int, error) {
	w.before()
	return w.Conn.Write(p)
}

func TestAContextThatEndsBeforeTheFirstByteLeavesNothingSent(t *testing.T) {
	t.Parallel()
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		arrived := make(chan int64, 1)
		remote := startRaw(t, nil, func(_ *rawRemote, c net.Conn) {
			n, _ := io.Copy(io.Discard, c)
			arrived <- n
		})
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
		ended := make(chan struct{})
		h.WrapConn(func(c net.Conn) net.Conn {
			// The byte comes when the exchange has ended.
			return writeHook{c, func() { cancel(); <-ended }, sync.OnceFunc(func() { close(ended) })}
		})
		_, err := h.Submit(ctx, submission())
		if e := submitError(t, err); e.Class != worker.ClassNotSent {
			t.Fatalf("got %v", e)
		}
		if n := <-arrived; n != 0 {
			t.Fatalf("%d bytes arrived", n)
		}
	}
}

// A race between the end and the first byte is decided once: what was called not sent did not arrive.
func TestWhatIsCalledNotSentDidNotArriveHoweverTheContextEnds(t *testing.T) {
	t.Parallel()
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		arrived := make(chan int64, 1)
		remote := startRaw(t, nil, func(_ *rawRemote, c net.Conn) {
			n, _ := c.Read(make([]byte, 1))
			arrived <- int64(n)
			_ = c.Close()
		})
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
		h.WrapConn(func(c net.Conn) net.Conn { return writeHook{c, func() { go cancel() }, func() {}} })
		_, err := h.Submit(ctx, submission())
		if n := <-arrived; n != 0 && submitError(t, err).Class == worker.ClassNotSent {
			t.Fatalf("%d bytes arrived: %v", n, err)
		}
	}
}

func TestNoByteIsHandedOverInTheGrace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	remote := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
		_, _ = c.Read(make([]byte, 1))
		cancel()
		<-r.quit // reads no more: the request is stuck
	})
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{}, "timeout: 5s", "timeout: 1h")
	s := submission()
	s.Request = make([]byte, 64<<20)
	_, err := h.Submit(ctx, s)
	if e := submitError(t, err); e.Class != worker.ClassUnknown || e.Reason != worker.ReasonNoResponse {
		t.Errorf("got %v", e)
	}
}
