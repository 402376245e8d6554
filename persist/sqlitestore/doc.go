// Package sqlitestore keeps operations in an SQLite file: the embedded default, for any number of processes of one
// machine. It is the only package that imports the SQLite driver, and executes the statements of package persist.
//
// The file is used in WAL mode with synchronous=FULL: a commit that was answered survives the loss of power, which is
// what "durable before the first byte leaves" takes. SQLite has one writer at a time; a store has one connection that
// writes, whose transactions begin immediate, and a few that read. Another process's transaction is waited for, up to
// Options.BusyTimeout. One that is stopped in the middle of a transaction (not killed: that ends it) keeps every other
// from writing until it goes on: they are told that the database is locked, and their leases lapse.
//
// With Options.GroupCommit, events that are fired at the same time share a transaction, so that the disk is waited for once:
// while one is under way, what is fired gathers, a hundred at most, and has the next together. Nothing waits for company.
// Each event is judged and answered on its own; where one of them fails, none was written, and each has a transaction of
// its own. No two of one operation share one, and what is fired in a transaction of the caller's shares none. Whose context
// ends before the transaction began is told that its event did not run; after that the answer is waited for, which takes no
// longer than the transaction.
//
// What an event left due, and free to be taken, the store tells whoever hears it in this process (Store.Hear); other processes find it when they ask.
//
// The file and the -wal file beside it are one database: an event may be in either. What is missing or damaged at the
// end of the -wal SQLite takes for a transaction that a crash cut short, and passes over: whoever copies or restores a
// database without its -wal loses the last events, without an error.
//
// Times are Unix milliseconds here: what is given finer is cut.
package sqlitestore
