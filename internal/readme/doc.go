// Package readme writes the parts of README.md that are made from the source, and fails when they are stale.
package readme

//go:generate go test -count=1 -run TestTheREADMEIsWrittenFromTheSource . -update
