package moderated_test

import (
	"os"
	"testing"

	"github.com/fencerow/fencerow/examples/moderated"
	"github.com/fencerow/fencerow/internal/golden"
	"github.com/fencerow/fencerow/internal/storetest"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist/pages"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/verify"
)

func program(t *testing.T) *transitions.Program {
	t.Helper()
	p, err := transitions.Compile(moderated.Table())
	if err != nil {
		t.Fatal(err) // the findings, each with what to do
	}
	return p
}

func TestThePagesSayWhatTheTableSays(t *testing.T) {
	t.Parallel()
	if err := pages.Check(".", "moderated", program(t)); err != nil {
		t.Error(err)
	}
}

// The suite in which every event meets every phase is made from the table. Under -update what comes of each step is
// written into the other suite files as well.
func TestTheSuitesAreUpToDate(t *testing.T) {
	p := program(t)
	pairs, err := machinetest.EveryPair(os.DirFS("testdata"), p)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "testdata/generated/every-pair.txt", []byte(pairs))
	if golden.Updating() {
		if err := machinetest.RewriteSuite("testdata", p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheSuitesPassOnEveryStore(t *testing.T) {
	t.Parallel()
	p := program(t)
	for name, newStore := range storetest.Each(p) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machinetest.RunSuite(t, newStore, os.DirFS("testdata"), p)
		})
	}
}

func TestEveryPartOfWhatIsOtherwiseThanInTheStandardTableIsHeldByACase(t *testing.T) {
	t.Parallel()
	machinetest.Mutants(t, moderated.Table(), os.DirFS("testdata"), machinetest.MutantOptions{Extends: transitions.MustCompile(transitions.Standard())})
}

func TestEveryStoreDoesWhatTheTableMeans(t *testing.T) {
	t.Parallel()
	for name, newStore := range storetest.Each(program(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machinetest.Agree(t, newStore)
		})
	}
}

// Redo is a permission and changes no row, so the model checker has nothing to judge of it.
func TestNoOrderOfEventsBreaksAnInvariant(t *testing.T) {
	t.Parallel()
	r, err := verify.Check(program(t), verify.Usual())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if !r.Complete || r.Broken != nil || len(r.Silent) != 1 || r.Silent[0] != "redo" {
		t.Errorf("complete %t, never applied %v:\n%s", r.Complete, r.Silent, r)
	}
}
