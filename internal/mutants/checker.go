package mutants

import (
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/verify"
)

// ModelChecker explores a mutant within bounds that take seconds: two workers and two requests, first of reviewers who
// make no mistake, then of one who makes one. Late statements are left to the suites' own cases and the agreement.
func ModelChecker(p *transitions.Program) (invariant, story string, err error) {
	for mistakes := range 2 {
		r, err := verify.Check(p, verify.Bound{Workers: 2, Begins: 2, Mistakes: mistakes, Imports: true, ReusedOwners: true, States: 150_000})
		if err != nil {
			return "", "", err
		}
		if r.Broken != nil {
			return string(r.Broken.Invariant.Code), r.Broken.String(), nil
		}
	}
	return "", "", nil
}
