// Package sqlitestore keeps operations in an SQLite file: the embedded default, for any number of processes of one
// machine. It is the only package that imports the SQLite driver, and executes the statements of package persist.
//
// The file is used in WAL mode with synchronous=FULL: a commit that was answered survives the loss of power, which is
// what "durable before the first byte leaves" takes. SQLite has one writer at a time; a store has one connection that
// writes, whose transactions begin immediate, and a few that read. Another process's transaction is waited for, up to
// Options.BusyTimeout. One that is stopped in the middle of a transaction (not killed: that ends it) keeps every other
// from writing until it goes on: they are told that the database is locked, and their leases lapse.
//
// The file and the -wal file beside it are one database: an event may be in either. What is missing or damaged at the
// end of the -wal SQLite takes for a transaction that a crash cut short, and passes over: whoever copies or restores a
// database without its -wal loses the last events, without an error.
//
// Times are Unix milliseconds here: what is given finer is cut.
package sqlitestore
