package machine

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// ErrNotFound is returned where there is no operation of that id.
var ErrNotFound = errors.New("no such operation")

// DeniedError says that an event ran and changed nothing, and why (contract F3).
type DeniedError struct {
	Event       string
	OperationID string
	Failed      []string  // the guards that did not hold
	Seen        Operation // the row as it was seen

	// Of a decision that was made about another row than there is now: what was looked at, and what happened since,
	// oldest first (contract D3).
	Looked Seen
	Since  []HistoryEntry
}

// Error names the guards that did not hold, what the row said, and what happened since it was looked at.
func (e *DeniedError) Error() string {
	text := fmt.Sprintf("%s on operation %q was denied: %s did not hold; the row is %s at revision %d",
		e.Event, e.OperationID, strings.Join(e.Failed, ", "), e.Seen.Phase, e.Seen.Revision)
	if len(e.Since) > 0 {
		text += "; " + e.Changed()
	}
	return text
}

// mostChanges bounds how many events Changed names.
const mostChanges = 10

// Changed names what happened since it was looked at, such as "since 5.2: evidence_noted by w0"; "" if that is not why.
func (e *DeniedError) Changed() string {
	if len(e.Since) == 0 {
		return ""
	}
	var parts []string
	if more := len(e.Since) - mostChanges; more > 0 {
		parts = append(parts, fmt.Sprintf("%d events", more))
	}
	for _, h := range e.Since[max(0, len(e.Since)-mostChanges):] {
		part := h.Event
		if who := cmp.Or(h.Reviewer, h.Owner); who != "" {
			part += " by " + who
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("since %s: %s", e.Looked, strings.Join(parts, ", "))
}

// Only reports whether exactly the guard named did not hold.
func (e *DeniedError) Only(guard string) bool { return len(e.Failed) == 1 && e.Failed[0] == guard }

// UnknownError says that nobody can tell whether an event landed: it was sent, and no reliable answer came. It is not
// a denial. The holder stops all exclusive work but the same event under the same fence; Machine.Landed asks history.
type UnknownError struct {
	Event       string
	OperationID string // "" for a batch
	Cause       error
}

// Error says what is not known.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s on operation %q: not known whether it landed: %v", e.Event, e.OperationID, e.Cause)
}

// Unwrap gives the cause.
func (e *UnknownError) Unwrap() error { return e.Cause }

// ConflictError says that an id was prepared before with another request.
type ConflictError struct {
	OperationID string
	Differs     []string // the columns that differ
	Existing    Operation
}

// Error names the id and what differs.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("operation %q was prepared before with another %s; use a new id for a new request",
		e.OperationID, strings.Join(e.Differs, " and "))
}

// InvalidError says that a caller's input cannot be stored; nothing was sent to the database.
type InvalidError struct {
	Field string
	Text  string
}

// Error names the field.
func (e *InvalidError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Text) }

// LeaseError says that the holder's own clock says that its lease is over; no statement was sent.
type LeaseError struct{ OperationID string }

// Error says what to do.
func (e *LeaseError) Error() string {
	return fmt.Sprintf("the lease on operation %q is over by the holder's own clock; claim it anew", e.OperationID)
}

// IsDenied, IsUnknown and the like tell the answers apart.
func IsDenied(err error) (*DeniedError, bool) {
	var d *DeniedError
	ok := errors.As(err, &d)
	return d, ok
}

// IsUnknown reports whether err leaves open whether an event landed.
func IsUnknown(err error) bool {
	var u *UnknownError
	return errors.As(err, &u)
}
