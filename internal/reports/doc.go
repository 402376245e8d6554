// Package reports replays public reports of faults in other systems that do this job: each scenario is a test that names
// the report's number and holds the engine, on real databases and with real processes, to the outcome that is right
// here. It has no code of its own.
//
// Where a test elsewhere shows a scenario in full it is not repeated:
//
//	B01  internal/e2e         TestKilledAtRandomMomentsNothingIsSentTwice, for B06, B08 and B11 too, beside those here
//	B04  worker/workertest    TestAHandlerThatSendsTwiceOrClaimsTooMuchFails, also for B03, B19, B21 and B25; B04 and B19
//	                          of the HTTP handler: provider/httpjob TestTheHandlerSendsOnce and the one after it
//	B07  internal/e2e         TestADatabaseThatGoesAwayInTheMiddle, beside those here
//	B12  cmd/fencerow         TestAReviewerAttachesTheJobThatWasFound, TestNotCreatedWaitsForTheQuarantineUnlessItIsOverridden,
//	                          TestADecisionAboutARowThatHasMovedIsDeniedAndSaysWhatItIsNow, beside those here
//	B21  provider/httpjob     TestARedirectIsNotFollowedAndItsTargetIsSaid, beside the one here
//	B24  worker/workertest    TestAHandlerThatSendsTwiceOrClaimsTooMuchFails
//	B25  provider/httpjob     TestAnErrorBeforeAnyByteLeftIsNotSent, TestACutOrAStallIsUnknownWhereverItComes, beside the one here
//	B28  machine/machinetest  "A3 a page of ineligible rows starves nobody", on every store
//	B29  internal/e2e         TestKilledAtRandomMomentsNothingIsSentTwice, with kills at random, beside the one here
//	B42  machine              TestALeaseEndsByWhicheverClockSaysMore, and B44 for the database's own guard
//	B44  machine/machinetest  "I4 every holder's event is denied …", on every store, beside the one here
//	B46  persist/pgstore      TestALeaseThatEndsInsideATransactionCanBeClaimedInsideIt
//	B46  persist/sqlitestore  TestALeaseThatEndsInsideATransactionCanBeClaimedThere
//	B52  internal/e2e         TestAProgramThatIsToldToEndKnowsWhatBecameOfItsRequest, for B53 too, beside those here
//	B55  cmd/fencerow         TestRedoPreparesTheSameRequestUnderAnotherID, beside those here
//	B58  cmd/fencerow         TestARunEndsByTheCallsOfItsRemote, TestAJobThatWasToldOfIsACandidateOfTheReview, beside those here
//	B63  worker               TestAJobThatTheRemoteDoesNotKnow, beside the one here
//	B67  internal/hostile     TestTheStoreConformsBehindAPoolerInTransactionMode, and every test with a pooler there
//	B69  internal/hostile     TestAStatementWhoseCallerIsGoneLandsLateAndIsFoundInHistory, and those beside it
//	B71  internal/hostile     TestEveryEventUnderEveryFateIsUnknownAndThenResolved
//	B71  machine              TestBeginIsResolvedBeforeAnythingIsSent
//	B72  internal/hostile     TestNoCommitIsReportedOnASessionThatWasEnded
//	B74  internal/hostile     TestAServerThatIsReadOnlyForAWhileMovesNothing, TestASessionThatTakesNoWritesIsGivenUp
//	B83  persist/pgstore      TestManyProcessesMigrateTogether, beside the one here
//	B84  persist/sqlitestore  TestWhatIsDueIsFoundWithoutReadingABacklog, beside the one here for PostgreSQL
//	B90  persist/sqlitestore  TestThreeProcessesShareAFileWithoutAnErrorAndWithoutADoubleClaim, beside the one here
//	B95  persist/sqlitestore  TestASharedFileSystemIsWarnedOf, TestWhatIsNoDatabaseIsRefusedWithTheReason, beside those here
//	B99  internal/hostile     TestACancelThatComesLateMeetsNobodyElsesStatement, beside the one here
//	B101 internal/hostile     TestAfterALostReplyTheRowIsAskedAndNotTheMemory
//	B105 transitions/render   TestThePictureHasExactlyTheEdgesOfTheTable, TestNothingInThePictureLiesOnSomethingElse, and B107
//	B110 internal/e2e         TestWhateverHappensAtAnyStepTheRemoteCountsOneRequest, stopped while fetching, for B112 too
//	B113 provider/httpjob     TestARefusalHonoursRetryAfterWithinACap, beside the one here
package reports
