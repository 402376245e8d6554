package verify_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/internal/broken"
	"github.com/fencerow/fencerow/transitions/verify"
)

func TestEachFaultIsFoundAndWhatIsHarmlessIsNot(t *testing.T) {
	t.Parallel()
	for _, f := range broken.Faults {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			p, err := f.Program()
			if err != nil {
				t.Fatal(err)
			}
			r, err := verify.Check(p, f.Bound())
			if err != nil {
				t.Fatal(err)
			}
			t.Log(r)
			var got verify.Code
			if r.Broken != nil {
				got = r.Broken.Invariant.Code
			} else if !r.Complete {
				t.Errorf("the exploration was not complete: %d states", r.States)
			}
			if diff := cmp.Diff(f.Want, got); diff != "" {
				t.Errorf("the invariant that is broken (-want +got):\n%s", diff)
			}
		})
	}
}
