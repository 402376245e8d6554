package httpjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/fencerow/fencerow/worker"
)

// errExpired says that an address of a result is no good any more; the remote's status may have a fresh one.
var errExpired = errors.New("the result's address has expired")

// Deliver brings a result home. What is already there under the operation's key, and whole, is not fetched again. An
// object appears complete or not at all, and is never put in the place of a file that is not known to be this
// operation's own: such a file, or a key that another operation holds, ends the delivery for good
// (worker.IsDeliverFailed). Every other error may pass.
func (h *Handler) Deliver(ctx context.Context, d worker.Delivery) (worker.Delivered, error) {
	if h.out == nil {
		return worker.Delivered{}, worker.DeliverFailed(fmt.Errorf("delivering %s: %s has no deliver section", d.OperationID, h.spec.File))
	}
	done, wait, err := h.deliver(ctx, d)
	if err == nil {
		return done, nil
	}
	permanent := worker.IsDeliverFailed(err)
	err = h.redact.error(fmt.Errorf("delivering the result of %s: %w", printable(h.redact.text(d.OperationID), 200), err))
	if permanent {
		return worker.Delivered{}, worker.DeliverFailed(err)
	}
	return worker.Delivered{}, worker.Later(err, wait)
}

func (h *Handler) deliver(ctx context.Context, d worker.Delivery) (worker.Delivered, time.Duration, error) {
	key, err := objectKey(h.spec.Deliver.Key, d.OperationID, d.Kind)
	if err != nil {
		return worker.Delivered{}, 0, worker.DeliverFailed(err)
	}
	slot := &slot{root: h.out, key: key, owner: owner{
		Operation: d.OperationID, Provider: d.Provider, Account: d.Account, RemoteJobID: d.RemoteJobID,
	}}
	done, there, err := slot.open()
	if err != nil || there {
		return done, 0, err
	}
	file, err := slot.create()
	if err != nil {
		return worker.Delivered{}, 0, err
	}
	defer file.discard()
	if wait, err := h.download(ctx, d, file); err != nil {
		return worker.Delivered{}, wait, err
	}
	done, err = slot.publish(file)
	return done, 0, err
}

// download writes the result to file. An address that has expired is read anew, once, from the remote's status.
func (h *Handler) download(ctx context.Context, d worker.Delivery, file *tempFile) (time.Duration, error) {
	values := jobValues(d.OperationID, d.Kind, d.RemoteJobID, d.Keep)
	fresh := h.spec.Deliver.From == nil // a template's address is always the same
	var u *url.URL
	err := errNoValue
	if h.spec.Deliver.Via == nil {
		u, err = h.resultURL(d.Snapshot, values)
	}
	if err != nil && !fresh {
		fresh = true
		u, err = h.freshURL(ctx, values)
	}
	if err != nil {
		return 0, err
	}
	wait, err := h.fetch(ctx, u, file)
	if errors.Is(err, errExpired) && !fresh {
		if u, err = h.freshURL(ctx, values); err != nil {
			return 0, err
		}
		wait, err = h.fetch(ctx, u, file)
	}
	return wait, err
}

// resultURL finds the result's address in an answer, or fills in the file's template.
func (h *Handler) resultURL(snapshot []byte, values map[string]string) (*url.URL, error) {
	if t := h.spec.Deliver.URL; t != nil {
		return t.URL(h.spec.base, values)
	}
	doc, err := parseDocument(snapshot)
	if err != nil {
		return nil, fmt.Errorf("finding the result's address in the answer: %w", err)
	}
	found, err := doc.at(*h.spec.Deliver.From)
	if err != nil {
		return nil, fmt.Errorf("finding the result's address in the answer: %w", err)
	}
	text, ok := found.text()
	if !ok || text == "" || strings.Contains(text, redacted) {
		return nil, fmt.Errorf("finding the result's address in the answer: at %s is no address", h.spec.Deliver.From)
	}
	return resolveURL(h.spec.base, text)
}

// freshURL asks the remote where the result is: at the file's via, or at the job's status.
func (h *Handler) freshURL(ctx context.Context, values map[string]string) (*url.URL, error) {
	what, at := "the status for a fresh address", h.spec.Observe.URL
	if via := h.spec.Deliver.Via; via != nil {
		what, at = "the result's address", *via
	}
	answer, err := h.readAnswer(ctx, at, values)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, worker.Later(err, answer.retryAfter))
	}
	if answer.missing {
		return nil, fmt.Errorf("reading %s: the remote says that it has no such job", what)
	}
	return h.resultURL(answer.doc, values)
}

// fetch downloads u into file, which it empties first. It returns how long the remote asked to be left alone.
func (h *Handler) fetch(ctx context.Context, u *url.URL, file *tempFile) (time.Duration, error) {
	if err := file.reset(); err != nil {
		return 0, err
	}
	resp, err := h.get(ctx, u)
	if err != nil {
		return 0, fmt.Errorf("fetching it from %s: %w", origin(u), err)
	}
	defer resp.Body.Close()
	if err := judgeResult(resp, h.spec.Deliver.Key.text); err != nil {
		if resp.StatusCode < 200 || resp.StatusCode > 299 {
			said, _ := io.ReadAll(io.LimitReader(resp.Body, maxEvidence))
			err = fmt.Errorf("%w; it said: %s", err, h.quote(said))
		}
		return retryAfter(resp.Header, time.Now()), fmt.Errorf("fetching it: %s answered %d: %w", origin(u), resp.StatusCode, err)
	}
	n, err := io.Copy(file, resp.Body)
	if err != nil {
		return 0, fmt.Errorf("fetching it from %s: cut after %d bytes: %w", origin(u), n, err)
	}
	return 0, nil
}

// judgeResult reports why an answer is not the result, or why its end could not be told from a cut.
func judgeResult(resp *http.Response, key string) error {
	switch code := resp.StatusCode; {
	case code == 401 || code == 403 || code == 404 || code == 410:
		return errExpired
	case code != http.StatusOK:
		return errors.New("no result")
	case !isFramed(resp):
		return errors.New("its body has no marked end, so that a cut could not be seen")
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	ext := strings.ToLower(path.Ext(key))
	if media == "text/html" && ext != ".html" && ext != ".htm" && ext != "" {
		return fmt.Errorf("an HTML page is no %s", ext)
	}
	return nil
}
