package httpjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/fencerow/fencerow/worker"
)

// Cancel asks the API once to cancel a job, with the method and at the address of the provider file, without a body. 2xx,
// 404, 409 and 410 are answers, whatever they mean; every other end is an error that says what came, and worker.RetryAfter
// finds in it how long the remote asked to be left alone. A redirect is not followed: it might lead to where jobs are
// created, and for the same reason an address that is the one of submissions is not asked.
func (h *Handler) Cancel(ctx context.Context, c worker.Cancellation) (worker.CancelAnswer, error) {
	if h.spec.Cancel == nil {
		return worker.CancelAnswer{}, fmt.Errorf("asking to cancel job %s: %s has no cancel section: %w",
			printable(h.redact.text(c.RemoteJobID), 100), h.spec.File, errors.ErrUnsupported)
	}
	answer, wait, err := h.askToCancel(ctx, c)
	if err != nil {
		err = fmt.Errorf("asking to cancel job %s: %w", printable(h.redact.text(c.RemoteJobID), 100), err)
		return answer, worker.Later(h.redact.error(err), wait)
	}
	return answer, nil
}

func (h *Handler) askToCancel(ctx context.Context, c worker.Cancellation) (worker.CancelAnswer, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, h.spec.Submit.Timeout)
	defer cancel()
	var answer worker.CancelAnswer
	u, err := h.spec.Cancel.URL.URL(h.spec.base, jobValues(c.OperationID, c.Kind, c.RemoteJobID, c.Keep))
	if err != nil {
		return answer, 0, err
	}
	if h.creates(u, c) {
		return answer, 0, errors.New("its address is the one where jobs are created: nothing was sent there")
	}
	resp, err := h.sendCancel(ctx, u)
	what := h.spec.Cancel.Method + " " + origin(u)
	if err != nil {
		return answer, 0, fmt.Errorf("%s: %w", what, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxStatusBody))
	answer.Raw = h.redact.body(body, maxEvidence, max(0, resp.ContentLength-int64(len(body))))
	answer.Detail = fmt.Sprintf("%s answered %d %s", what, resp.StatusCode, http.StatusText(resp.StatusCode))
	wait := retryAfter(resp.Header, time.Now())
	switch code := resp.StatusCode; {
	case code >= 200 && code <= 299 || slices.Contains([]int{404, 409, 410}, code):
		return answer, 0, nil // a body that was cut changes nothing
	case err != nil:
		return answer, wait, fmt.Errorf("%s; reading the answer: %w", answer.Detail, err)
	default:
		return answer, wait, fmt.Errorf("%s; it said: %s", answer.Detail, h.quote(body))
	}
}

// creates reports whether to ask at u would be to create a job. Where submissions have a query of their own, another one
// at the same path is something else.
func (h *Handler) creates(u *url.URL, c worker.Cancellation) bool {
	at, err := h.spec.Submit.URL.URL(nil, map[string]string{"operation_id": c.OperationID, "kind": c.Kind})
	if err != nil {
		return true // it cannot be told
	}
	parts := h.spec.Cancel.URL.parts
	return h.spec.Cancel.Method == http.MethodPost && samePlace(at, u, len(parts) > 0 && parts[0].name == "")
}

func (h *Handler) sendCancel(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, h.spec.Cancel.Method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header = h.readHeaders(u)
	stay := *h.client
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := stay.Do(req)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err // without the address, whose parameters may sign it
		}
		return nil, err
	}
	return resp, nil
}
