package payout_test

import (
	"flag"
	"os"
	"testing"

	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/internal/storetest"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/transitions"
)

var update = flag.Bool("update", false, "write into the suite files what comes of each step; then read the difference")

var program = transitions.MustCompile(payout.Table())

func TestTheTableBreaksNoSafetyRule(t *testing.T) {
	t.Parallel()
	for _, finding := range transitions.Check(payout.Table()) {
		t.Error(finding)
	}
}

func TestTheSuitesAreUpToDate(t *testing.T) {
	const pairs = "testdata/generated/every-pair.txt"
	text, err := machinetest.EveryPair(os.DirFS("testdata"), program)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(pairs, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := machinetest.RewriteSuite("testdata", program); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(pairs); err != nil || string(have) != text {
		t.Errorf("%s is not what the table gives (%v); run go test with -update, and read the difference", pairs, err)
	}
}

func TestPayoutsPassTheirSuitesOnEveryStore(t *testing.T) {
	t.Parallel()
	for name, newStore := range storetest.Each(program) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machinetest.RunSuite(t, newStore, os.DirFS("testdata"), program)
		})
	}
}
