package httpjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	maxStatusBody = 8 << 20
	maxRedirects  = 5
)

// newReadClient makes the client that statuses and results are read with. Reading twice changes nothing, so it may
// reuse connections and follow redirects; what it may not do is carry the API's headers to another origin.
func (h *Handler) newReadClient() *http.Client {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return dialTCP(ctx, addr, h.spec.Proxy)
		},
		TLSClientConfig:        h.tls.Clone(),
		TLSHandshakeTimeout:    h.spec.Submit.Timeout,
		ResponseHeaderTimeout:  h.spec.Submit.Timeout,
		MaxResponseHeaderBytes: maxAnswerHeader,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        time.Minute,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
	}
	return &http.Client{Transport: transport, CheckRedirect: h.redirect}
}

// redirect decides a redirect's headers anew. net/http takes away a few well-known ones when the host changes, but
// copies all others, and to it another port is the same host. Once a chain has left the API's origin its headers do
// not come back: whoever answered there does not choose what is asked with them.
func (h *Handler) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if _, err := resolveURL(nil, req.URL.String()); err != nil {
		return err
	}
	at := req.URL
	for _, before := range via {
		if origin(before.URL) != h.spec.origin {
			at = before.URL
		}
	}
	req.Header = h.readHeaders(at)
	return nil
}

// readHeaders are the headers for a GET of u: the API's own only if u is at their origin.
func (h *Handler) readHeaders(u *url.URL) http.Header {
	header := http.Header{}
	if origin(u) == h.spec.origin {
		header = h.spec.Submit.Headers.Clone()
		header.Del("Content-Type")
		header.Del("Accept")
	}
	header.Set("Accept-Encoding", "identity")
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "fencerow")
	}
	return header
}

func (h *Handler) get(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = h.readHeaders(u)
	resp, err := h.client.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // without the address, whose parameters may sign it
		}
		return nil, err
	}
	return resp, nil
}

// statusAnswer is one whole answer of the remote's status address, or of the one that a result's address is read from.
type statusAnswer struct {
	missing    bool // the remote says that it has no such job
	doc        document
	retryAfter time.Duration
}

// readStatus asks once for a job's status. An error means that nothing was learnt but, perhaps, retryAfter.
func (h *Handler) readStatus(ctx context.Context, values map[string]string) (statusAnswer, error) {
	return h.readAnswer(ctx, h.spec.Observe.URL, values)
}

// readAnswer asks once for the JSON at an address of the API.
func (h *Handler) readAnswer(ctx context.Context, at Template, values map[string]string) (statusAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, h.spec.Submit.Timeout)
	defer cancel()
	var a statusAnswer
	u, err := at.URL(h.spec.base, values)
	if err != nil {
		return a, err
	}
	resp, err := h.get(ctx, u)
	if err != nil {
		return a, fmt.Errorf("GET %s: %w", origin(u), err)
	}
	defer resp.Body.Close()
	a.retryAfter = retryAfter(resp.Header, time.Now())
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatusBody+1))
	fail := func(why error) (statusAnswer, error) {
		return a, fmt.Errorf("GET %s answered %d: %w", origin(u), resp.StatusCode, why)
	}
	switch {
	case err != nil:
		return fail(fmt.Errorf("reading the answer: %w", err))
	case len(body) > maxStatusBody:
		return fail(fmt.Errorf("its body has more than %d bytes", maxStatusBody))
	case !isFramed(resp):
		return fail(errors.New("its body has no marked end, so that a cut could not be seen"))
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		a.missing = true
		a.doc = document(body)
		return a, nil
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return fail(fmt.Errorf("it said: %s", h.quote(body)))
	}
	if a.doc, err = parseDocument(body); err != nil {
		return fail(fmt.Errorf("%w; it said: %s", err, h.quote(body)))
	}
	return a, nil
}
