// Package reports replays public reports of faults in other systems that do this job: each scenario is a test that names
// the report's number and holds the engine, on real databases and with real processes, to the outcome that is right
// here. It has no code of its own.
//
// Where a test elsewhere shows a scenario in full it is not repeated:
//
//	B28  machine/machinetest  "A3 a page of ineligible rows starves nobody", on every store
//	B42  machine              TestALeaseEndsByWhicheverClockSaysMore, and B44 for the database's own guard
//	B46  persist/pgstore      TestALeaseThatEndsInsideATransactionCanBeClaimedInsideIt
//	B46  persist/sqlitestore  TestALeaseThatEndsInsideATransactionCanBeClaimedThere
package reports
