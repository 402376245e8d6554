// Package clause takes SQL apart into the clauses that can be cut out of it: conditions and their parts, assignments,
// columns of an insert, ORDER BY, LIMIT, locks and so on. The mutation run cuts one at a time and asks whether any test
// notices.
//
// It reads the SQL that package persist writes, not SQL at large. What it cuts follows from the text alone, so that
// nothing which is written can be forgotten; what it cannot read is an error.
package clause
