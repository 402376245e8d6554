package verify_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/verify"
)

// holds explores a table to the end and fails unless nothing breaks an invariant.
func holds(t *testing.T, p *transitions.Program, b verify.Bound) *verify.Report {
	t.Helper()
	r, err := verify.Check(p, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if r.Broken != nil || !r.Complete {
		t.Fatalf("the table does not hold: complete %t\n%s", r.Complete, r)
	}
	return r
}

// F5: the standard table, two workers, a reconciler, a reviewer, complete.
func TestTheStandardTableHoldsEveryInvariant(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	for name, reused := range map[string]bool{"owner strings distinct": false, "owner strings reused": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := verify.Usual()
			b.ReusedOwners = reused
			r := holds(t, p, b)
			// Redo says that another operation may be prepared; it does nothing to this one.
			if diff := cmp.Diff([]string{"redo"}, r.Silent); diff != "" {
				t.Errorf("events that were applied nowhere (-want +got):\n%s", diff)
			}
		})
	}
}

// The long form: what make soak explores.
func TestTheStandardTableHoldsWithinALargerBound(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	if os.Getenv("FENCEROW_TEST_LONG") != "" {
		holds(t, p, verify.Large())
		return
	}
	b := verify.Usual() // the short form: without late statements three requests are few states
	b.Statements, b.Begins = 0, 3
	holds(t, p, b)
}

// The reductions may forget nothing that an invariant depends on.
func TestTheVerdictsAreTheSameWithoutTheReductions(t *testing.T) {
	t.Parallel()
	for _, f := range smallFaults(t) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			b := f.bound
			reduced, err := verify.Check(f.program, b)
			if err != nil {
				t.Fatal(err)
			}
			b.Unreduced = true
			full, err := verify.Check(f.program, b)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states reduced, %d in full", reduced.States, full.States)
			if diff := cmp.Diff(verdict(full), verdict(reduced)); diff != "" {
				t.Errorf("the verdict (-in full +reduced):\n%s", diff)
			}
			if reduced.Broken == nil && 2*reduced.States > full.States {
				t.Errorf("the reductions hardly reduce anything: %d states with them, %d without", reduced.States, full.States)
			}
		})
	}
}

// seen is what an exploration says. How long the story is may differ: without the reductions a statement that can land no
// more has to be dropped in a step of its own, and with them what an ended operation no longer needs is not looked at.
type seen struct {
	Complete bool
	Broken   verify.Code
}

func verdict(r *verify.Report) seen {
	s := seen{Complete: r.Complete}
	if r.Broken != nil {
		s.Broken = r.Broken.Invariant.Code
	}
	return s
}
