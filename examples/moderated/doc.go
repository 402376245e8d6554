// Package moderated shows how the standard lifecycle is extended by a phase: a result is looked at by somebody before
// it counts. table.go is the only file that says so. Everything else is made from it: the page, the pictures and the
// statements beside it by go generate, the suite in which every event meets every phase by make golden
// PKG=./examples/moderated. What an event is meant to do stands in testdata, in suite files that run on all three stores.
// docs/own-tables.md walks through it.
package moderated

//go:generate go run ./generate
