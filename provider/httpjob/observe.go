package httpjob

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fencerow/fencerow/worker"
)

// maxDetail bounds the remote's words about a failure.
const maxDetail = 4 << 10

// maxReported bounds how many unlisted status words are remembered as logged.
const maxReported = 100

// Observe reads a job's status once. A status word that stands in no list of the provider file is reported as pending,
// with the word in Detail, and logged the first time; it is never guessed. An answer that cannot be read, or that is
// no answer of a status address, is an error; worker.RetryAfter finds in it how long the remote asked to be left alone.
func (h *Handler) Observe(ctx context.Context, o worker.Observation) (worker.Status, error) {
	answer, err := h.readStatus(ctx, jobValues(o.OperationID, o.Kind, o.RemoteJobID, o.Keep))
	if err != nil {
		err = fmt.Errorf("reading the status of job %s: %w", printable(h.redact.text(o.RemoteJobID), 100), err)
		return worker.Status{}, worker.Later(h.redact.error(err), answer.retryAfter)
	}
	status := worker.Status{
		Snapshot:   h.redact.body(answer.doc, maxEvidence, 0),
		RetryAfter: answer.retryAfter,
	}
	if answer.missing {
		status.State = worker.NotFound
		return status, nil
	}
	status.State, status.Detail = h.judge(answer.doc)
	status.Detail = printable(h.redact.text(status.Detail), maxDetail)
	return status, nil
}

// judge finds the status word's list, in an answer of the status address.
func (h *Handler) judge(doc document) (worker.State, string) {
	return h.judgeWord(doc, h.spec.Observe.Status, doc, true)
}

// judgeWord finds the list of the status word at a place. What else there is to know of the job stands in job, where whole
// says that this has the form of an answer of the status address.
func (h *Handler) judgeWord(doc document, at Pointer, job document, whole bool) (worker.State, string) {
	o := &h.spec.Observe
	found, err := doc.at(at)
	if err != nil {
		return h.unlisted(fmt.Sprintf("no status word: %v", err))
	}
	word, ok := found.text()
	switch {
	case !ok:
		return h.unlisted(fmt.Sprintf("status %s is no text", printable(h.redact.text(string(found)), 100)))
	case slices.Contains(o.Pending, word):
		return worker.Pending, ""
	case slices.Contains(o.Succeeded, word) && o.FailedIf != nil && !whole:
		return h.unlisted(fmt.Sprintf("no telling success from failure: nothing there is as %s reads it", o.Status))
	case slices.Contains(o.Succeeded, word):
		return h.succeeded(job)
	case slices.Contains(o.Failed, word):
		return worker.Failed, h.failure(job)
	case slices.Contains(o.Canceled, word):
		return worker.Canceled, h.failure(job)
	default:
		return h.unlisted(fmt.Sprintf("status word %q is in no list of the provider file", printable(h.redact.text(word), 100)))
	}
}

// succeeded judges a job whose word means success. Some APIs have one word for every end and tell a failure elsewhere.
func (h *Handler) succeeded(doc document) (worker.State, string) {
	at := h.spec.Observe.FailedIf
	if at == nil {
		return worker.Succeeded, ""
	}
	found, err := doc.at(*at)
	switch {
	case errors.Is(err, errNoValue):
		return worker.Succeeded, ""
	case err != nil:
		return h.unlisted(fmt.Sprintf("no telling success from failure: %v", err))
	case found.words() == "":
		return worker.Succeeded, ""
	default:
		return worker.Failed, h.failure(doc)
	}
}

func (h *Handler) unlisted(what string) (worker.State, string) {
	h.mu.Lock()
	first := !h.reported[what] && len(h.reported) < maxReported
	if first {
		h.reported[what] = true
	}
	h.mu.Unlock()
	if first {
		h.log.Warn("a job's status is kept as pending", "file", h.spec.File, "found", h.redact.text(what))
	}
	return worker.Pending, what + "; kept as pending"
}

func (h *Handler) failure(doc document) string {
	if h.spec.Observe.Error == nil {
		return ""
	}
	found, err := doc.at(*h.spec.Observe.Error)
	if err != nil {
		if errors.Is(err, errNoValue) {
			return ""
		}
		return err.Error()
	}
	return found.words()
}

// jobValues are the values of the placeholders. The fixed names win over kept values.
func jobValues(operationID, kind, remoteJobID string, keep map[string]string) map[string]string {
	values := maps.Clone(keep)
	if values == nil {
		values = map[string]string{}
	}
	values["operation_id"], values["kind"], values["remote_job_id"] = operationID, kind, remoteJobID
	return values
}
