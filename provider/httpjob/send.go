package httpjob

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

const (
	maxAnswer       = 1 << 20  // of a submission's answer; a longer one is unclear
	maxEvidence     = 64 << 10 // kept of an answer or a snapshot; the number of the others is said
	maxAnswerHeader = 64 << 10
)

// sending is what one submission left behind: the facts that classify judges.
type sending struct {
	conns    int64 // that the transport had; more than one proves nothing
	handed   int64 // bytes of the request handed to the connection
	received int64 // bytes of the answer
	early    bool  // the answer began before any byte of the request was handed over
	headCut  bool  // the connection ended within the answer's head, which net/http may call malformed

	path     string // that the request was for, without its query
	answered bool   // status and header are the answer's
	status   int
	header   http.Header
	body     []byte // as far as it was read
	tooLong  bool   // more than maxAnswer
	framed   bool   // the answer says where it ends
	err      error
}

// send lets req leave at most once and reads the answer. The transport is made for this one request, has no second
// connection to fall back on, speaks HTTP/1.1 only and follows no redirect (a round trip never does).
func (h *Handler) send(ctx context.Context, sendBy time.Time, req *http.Request) sending {
	w := &wire{tls: h.tls, proxy: h.spec.Proxy, sendBy: sendBy, wrap: h.wrap}
	transport := &http.Transport{
		Proxy:                  nil,
		DialContext:            w.dialPlain,
		DialTLSContext:         w.dialTLS,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxAnswerHeader,
		Protocols:              new(http.Protocols),
	}
	transport.Protocols.SetHTTP1(true)
	defer transport.CloseIdleConnections()

	ctx, cancel := context.WithTimeout(ctx, h.spec.Submit.Timeout)
	defer cancel()
	exchange, done := w.outlive(ctx)
	defer done()
	var conns atomic.Int64
	exchange = httptrace.WithClientTrace(exchange, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { conns.Add(1) }})

	s := sending{path: req.URL.EscapedPath()}
	resp, err := transport.RoundTrip(req.WithContext(exchange))
	if err != nil {
		s.err, s.headCut = err, w.ended.Load()
	} else {
		s.read(resp)
	}
	s.handed = w.seal(s.err == nil && s.framed && !s.tooLong)
	if resp != nil {
		_ = resp.Body.Close()
	}
	s.conns = max(conns.Load(), w.dials.Load())
	s.received = w.received.Load()
	s.early = w.isEarly()
	return s
}

// read takes the answer in, as far as it may.
func (s *sending) read(resp *http.Response) {
	s.answered, s.status, s.header = true, resp.StatusCode, resp.Header
	if s.status == http.StatusSwitchingProtocols {
		return // what follows is another protocol, and endless
	}
	s.framed = isFramed(resp)
	s.body, s.err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if len(s.body) > maxAnswer {
		s.body, s.tooLong = s.body[:maxAnswer], true
	}
}

// isFramed reports whether the answer itself says where it ends. If it does not, a cut looks like the end.
func isFramed(resp *http.Response) bool {
	return resp.ContentLength >= 0 || len(resp.TransferEncoding) > 0 || resp.ProtoMajor >= 2
}

// once hides a body's type from net/http, which would otherwise make itself a GetBody to send it again with.
type once struct{ io.Reader }

func (once) Close() error { return nil }
