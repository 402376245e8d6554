// Package reports replays public reports of faults in other systems that do this job: each scenario is a test that names
// the report's number and holds the engine, on real databases and with real processes, to the outcome that is right
// here. It has no code of its own.
//
// Where a test elsewhere shows a scenario in full it is not repeated:
//
//	B28  machine/machinetest  "A3 a page of ineligible rows starves nobody", on every store
//	B29  internal/e2e         TestKilledAtRandomMomentsNothingIsSentTwice, with kills at random, beside the one here
//	B42  machine              TestALeaseEndsByWhicheverClockSaysMore, and B44 for the database's own guard
//	B44  machine/machinetest  "I4 every holder's event is denied …", on every store, beside the one here
//	B46  persist/pgstore      TestALeaseThatEndsInsideATransactionCanBeClaimedInsideIt
//	B46  persist/sqlitestore  TestALeaseThatEndsInsideATransactionCanBeClaimedThere
package reports
