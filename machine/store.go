package machine

import (
	"context"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// Store keeps operations and fires events on them, each as one short transaction. The memory store is the reference;
// machinetest is the conformance suite that every implementation must pass.
//
// Every method that fires events answers in one of three ways, or fails. A nil error means that the statement ran and
// its commit was seen: the Answer says applied or denied. An *UnknownError means that nobody can say whether it ran.
// Any other error means that it provably did not run. An implementation must not retry a statement by itself after it
// was sent.
type Store interface {
	Reader

	// Program is the table that the store's statements were compiled from.
	Program() *transitions.Program

	// Bound is the longest time for which a statement can still land after the client gave it up: the server's own
	// statement bound. 0 means that a statement cannot outlive its call.
	Bound() time.Duration

	// Apply fires an event on the one operation that params names as operation_id.
	Apply(ctx context.Context, event string, params transitions.Params) (Answer, error)

	// ApplyMany fires one event on several operations, in one statement where the database has one. Each is judged
	// on its own; the answers come in the order of params. No two params may name the same operation.
	ApplyMany(ctx context.Context, event string, params []transitions.Params) ([]Answer, error)

	// Take fires a claim or a sweep on up to params["limit"] operations that it finds itself, and returns those to
	// which it was applied, as they are afterwards. It never waits behind a locked row where the database can skip
	// it. A sweep may give both: what it was applied to, and an error about what stood in its way.
	Take(ctx context.Context, event string, params transitions.Params) ([]transitions.Row, error)

	// NoteUnmatched appends evidence about a remote job that no operation holds: OperationID, Seq and At are not read.
	// An equal one (provider, account, remote job id, kind and detail) that is seen there is not appended again.
	NoteUnmatched(ctx context.Context, e EvidenceEntry) error

	// Close releases what the store opened. It does not close what the caller handed in.
	Close() error
}

// Reader is the part of a Store that changes nothing.
type Reader interface {
	// Get reads operations by id, in no particular order; those that do not exist are left out.
	Get(ctx context.Context, ids ...string) ([]transitions.Row, error)

	// Find reads the operation that holds a remote job id; nil if none does.
	Find(ctx context.Context, provider, account, remoteJobID string) (transitions.Row, error)

	// List reads a page of operations.
	List(ctx context.Context, q Query) ([]transitions.Row, error)

	// History reads an operation's history, oldest first.
	History(ctx context.Context, id string) ([]HistoryEntry, error)

	// Evidence reads what was noted about an operation, oldest first.
	Evidence(ctx context.Context, id string) ([]EvidenceEntry, error)

	// EvidenceNaming reads the evidence that names a remote job id, of every operation and of none, oldest first.
	EvidenceNaming(ctx context.Context, provider, account, remoteJobID string) ([]EvidenceEntry, error)

	// Unmatched reads a page of the evidence that belongs to no operation.
	Unmatched(ctx context.Context, q UnmatchedQuery) ([]Unmatched, error)

	// Stats counts operations by phase, outcome, delivery and uncertain reason.
	Stats(ctx context.Context) ([]Stat, error)

	ReviewReader
}

// Answer is what a statement said about one operation. Applied false and Exists false: there is no such operation.
type Answer struct {
	Applied bool
	Exists  bool
	Failed  []string        // the names of the guards that did not hold, in the rule's order
	Row     transitions.Row // after the event when applied, as it was seen when denied
}

// Query selects and pages operations, newest first (created_at, then operation_id, both descending). Empty fields
// select everything.
type Query struct {
	Phase    string
	Outcome  string
	Reason   string // uncertain_reason
	Kind     string
	Provider string
	Account  string
	Delivery string
	Marked   bool          // only those with a mark
	MinAge   time.Duration // created at least so long ago, by the database's clock
	MaxAge   time.Duration // created at most so long ago
	After    *Cursor       // the last one of the page before
	Limit    int           // 0 means 100
}

// Cursor is a place in a list.
type Cursor struct {
	CreatedAt   time.Time
	OperationID string
}

// HistoryEntry is one row of an operation's history.
type HistoryEntry struct {
	Seq         int64
	OperationID string
	Event       string
	From        string // "" for the first
	To          string
	Owner       string
	Revision    int64 // of the row after the event
	Reason      string
	Reviewer    string
	Detail      string
	Changes     string // a JSON object: the columns that the event assigned; times in Unix microseconds, bytes in hex
	At          time.Time
}

// EvidenceEntry is one row of the evidence table.
type EvidenceEntry struct {
	Seq         int64
	OperationID string // "" for what nobody matches yet
	Provider    string
	Account     string
	Kind        string
	Revision    int64 // of whoever noted it; 0 if unknown
	Owner       string
	RemoteJobID string // raw, usable or not
	Detail      []byte
	Omitted     int64 // bytes that a reader left out at the end of Detail
	At          time.Time
}

// UnmatchedQuery pages the evidence that belongs to no operation.
type UnmatchedQuery struct {
	Newest bool  // newest first, not oldest first
	After  int64 // the last Seq of the page before; 0: from the start
	Limit  int   // 0 means 100
}

// Unmatched is evidence that belongs to no operation, and who knows its remote job by now. EvidenceNaming has its
// detail.
type Unmatched struct {
	Seq               int64
	Provider, Account string
	Kind              string
	RemoteJobID       string
	At                time.Time
	Holder            string // the operation that holds the remote job id; "" if none does
	Outcome           string // the holder's; "" while it has none
	Told              bool   // some operation was told of the job as its own, whether it holds the id or not
}

// Stat is one line of the counts.
type Stat struct {
	Phase, Outcome, Delivery, Reason string
	Count                            int64
	OldestDue                        time.Time // zero if none is due
	Leased, Lapsed                   int64     // leases held, and ended but not cleared
}
