package payout_test

import (
	"testing"

	"github.com/fencerow/fencerow/transitions/verify"
)

func TestNoOrderOfEventsBreaksAnInvariant(t *testing.T) {
	t.Parallel()
	r, err := verify.Check(program, verify.Usual())
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if !r.Complete || r.Broken != nil || len(r.Silent) > 0 {
		t.Errorf("complete %t, never applied %v:\n%s", r.Complete, r.Silent, r)
	}
}
