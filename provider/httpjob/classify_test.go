package httpjob_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

// end is what a submission is judged as.
type end struct {
	Class    worker.Class // "accepted" for no error
	Reason   string
	Requests int64
}

const accepted worker.Class = "accepted"

var (
	isAccepted = end{accepted, "", 1}
	isRefused  = end{worker.ClassRefused, "", 1}
	isRejected = end{worker.ClassRejected, "", 1}
	isSilent   = end{worker.ClassUnknown, worker.ReasonNoResponse, 1}
	isUnclear  = end{worker.ClassUnknown, worker.ReasonUnclearAnswer, 1}
	isNameless = end{worker.ClassUnknown, worker.ReasonMissingRemoteID, 1}
)

func withID(id string) string { return framed(201, `{"id":`+id+`,"status":"queued"}`) }

// answers are remotes that read the whole request and then write these bytes and close.
var answers = []struct {
	name, text string
	want       end
}{
	{"a whole 201 with an id", withID(`"job-1"`), isAccepted},
	{"a chunked 200 with an id", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{\"id\":\"job\"}\r\n0\r\n\r\n", isAccepted},
	{"a 202 with an id", framed(202, `{"id":"job-1"}`), isAccepted},
	{"103 and then 201", "HTTP/1.1 103 Early Hints\r\n\r\n" + withID(`"job-1"`), isAccepted},
	{"a number as id", withID(`12345678901234567890`), isAccepted},
	{"the text 0 as id", withID(`"0"`), isAccepted},
	{"1024 characters", withID(`"` + strings.Repeat("x", 1024) + `"`), isAccepted},
	{"1025 characters", withID(`"` + strings.Repeat("x", 1025) + `"`), isNameless},
	{"id null", withID(`null`), isNameless},
	{"id empty", withID(`""`), isNameless},
	{"id of spaces", withID(`"   "`), isNameless},
	{"id with a space", withID(`"a b"`), isNameless},
	{"id with a space before it", withID(`" a"`), isNameless},
	{"id with a no-break space", withID(`"a\u00a0"`), isNameless},
	{"id with a zero-width space", withID("\"a\u200b\""), isNameless},
	{"id of one zero-width space", withID("\"\u200b\""), isNameless},
	{"id with a NUL", withID(`"a\u0000b"`), isNameless},
	{"id with a lone surrogate", withID(`"a\ud800"`), isNameless},
	{"id with a Cyrillic letter", withID(`"а"`), isNameless},
	{"id with invalid UTF-8", withID("\"a\xff\""), isNameless},
	{"number 0", withID(`0`), isNameless},
	{"number 0.0", withID(`-0.0e5`), isNameless},
	{"id true", withID(`true`), isNameless},
	{"id an object", withID(`{"id":"x"}`), isNameless},
	{"id an array", withID(`["x"]`), isNameless},
	{"id under another name", framed(201, `{"data":{"id":"x"}}`), isNameless},
	{"id in other case", framed(201, `{"ID":"x","Id":"y"}`), isNameless},
	{"no object at all", framed(201, `"x"`), isNameless},
	{"204", "HTTP/1.1 204 No Content\r\n\r\n", isNameless},
	{"201 with no body", framed(201, ""), isNameless},
	{"id twice", framed(201, `{"id":"a","id":"b"}`), isUnclear},
	{"two JSON values", framed(201, `{"id":"a"}{"id":"b"}`), isUnclear},
	{"text after the value", framed(201, `{"id":"a"} ok`), isUnclear},
	{"no JSON", framed(201, `id=a`), isUnclear},
	{"HTML", framed(200, "<html>Welcome</html>", "Content-Type: text/html"), isUnclear},
	{"gzip", framed(201, "\x1f\x8b\x08\x00\x00", "Content-Encoding: gzip"), isUnclear},
	{"a body without a marked end", "HTTP/1.1 201 Created\r\n\r\n" + `{"id":"job-1"}`, isUnclear},
	{"a refusal without a marked end", "HTTP/1.1 402 Payment Required\r\n\r\nno", isUnclear},
	{"a body over 1 MiB", framed(201, `{"id":"job-1","x":"`+strings.Repeat("x", 1<<20)+`"}`), isUnclear},
	{"a rejection over 1 MiB", framed(422, strings.Repeat("x", 1<<20+1)), isUnclear},
	{"headers over 64 KiB", "HTTP/1.1 201 Created\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n", isUnclear},
	{"no HTTP", "220 mail.example.com ESMTP\r\n", isUnclear},
	{"two lengths", "HTTP/1.1 201 Created\r\nContent-Length: 3\r\nContent-Length: 14\r\n\r\n" + `{"id":"job-1"}`, isUnclear},
	{"a malformed chunk", "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{\r\n", isUnclear},
	{"101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", isUnclear},
	{"300", framed(300, "{}"), isUnclear},
	{"301", framed(301, "", "Location: /other"), isUnclear},
	{"302", framed(302, "", "Location: /login"), isUnclear},
	{"303", framed(303, "", "Location: /other"), isUnclear},
	{"307", framed(307, "", "Location: /other"), isUnclear},
	{"308", framed(308, "", "Location: /other"), isUnclear},
	{"408", framed(408, ""), isUnclear},
	{"409", framed(409, `{"error":"exists"}`), isUnclear},
	{"418", framed(418, ""), isUnclear},
	{"423", framed(423, ""), isUnclear},
	{"425", framed(425, ""), isUnclear},
	{"500", framed(500, "boom"), isUnclear},
	{"502", framed(502, "<html>"), isUnclear},
	{"503", framed(503, "", "Retry-After: 3"), isUnclear},
	{"504", framed(504, ""), isUnclear},
	{"400", framed(400, `{"error":"bad"}`), isRejected},
	{"410", framed(410, ""), isRejected},
	{"413", framed(413, "<html>too large</html>"), isRejected},
	{"415", framed(415, ""), isRejected},
	{"422", framed(422, `{"error":"bad prompt"}`), isRejected},
	{"401", framed(401, ""), isRefused},
	{"402", framed(402, `{"error":"no credit"}`), isRefused},
	{"403", framed(403, ""), isRefused},
	{"404", framed(404, ""), isRefused},
	{"405", framed(405, ""), isRefused},
	{"429", framed(429, ""), isRefused},
	{"an empty line", "\r\n", isUnclear},
	{"nothing", "", isSilent},
	{"half a status line", "HTTP/1.1 20", isSilent},
	{"half the headers", "HTTP/1.1 201 Created\r\nContent-Le", isSilent},
	{"headers and no body", "HTTP/1.1 201 Created\r\nContent-Length: 14\r\n\r\n", isSilent},
	{"half a body", "HTTP/1.1 201 Created\r\nContent-Length: 14\r\n\r\n" + `{"id":"jo`, isSilent},
	{"half a chunked body", "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{\"id\":", isSilent},
	{"chunks without their end", "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{\"id\":\"job\"}\r\n", isSilent},
	{"half a rejection", "HTTP/1.1 422 No\r\nContent-Length: 14\r\n\r\nba", isSilent},
	{"half a refusal", "HTTP/1.1 429 No\r\nContent-Length: 14\r\n\r\nba", isSilent},
	{"100 and no more", "HTTP/1.1 100 Continue\r\n\r\n", isSilent},
	{"103 and no more", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", isSilent},
}

func TestAnAnswerProvesWhatTheTableSays(t *testing.T) {
	t.Parallel()
	for _, c := range answers {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			remote := startRaw(t, nil, answer(c.text))
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
			checkEnd(t, h, remote, submission(), c.want)
		})
	}
}

func checkEnd(t *testing.T, h *httpjob.Handler, remote *rawRemote, s worker.Submission, want end) {
	t.Helper()
	got := end{Class: accepted}
	_, err := h.Submit(context.Background(), s)
	if err != nil {
		e := submitError(t, err)
		got.Class, got.Reason = e.Class, e.Reason
	}
	if remote != nil {
		got.Requests = remote.requests.Load()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// Here the remote acts before it has read the request, or never ends (report B25).
func TestACutOrAStallIsUnknownWhereverItComes(t *testing.T) {
	t.Parallel()
	stall := func(before string) func(*rawRemote, net.Conn) {
		return func(r *rawRemote, c net.Conn) { answer(before)(r, c); <-r.quit }
	}
	for _, c := range []struct {
		name   string
		script func(*rawRemote, net.Conn)
		want   end
	}{
		{"reset after the request", func(r *rawRemote, c net.Conn) { _, _ = r.readRequest(c); reset(c) }, isSilent},
		{"reset within the answer", func(r *rawRemote, c net.Conn) { answer("HTTP/1.1 201 Created\r\n")(r, c); reset(c) }, isSilent},
		{"cut after the request's first byte", func(r *rawRemote, c net.Conn) { _, _ = c.Read(make([]byte, 1)); _ = c.Close() },
			end{worker.ClassUnknown, worker.ReasonNoResponse, 0}},
		{"cut within the request's headers", func(r *rawRemote, c net.Conn) { _, _ = c.Read(make([]byte, 30)); reset(c) },
			end{worker.ClassUnknown, worker.ReasonNoResponse, 0}},
		{"stall before the answer", stall(""), isSilent},
		{"stall after 100", stall("HTTP/1.1 100 Continue\r\n\r\n"), isSilent},
		{"stall within the headers", stall("HTTP/1.1 201 Created\r\n"), isSilent},
		{"stall within the body", stall("HTTP/1.1 201 Created\r\nContent-Length: 14\r\n\r\n{"), isSilent},
		{"stall within a refusal", stall("HTTP/1.1 402 No\r\nContent-Length: 14\r\n\r\n{"), isSilent},
		{"never read", func(r *rawRemote, c net.Conn) { <-r.quit }, end{worker.ClassUnknown, worker.ReasonNoResponse, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			remote := startRaw(t, nil, c.script)
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{}, "timeout: 5s", "timeout: 300ms")
			checkEnd(t, h, remote, submission(), c.want)
		})
	}
}

func TestARejectionOfHalfARequestIsARejection(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, 64<<10))
		_, _ = io.WriteString(c, framed(413, "too large", "Connection: close"))
		<-r.quit
	})
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
	s := submission()
	s.Request = []byte(`"` + strings.Repeat("x", 32<<20) + `"`)
	checkEnd(t, h, remote, s, end{worker.ClassRejected, "", 0})
}

// Report B25.
func TestAnErrorBeforeAnyByteLeftIsNotSent(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	noTLS := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
		_, _ = c.Read(make([]byte, 10))
		_, _ = io.WriteString(c, "no TLS here")
	})
	noAnswer := startRaw(t, nil, func(r *rawRemote, c net.Conn) { <-r.quit })
	fine := startRaw(t, nil, answer(withID(`"x"`)))
	refusing := startRaw(t, nil, func(r *rawRemote, c net.Conn) {
		_, _ = http.ReadRequest(bufioReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
	})
	notSent := end{Class: worker.ClassNotSent}
	for _, c := range []struct {
		name, base string
		remote     *rawRemote
		change     func(*worker.Submission)
		files      []string
	}{
		{name: "a name that does not exist", base: "http://no-such-host.invalid"},
		{name: "a port where nobody listens", base: "http://" + closed.Addr().String()},
		{name: "a server without TLS", base: "https://" + noTLS.addr, remote: noTLS},
		{name: "a handshake that never ends", base: "https://" + noAnswer.addr, remote: noAnswer, files: []string{"timeout: 5s", "timeout: 300ms"}},
		{name: "a handshake up to the sender's deadline", base: "https://" + noAnswer.addr, remote: noAnswer,
			change: func(s *worker.Submission) { s.SendBy = time.Now().Add(200 * time.Millisecond) }},
		{name: "the sender's own deadline", base: "http://" + fine.addr, remote: fine,
			change: func(s *worker.Submission) { s.SendBy = time.Now().Add(-time.Nanosecond) }},
		{name: "a proxy that refuses", base: "https://api.example.com", remote: refusing,
			files: []string{"kind: video\n", "kind: video\nproxy: http://" + refusing.addr + "\n"}},
		{name: "a proxy that refuses plain http", base: "http://api.example.com", remote: refusing,
			files: []string{"kind: video\n", "kind: video\nproxy: http://" + refusing.addr + "\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHandler(t, c.base, httpjob.Options{}, c.files...)
			s := submission()
			if c.change != nil {
				c.change(&s)
			}
			checkEnd(t, h, c.remote, s, notSent)
		})
	}
}

func TestACanceledContextIsNotSent(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, answer(withID(`"x"`)))
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := h.Submit(ctx, submission())
	if e := submitError(t, err); e.Class != worker.ClassNotSent || remote.conns.Load() != 0 {
		t.Errorf("got %v, connections %d", e, remote.conns.Load())
	}
}

func TestARefusalHonoursRetryAfterWithinACap(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	for _, c := range []struct {
		header string
		want   time.Duration
	}{
		{"", 0},
		{"Retry-After: 30", 30 * time.Second},
		{"Retry-After: 0", 0},
		{"Retry-After: -5", 0},
		{"Retry-After: soon", 0},
		{"Retry-After: 999999", time.Hour},
		{"Retry-After: 99999999999999999999999999", time.Hour},
		{"Retry-After: 9999999999", time.Hour}, // in nanoseconds it overflows
		{"Date: " + now.Format(http.TimeFormat) + "\r\nRetry-After: " + now.Add(90*time.Second).Format(http.TimeFormat), 90 * time.Second},
		{"Date: " + now.Format(http.TimeFormat) + "\r\nRetry-After: " + now.Add(-time.Hour).Format(http.TimeFormat), 0},
		{"Date: " + now.Format(http.TimeFormat) + "\r\nRetry-After: " + now.Add(48*time.Hour).Format(http.TimeFormat), time.Hour},
	} {
		t.Run(fmt.Sprintf("%.30s", c.header), func(t *testing.T) {
			t.Parallel()
			headers := []string{c.header}
			if c.header == "" {
				headers = nil
			}
			remote := startRaw(t, nil, answer(framed(429, `{"error":"slow down"}`, headers...)))
			h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
			_, err := h.Submit(context.Background(), submission())
			e := submitError(t, err)
			if diff := cmp.Diff([]any{worker.ClassRefused, "429", c.want}, []any{e.Class, e.Key, e.RetryAfter}); diff != "" {
				t.Error(diff)
			}
		})
	}
}
