package machine

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// ReviewReader is the part of a Reader that shows what waits for a person (contract D2). A page costs a bounded number of
// statements, however many operations are on it.
type ReviewReader interface {
	// Review reads a page of what waits for a reviewer: by rank, and oldest first within one.
	Review(ctx context.Context, q ReviewQuery) ([]transitions.Row, error)

	// ReviewCount counts what Review selects from the rank of q.After on.
	ReviewCount(ctx context.Context, q ReviewQuery) (int64, error)

	// Recent reads the last limit history rows and evidence of each operation, by operation and oldest first: of
	// history also the last that began a send and the last that led to uncertain. Changes are left out, and a Detail of
	// evidence is cut to detailBytes.
	Recent(ctx context.Context, limit, detailBytes int, ids ...string) ([]HistoryEntry, []EvidenceEntry, error)

	// Redone reads the operations that repeat one of these.
	Redone(ctx context.Context, ids ...string) ([]transitions.Row, error)

	// Now reads the wall clock by which events are judged.
	Now(ctx context.Context) (time.Time, error)
}

// The ranks of the review list: what costs money twice comes first.
const (
	RankDuplicate    = 0 // duplicate_suspected
	RankContradicted = 1 // outcome_contradicted
	RankUncertain    = 2 // nobody can know, and no mark
)

// ReviewQuery selects and pages what waits for a reviewer. Empty fields select everything.
type ReviewQuery struct {
	Reason   string // uncertain_reason
	Kind     string
	Provider string
	Account  string
	MinAge   time.Duration // created at least so long ago, by the database's clock
	MaxAge   time.Duration // created at most so long ago
	After    ReviewCursor  // the last one of the page before; one of a rank alone is before all of that rank
	Limit    int           // 0 means 100
}

// ReviewCursor is a place in the review list. The zero value is before every row.
type ReviewCursor struct {
	Rank        int
	CreatedAt   time.Time
	OperationID string
}

// Bounds gives the place as parameters of the statement, for stores.
func (c ReviewCursor) Bounds() (rank, createdAt, operationID transitions.Value) {
	at := transitions.MicrosValue(transitions.MinTime.UnixMicro()) // which is Go's zero time, and no null here
	if !c.CreatedAt.IsZero() {
		at = transitions.TimeValue(c.CreatedAt)
	}
	return transitions.IntValue(int64(c.Rank)), at, transitions.TextValue(c.OperationID)
}

// String writes RANK/CREATED_AT/OPERATION_ID.
func (c ReviewCursor) String() string {
	return fmt.Sprintf("%d/%s/%s", c.Rank, c.CreatedAt.UTC().Format(time.RFC3339Nano), c.OperationID)
}

// ParseReviewCursor reads what String writes.
func ParseReviewCursor(text string) (ReviewCursor, error) {
	parts := strings.SplitN(text, "/", 3)
	if len(parts) == 3 && parts[2] != "" {
		rank, rankErr := strconv.Atoi(parts[0])
		at, atErr := time.Parse(time.RFC3339Nano, parts[1])
		if rankErr == nil && atErr == nil && rank >= RankDuplicate && rank <= RankUncertain {
			return ReviewCursor{rank, at, parts[2]}, nil
		}
	}
	return ReviewCursor{}, fmt.Errorf("read the place %q: want RANK/CREATED_AT/OPERATION_ID, as review list prints it", text)
}

// Rank is an operation's place in the review list; false where nothing waits for a reviewer.
func (o Operation) Rank() (int, bool) {
	switch {
	case o.DuplicateSuspected:
		return RankDuplicate, true
	case o.OutcomeContradicted:
		return RankContradicted, true
	case o.Phase == transitions.Uncertain:
		return RankUncertain, true
	}
	return 0, false
}
