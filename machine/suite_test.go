package machine_test

import (
	"testing"

	"github.com/fencerow/fencerow/internal/golden"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/testdata/suites"
	"github.com/fencerow/fencerow/transitions"
)

func TestMemoryPassesTheSuites(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	if golden.Updating() {
		if err := machinetest.RewriteSuite("../testdata/suites", p); err != nil {
			t.Fatal(err)
		}
		return // the files that were compiled in are the old ones
	}
	machinetest.RunSuite(t, func(*testing.T) machinetest.Subject { return machinetest.MemorySubject(p) }, suites.Files, p)
}

func TestTheSuiteOfEveryPairIsThatOfTheTable(t *testing.T) {
	text, err := machinetest.EveryPair(suites.Files, transitions.MustCompile(transitions.Standard()))
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "../testdata/suites/generated/every-pair.txt", []byte(text))
}

func TestMemoryAgreesWithTheTable(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	machinetest.Agree(t, func(*testing.T) machinetest.Subject { return machinetest.MemorySubject(p) })
}
