package verify_test

import (
	"slices"
	"testing"

	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/verify"
)

// I9: no guard keeps it, so no fault of the list breaks it; what history records does.
func TestAHistoryThatLeavesSomethingOutIsFound(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	broken, err := p.Altered("submit_accepted", func(r *transitions.Rule) {
		r.Recorded = slices.DeleteFunc(slices.Clone(r.Recorded), func(i int) bool { return p.Columns[i].Name == "remote_job_id" })
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := verify.Check(broken, verify.Bound{Workers: 1, Begins: 1})
	if err != nil {
		t.Fatal(err)
	}
	if r.Broken == nil || r.Broken.Invariant.Code != "I9" {
		t.Errorf("want I9 to be broken, got %s", r)
	}
}
