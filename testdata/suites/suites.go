// Package suites holds the suite files of the standard table, so that stores of your own can be held against them:
//
//	machinetest.RunSuite(t, newStore, suites.Files, transitions.MustCompile(transitions.Standard()))
package suites

import "embed"

// Files are the suite files. Their format is told in docs/suites.md.
//
//go:embed *.txt generated/*.txt
var Files embed.FS
