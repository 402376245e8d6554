// Package moderated shows how the standard lifecycle is extended by a phase: a result is looked at by somebody before
// it counts. table.go is the only file that says so. The documents in lifecycle.md and the generated suite are made from
// it by make golden PKG=./examples/moderated; what an event is meant to do stands in testdata, in suite files that run
// on all three stores. docs/own-tables.md walks through it.
package moderated
