// Package mutants is the mutation run: it takes every guard, fence part and effect out of the standard table and out of
// those of the examples, and every clause out of the SQL that is compiled from them, one at a time, and asks the suites,
// the agreement test, the model checker and the tests of the stores whether anybody notices. What nobody notices earns its
// place by an argument (argued.go), or the suites lack a case. `make mutants` runs it; docs/mutants.md tells of it.
//
// A mutant of the table is a program, judged in memory. A mutant of SQL is a real store on a real database with one
// clause cut out of one statement: see overlay.go for how it gets there without a line in the product.
package mutants

//go:generate go test -count=1 -run TestTheDocumentTellsOfTheLastRunAndOfEveryArgument . -update
