package machinetest

import (
	"context"
	"testing"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// Subject is an empty store under test, and what the suite needs beside it.
type Subject struct {
	// Store is of the standard table for Run, of any table for RunSuite and Agree.
	Store machine.Store

	// Put writes rows by hand, past every event, as an operator's INSERT or UPDATE would; a row that is there is
	// replaced. Times of the rows are whole seconds.
	Put func(ctx context.Context, rows ...transitions.Row) error

	// Now reads the database's wall clock.
	Now func(ctx context.Context) (time.Time, error)
}

// Run holds a store against the contract. Every subtest gets an empty store of its own from newStore.
func Run(t *testing.T, newStore func(t *testing.T) Subject) {
	t.Helper()
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(newSuite(t, newStore(t)))
		})
	}
}

type clause struct {
	name string
	test func(*suite)
}

// clauses are the battery, by the contract's numbers.
var clauses = []clause{
	{"prepare stores a row and its history", preparesOnce},
	{"prepare of a known id changes nothing and shows what is there", preparesAgain},
	{"prepare of a blank id is denied", preparesNoBlankID},
	{"an operation is sent, observed, delivered and found again", wholeLife},
	{"I9 folding a history from its first row gives the row", historyFolds},
	{"history tells owner, revision, phases, reason and detail", historyContent},
	{"history: an unchanged poll and a renewal leave none", quietEvents},
	{"an event on an operation that does not exist", noSuchOperation},
	{"an event that the table has not is refused", noSuchEvent},
	{"a value outside the table's words is refused, and nothing is stored", constraintRefuses},
	{"an operation is redone once", redoneOnce},
	{"I10 every event in every phase does what the table says", everyEventInEveryPhase},
	{"many operations in one call are judged one by one, in order", judgedOneByOne},

	{"A5 a renewal needs owner, revision and a live lease", renewalIsFenced},
	{"A5 a renewal never shortens a lease", renewalNeverShortens},
	{"A6 a stale revision is denied where the owner string is the same", staleRevision},
	{"I4 every holder's event is denied under an expired, missing or foreign lease", heldIsFenced},
	{"A2 a live lease keeps every claim out", liveLeaseKeepsClaimsOut},
	{"A2 a lease that is null or over lets a claim in under a new revision", vacantLetsClaimsIn},
	{"A2 a claim needs its own action, due work, its provider and its account", claimNeedsItsOwn},
	{"D3 a decision is bound to what was looked at", decisionIsBound},

	{"A3 a batch takes no more than its limit", takesNoMoreThanLimit},
	{"A3 a batch serves higher priority first, then the oldest due", takesInOrder},
	{"A3 a batch leaves other providers, accounts and actions alone", takesOnlyItsOwn},
	{"A3 a page of ineligible rows starves nobody", noStarvation},
	{"A3 two takers share nothing and leave nothing", takersShareNothing},

	{"B3 a lapsed submission becomes uncertain, and a live one stays", sweepsLapsed},
	{"B4 a row without a usable remote job id becomes uncertain", sweepsMissingIDs},
	{"C3 an overdue observation becomes uncertain", sweepsOverdue},
	{"evidence that comes to light recalls a prepared operation", sweepsRecalled},
	{"B5 a late answer is attached by the sweep", sweepsLateAnswer},
	{"B8 a late id that another operation holds is not attached", sweepsNoTakenID},
	{"a deliverer that dies each time is given up", sweepsExhausted},
	{"an asked-for cancel is carried out before the send", sweepsCancel},
	{"a sweep moves no more than its limit and comes back for the rest", sweepsInPages},

	{"I8 evidence is appended whatever the lease and the phase", evidenceAlways},
	{"evidence of any bytes is kept as it came", evidenceRaw},
	{"a second accepted id marks a duplicate", evidenceDuplicate},
	{"an end that the outcome contradicts is marked", evidenceContradiction},
	{"a replaced remote job id goes to evidence first", evidenceReplaced},
	{"a late id is free or taken at its own provider and account", lateIDElsewhere},
	{"evidence of no operation is kept once and found by its remote job", unmatchedKept},
	{"evidence of no operation tells who knows its remote job by now", unmatchedHeld},
	{"evidence of no operation pages in both directions and misses nothing", unmatchedPages},
	{"B8 a remote job id is unique per provider and account", remoteIDUnique},
	{"I3 an outcome never changes", outcomeStays},

	{"reads give what exists, and nothing for what does not", readsWhatExists},
	{"a list pages newest first and misses nothing", listPages},
	{"a list filters by every field", listFilters},
	{"D2 the review list has marked operations first, duplicates before all", reviewOrder},
	{"D2 the review list pages and misses nothing", reviewPages},
	{"D2 the review list filters by every field", reviewFilters},
	{"D2 the last history and evidence of many operations, and who sent them", recentOfEach},
	{"what repeats an operation is found by it", redoneOnes},
	{"stats count and time what is due and leased", statsCount},
	{"B89 prune takes the history of what is finished, and of nothing else", prunesNothingElse},
	{"prune judges again what it found before, and leaves what moved", prunesOnlyWhatWasSeen},
	{"a pruned operation is known as before, and keeps what comes late", prunedLifeGoesOn},
	{"prune keeps who was told of another remote job", prunedKeepsOtherJobs},
	{"prune passes one page of ids at a time, and begins again where it is told to", prunesInPages},
	{"prune deletes nothing before it is durable in the archive", prunesWhatIsArchived},
	{"G3 a store that tells its process what became due tells it once, and nothing else", hearsWhatIsDue},
	{"a call whose context is over does not run", deadContext},
}
