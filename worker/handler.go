package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Handler is the caller's (or a provider package's) knowledge of one remote API: how to send a request of one kind
// and how to read what became of it. Every method must honour its context. A Handler is called from many goroutines.
type Handler interface {
	// Submit sends the request, at most once, and reports what that proved. The context ends at the lease's own
	// deadline; a Handler must not send the first byte after Submission.SendBy and must not send twice.
	//
	// A nil error means accepted: the remote created the job and Accepted holds its id. Any other end is told by
	// the error: one made by NotSent, Refused or Rejected is believed; everything else, a panic included, is
	// unknown and sends the operation to uncertainty review (contract B2).
	Submit(ctx context.Context, s Submission) (Accepted, error)

	// Observe reads the remote status of a submitted job. It may be called any number of times, by several
	// workers at once, and must change nothing. An error means that nothing was learnt; it is asked again later.
	Observe(ctx context.Context, o Observation) (Status, error)
}

// Deliverer is implemented by a Handler whose results must be brought home. Deliver looks first for what is already
// there under the operation's deterministic key, and writes so that a reader never sees half an object (contract C4).
type Deliverer interface {
	Deliver(ctx context.Context, d Delivery) (Delivered, error)
}

// Investigator is implemented by a Handler that can look for the remote job of an operation of which nobody knows whether
// one exists (contract D4). Operations are looked for whose request was prepared with machine.Request.CanInvestigate.
//
// Investigate must change nothing at the remote and may be called any number of times. It reports every remote job that
// may be the operation's. Exactly one find is attached by itself; several that say so, none, an error, and a find that
// is not fit are inconclusive. That nothing was found is never taken as proof that nothing was created. An inconclusive
// look is repeated after the pauses of Config.LookAgain, or what Later puts into the error if that is longer, and then a
// reviewer is left with the operation.
//
// A Handler that has the method but not the means says so by an error that wraps errors.ErrUnsupported: the operation is
// left to a reviewer at once.
type Investigator interface {
	Investigate(ctx context.Context, i Investigation) (Findings, error)
}

// Canceler is implemented by a Handler that can ask the remote to cancel a job. It is called after a look at a job that
// has not ended, where somebody asked to cancel the operation, a bounded number of times (Config.AskAgain), and possibly
// by several workers at once. What it comes to decides nothing: the next look at the job does. An error that wraps
// errors.ErrUnsupported means that the Handler cannot ask; nothing is noted then.
type Canceler interface {
	Cancel(ctx context.Context, c Cancellation) (CancelAnswer, error)
}

// Submission is one request to be sent.
type Submission struct {
	OperationID string
	Kind        string
	Provider    string
	Account     string
	Request     []byte // byte for byte as it was prepared
	Attempt     int    // 1 for the first send
	Revision    int64  // of the lease under which it is sent
	// SendBy is the sender's own deadline, on the monotonic clock: no byte may leave after it (contract B1).
	SendBy time.Time
}

// Accepted is what the remote answered to a request that it took.
type Accepted struct {
	RemoteJobID string            // as the remote wrote it; the worker judges whether it is usable
	Keep        map[string]string // further values of the answer, handed back to Observe and Deliver
	Raw         []byte            // the answer's body, kept as evidence when the id is not usable
}

// Observation asks for the remote status of one submitted operation.
type Observation struct {
	OperationID string
	Kind        string
	Provider    string
	Account     string
	RemoteJobID string
	Keep        map[string]string
	Snapshot    []byte // the last one stored, nil if none
}

// State is where the remote says a job is.
type State string

// The states that a Handler may report. Pending covers every word that does not end a job.
const (
	Pending   State = "pending"
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Canceled  State = "canceled"
	NotFound  State = "not_found" // the remote says that it has no such job
)

// Status is the answer to an Observation.
type Status struct {
	State      State
	Snapshot   []byte        // the remote's own words; bounded when stored
	Detail     string        // why a job failed, in the remote's words
	RetryAfter time.Duration // the remote's own wish for the next look; 0 if it said nothing
}

// Delivery asks for the result of one succeeded operation to be put in its place.
type Delivery struct {
	OperationID string
	Kind        string
	Provider    string
	Account     string
	RemoteJobID string
	Keep        map[string]string
	Snapshot    []byte // the last one stored
	Attempt     int    // 1 for the first
}

// Delivered is where a result now is.
type Delivered struct {
	ObjectKey string // relative to the deliverer's own place
	SHA256    string // lower-case hex
	Bytes     int64
}

// Investigation asks for the remote job of one uncertain operation.
type Investigation struct {
	OperationID string
	Kind        string
	Provider    string
	Account     string
	Request     []byte    // as it was sent
	Attempts    int       // how often sending was begun
	SubmittedAt time.Time // when sending was last begun, by the database's clock
	RemoteJobID string    // that the operation holds already; "" for most
	Looked      int       // inconclusive looks before this one
}

// Findings are what an Investigation came to.
type Findings struct {
	Found []Find
	Raw   []byte // what the remote answered, without secrets: kept as evidence, bounded
}

// Find is one remote job that may be the operation's. It is fit to be attached only where it has a usable id, names the
// operation that was asked for, and says how it was matched.
type Find struct {
	RemoteJobID string            // as the remote wrote it
	OperationID string            // the operation that the job names, as the remote wrote it
	How         string            // by what it was matched, for a person: `/metadata/op = "clip-1"`
	Keep        map[string]string // further values of the job, handed to Observe, Deliver and Cancel
}

// Cancellation asks for one remote job to be canceled.
type Cancellation struct {
	OperationID string
	Kind        string
	Provider    string
	Account     string
	RemoteJobID string
	Keep        map[string]string
	Asked       int // how often the remote was asked before
}

// CancelAnswer is what the remote said when it was asked to cancel a job. It decides nothing.
type CancelAnswer struct {
	Detail string // what it comes to, for a person: "POST https://api.example.com answered 202 Accepted"
	Raw    []byte // the answer, without secrets: kept as evidence, bounded
}

// Class is what the end of a submission proves.
type Class string

// The classes; see docs/providers.md. Unknown is the default for everything nobody classified.
const (
	ClassNotSent  Class = "not_sent" // provably not one byte of the request left
	ClassRefused  Class = "refused"  // answered: nothing was created, later it may be
	ClassRejected Class = "rejected" // answered: nothing was created, and this request never will be
	ClassUnknown  Class = "unknown"  // a job may exist
)

// The reasons of an unknown end, as stored in uncertain_reason.
const (
	ReasonNoResponse      = "no_response"
	ReasonMissingRemoteID = "missing_remote_id"
	ReasonUnclearAnswer   = "unclear_answer"
	ReasonRemoteIDTaken   = "remote_id_taken"
	ReasonRemoteNotFound  = "remote_not_found"
	ReasonOverdue         = "overdue"
	ReasonShutdown        = "shutdown"
	ReasonPanic           = "panic"
	ReasonUnclassified    = "unclassified"
)

// SubmitError is a classified end of a submission other than accepted.
type SubmitError struct {
	Class      Class
	Reason     string        // for ClassUnknown: one of the Reason constants
	Key        string        // equal refusals have an equal key, e.g. "401"; the brake counts them, and every unknown end as one kind
	Rate       bool          // refused only for its rate: the brake does not count it
	RetryAfter time.Duration // for ClassRefused: the remote's wish; 0 if it said nothing
	Raw        []byte        // the answer's body as far as it was read: evidence
	Wire       *Wire         // nil: the connection's bytes were not counted
	Err        error
}

// Wire is what the one connection of a submission carried, above TLS. Handed is an upper bound of what the remote can
// have of the request, and no proof that it has any of it; Received counts the answer's head too.
type Wire struct {
	Handed   int64 // bytes of the request that were handed to the connection
	Received int64 // bytes that came from the remote
}

// Error says the class and the cause.
func (e *SubmitError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("%s (%s): %v", e.Class, e.Reason, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Class, e.Err)
}

// Unwrap gives the cause.
func (e *SubmitError) Unwrap() error { return e.Err }

// NotSent wraps err as proof that not one byte of the request left. Wrap only what proves it.
func NotSent(err error) error { return &SubmitError{Class: ClassNotSent, Key: "not_sent", Err: err} }

// Refused wraps err as a whole answer of the remote that nothing was created and that it may be later.
func Refused(err error, retryAfter time.Duration) error {
	return &SubmitError{Class: ClassRefused, Key: err.Error(), RetryAfter: retryAfter, Err: err}
}

// Rejected wraps err as a whole answer of the remote that nothing was created and that this request never will be.
func Rejected(err error) error { return &SubmitError{Class: ClassRejected, Err: err} }

// Unknown wraps err as an end that leaves open whether a job exists, with its reason.
func Unknown(err error, reason string) error {
	return &SubmitError{Class: ClassUnknown, Reason: reason, Key: reason, Err: err}
}

// DeliverFailed wraps err as a delivery that no further attempt can mend.
func DeliverFailed(err error) error { return &deliverFailed{err} }

type deliverFailed struct{ err error }

func (e *deliverFailed) Error() string { return e.err.Error() }
func (e *deliverFailed) Unwrap() error { return e.err }

// IsDeliverFailed reports whether err was wrapped by DeliverFailed.
func IsDeliverFailed(err error) bool {
	var f *deliverFailed
	return errors.As(err, &f)
}

// Later wraps the error of an Observe or a Deliver with the remote's own wish for the next look.
func Later(err error, after time.Duration) error {
	if err == nil || after <= 0 {
		return err
	}
	return &later{err, after}
}

type later struct {
	err   error
	after time.Duration
}

func (e *later) Error() string { return e.err.Error() }
func (e *later) Unwrap() error { return e.err }

// RetryAfter gives the wish that Later put into err; 0 if there is none.
func RetryAfter(err error) time.Duration {
	var l *later
	if errors.As(err, &l) {
		return l.after
	}
	return 0
}
