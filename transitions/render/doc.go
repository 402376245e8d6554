// Package render draws a compiled table: as a page, as diagrams and as JSON. It reads the Program and nothing else, so
// whatever a picture shows is what the statements do.
package render

//go:generate go test -count=1 -run TestTheGeneratedDocumentsAreUpToDate . -update
