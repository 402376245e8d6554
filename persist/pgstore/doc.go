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
// The store never guesses. An answer counts when its rows were read to the end and no error followed them. An error
// that the server sent and that ends nothing but the statement proves that it did not run; so does a connection that
// was never had. Every other error is a *machine.UnknownError: what the driver calls safe to retry was seen to be
// written.
package pgstore
