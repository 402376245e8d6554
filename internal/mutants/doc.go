// Package mutants is the mutation run: it takes every guard, fence part and effect out of the standard table, and every
// clause out of the SQL that is compiled from it, one at a time, and asks the suites, the agreement test, the model
// checker and the tests of the stores whether anybody notices. What nobody notices is an operand that the database or the
// table does not need, or the suites lack a case: which of the two is not argued for yet, so the run ends with an error
// as long as there is a survivor. `make mutants` runs it.
//
// A mutant of the table is a program, judged in memory. A mutant of SQL is a real store on a real database with one
// clause cut out of one statement: see overlay.go for how it gets there without a line in the product.
package mutants
