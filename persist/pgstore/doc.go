// Package pgstore keeps operations in PostgreSQL, version 14 or newer: the store for production. It is the only package
// that imports pgx.
//
// [Open] connects by a URL; [New] uses a pool of the caller's. Both check what the statements rely on: READ COMMITTED, a
// statement_timeout on the server, durable commits. [Store.Migrate] makes the tables. [Store.InTx] and [Store.InSQLTx]
// fire events inside a transaction of the caller's, so that its own rows are committed with them or not at all.
//
// Every event is one statement, compiled by package persist and sent with parameters in pgx's exec mode, which works
// behind PgBouncer in transaction mode; see Options for a faster one. Outside a caller's transaction it commits by itself.
//
// With Options.GroupCommit, events that are fired at the same time travel together: while a statement of an event is under
// way, what is fired of the same event on other operations gathers, and goes in one statement when that one has ended, a hundred at
// most. Nothing waits for company: an event that is fired when none of its name is under way goes at once. Each is judged
// on its own and answered as it would have been alone; what the common statement cannot answer (its row is locked by
// somebody, or the statement did not run, be it for another's sake) is sent alone. Whose context ends before its event was
// sent is told that it did not run, and after that that nobody knows. Two events of one operation never share a statement,
// and what is fired in a transaction of the caller's shares none.
//
// What an event left due, and free to be taken, the store tells whoever hears it in this process (Store.Hear), at once and
// without asking the database. With Options.WakeUps it tells other processes too, what nobody here has taken by its name,
// by NOTIFY in statements of its own, a few a second however much is due, and lets a worker listen on a connection of its
// own (Store.Wakes). One that became due alone is named: an idle worker takes it by its id. Whoever may connect to the
// database can listen, and so learn the ids, kinds, providers and accounts that are told. A wake-up is a hint: work is
// found by polling all the same, only less often. It needs a direct connection to listen: behind a pooler in transaction
// mode LISTEN is taken and nothing comes. What is made due in a transaction of the caller's is told by the caller, after
// its commit (Store.Wake).
//
// The store never guesses. An answer counts when its rows were read to the end and no error followed them. An error
// that the server sent and that ends nothing but the statement proves that it did not run; so does a connection that
// was never had. Every other error is a *machine.UnknownError: what the driver calls safe to retry was seen to be
// written.
package pgstore
