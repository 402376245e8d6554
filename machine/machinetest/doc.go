// Package machinetest is the conformance suite of [machine.Store]: what every store must do, told in subtests that name
// the clause. The memory store, the SQL stores and stores of your own are held against the same suite, and all of them
// against [transitions.Program.Eval], which is the meaning of the table.
//
//	func TestMyStore(t *testing.T) {
//		machinetest.Run(t, func(t *testing.T) machinetest.Subject {
//			store := openEmpty(t) // closed by t.Cleanup
//			return machinetest.Subject{Store: store, Put: store.insertByHand, Now: store.databaseClock}
//		})
//	}
package machinetest
