package machine

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fencerow/fencerow/transitions"
)

// The bounds of what prepare takes.
const (
	MaxRequest = 10 << 20 // bytes of a request
	MaxName    = 512      // bytes of an operation id, kind, provider or account
)

// Request is an operation to be prepared. Zero durations and counts mean the column's default.
type Request struct {
	OperationID      string // the caller's own key; the same id and request again is the same operation
	Kind             string
	Provider         string // default: the kind
	Account          string
	Request          []byte // sent byte for byte
	Priority         int64
	NotBefore        time.Time
	WantsDelivery    bool
	CanInvestigate   bool
	ObserveDeadline  time.Duration // 0: observed for ever
	NotFoundGrace    time.Duration
	Quarantine       time.Duration
	DeliveryAttempts int
	RedoOf           string
}

// Validate reports the first field that cannot be stored.
func (r Request) Validate() error {
	names := []struct{ field, value string }{
		{"id", r.OperationID}, {"kind", r.Kind}, {"provider", r.Provider}, {"account", r.Account},
	}
	for i, n := range names {
		switch {
		case i < 2 && transitions.IsBlank(n.value):
			return &InvalidError{n.field, "is blank; give it at least one character that can be seen"}
		case !utf8.ValidString(n.value):
			return &InvalidError{n.field, "is not valid UTF-8"}
		case strings.ContainsRune(n.value, 0):
			return &InvalidError{n.field, "has a NUL character, which a database cannot store"}
		case len(n.value) > MaxName:
			return &InvalidError{n.field, fmt.Sprintf("has %d bytes; at most %d are kept", len(n.value), MaxName)}
		}
	}
	if t := r.NotBefore; !t.IsZero() && (t.Before(transitions.MinTime) || t.After(transitions.MaxTime)) {
		return &InvalidError{"not_before", fmt.Sprintf("%s is not between the years 1 and 9999", t.Format(time.RFC3339))}
	}
	if len(r.Request) == 0 {
		return &InvalidError{"request", "is empty"}
	}
	if len(r.Request) > MaxRequest {
		return &InvalidError{"request", fmt.Sprintf("has %d bytes; at most %d are stored", len(r.Request), MaxRequest)}
	}
	return nil
}

func (r Request) provider() string {
	if r.Provider == "" {
		return r.Kind
	}
	return r.Provider
}

func (r Request) params() transitions.Params {
	p := transitions.Params{
		"operation_id":    transitions.TextValue(r.OperationID),
		"kind":            transitions.TextValue(r.Kind),
		"provider":        transitions.TextValue(r.provider()),
		"account":         transitions.TextValue(r.Account),
		"request":         transitions.BytesValue(r.Request),
		"priority":        transitions.IntValue(r.Priority),
		"not_before":      transitions.TimeValue(r.NotBefore),
		"wants_delivery":  transitions.BoolValue(r.WantsDelivery),
		"can_investigate": transitions.BoolValue(r.CanInvestigate),
		"redo_of":         transitions.OptText(r.RedoOf),
	}
	optional := func(name string, n int64) {
		if n > 0 {
			p[name] = transitions.IntValue(n)
		}
	}
	optional("observe_deadline_ms", r.ObserveDeadline.Milliseconds())
	optional("not_found_grace_ms", r.NotFoundGrace.Milliseconds())
	optional("quarantine_ms", r.Quarantine.Milliseconds())
	optional("delivery_attempts_max", int64(r.DeliveryAttempts))
	return p
}

// Prepared is what prepare came to.
type Prepared struct {
	Operation Operation
	Created   bool  // false: the same id and request were prepared before
	Err       error // a *ConflictError: the id was prepared before with another request
}

// Prepare stores one operation. The same id with the same request again gives the existing one, and Created false; with
// another request the error is a *ConflictError. Nothing is sent.
func (m *Machine) Prepare(ctx context.Context, r Request) (Prepared, error) {
	all, err := m.PrepareMany(ctx, []Request{r})
	if err != nil {
		return Prepared{}, err
	}
	return all[0], all[0].Err
}

// PrepareMany stores operations in one statement where the database has one; PostgreSQL takes very many in several
// transactions, each of which stores its part or nothing. Conflicts are told one by one, in Prepared.Err; the error tells
// of what concerns all: an unusable request (nothing was stored), a database that cannot be reached, or an *UnknownError,
// also where some parts were stored and another provably was not. Calling it again with the same requests is always safe.
func (m *Machine) PrepareMany(ctx context.Context, requests []Request) ([]Prepared, error) {
	params := make([]transitions.Params, len(requests))
	for i, r := range requests {
		if err := r.Validate(); err != nil {
			return nil, fmt.Errorf("prepare operation %q: %w", r.OperationID, err)
		}
		params[i] = r.params()
	}
	answers, err := m.store.ApplyMany(ctx, "prepare", params)
	if err != nil {
		return nil, err
	}
	out := make([]Prepared, len(requests))
	for i, a := range answers {
		if a.Row == nil {
			return nil, fmt.Errorf("prepare operation %q: the store gave no row back (%s)", requests[i].OperationID, strings.Join(a.Failed, ", "))
		}
		op := OperationOf(m.store.Program(), a.Row)
		out[i] = Prepared{Operation: op, Created: a.Applied}
		if !a.Applied {
			out[i].Err = Conflict(requests[i], op)
		}
	}
	return out, nil
}

// Conflict compares a request with the operation of the same id: nil if it is the same, else a *ConflictError.
func Conflict(r Request, existing Operation) error {
	var differs []string
	differ := func(col string, same bool) {
		if !same {
			differs = append(differs, col)
		}
	}
	differ("request", bytes.Equal(r.Request, existing.Request))
	differ("kind", r.Kind == existing.Kind)
	differ("provider", r.provider() == existing.Provider)
	differ("account", r.Account == existing.Account)
	if differs == nil {
		return nil
	}
	return &ConflictError{OperationID: r.OperationID, Differs: differs, Existing: existing}
}
