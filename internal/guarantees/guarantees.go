// Package guarantees maps what fencerow promises to the tests that hold it. docs/guarantees.md is written from this
// list, and its test fails when a test that is named here is gone.
package guarantees

//go:generate go test -count=1 -run TestTheDocumentIsWrittenFromTheList . -update

// Guarantee is one promise.
type Guarantee struct {
	Says string
	Held []Proof
	Not  []string // what is not promised beside it
}

// Proof is a test that fails when the promise is broken.
type Proof struct {
	Folder string
	Test   string // a function's name, or the title of a clause of the conformance suite
}

// conformance is the suite that every store runs.
const conformance = "machine/machinetest"

// Invariants are those of the lifecycle, by number.
var Invariants = []Guarantee{
	{
		Says: "The number of requests sent for an operation is at most 1 + the number of recorded `submit_not_created` and `review_not_created`.",
		Held: []Proof{
			{"internal/e2e", "TestKilledAtRandomMomentsNothingIsSentTwice"},
			{"internal/e2e", "TestWhateverHappensAtAnyStepTheRemoteCountsOneRequest"},
			{"internal/e2e", "TestFourProcessesShareTwoThousandOperations"},
			{"internal/hostile", "TestWorkersOnAHostileWireSendNothingTwice"},
			{"worker", "TestEachEndOfASubmissionLeadsToItsPhase"},
			{"provider/httpjob", "TestNothingIsSentAgainWhenTheConnectionIsClosedAfterTheRequest"},
			{"provider/httpjob", "TestARedirectIsNotFollowedAndItsTargetIsSaid"},
			{"internal/lostjobs", "TestNothingFoundIsRecordedUntilAReviewerIsAsked"},
			{"worker", "TestAFindThatComesTooLateForItsLeaseStopsTheSend"},
			{"provider/httpjob", "TestACancelIsNotSentToWhereJobsAreCreated"},
		},
		Not: []string{
			"A handler that sends twice is sent twice: `worker.Handler` code of one's own, or an SDK with retries of its own, has to keep its part.",
			"A remote that answers \"refused\" and creates a job all the same is believed.",
			"A reviewer who says \"not created\" of a job that exists is believed; the quarantine only waits out the old sender.",
		},
	},
	{
		Says: "No request is sent unless the row is durably `submitting` under the sender's own owner and revision.",
		Held: []Proof{
			{"internal/e2e", "TestKilledAtRandomMomentsNothingIsSentTwice"},
			{"machine", "TestBeginIsResolvedBeforeAnythingIsSent"},
			{"machine", "TestClaimAndBeginIsResolvedBeforeAnythingIsSent"},
			{"machine", "TestNothingIsBegunUnderALeaseThatIsOver"},
			{"provider/httpjob", "TestTheGateItselfJudgesTheDeadlineBeforeTheFirstByte"},
			{"provider/httpjob", "TestTheConnectionCarriesNothingAfterTheDeadline"},
			{"persist/sqlitestore", "TestWhatWasAnsweredIsThereAfterAKill"},
			{"internal/hostile", "TestABeginThatWasCommittedBeforeTheServerWasKilledIsFound"},
		},
		Not: []string{
			"With `synchronous_commit=off` or a disk that loses what it acknowledged, durable is not durable. The PostgreSQL store refuses the former at start.",
			"A sender that is stopped between its last look at the clock and its first byte, for longer than its lease and the quarantine, sends late.",
		},
	},
	{
		Says: "An outcome, once set, never changes; a late pending snapshot never replaces a terminal one.",
		Held: []Proof{
			{conformance, "I3 an outcome never changes"},
			{conformance, "an end that the outcome contradicts is marked"},
			{"machine", "TestTheFirstEndThatIsToldStays"},
			{"machine", "TestATruthThatComesLateMarksAndNeverOverwritesAnOutcome"},
			{"transitions", "TestEveryRuleFindsItsExampleAndNoOtherRuleDoes"},
		},
	},
	{
		Says: "Nothing is written under an expired or superseded lease, also when the owner string is reused.",
		Held: []Proof{
			{conformance, "I4 every holder's event is denied under an expired, missing or foreign lease"},
			{conformance, "A6 a stale revision is denied where the owner string is the same"},
			{"persist/pgstore", "TestAHolderWhoseLeaseEndsWhileItWaitsForTheRowIsDenied"},
			{"persist/sqlitestore", "TestALeaseThatEndsWhileTheLockIsWaitedForIsOver"},
			{"internal/hostile", "TestALateStatementChangesNothingOnceTheRevisionMovedOn"},
			{"internal/hostile", "TestEveryAnswerAboutOneOperationFitsOneOrder"},
		},
		Not: []string{
			"Authority is judged when the row is locked. It may lapse before that statement's commit; whoever takes over waits for the row and sees what was written.",
			"A database clock that is set back keeps an expired lease alive for as long, unless somebody has claimed the operation since: the revision fences, not the clock.",
			"A primary that a failover left running is another database. SQL cannot see that.",
		},
	},
	{
		Says: "A blank remote job id is never stored by an event, never observed, and never leads to a send.",
		Held: []Proof{
			{conformance, "B4 a row without a usable remote job id becomes uncertain"},
			{"persist/pgstore", "TestWhatIsNotUsableIsNeverStoredAsARemoteJobID"},
			{"transitions", "TestAUsableRemoteJobIDIsOneTo1024PrintableASCIICharactersWithoutASpace"},
			{"worker", "TestEachEndOfASubmissionLeadsToItsPhase"},
		},
	},
	{
		Says: "`uncertain` → `prepared` only by `review_not_created`; `submitting` → `prepared` only by `submit_not_created` under the sender's own unexpired lease.",
		Held: []Proof{
			{conformance, "I10 every event in every phase does what the table says"},
			{conformance, "D3 a decision is bound to what was looked at"},
			{"cmd/fencerow", "TestNotCreatedWaitsForTheQuarantineUnlessItIsOverridden"},
			{"cmd/fencerow", "TestADecisionAboutManyWaitsForTheQuarantine"},
			{"machine", "TestAStatementThatLandsLateIsHarmless"},
		},
	},
	{
		Says: "From every phase that is not finished there is a way out that needs no dead worker.",
		Held: []Proof{
			{"transitions", "TestTheStandardLifecycleBreaksNoRule"},
			{conformance, "B3 a lapsed submission becomes uncertain, and a live one stays"},
			{conformance, "a deliverer that dies each time is given up"},
			{conformance, "C3 an overdue observation becomes uncertain"},
			{"internal/e2e", "TestKilledAtRandomMomentsNothingIsSentTwice"},
			{"internal/e2e", "TestWhateverHappensAtAnyStepTheRemoteCountsOneRequest"},
		},
		Not: []string{"That somebody decides: an uncertain operation waits for its reviewer for ever."},
	},
	{
		Says: "Appending evidence never fails for a reason of ownership and never moves an operation.",
		Held: []Proof{
			{conformance, "I8 evidence is appended whatever the lease and the phase"},
			{conformance, "evidence of any bytes is kept as it came"},
			{conformance, "B5 a late answer is attached by the sweep"},
			{conformance, "evidence of no operation is kept once and found by its remote job"},
			{"machine", "TestWhatWasToldBeforeTheIDIsMatchedWhenItLands"},
			{"worker", "TestAnIDThatAnotherOperationHasIsKeptAsEvidence"},
			{"cmd/fencerow", "TestADecisionWhileEvidenceArrives"},
			{"internal/e2e", "TestAProgramThatIsToldToEndKnowsWhatBecameOfItsRequest"},
		},
		Not: []string{"While the database is away evidence is kept in the process that has it; when that process ends first, it is one line in its log."},
	},
	{
		Says: "Folding an operation's history from its first row gives its current row (lease, due time and snapshot of unchanged polls apart).",
		Held: []Proof{
			{conformance, "I9 folding a history from its first row gives the row"},
			{"cmd/fencerow", "TestAuditFindsWhatHistoryDoesNotExplain"},
			{"internal/e2e", "TestKilledAtRandomMomentsNothingIsSentTwice"},
		},
		Not: []string{"Somebody who can write to the tables can write a row and a history that agree."},
	},
	{
		Says: "The two SQL dialects and the in-memory evaluation agree on every (row, event): verdict, reasons, row. The looplab/fsm machine agrees on edges and targets.",
		Held: []Proof{
			{conformance, "I10 every event in every phase does what the table says"},
			{"persist/pgstore", "TestPostgreSQLConforms"},
			{"persist/sqlitestore", "TestSQLiteConforms"},
			{"machine", "TestMemoryConforms"},
			{"machine", "TestTheMirrorAgreesWithTheTableInEveryPhaseAboutEveryEvent"},
			{"internal/hostile", "TestTheStoreConformsBehindAPoolerInTransactionMode"},
		},
		Not: []string{"SQLite keeps times to the millisecond, PostgreSQL to the microsecond."},
	},
}
