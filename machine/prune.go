package machine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// An operation is never forgotten: a request whose id nobody remembers would be sent again. What can be taken away is how
// a finished one came about, which is most of what is stored.

// EventPruned is the history row that stands for a history which was pruned: the columns that differ from their
// defaults, so that folding it gives the row, with the reason and the detail of the last row that was there. It is no
// event of a table.
const EventPruned = transitions.Pruned

// PruneAge is the least age of what is pruned: no statement that was given up, and no answer of a remote, is under way
// for as long.
const PruneAge = time.Hour

// The bounds of a batch that does not say. SQLite's one writer is taken up by a batch of 200
// for 0.06 seconds, or several times that on a busy machine.
const (
	PruneIDs   = 1000 // ids that are passed
	PruneLimit = 200  // operations that are pruned
)

// Pruner is a Store that can take the history and the evidence of finished operations away.
//
// An operation may be pruned whose next action is null; whose outcome is set, and is not abandoned, which is to say sent
// without a known end; that has no mark and no late remote job id; that nobody holds; whose delivery, if it has one, is
// done, since what failed may be delivered again; that was last changed longer ago than the age, by the database's clock;
// and whose history is more than one EventPruned.
type Pruner interface {
	// Prunable reads the operations of one page of ids that may be pruned, in the order of their ids. It reads nothing
	// beyond the page, whatever is in the tables.
	Prunable(ctx context.Context, q PruneQuery) (PrunePage, error)

	// Traces reads the whole history and evidence of several operations, by operation and oldest first.
	Traces(ctx context.Context, ids ...string) ([]HistoryEntry, []EvidenceEntry, error)

	// Prune takes away, in one transaction, what Prunable found: it judges each operation again on its locked row, which
	// must be as it was seen then, puts EventPruned in the place of its history and deletes its evidence, except for what
	// names a remote job that is not its own. It gives the ids of those that it did so to; the others have moved, and are
	// as they were. The row stays in any case. Errors are those of Store.Apply.
	Prune(ctx context.Context, q PruneQuery, found []Prunable) ([]string, error)
}

// PruneQuery selects what is pruned, and how much of it at once. Empty fields select everything.
type PruneQuery struct {
	OlderThan time.Duration // last changed at least so long ago, by the database's clock
	Outcome   string
	Kind      string
	Provider  string
	Account   string
	After     string // the id behind which the page begins; "" is before all
	Page      int    // ids that are passed at most; 0 means 1000
	Limit     int    // operations that are found at most; 0 means 200
}

// Params are a query's fields by name, as the stores' statements take them.
func (q PruneQuery) Params() transitions.Params {
	return transitions.Params{
		"older_than_ms": transitions.IntValue(q.OlderThan.Milliseconds()),
		"outcome":       transitions.OptText(q.Outcome), "kind": transitions.OptText(q.Kind),
		"provider": transitions.OptText(q.Provider), "account": transitions.OptText(q.Account),
		"after": transitions.TextValue(q.After),
		"page":  transitions.IntValue(int64(cmp.Or(q.Page, PruneIDs))), "limit": transitions.IntValue(int64(cmp.Or(q.Limit, PruneLimit))),
	}
}

// Prunable is an operation that may be pruned, and what was seen of it.
type Prunable struct {
	OperationID string
	Seen
}

// PrunePage is what Prunable found, and where the next page begins.
type PrunePage struct {
	Found []Prunable
	After string
	Done  bool // no operation has an id beyond After
}

// Found makes the page of a query, for stores: of ids many, the last of which is until, these were found.
func (q PruneQuery) Found(until string, ids int, found []Prunable) PrunePage {
	if len(found) > 0 && len(found) == cmp.Or(q.Limit, PruneLimit) {
		return PrunePage{Found: found, After: found[len(found)-1].OperationID} // there may be more on the page
	}
	return PrunePage{Found: found, After: cmp.Or(until, q.After), Done: ids < cmp.Or(q.Page, PruneIDs)}
}

// CheckPrunable says why a table's operations cannot be pruned, nil if they can: whether one is finished, and its end is
// known, must be told by the standard columns and words.
func CheckPrunable(p *transitions.Program) error {
	if p.Rule(EventPruned) != nil {
		return &InvalidError{"event", fmt.Sprintf("table %s has an event %s of its own, which would be taken for what is left of a pruned history; rename it to prune", p.Name, EventPruned)}
	}
	if !slices.Contains(p.Outcomes, "abandoned") {
		return &InvalidError{"outcome", fmt.Sprintf("table %s has no outcome abandoned; nobody can tell which of its own are of what was sent without a known end, which must not be pruned", p.Name)}
	}
	for _, name := range transitions.PrunableColumns {
		if p.Column(name) < 0 {
			return &InvalidError{name, fmt.Sprintf("table %s has no such column; without it nobody can tell what may be pruned", p.Name)}
		}
	}
	return nil
}

// Archive keeps what is about to be pruned.
type Archive interface {
	// Keep writes an operation with its history and evidence.
	Keep(a Archived) error
	// Sync returns when all that was kept would survive the loss of power.
	Sync() error
}

// Archived is an operation as it was before it was pruned.
type Archived struct {
	Operation Operation
	History   []HistoryEntry
	Evidence  []EvidenceEntry
}

// Pruning is one batch.
type Pruning struct {
	PruneQuery
	DryRun  bool    // only count
	Archive Archive // nil: what is pruned is kept nowhere
}

// PruneResult tells what a batch came to.
type PruneResult struct {
	Found  int    // that may be pruned
	Pruned int    // that were; none of a dry run
	Moved  int    // that were not, because they had changed, or somebody changed them, by then
	After  string // the next batch's PruneQuery.After
	Done   bool   // there is no next batch
}

// Prune does one batch, of bounded size. Where there is an archive, nothing is deleted before all of the batch is durable
// in it; an operation that moved between is in the archive and is not pruned. After an error the batch's place is that of
// the query: nothing of it was pruned, or, after an *UnknownError, nobody knows. Doing it again does no harm. The error is
// an *InvalidError where the store or its table cannot be pruned, or the age is less than PruneAge.
func (m *Machine) Prune(ctx context.Context, p Pruning) (PruneResult, error) {
	here := PruneResult{After: p.After}
	pruner, ok := m.store.(Pruner)
	switch {
	case !ok:
		return here, &InvalidError{"store", fmt.Sprintf("a %T cannot prune; see machine.Pruner", m.store)}
	case p.OlderThan < PruneAge:
		return here, &InvalidError{"older than", fmt.Sprintf("%s is too young: late statements and answers may come for %s; give at least that", p.OlderThan, PruneAge)}
	case p.Page < 0 || p.Limit < 0:
		return here, &InvalidError{"limit", fmt.Sprintf("%d operations of %d ids: want at least 1 of 1", p.Limit, p.Page)}
	}
	page, err := pruner.Prunable(ctx, p.PruneQuery)
	if err != nil {
		return here, err
	}
	r := PruneResult{Found: len(page.Found), After: page.After, Done: page.Done}
	if p.DryRun || r.Found == 0 {
		return r, nil
	}
	if p.Archive != nil {
		if err := m.archive(ctx, pruner, p.Archive, page.Found); err != nil {
			return here, err
		}
	}
	pruned, err := pruner.Prune(ctx, p.PruneQuery, page.Found)
	if err != nil {
		return here, err
	}
	r.Pruned, r.Moved = len(pruned), r.Found-len(pruned)
	return r, nil
}

// archiveChunk bounds how many operations are in memory at once, with all that is known of them.
const archiveChunk = 25

func (m *Machine) archive(ctx context.Context, pruner Pruner, archive Archive, found []Prunable) error {
	for len(found) > 0 {
		n := min(archiveChunk, len(found))
		ids := make([]string, n)
		for i := range ids {
			ids[i] = found[i].OperationID
		}
		if err := m.keep(ctx, pruner, archive, ids); err != nil {
			return err
		}
		found = found[n:]
	}
	if err := archive.Sync(); err != nil {
		return fmt.Errorf("archive what is to be pruned: %w", err)
	}
	return nil
}

func (m *Machine) keep(ctx context.Context, pruner Pruner, archive Archive, ids []string) error {
	rows, err := m.store.Get(ctx, ids...)
	if err != nil {
		return fmt.Errorf("read what is to be archived: %w", err)
	}
	history, evidence, err := pruner.Traces(ctx, ids...)
	if err != nil {
		return fmt.Errorf("read what is to be archived: %w", err)
	}
	all := map[string]*Archived{}
	for _, op := range m.operations(rows) {
		all[op.OperationID] = &Archived{Operation: op}
	}
	for _, h := range history {
		if a := all[h.OperationID]; a != nil {
			a.History = append(a.History, h)
		}
	}
	for _, e := range evidence {
		if a := all[e.OperationID]; a != nil {
			a.Evidence = append(a.Evidence, e)
		}
	}
	for _, id := range ids {
		a := all[id]
		if a == nil {
			continue // somebody deleted the row by hand: it cannot be pruned either
		}
		if err := archive.Keep(*a); err != nil {
			return fmt.Errorf("archive operation %q: %w", id, err)
		}
	}
	return nil
}
