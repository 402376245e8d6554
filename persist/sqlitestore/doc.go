// Package sqlitestore keeps operations in an SQLite file: the embedded default, for any number of processes of one
// machine. It is the only package that imports the SQLite driver, and executes the statements of package persist.
//
// The file is used in WAL mode with synchronous=FULL: a commit that was answered survives the loss of power, which is
// what "durable before the first byte leaves" takes. SQLite has one writer at a time; a store has one connection that
// writes, whose transactions begin immediate, and a few that read. Another process's transaction is waited for, up to
// Options.BusyTimeout.
//
// Times are Unix milliseconds here: what is given finer is cut.
package sqlitestore
