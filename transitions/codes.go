package transitions

import "slices"

// SafetyRule is one rule that every table keeps. Its code is stable: it is never given to another rule, and a rule that
// is dropped leaves a gap.
type SafetyRule struct {
	Code    string
	Title   string
	Why     string       // what goes wrong in a table that breaks it
	Example func() Table // breaks this rule and no other
	Fault   string       // the row of the example that is at fault

	check func(*survey, report)
}

// SafetyRules lists the rules in the order of their codes.
func SafetyRules() []SafetyRule { return slices.Clone(safetyRules) }

// safetyRules is the one list: a new rule is a line here, a check and an example.
var safetyRules = []SafetyRule{
	// The table says something.
	{"FR001", "the engine's columns are there", "without operation_id, phase, revision and updated_at no event can name, move, fence and date an operation", exampleNoUpdatedAt, "updated_at", checkEngineColumns},
	{"FR002", "a name is declared once", "of two columns, phases or words of one name, whichever is found first decides", exampleColumnTwice, "keep", checkDeclaredOnce},
	{"FR003", "an event is unambiguous", "of two rows for one event and phase, one wins silently", exampleEventTwice, "redo", checkAmbiguous},
	{"FR004", "every word is known", "a misspelt phase, action or outcome is a guard that never holds or a row that nothing ever moves", exampleUnknownPhase, "cancel_request", checkKnownWords},
	{"FR005", "every column is declared", "a guard or an effect on a column that the rows do not have cannot be evaluated", exampleUnknownColumn, "cancel", checkKnownColumns},
	{"FR006", "kinds agree", "a time in a counter fails in one database and is stored in another", exampleKinds, "submit_begin", checkKinds},
	{"FR007", "a column is assigned once", "of two assignments to one column the order would decide, and SQL has none", exampleAssignedTwice, "observe_failed", checkAssignedOnce},
	{"FR008", "guards have names of their own", "a denial names the guards that did not hold; nothing else says why", exampleGuardTwice, "redeliver", checkGuardNames},
	{"FR009", "an operation is created, and before anything is sent", "a table without a beginning does nothing; one that begins on the wire sends before the intent is stored", exampleNoCreation, "standard", checkCreation},
	{"FR010", "what is never null is given", "the databases refuse the row, at run time, with an error that names no rule", exampleNotGiven, "prepare", checkRequired},

	// The phases hang together.
	{"FR011", "every phase is reachable", "a phase that nothing leads to is a mistake in some event's To", exampleUnreachable, "archived", checkReachable},
	{"FR012", "every phase has a way out, or is an end", "an operation that comes there stays for ever, without an outcome", exampleNoWayOut, "parked", checkWayOut},
	{"FR013", "every phase has a way to an end", "operations go round for ever, each step looking like progress", exampleTrap, "parked, waiting", checkWayToAnEnd},
	{"FR014", "no way out hangs on a holder that may be dead", "a worker that is killed leaves its operations behind for ever (lifecycle, invariant 7)", exampleDeadHolder, "delivering", checkDeadHolder},

	// Leases fence.
	{"FR015", "a claim raises the revision", "two holders under one revision cannot be told apart, and both write", exampleClaimNoBump, "dispatch_claim", checkClaimBumps},
	{"FR016", "a claim takes only a vacant lease", "taking a live lease puts two holders to work", exampleClaimFence, "investigate_claim", checkClaimFence},
	{"FR017", "a claim names its work and lands where it is done", "a worker would be handed an operation that it cannot go on with, and hold it until the lease ends", exampleClaimNoWork, "investigate_claim", checkClaimNamesWork},
	{"FR018", "a lease is whole", "an owner without an end is never taken over; an end without an owner is held by nobody", exampleHalfLease, "deliver_retry", checkWholeLease},
	{"FR019", "a lease is only ever extended, by its holder", "a clock that was set back would end a lease that its holder relies on", exampleRenewal, "renew", checkRenewal},
	{"FR020", "the revision goes up by one", "a revision that comes again lets an old holder pass", exampleRevision, "redeliver", checkRevision},
	{"FR021", "who acts in place of a holder raises the revision", "a holder that was paused wakes up and writes over what was decided without it", exampleTakeoverNoBump, "submit_lapsed", checkTakeoverBumps},
	{"FR022", "a lease is not carried into other work", "the operation is held by a worker that has nothing to do with it, and nobody can claim it", exampleLeaseCarried, "observe_succeeded", checkLeaseCarried},
	{"FR023", "a lease is asked for only where it can be held", "the event can never fire", exampleHeldNowhere, "deliver_retry", checkHeldSomewhere},
	{"FR024", "batches claim, sweeps reconcile", "a statement that finds its rows itself cannot bring a value that differs from row to row", exampleForms, "redeliver", checkForms},
	{"FR025", "every move is kept in history", "what happened can no longer be told, and a late answer cannot be recognized as one's own", exampleNoTrace, "submit_begin", checkMovesAreKept},
	{"FR026", "an unfenced event does not move the operation", "anybody could move it under the feet of a lease holder", exampleUnfencedMove, "cancel", checkUnfencedMoves},
	{"FR027", "an unfenced event adds, and takes nothing back", "what needs no fence may only make guards stricter: marks, evidence and the schedule", exampleUnfencedState, "cancel_request", checkUnfencedState},

	// Nothing is sent twice.
	{"FR028", "the way back to sending needs proof", "the request is sent again although the first may have arrived", exampleNoProof, "submit_not_created", checkProof},
	{"FR029", "a known job forbids a second request", "the job that was paid for runs beside the second one", exampleKnownJob, "review_not_created", checkKnownJob},
	{"FR030", "a decision to send again waits out the old sender", "a sender that was only paused sends after somebody looked and saw nothing", exampleNoQuarantine, "review_not_created", checkQuarantine},
	{"FR031", "a request goes out only under a lease", "who holds no lease cannot know that nobody else is sending", exampleUnfencedSend, "dispatch_claim", checkEffectingEntry},
	{"FR032", "a request goes out only from a sendable phase", "the rules about ways back to sending would not see this one", exampleSendFromElsewhere, "submit_begin", checkEffectingSource},
	{"FR033", "a lease is not given up with a request on the wire", "the next holder finds a phase that says nothing about what the one before it sent", exampleReleaseOnTheWire, "release", checkEffectingRelease},
	{"FR034", "the end of a request ends its lease", "a repeated or late answer of the database lets the same holder send again under the same revision", exampleKeepsLease, "submit_not_created", checkEffectingExit},
	{"FR035", "others do not guess how a request ended", "only the sender's own answer, under its own lease, says what became of the request", exampleGuess, "submit_lapsed", checkGuess},
	{"FR036", "a remote job id that is replaced goes to evidence", "nobody can look for the job any more", exampleIDLost, "review_attach", checkIDKept},

	// An outcome is final.
	{"FR037", "an outcome is set once", "what was reported as the end changes afterwards", exampleOutcomeTwice, "deliver_failed", checkOutcomeOnce},
	{"FR038", "phase and outcome agree", "an ended operation without an outcome, or a running one with one, is read wrongly by everybody", exampleNoOutcome, "observe_failed", checkOutcomeSet},
	{"FR039", "what has ended does not begin again", "the old outcome stays on a row that runs", exampleReopened, "reopen", checkOutcomeLeft},
	{"FR040", "a decision has an author and a reason", "nobody can be asked later why a request was sent again", exampleNoAuthor, "review_abandon", checkDecision},

	// What is joined is there.
	{"FR041", "joined events are two of the table's", "a misspelt event is joined to nothing, and whoever relies on one statement has two", exampleJoinedUnknown, "dispatch_claim+submit_start", checkJoined},
	{"FR042", "the intent to send is stored before what comes of it", "who fires both at once has sent already: a crash in between leaves a request that nobody knows of", exampleIntentWithItsEnd, "submit_begin+submit_accepted", checkIntentAlone},
}
