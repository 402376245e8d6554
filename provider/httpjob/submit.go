package httpjob

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/fencerow/fencerow/worker"
)

// Submit sends the request as it stands, at most once. It returns an Accepted for a whole 2xx answer with a usable id,
// and a *worker.SubmitError for every other end; docs/providers.md has the table. It does not judge whether the lease
// is still held: Submission.SendBy is what bounds it.
func (h *Handler) Submit(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
	if err := context.Cause(ctx); err != nil {
		return h.end(sending{}, worker.ClassNotSent, "", "not_sent", err)
	}
	if !s.SendBy.IsZero() && past(time.Now(), s.SendBy) {
		return h.end(sending{}, worker.ClassNotSent, "", "not_sent", errPastSendBy)
	}
	req, err := h.submission(ctx, s)
	if err != nil {
		return h.end(sending{}, worker.ClassNotSent, "", "not_sent", fmt.Errorf("building the request: %w", err))
	}
	return h.classify(h.send(ctx, s.SendBy, req))
}

func (h *Handler) submission(ctx context.Context, s worker.Submission) (*http.Request, error) {
	u, err := h.spec.Submit.URL.URL(nil, map[string]string{"operation_id": s.OperationID, "kind": s.Kind})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if len(s.Request) > 0 {
		req.Body, req.ContentLength = once{bytes.NewReader(s.Request)}, int64(len(s.Request))
	}
	req.GetBody = nil
	req.Header = http.Header{
		"Content-Type":    {"application/json"},
		"Accept":          {"application/json"},
		"Accept-Encoding": {"identity"},
		"User-Agent":      {"fencerow"},
	}
	for name, values := range h.spec.Submit.Headers {
		req.Header[name] = values
	}
	// The file's reader refuses these; a Spec that was changed by hand must not get them through either.
	req.Header.Del("Idempotency-Key")
	req.Header.Del("X-Idempotency-Key")
	return req, nil
}
