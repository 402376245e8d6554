package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fencerow/fencerow/machine"
)

// historyJSON and evidenceJSON name the fields as the columns are called.
type historyJSON struct {
	Seq         int64           `json:"seq"`
	OperationID string          `json:"operation_id"`
	Event       string          `json:"event"`
	From        *string         `json:"from_phase"`
	To          string          `json:"to_phase"`
	Owner       *string         `json:"owner"`
	Revision    int64           `json:"revision"`
	Reason      *string         `json:"reason"`
	Reviewer    *string         `json:"reviewer"`
	Detail      *string         `json:"detail"`
	Changes     json.RawMessage `json:"changes"`
	At          time.Time       `json:"at"`
}

type evidenceJSON struct {
	Seq         int64     `json:"seq"`
	OperationID *string   `json:"operation_id"`
	Provider    string    `json:"provider"`
	Account     string    `json:"account"`
	Kind        string    `json:"kind"`
	Revision    *int64    `json:"revision"`
	Owner       *string   `json:"owner"`
	RemoteJobID *string   `json:"remote_job_id"`
	Detail      any       `json:"detail"`
	Omitted     int64     `json:"omitted_bytes,omitempty"`
	At          time.Time `json:"at"`
}

func opt(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func historyOf(entries []machine.HistoryEntry) []historyJSON {
	list := []historyJSON{}
	for _, h := range entries {
		changes := json.RawMessage(h.Changes)
		if !json.Valid(changes) {
			changes = nil
		}
		list = append(list, historyJSON{
			h.Seq, h.OperationID, h.Event, opt(h.From), h.To, opt(h.Owner), h.Revision,
			opt(h.Reason), opt(h.Reviewer), opt(h.Detail), changes, h.At.UTC(),
		})
	}
	return list
}

func evidenceOf(entries []machine.EvidenceEntry) []evidenceJSON {
	list := []evidenceJSON{}
	for _, e := range entries {
		var revision *int64
		if e.Revision != 0 {
			revision = &e.Revision
		}
		var detail any
		if text := whole(e); utf8.Valid(text) && text != nil {
			detail = string(text)
		} else if e.Detail != nil {
			detail = map[string][]byte{"base64": e.Detail}
		}
		list = append(list, evidenceJSON{
			e.Seq, opt(e.OperationID), e.Provider, e.Account, e.Kind, revision, opt(e.Owner), opt(e.RemoteJobID), detail, e.Omitted, e.At.UTC(),
		})
	}
	return list
}

// whole is a detail up to its last whole character, where a reader cut it.
func whole(e machine.EvidenceEntry) []byte {
	if e.Omitted == 0 {
		return e.Detail
	}
	for n := len(e.Detail); n > len(e.Detail)-utf8.UTFMax && n > 0; n-- {
		if utf8.Valid(e.Detail[:n]) {
			return e.Detail[:n]
		}
	}
	return e.Detail
}

// withColumns writes one object a line: an operation's columns, and more fields after them.
func (a *app) withColumns(op machine.Operation, more any) error {
	columns, err := json.Marshal(op)
	if err != nil {
		return err
	}
	rest, err := json.Marshal(more)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s,%s\n", strings.TrimSuffix(string(columns), "}"), rest[1:])
	return err
}

// knownJSON is what is known of an operation beside its columns.
type knownJSON struct {
	Since        *time.Time      `json:"since"`
	AgeMS        int64           `json:"age_ms"`
	Because      *string         `json:"because"`
	Sent         *sentJSON       `json:"sent"`
	Looked       *lookedJSON     `json:"looked"`
	RemoteJobIDs []string        `json:"remote_job_ids"`
	Candidates   []candidateJSON `json:"candidates"`
	RedoneAs     *string         `json:"redone_as"`
	Choices      []choiceJSON    `json:"choices"`
}

type sentJSON struct {
	At       time.Time `json:"at"`
	Owner    *string   `json:"owner"`
	Revision *int64    `json:"revision"`
}

type lookedJSON struct {
	At     time.Time `json:"at"`
	Reason *string   `json:"reason"`
	Detail *string   `json:"detail"`
}

type candidateJSON struct {
	RemoteJobID string    `json:"remote_job_id"`
	Said        string    `json:"said"`
	First       time.Time `json:"first_at"`
	Last        time.Time `json:"last_at"`
}

type choiceJSON struct {
	Choice    string     `json:"choice"`
	Allowed   bool       `json:"allowed"`
	RefusedBy []string   `json:"refused_by"`
	From      *time.Time `json:"allowed_from"`
}

func knownOf(w machine.Waiting, now time.Time) knownJSON {
	known := knownJSON{
		Since: optTime(w.Since), AgeMS: max(0, now.Sub(w.Since).Milliseconds()), Because: opt(w.Why),
		RemoteJobIDs: w.RemoteJobIDs(), Candidates: []candidateJSON{}, Choices: []choiceJSON{},
	}
	if known.RemoteJobIDs == nil {
		known.RemoteJobIDs = []string{}
	}
	if !w.Sent.At.IsZero() {
		known.Sent = &sentJSON{At: w.Sent.At.UTC(), Owner: opt(w.Sent.Owner)}
		if w.Sent.Owner != "" {
			known.Sent.Revision = &w.Sent.Revision
		}
	}
	if !w.Looked.At.IsZero() {
		known.Looked = &lookedJSON{w.Looked.At.UTC(), opt(w.Looked.Reason), opt(w.Looked.Detail)}
	}
	if w.Redone != nil {
		known.RedoneAs = &w.Redone.OperationID
	}
	for _, c := range w.Candidates {
		known.Candidates = append(known.Candidates, candidateJSON{c.RemoteJobID, c.Said, c.First.UTC(), c.Last.UTC()})
	}
	for _, c := range w.Choices {
		refused := c.Refused
		if refused == nil {
			refused = []string{}
		}
		known.Choices = append(known.Choices, choiceJSON{c.Name, len(refused) == 0, refused, optTime(c.From)})
	}
	return known
}

func optTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// reviewJSON writes a page of the review list. History and evidence are the last ones: show has all.
func (a *app) reviewJSON(page machine.ReviewPage) error {
	for _, w := range page.Operations {
		err := a.withColumns(w.Operation, struct {
			knownJSON
			History  []historyJSON  `json:"history"`
			Evidence []evidenceJSON `json:"evidence"`
			Cursor   string         `json:"cursor"`
		}{knownOf(w, page.Now), historyOf(w.Events), evidenceOf(w.Evidence), w.Cursor().String()})
		if err != nil {
			return err
		}
	}
	return nil
}
