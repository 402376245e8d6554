package machine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// Params are an entry's columns by name, as the stores' statements take them.
func (e EvidenceEntry) Params() transitions.Params {
	p := transitions.Params{
		"provider": transitions.TextValue(e.Provider), "account": transitions.TextValue(e.Account),
		"kind": transitions.TextValue(e.Kind), "owner": transitions.OptText(e.Owner),
		"remote_job_id": transitions.TextValue(e.RemoteJobID), "detail": transitions.BytesValue(e.Detail),
	}
	if e.Revision != 0 {
		p["revision"] = transitions.IntValue(e.Revision)
	}
	return p
}

// Params are a query's fields by name, as the stores' statements take them.
func (q UnmatchedQuery) Params() transitions.Params {
	after := q.After
	if q.Newest && after == 0 {
		after = math.MaxInt64
	}
	return transitions.Params{"after": transitions.IntValue(after), "limit": transitions.IntValue(int64(cmp.Or(q.Limit, 100)))}
}

// Waits reports whether the remote told of an end that the operation which holds its job by now does not have: Match
// fires it.
func (u Unmatched) Waits() bool {
	return u.Holder != "" && strings.HasPrefix(u.Kind, endedKind) && stateOf(u.Kind) != u.Outcome
}

// Candidate is a remote job of which the remote has told, and that nobody here knows: no operation holds its id, and
// none was told of it as its own. Where an answer with an id was lost, the job of an uncertain operation is among the
// candidates of its provider and account, if the remote calls for its jobs. So may jobs be that others ordered: a
// candidate proves nothing, and a reviewer looks at the remote before attaching one.
type Candidate struct {
	RemoteJobID string
	Said        string    // what the remote said of it last: pending, succeeded, failed or canceled
	First, Last time.Time // when it did so, by the database's clock
}

// The bounds of a search for candidates: how much evidence is read at most, newest first, and how much at once.
const (
	candidatesRead = 5000
	candidatesPage = 500
)

// Candidates lists up to limit remote jobs that an operation of a provider and account may have started: those of which
// the remote has told since a time, the one it told of soonest after it first. For an uncertain operation that holds
// neither a remote job id nor a late one, since is its SubmittedAt, or its CreatedAt if it was sent more than once: what
// the remote told of before that is not its job.
func (m *Machine) Candidates(ctx context.Context, who Who, since time.Time, limit int) ([]Candidate, error) {
	found := map[string]Candidate{}
	q := UnmatchedQuery{Newest: true, Limit: candidatesPage}
	for range candidatesRead / candidatesPage {
		page, err := m.store.Unmatched(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("look for candidates: %w", err)
		}
		older := len(page) < q.Limit
		for _, u := range page {
			q.After, older = u.Seq, older || u.At.Before(since)
			if u.At.Before(since) || u.Provider != who.Provider || u.Account != who.Account || u.Holder != "" || u.Told {
				continue
			}
			c, known := found[u.RemoteJobID]
			if !known {
				c = Candidate{RemoteJobID: u.RemoteJobID, Said: stateOf(u.Kind), Last: u.At}
			}
			c.First = u.At
			found[u.RemoteJobID] = c
		}
		if older {
			break
		}
	}
	all := slices.SortedFunc(maps.Values(found), func(a, b Candidate) int {
		return cmp.Or(a.First.Compare(b.First), strings.Compare(a.RemoteJobID, b.RemoteJobID))
	})
	return all[:min(limit, len(all))], nil
}
