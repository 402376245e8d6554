// Package hostile holds the tests that put the engine on a real PostgreSQL and take away what it would like to rely on:
// replies, connections, backends, the server, the pooler's sessions, the clock's patience. It exports nothing.
//
// They show that an answer is applied, denied, unknown or the proof that nothing ran, and never one for another; that
// an unknown answer is resolved through history; that what lands late is harmless; and that many claimers of one
// operation see one order of events.
//
// Random choices are those of FENCEROW_TEST_SEED, where it is set to the number that an earlier run printed; how
// goroutines and packets meet is not repeated by it. With FENCEROW_TEST_LONG=1 what is random runs for minutes.
package hostile
