package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/webhook"
)

// ledger is a machine that remembers what it was told.
type ledger struct {
	mu   sync.Mutex
	told []string
	fate machine.Fate
	fail func(ctx context.Context) error
}

func (l *ledger) Notify(ctx context.Context, n machine.Notice) (machine.Noticed, error) {
	if l.fail != nil {
		if err := l.fail(ctx); err != nil {
			return machine.Noticed{}, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, fmt.Sprintf("%s/%s %s %s %s", n.Provider, n.Account, n.RemoteJobID, n.Says, n.Snapshot))
	return machine.Noticed{Fate: l.fate}, nil
}

// reader reads {"id": …, "status": …}.
var reader = webhook.ReaderFunc(func(_ *http.Request, body []byte) (machine.Notice, error) {
	var call struct{ ID, Status string }
	if err := json.Unmarshal(body, &call); err != nil {
		return machine.Notice{}, errors.New("no JSON object")
	}
	return machine.Notice{RemoteJobID: call.ID, Says: call.Status, Snapshot: []byte("snapshot")}, nil
})

// stand is a handler on a ledger, and what it logs.
type stand struct {
	*testing.T
	ledger *ledger
	log    *bytes.Buffer
	server *httptest.Server
}

func newStand(t *testing.T, change func(*webhook.Config)) *stand {
	t.Helper()
	verify, err := webhook.HMAC{Header: "X-Signature", Secrets: secrets("s3cret")}.Verifier()
	if err != nil {
		t.Fatal(err)
	}
	s := &stand{T: t, ledger: &ledger{fate: machine.NoticeApplied}, log: &bytes.Buffer{}}
	config := webhook.Config{
		Machine: s.ledger, Who: machine.Who{Provider: "video", Account: "main"}, Verify: verify, Reader: reader,
		Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&config)
	}
	h, err := webhook.New(config)
	if err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(h)
	t.Cleanup(s.server.Close)
	return s
}

// answer is how a call was answered.
type answer struct {
	Code              int
	Allow, RetryAfter string
}

func (s *stand) send(method, text string, headers ...string) answer {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.server.URL+"/webhook", strings.NewReader(text))
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := s.server.Client().Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		s.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header.Get("Allow"), resp.Header.Get("Retry-After")}
}

// signed sends a call with its right signature.
func (s *stand) signed(text string) answer {
	s.Helper()
	return s.send(http.MethodPost, text, "X-Signature", hexed("s3cret", text))
}

func TestACallIsAnsweredByWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5<<20)
	for _, c := range []struct {
		what  string
		fate  machine.Fate
		fail  error
		send  func(*stand) answer
		want  answer
		tells int // notices that reach the machine
	}{
		{what: "it ended its operation", fate: machine.NoticeApplied, want: answer{Code: 204}, tells: 1},
		{what: "it adds nothing", fate: machine.NoticeKnown, want: answer{Code: 204}, tells: 1},
		{what: "it is evidence of an operation", fate: machine.NoticeNoted, want: answer{Code: 202}, tells: 1},
		{what: "it is evidence of none", fate: machine.NoticeUnmatched, want: answer{Code: 202}, tells: 1},
		{what: "the database is away", fail: errors.New("no connection"), want: answer{Code: 503, RetryAfter: "10"}},
		{what: "nobody knows whether it was stored", fail: &machine.UnknownError{Cause: errors.New("cut")}, want: answer{Code: 503, RetryAfter: "10"}},
		{what: "it tells of no job", fail: &machine.InvalidError{Field: "says", Text: "nothing"}, want: answer{Code: 400}},
		{what: "it cannot be read", send: func(s *stand) answer { return s.signed("no JSON") }, want: answer{Code: 400}},
		{what: "no signature", send: func(s *stand) answer { return s.send("POST", body) }, want: answer{Code: 401}},
		{what: "a wrong signature", send: func(s *stand) answer { return s.send("POST", body, "X-Signature", hexed("other", body)) }, want: answer{Code: 401}},
		{what: "five megabytes", send: func(s *stand) answer { return s.signed(long) }, want: answer{Code: 413}},
		{what: "a GET", send: func(s *stand) answer { return s.send("GET", "", "X-Signature", hexed("s3cret", "")) }, want: answer{Code: 405, Allow: "POST"}},
		{what: "a PUT", send: func(s *stand) answer { return s.send("PUT", body, "X-Signature", hexed("s3cret", body)) }, want: answer{Code: 405, Allow: "POST"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, nil)
			s.ledger.fate = c.fate
			if c.fail != nil {
				s.ledger.fail = func(context.Context) error { return c.fail }
			}
			if c.send == nil {
				c.send = func(s *stand) answer { return s.signed(body) }
			}
			if diff := cmp.Diff(c.want, c.send(s)); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
			if len(s.ledger.told) != c.tells {
				t.Errorf("the machine was told %q, want %d", s.ledger.told, c.tells)
			}
			for _, secret := range []string{"s3cret", "succeeded\"}", hexed("s3cret", body), "xxxx"} {
				if strings.Contains(s.log.String(), secret) {
					t.Errorf("the log holds %q: %s", secret, s.log)
				}
			}
		})
	}
}

// Whose job a call tells of is what was verified, whatever the call says.
func TestACallTellsOfItsOwnAccountOnly(t *testing.T) {
	t.Parallel()
	s := newStand(t, func(c *webhook.Config) {
		c.Reader = webhook.ReaderFunc(func(*http.Request, []byte) (machine.Notice, error) {
			return machine.Notice{Who: machine.Who{Provider: "other", Account: "other"}, RemoteJobID: "job-1", Says: "failed"}, nil
		})
	})
	s.signed(body)
	if diff := cmp.Diff([]string{"video/main job-1 failed "}, s.ledger.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// A body that is announced shorter than it is, or not announced, is bounded as well.
func TestABodyOfUnknownLengthIsBounded(t *testing.T) {
	t.Parallel()
	s := newStand(t, func(c *webhook.Config) { c.MaxBody = 1000 })
	for size, want := range map[int]int{1000: 400, 1001: 413} { // 400: no JSON
		text := strings.Repeat("x", size)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL, io.NopCloser(strings.NewReader(text)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Signature", hexed("s3cret", text))
		resp, err := s.server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want || r.ContentLength != 0 {
			t.Errorf("%d bytes in chunks: %d, want %d", size, resp.StatusCode, want)
		}
	}
}

// A caller that never ends its body, and a database that never answers, do not hold a place for ever.
func TestACallTakesABoundedTime(t *testing.T) {
	t.Parallel()
	s := newStand(t, func(c *webhook.Config) { c.Timeout, c.Concurrent = 300*time.Millisecond, 1 })
	for head, want := range map[string]int{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{":      400,
		"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{":       405,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\n{": 413,
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, head); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Error(err)
		}
		_ = resp.Body.Close()
		if _, err := conn.Read(make([]byte, 1)); resp.StatusCode != want || !errors.Is(err, io.EOF) {
			t.Errorf("a body without an end: %d and then %v, want %d and the end", resp.StatusCode, err, want)
		}
	}
	s.ledger.fail = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	if got := s.signed(body); got.Code != 503 {
		t.Errorf("a database without an answer: %+v, want 503", got)
	}
	s.ledger.fail = nil
	if got := s.signed(body); got.Code != 204 {
		t.Errorf("afterwards: %+v, want 204", got)
	}
}

// A call that finds all places taken is asked to come again.
func TestACallWithoutAPlaceComesAgain(t *testing.T) {
	t.Parallel()
	s := newStand(t, func(c *webhook.Config) { c.Timeout, c.Concurrent = 300*time.Millisecond, 1 })
	inside, leave := make(chan struct{}), make(chan struct{})
	s.ledger.fail = func(context.Context) error { inside <- struct{}{}; <-leave; return nil }
	first := make(chan answer, 1)
	go func() { first <- s.signed(body) }()
	<-inside
	if got := s.signed(body); got.Code != 503 {
		t.Errorf("the second call: %+v, want 503", got)
	}
	close(leave)
	if got := <-first; got.Code != 204 {
		t.Errorf("the first call: %+v, want 204", got)
	}
}

// A caller that hangs up before the answer has called all the same.
func TestACallerThatHangsUpIsHeard(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	gone, stored := make(chan struct{}), make(chan error, 1)
	s.ledger.fail = func(ctx context.Context) error {
		<-gone
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
		stored <- ctx.Err()
		return nil
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nX-Signature: %s\r\nContent-Length: %d\r\n\r\n%s", hexed("s3cret", body), len(body), body); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	close(gone)
	if err := <-stored; err != nil {
		t.Errorf("the call was given up: %v", err)
	}
}

// The deadline of the body is no deadline of the call: whoever reads it may wait longer.
func TestTheBodysDeadlineDoesNotEndTheCall(t *testing.T) {
	t.Parallel()
	s := newStand(t, func(c *webhook.Config) {
		c.Timeout = 50 * time.Millisecond
		read := c.Reader
		c.Reader = webhook.ReaderFunc(func(r *http.Request, body []byte) (machine.Notice, error) {
			select {
			case <-r.Context().Done():
				return machine.Notice{}, r.Context().Err()
			case <-time.After(200 * time.Millisecond):
				return read.ReadCall(r, body)
			}
		})
	})
	if got := s.signed(body); got.Code != 204 {
		t.Errorf("the answer is %+v, want 204", got)
	}
}

// A panic ends one call, which is to come again.
func TestAPanicEndsOneCall(t *testing.T) {
	t.Parallel()
	s := newStand(t, func(c *webhook.Config) {
		c.Concurrent = 1
		verify := c.Verify
		c.Verify = func(r *http.Request, body []byte) error {
			if len(body) == 0 {
				panic("no body")
			}
			return verify(r, body)
		}
	})
	for range 3 {
		if diff := cmp.Diff(answer{Code: 500, RetryAfter: "10"}, s.signed("")); diff != "" {
			t.Errorf("a call that panics (-want +got):\n%s", diff)
		}
	}
	if got := s.signed(body); got.Code != 204 {
		t.Errorf("the next call: %+v, want 204", got)
	}
}

// Where nothing can be verified, nothing is stored, whatever comes.
func TestUnverifiedCallsChangeNothing(t *testing.T) {
	t.Parallel()
	s := newStand(t, func(c *webhook.Config) { c.Verify, c.Unverified = nil, true })
	for _, got := range []answer{s.signed(body), s.send("POST", "junk")} {
		if got.Code != 204 {
			t.Errorf("the answer is %+v, want 204", got)
		}
	}
	if len(s.ledger.told) != 0 {
		t.Errorf("the machine was told %q", s.ledger.told)
	}
}

// Calls that are not verified are logged once and then counted: anybody can make them.
func TestCallsThatAreNotVerifiedDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	s := newStand(t, nil)
	for range 20 {
		s.send("POST", body)
	}
	if n := strings.Count(s.log.String(), "\n"); n != 1 {
		t.Errorf("%d lines are logged, want 1:\n%s", n, s.log)
	}
}

func TestAHandlerNeedsItsParts(t *testing.T) {
	t.Parallel()
	verify := func(*http.Request, []byte) error { return nil }
	good := webhook.Config{Machine: &ledger{}, Who: machine.Who{Provider: "video"}, Verify: verify, Reader: reader}
	if _, err := webhook.New(good); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*webhook.Config){
		"no verifier":                       func(c *webhook.Config) { c.Verify = nil },
		"a verifier that is not to be used": func(c *webhook.Config) { c.Unverified = true },
		"no machine":                        func(c *webhook.Config) { c.Machine = nil },
		"no reader":                         func(c *webhook.Config) { c.Reader = nil },
		"no provider":                       func(c *webhook.Config) { c.Who = machine.Who{} },
		"a negative bound":                  func(c *webhook.Config) { c.MaxBody = -1 },
	} {
		c := good
		change(&c)
		if _, err := webhook.New(c); err == nil {
			t.Errorf("%s: taken", what)
		}
	}
}
