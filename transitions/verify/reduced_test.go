package verify_test

import (
	"testing"

	"github.com/fencerow/fencerow/internal/broken"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/verify"
)

type tried struct {
	name    string
	program *transitions.Program
	bound   verify.Bound
}

// smallFaults are the standard table within bounds that can be explored in full, and every fault that is found soon.
// Workers that do what they must not keep most of the reductions off, so only faults of the table are tried.
func smallFaults(t *testing.T) []tried {
	t.Helper()
	one := verify.Bound{Workers: 2, Begins: 1, Statements: 0, Mistakes: 0}
	late := verify.Bound{Workers: 1, Begins: 1, Statements: 1, Mistakes: 0}
	mistaken := verify.Bound{Workers: 1, Begins: 2, Statements: 0, Mistakes: 1, Imports: true}
	p := transitions.MustCompile(transitions.Standard())
	all := []tried{{"two workers", p, one}, {"a late statement", p, late}, {"a mistaken decision", p, mistaken}}
	for _, f := range broken.Faults {
		if f.Want == "" || !f.InTable() || f.Want == "I7" || f.Bound().Begins > 2 {
			continue
		}
		p, err := f.Program()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tried{f.Name, p, f.Bound()})
	}
	return all
}
