package machine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// Bulk is one decision about all operations that are uncertain for one reason and of one kind, as after an outage: still
// one event and one history row an operation, each bound to the row that the list showed (contract D3).
type Bulk struct {
	Choice   string      // ChoiceAbandon or ChoiceNotCreated
	Query    ReviewQuery // Reason and Kind are needed; its place and limit are not looked at
	Reviewer string
	Reason   string
	// DespiteCandidates decides about those too of which a candidate may be the job (Review.DespiteCandidates).
	DespiteCandidates bool
	Limit             int              // decided at most; 0: no bound
	DryRun            bool             // count what would be decided, and decide nothing
	Progress          func(BulkResult) // called after each page; nil: nobody is told
}

// BulkResult is how far a Bulk came. What was decided is out of the list: the same Bulk goes on where this one ended.
type BulkResult struct {
	Decided int            // of a dry run: what would be
	Denied  []*DeniedError // what moved between the look and the decision
	Kept    map[string]int // what the list showed to be refused, by the guard that does not hold: it was left alone
	From    time.Time      // when the first quarantine ends that kept one out
	Left    int64          // how many of the selection wait still; of a dry run: would
}

// pageOfBulk is how many rows are looked at before they are decided: few enough that the look is fresh.
const pageOfBulk = 100

// DecideAll makes a decision about every operation of a selection. It leaves alone what is marked, what a remote job
// id came to light of, and of ChoiceNotCreated what has a candidate: something is known of it, so somebody has to look at it alone; and what a guard refuses, such as
// the quarantine, which cannot be overridden here. The error is that of the first decision whose end is not known or that
// could not be made; the result then tells how far it came.
func (m *Machine) DecideAll(ctx context.Context, b Bulk) (BulkResult, error) {
	if err := b.validate(); err != nil {
		return BulkResult{}, err
	}
	result := BulkResult{Kept: map[string]int{}}
	query := b.Query
	query.Limit = pageOfBulk
	query.After = ReviewCursor{Rank: RankUncertain} // behind the marked ones
	for more := true; more; {
		rows, err := m.store.Review(ctx, query)
		if err != nil {
			return result, err
		}
		more = len(rows) == pageOfBulk
		full, err := m.decidePage(ctx, b, m.operations(rows), &result)
		if err != nil {
			return result, err
		}
		if b.Progress != nil && len(rows) > 0 {
			b.Progress(result)
		}
		if full {
			break
		}
		if more {
			last := OperationOf(m.store.Program(), rows[len(rows)-1])
			query.After = ReviewCursor{RankUncertain, last.CreatedAt, last.OperationID}
		}
	}
	return result, m.countLeft(ctx, b, &result)
}

// countLeft counts what of the selection waits still, and those that were not looked at since they are marked.
func (m *Machine) countLeft(ctx context.Context, b Bulk, result *BulkResult) error {
	all, unmarked := b.Query, b.Query
	all.After, unmarked.After = ReviewCursor{}, ReviewCursor{Rank: RankUncertain}
	left, err := m.store.ReviewCount(ctx, all)
	if err != nil {
		return err
	}
	rest, err := m.store.ReviewCount(ctx, unmarked)
	if err != nil {
		return err
	}
	if marked := left - rest; marked > 0 {
		result.Kept["no_mark"] = int(marked)
	}
	result.Left = left
	if b.DryRun {
		result.Left -= int64(result.Decided)
	}
	return nil
}

func (b Bulk) validate() error {
	switch {
	case b.Choice == ChoiceAttach:
		return &InvalidError{"choice", "a remote job belongs to one operation: attach them one by one"}
	case b.Choice != ChoiceAbandon && b.Choice != ChoiceNotCreated:
		return &InvalidError{"choice", fmt.Sprintf("%q cannot be decided about many at once; %s and %s can", b.Choice, ChoiceAbandon, ChoiceNotCreated)}
	case b.Query.Reason == "":
		return &InvalidError{"reason of uncertainty", "is missing: a decision about many is about one reason"}
	case b.Query.Kind == "":
		return &InvalidError{"kind", "is missing: a decision about many is about one kind"}
	case transitions.IsBlank(b.Reviewer):
		return &InvalidError{"reviewer", "is blank: say who decides"}
	case transitions.IsBlank(b.Reason):
		return &InvalidError{"reason", "is blank: say why"}
	case b.Limit < 0:
		return &InvalidError{"limit", "is negative"}
	}
	return nil
}

// decidePage decides about a page; full says that the limit was reached.
func (m *Machine) decidePage(ctx context.Context, b Bulk, ops []Operation, result *BulkResult) (full bool, err error) {
	now, err := m.store.Now(ctx)
	if err != nil {
		return false, err
	}
	candidates, err := m.candidates(ctx, ops)
	if err != nil {
		return false, err
	}
	for _, op := range ops {
		if b.Limit > 0 && result.Decided == b.Limit {
			return true, nil
		}
		r := Review{Choice: b.Choice, OperationID: op.OperationID, Decision: Decision{op.Seen(), b.Reviewer, b.Reason}, DespiteCandidates: b.DespiteCandidates}
		guard, err := m.keptOut(ctx, r, op, now)
		if err != nil {
			return false, err
		}
		if guard == "" && b.Choice == ChoiceNotCreated && !b.DespiteCandidates && len(candidatesFor(op, candidates)) > 0 {
			guard = NoCandidate
		}
		if guard != "" {
			result.keep(guard, op)
			continue
		}
		if b.DryRun {
			result.Decided++
			continue
		}
		_, err = m.Decide(ctx, r)
		if denied, ok := IsDenied(err); ok {
			result.Denied = append(result.Denied, denied)
			continue
		}
		if err != nil {
			return false, fmt.Errorf("decide about operation %q: %w", op.OperationID, err)
		}
		result.Decided++
	}
	return b.Limit > 0 && result.Decided == b.Limit, nil
}

// KeptFound is what an operation is left alone for of which an investigator found a job that could not be attached: a person
// has to look at it. It is no guard.
const KeptFound = "no_job_found"

// keptOut names the guard for which an operation is left alone, "" if it is decided about.
func (m *Machine) keptOut(ctx context.Context, r Review, op Operation, now time.Time) (string, error) {
	if op.LateRemoteJobID != "" {
		return "no_late_remote_job_id", nil
	}
	params, err := r.params()
	if err != nil {
		return err.Error(), nil
	}
	if failed := m.store.Program().Eval(r.Event(), op.Row(), params, transitions.World{Now: now.UnixMicro()}).Failed; len(failed) > 0 {
		return failed[0], nil
	}
	if op.EvidenceSeq == 0 {
		return "", nil
	}
	evidence, err := m.store.Evidence(ctx, op.OperationID)
	if err != nil {
		return "", fmt.Errorf("read the evidence of operation %q: %w", op.OperationID, err)
	}
	if slices.ContainsFunc(evidence, func(e EvidenceEntry) bool { return e.Kind == EvidenceFound }) {
		return KeptFound, nil
	}
	return "", nil
}

func (r *BulkResult) keep(guard string, op Operation) {
	r.Kept[guard]++
	if guard == "quarantine_over" && (r.From.IsZero() || op.QuarantineUntil.Before(r.From)) {
		r.From = op.QuarantineUntil
	}
}
