package machine

import (
	"context"
	"math"
	"slices"
	"strings"
)

// NoCandidate is what ChoiceNotCreated is denied for while the remote has told of jobs that nobody here knows and that may
// be the operation's: to send it again might buy it a second time. It is no guard of the table: a call that comes between
// the look and the decision is not seen by it, and marks the operation when its job turns out to be the operation's.
const NoCandidate = "no_candidate"

// withCandidates denies that nothing was created where there are candidates, or takes down which were passed over. Of a
// row that has moved since it was looked at the table says so.
func (m *Machine) withCandidates(ctx context.Context, r Review) (Review, error) {
	if r.Choice != ChoiceNotCreated {
		return r, nil
	}
	op, err := m.Get(ctx, r.OperationID)
	if err != nil || op.Seen() != r.Seen {
		return r, err
	}
	all, err := m.candidates(ctx, []Operation{op})
	if err != nil {
		return r, err
	}
	r.despite = candidatesFor(op, all)
	if len(r.despite) > 0 && !r.DespiteCandidates {
		return r, &DeniedError{Event: r.Event(), OperationID: op.OperationID, Failed: []string{NoCandidate}, Seen: op}
	}
	return r, nil
}

// candidatesFor are those that may be an operation's: of its provider and account, and told of since it was sent.
func candidatesFor(op Operation, all map[Who][]Candidate) []Candidate {
	if !seeksJob(op) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(all[Who{op.Provider, op.Account}]), func(c Candidate) bool { return c.Last.Before(op.sentSince()) })
}

// candidatesOfAbandoned are those of an operation that was given up with its end unknown.
func (m *Machine) candidatesOfAbandoned(ctx context.Context, op Operation) ([]Candidate, error) {
	if op.Outcome != "abandoned" || op.RemoteJobID != "" || op.LateRemoteJobID != "" || op.SubmittedAt.IsZero() {
		return nil, nil
	}
	return m.Candidates(ctx, Who{op.Provider, op.Account}, op.sentSince(), math.MaxInt)
}

// candidateNames is a few of them, for a history row.
func candidateNames(all []Candidate) string {
	var names []string
	for _, c := range all[:min(len(all), candidatesShown)] {
		names = append(names, c.RemoteJobID)
	}
	text := "candidate " + strings.Join(names, ", ")
	if len(all) > len(names) {
		text += ", …"
	}
	return text
}

// refuse adds to what stands against a choice.
func (w *Waiting) refuse(choice, why string) {
	for i, c := range w.Choices {
		if c.Name == choice {
			w.Choices[i].Refused = append(slices.Clone(c.Refused), why)
		}
	}
}
