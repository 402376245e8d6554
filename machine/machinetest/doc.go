// Package machinetest holds stores against the contract of [machine.Store], each against the same tests and all of them
// against [transitions.Program.Eval], which is the meaning of the table. The memory store, the SQL stores and stores of
// your own pass the same three:
//
//   - [Run] is the conformance battery of the standard table, told in subtests that name the clause;
//   - [RunSuite] runs suite files, which tell of rows and events in sentences, on a store of any table; [PlaySuite] does
//     so without a test;
//   - [Agree] goes through every event, phase and state of the fence of any table, then through random rows and events.
//
// [Mutants] asks the other way round whether the suite files of a table would notice: it takes every part of the table
// away, one at a time, and fails where every case comes out the same.
//
// A store's test needs a way to an empty store, to write rows by hand, and to the database's clock:
//
//	func newStore(t *testing.T) machinetest.Subject {
//		store := openEmpty(t) // closed by t.Cleanup
//		return machinetest.Subject{Store: store, Put: store.insertByHand, Now: store.databaseClock}
//	}
//
//	func TestMyStore(t *testing.T) { machinetest.Run(t, newStore) }
package machinetest
