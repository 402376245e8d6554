package mutants

import (
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/verify"
)

// ModelChecker explores a mutant within a bound that takes a second or two: without late statements, which the suites'
// own cases and the agreement stand in for.
func ModelChecker(p *transitions.Program) (invariant, story string, err error) {
	r, err := verify.Check(p, verify.Bound{Workers: 2, Begins: 2, Mistakes: 1, Imports: true, ReusedOwners: true, States: 400_000})
	if err != nil || r.Broken == nil {
		return "", "", err
	}
	return string(r.Broken.Invariant.Code), r.Broken.String(), nil
}
