package machine

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// Waiting is an operation that waits for a reviewer, with what is known of it (contract D2).
type Waiting struct {
	Operation
	Since    time.Time       // since when nobody knows; of one that is only marked: when its last evidence came
	Why      string          // what was said when it became uncertain
	Sent     Sent            // the last send
	Looked   HistoryEntry    // what an investigator came to last; zero if none of the last events is one's (contract D4)
	Events   []HistoryEntry  // the last ones and those above, oldest first, without their changes
	Evidence []EvidenceEntry // the last ones, oldest first; Operation.EvidenceSeq counts all
	Choices  []Choice
	Original *Operation // the operation whose request this one repeats
	Redone   *Operation // the operation that repeats this one's request

	// Candidates are remote jobs that nobody here knows and that may be this operation's, where it has none.
	Candidates []Candidate
}

// Sent is who began a send, when, and under which revision. The zero value: nobody did, or history does not tell.
type Sent struct {
	At       time.Time
	Owner    string
	Revision int64
}

// ReviewPage is a page of the review list.
type ReviewPage struct {
	Now        time.Time // by the database's clock, by which the choices were judged
	Operations []Waiting
}

// The bounds of what a page shows of each operation; show has it all.
const (
	recentShown     = 5
	detailShown     = 1 << 10
	candidatesShown = 5
	candidatesOf    = 5 // providers and accounts
)

// Reviews reads a page of what waits for a reviewer: suspected duplicates first, then contradicted outcomes, then what
// nobody can know, and the oldest first within each.
func (m *Machine) Reviews(ctx context.Context, q ReviewQuery) (ReviewPage, error) {
	rows, err := m.store.Review(ctx, q)
	if err != nil || len(rows) == 0 {
		return ReviewPage{}, err
	}
	return m.Known(ctx, m.operations(rows)...)
}

// Known tells what is known of operations, in their order, whether or not they wait. It reads with a number of
// statements that does not grow with theirs.
func (m *Machine) Known(ctx context.Context, ops ...Operation) (ReviewPage, error) {
	ids := make([]string, len(ops))
	for i, op := range ops {
		ids[i] = op.OperationID
	}
	now, err := m.store.Now(ctx)
	if err != nil {
		return ReviewPage{}, err
	}
	history, evidence, err := m.store.Recent(ctx, recentShown, detailShown, ids...)
	if err != nil {
		return ReviewPage{}, err
	}
	originals, redone, err := m.relatives(ctx, ops)
	if err != nil {
		return ReviewPage{}, err
	}
	candidates, err := m.candidates(ctx, ops)
	if err != nil {
		return ReviewPage{}, err
	}
	page := ReviewPage{Now: now}
	for _, op := range ops {
		w := Waiting{Operation: op, Choices: choicesOf(m.store.Program(), op, now), Original: originals[op.RedoOf], Redone: redone[op.OperationID]}
		for _, e := range history {
			if e.OperationID == op.OperationID {
				w.Events = append(w.Events, e)
			}
		}
		for _, e := range evidence {
			if e.OperationID == op.OperationID {
				w.Evidence = append(w.Evidence, e)
			}
		}
		w.tell(m.store.Program())
		w.Candidates = candidatesFor(op, candidates)
		if len(w.Candidates) > 0 {
			w.refuse(ChoiceNotCreated, NoCandidate)
		}
		w.Candidates = w.Candidates[:min(len(w.Candidates), candidatesShown)]
		page.Operations = append(page.Operations, w)
	}
	return page, nil
}

// relatives reads what operations repeat and what repeats them, by id. Most are neither, and cost nothing.
func (m *Machine) relatives(ctx context.Context, ops []Operation) (originals, redone map[string]*Operation, err error) {
	var of, ended []string
	for _, op := range ops {
		if op.RedoOf != "" {
			of = append(of, op.RedoOf)
		}
		if op.Outcome != "" {
			ended = append(ended, op.OperationID)
		}
	}
	originals, redone = map[string]*Operation{}, map[string]*Operation{}
	if len(of) > 0 {
		rows, err := m.store.Get(ctx, of...)
		if err != nil {
			return nil, nil, err
		}
		for _, op := range m.operations(rows) {
			originals[op.OperationID] = &op
		}
	}
	if len(ended) > 0 {
		rows, err := m.store.Redone(ctx, ended...)
		if err != nil {
			return nil, nil, err
		}
		for _, op := range m.operations(rows) {
			redone[op.RedoOf] = &op
		}
	}
	return originals, redone, nil
}

// seeksJob reports whether an operation may have a remote job whose id nobody here knows.
func seeksJob(op Operation) bool {
	return op.Phase == transitions.Uncertain && op.RemoteJobID == "" && op.LateRemoteJobID == "" && !op.SubmittedAt.IsZero()
}

// sentSince is a time before which the operation had no remote job. SubmittedAt is that of its last request: of one that
// was sent before, and said not to be created, the job may be older.
func (o Operation) sentSince() time.Time {
	if o.Attempts > 1 {
		return o.CreatedAt
	}
	return o.SubmittedAt
}

// candidates looks for the jobs of operations that have none, once for each provider and account, of which it looks at
// the first few: nearly always there is one.
func (m *Machine) candidates(ctx context.Context, ops []Operation) (map[Who][]Candidate, error) {
	since := map[Who]time.Time{}
	for _, op := range ops {
		who := Who{op.Provider, op.Account}
		first, known := since[who]
		if seeksJob(op) && (known && op.sentSince().Before(first) || !known && len(since) < candidatesOf) {
			since[who] = op.sentSince()
		}
	}
	found := map[Who][]Candidate{}
	for who, first := range since {
		all, err := m.Candidates(ctx, who, first, math.MaxInt)
		if err != nil {
			return nil, err
		}
		found[who] = all
	}
	return found, nil
}

// tell reads from the events who sent it and since when nobody knows.
func (w *Waiting) tell(p *transitions.Program) {
	w.Sent.At = w.SubmittedAt
	for _, e := range w.Events {
		if e.Event == "investigate_inconclusive" {
			w.Looked = e
		}
		phase := p.Phase(e.To)
		if e.From == e.To || phase == nil {
			continue
		}
		if phase.Effecting {
			w.Sent = Sent{e.At, e.Owner, e.Revision}
		}
		if e.To == transitions.Uncertain {
			w.Since, w.Why = e.At, e.Detail
		}
	}
	if w.Phase != transitions.Uncertain {
		w.Since, w.Why = time.Time{}, ""
		if n := len(w.Evidence); n > 0 {
			w.Since = w.Evidence[n-1].At
		}
	}
	if w.Since.IsZero() {
		w.Since = w.UpdatedAt
	}
}

// Cursor is the operation's place in the review list.
func (w Waiting) Cursor() ReviewCursor {
	rank, _ := w.Rank()
	return ReviewCursor{rank, w.CreatedAt, w.OperationID}
}

// RemoteJobIDs are the remote jobs that may be this operation's: the one that it holds, the one that came to light, and
// those that its last evidence names.
func (w Waiting) RemoteJobIDs() []string {
	var ids []string
	add := func(id string) {
		if transitions.UsableRemoteJobID(id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	add(w.RemoteJobID)
	add(w.LateRemoteJobID)
	for _, e := range w.Evidence {
		if e.Kind == EvidenceAccepted || e.Kind == EvidenceOriginal || e.Kind == "replaced" {
			add(e.RemoteJobID)
		}
	}
	return ids
}
