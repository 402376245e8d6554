// Package pgtest gives tests a real PostgreSQL.
//
// A test that asks for [URL] gets a fresh database on a server that its test
// process starts once. A test that has to stop, freeze or kill the server asks
// for one of its own with [NewServer].
//
// The server comes from the first of these that works:
//
//   - the address in FENCEROW_TEST_DATABASE_URL (for [URL] only; nobody wants
//     a test to kill a server that it was merely lent);
//   - the server programs in the folder FENCEROW_TEST_PG_BIN;
//   - the newest server programs found on the machine, version 14 or later;
//   - on Debian and its children, as root: the distribution's package;
//   - elsewhere: a downloaded build.
//
// When none does, the test fails and says what to install. It never skips:
// a suite that passes because nothing ran is worse than one that fails.
//
// No server outlives its test, also when the test process is killed: see
// guardian.go.
package pgtest
