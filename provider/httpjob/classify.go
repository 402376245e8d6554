package httpjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/fencerow/fencerow/worker"
)

// maxQuote is how much of an answer an error quotes.
const maxQuote = 300

// classify says what the end of a submission proves. Its order is the argument: what was never handed over cannot have
// been taken; what was handed over may have been, unless a whole answer says otherwise.
func (h *Handler) classify(s sending) (worker.Accepted, error) {
	switch {
	case s.handed == 0:
		return h.end(s, worker.ClassNotSent, "", "not_sent", cmpErr(s.err, errors.New("answered before it was sent")))
	case s.conns > 1:
		return h.end(s, worker.ClassUnknown, worker.ReasonUnclassified, "connections",
			fmt.Errorf("%d connections were used for one submission", s.conns))
	case s.err != nil:
		reason := worker.ReasonUnclearAnswer
		if s.received == 0 || s.headCut || isCut(s.err) {
			reason = worker.ReasonNoResponse
		}
		return h.end(s, worker.ClassUnknown, reason, reason, s.err)
	case s.early:
		return h.unclear(s, "the answer began before the request was sent, so it answers something else")
	case s.status == http.StatusSwitchingProtocols:
		return h.unclear(s, "the connection was switched to another protocol")
	case s.tooLong:
		return h.unclear(s, fmt.Sprintf("its body has more than %d bytes", maxAnswer))
	case !s.framed:
		return h.unclear(s, "its body has no marked end, so that a cut could not be seen")
	case slices.Contains(h.spec.Submit.Rejected, s.status):
		return h.end(s, worker.ClassRejected, "", strconv.Itoa(s.status), nil)
	case slices.Contains(h.spec.Submit.Refused, s.status):
		return h.end(s, worker.ClassRefused, "", strconv.Itoa(s.status), nil)
	case s.status >= 200 && s.status <= 299:
		return h.accepted(s)
	case s.status >= 300 && s.status <= 399:
		return h.unclear(s, "redirected to "+strconv.Quote(h.quote([]byte(s.header.Get("Location")))))
	default:
		return h.unclear(s, "the provider file does not say what this status proves")
	}
}

// accepted reads the id out of a whole 2xx answer. Without a usable one a job may exist that nobody can find.
func (h *Handler) accepted(s sending) (worker.Accepted, error) {
	if len(s.body) == 0 {
		return h.missingID(s, "the answer has no body")
	}
	doc, err := parseDocument(s.body)
	if err != nil {
		return h.unclear(s, err.Error())
	}
	found, err := doc.at(h.spec.Submit.ID)
	switch {
	case errors.Is(err, errDuplicate):
		return h.unclear(s, err.Error())
	case err != nil:
		return h.missingID(s, err.Error())
	}
	id, err := h.usableID(found)
	if err != nil {
		return h.missingID(s, fmt.Sprintf("the id at %s is not usable: %v", h.spec.Submit.ID, err))
	}
	return worker.Accepted{RemoteJobID: id, Keep: h.kept(h.spec.Submit.Keep, doc), Raw: h.redact.body(s.body, maxEvidence, 0)}, nil
}

// maxKept is the longest further value that is kept.
const maxKept = 8 << 10

// kept gives the further values of an answer, or of an item of a list. One that is missing or no text is left out: the job exists without it.
// One that holds a secret is kept without the secret, and no address is built from it then (Template.URL).
func (h *Handler) kept(values map[string]Pointer, doc document) map[string]string {
	var kept map[string]string
	for name, at := range values {
		found, err := doc.at(at)
		if err != nil {
			continue
		}
		value, ok := found.scalar()
		if !ok || value == "" || len(value) > maxKept || slices.ContainsFunc([]rune(value), isControl) {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[name] = h.redact.text(value)
	}
	return kept
}

func (h *Handler) missingID(s sending, why string) (worker.Accepted, error) {
	return h.end(s, worker.ClassUnknown, worker.ReasonMissingRemoteID, worker.ReasonMissingRemoteID, errors.New(why))
}

func (h *Handler) unclear(s sending, why string) (worker.Accepted, error) {
	key := worker.ReasonUnclearAnswer + " " + strconv.Itoa(s.status)
	return h.end(s, worker.ClassUnknown, worker.ReasonUnclearAnswer, key, errors.New(why))
}

// end makes the error of a submission that was not accepted: what was tried, what was found, the answer as evidence.
func (h *Handler) end(s sending, class worker.Class, reason, key string, why error) (worker.Accepted, error) {
	text := "POST " + h.spec.origin
	if s.status == http.StatusNotFound || s.status == http.StatusMethodNotAllowed {
		text += s.path // most likely that is what is wrong in the provider file
	}
	if s.answered {
		text += fmt.Sprintf(" answered %d", s.status)
		if name := http.StatusText(s.status); name != "" {
			text += " " + name
		}
	}
	var err error
	switch quote := h.quote(s.body); {
	case why != nil && quote != "":
		err = fmt.Errorf("%s: %w; it said: %s", text, why, quote)
	case why != nil:
		err = fmt.Errorf("%s: %w", text, why)
	case quote != "":
		err = fmt.Errorf("%s: %s", text, quote)
	default:
		err = errors.New(text)
	}
	e := &worker.SubmitError{
		Class: class, Reason: reason, Key: key, Wire: &worker.Wire{Handed: s.handed, Received: s.received}, Err: h.redact.error(err),
	}
	if len(s.body) > 0 {
		var unread int64
		if n, err := strconv.ParseInt(s.header.Get("Content-Length"), 10, 64); err == nil && n > int64(len(s.body)) {
			unread = n - int64(len(s.body))
		}
		e.Raw = h.redact.body(s.body, maxEvidence, unread)
	}
	if class == worker.ClassRefused {
		e.RetryAfter = retryAfter(s.header, time.Now())
		e.Rate = s.status == http.StatusTooManyRequests
	}
	return worker.Accepted{}, e
}

// quote gives the beginning of a remote's words for an error.
func (h *Handler) quote(body []byte) string {
	return printable(h.redact.cut(string(body)), maxQuote)
}

// isCut reports whether the remote fell silent: a timeout, a cut or a reset, as against an answer nobody can read.
func isCut(err error) bool {
	var timeout net.Error
	var network *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errSealed) ||
		errors.As(err, &timeout) && timeout.Timeout() || errors.As(err, &network)
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
