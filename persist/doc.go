// Package persist turns a compiled lifecycle into SQL, for PostgreSQL and SQLite: one statement an event and form, the
// tables with their CHECK constraints, the migrations. It has no driver and opens no connection: what it writes is a
// pure function of the program, the dialect and the names, so that it can be read, printed and held against goldens on
// any machine. The stores in pgstore and sqlitestore execute exactly these statements.
package persist
