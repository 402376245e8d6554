package httpjob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/worker"
)

// Investigate reads the list that the provider file names and gives every item of it that meets all conditions of match,
// by exact comparison; one of them holds the operation's id. It sends one GET and nothing else. The answer as it came, or
// the items that were found, are handed back as evidence, without secrets. An answer that is no whole list, or one with
// an item of which it cannot be said whether it is the operation's, is an error; worker.RetryAfter finds in it how long
// the remote asked to be left alone. Only this one page is read: a job that it does not show was not found, no more.
func (h *Handler) Investigate(ctx context.Context, i worker.Investigation) (worker.Findings, error) {
	spec := h.spec.Investigate
	if spec == nil {
		return worker.Findings{}, fmt.Errorf("looking for the job of %s: %s has no investigate section: %w",
			printable(h.redact.text(i.OperationID), 200), h.spec.File, errors.ErrUnsupported)
	}
	answer, err := h.readAnswer(ctx, spec.URL, jobValues(i.OperationID, i.Kind, "", nil))
	if err == nil && answer.missing {
		err = errors.New("the address of the list says that there is no such thing; it said: " + h.quote(answer.doc))
	}
	var found worker.Findings
	if len(answer.doc) > 0 {
		found.Raw = h.redact.body(answer.doc, maxEvidence, 0)
	}
	if err == nil {
		var items []document
		if items, err = spec.matching(answer.doc, i); err == nil && len(items) > 0 {
			found.Raw = h.redact.body(bytes.Join(toBytes(items), []byte("\n")), maxEvidence, 0)
			found.Found, err = h.finds(spec, items, i)
		}
	}
	if err != nil {
		err = fmt.Errorf("looking for the job of %s: %w", printable(h.redact.text(i.OperationID), 200), err)
		return worker.Findings{Raw: found.Raw}, worker.Later(h.redact.error(err), answer.retryAfter)
	}
	return found, nil
}

// matching gives the items of the list that meet every condition.
func (s *Investigate) matching(doc document, i worker.Investigation) ([]document, error) {
	list, err := doc.at(s.Items)
	if err != nil {
		return nil, fmt.Errorf("finding the list of jobs in the answer: %w", err)
	}
	if list[0] != '[' {
		return nil, fmt.Errorf("finding the list of jobs in the answer: what is at %q is no list", s.Items)
	}
	all, err := list.items()
	if err != nil {
		return nil, fmt.Errorf("finding the list of jobs in the answer: %w", err)
	}
	values := jobValues(i.OperationID, i.Kind, "", nil)
	var items []document
	for n, item := range all {
		ours, err := s.meets(item, values)
		if err != nil {
			return nil, fmt.Errorf("item %d of the list: %w", n, err)
		}
		if ours {
			items = append(items, item)
		}
	}
	return items, nil
}

// meets reports whether an item meets every condition. An item that says two things of one condition is an error: it may
// be the operation's.
func (s *Investigate) meets(item document, values map[string]string) (bool, error) {
	for _, m := range s.Match {
		want, err := m.Want.Text(values)
		if err != nil {
			return false, err
		}
		found, err := item.at(m.At)
		switch {
		case errors.Is(err, errNoValue):
			return false, nil
		case err != nil:
			return false, err
		}
		if got, ok := found.scalar(); !ok || got != want {
			return false, nil
		}
	}
	return true, nil
}

// finds reads the id and the values of each matching item. One without a usable id, or without a value that its status or
// its result is read with, may be a job that nobody here can follow: an error.
func (h *Handler) finds(s *Investigate, items []document, i worker.Investigation) ([]worker.Find, error) {
	how := make([]string, len(s.Match))
	for n, m := range s.Match {
		want, err := m.Want.Text(jobValues(i.OperationID, i.Kind, "", nil))
		if err != nil {
			return nil, err
		}
		how[n] = fmt.Sprintf("%s = %q", m.At, printable(h.redact.text(want), 200))
	}
	finds := make([]worker.Find, len(items))
	for n, item := range items {
		at, err := item.at(s.ID)
		if err != nil {
			return nil, fmt.Errorf("a job matches, and its id cannot be read: %w", err)
		}
		id, err := h.usableID(at)
		if err != nil {
			return nil, fmt.Errorf("a job matches, and its id at %s is not usable: %w", s.ID, err)
		}
		found := worker.Find{RemoteJobID: id, OperationID: i.OperationID, How: strings.Join(how, ", "), Keep: h.kept(s.Keep, item)}
		if err := h.spec.CheckKept(i.OperationID, id, found.Keep); err != nil {
			return nil, fmt.Errorf("a job matches: %w", err)
		}
		finds[n] = found
	}
	return finds, nil
}

func toBytes(items []document) [][]byte {
	all := make([][]byte, len(items))
	for n, item := range items {
		all[n] = item
	}
	return all
}
