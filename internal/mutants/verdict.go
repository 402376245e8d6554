package mutants

import "github.com/fencerow/fencerow/transitions"

// The judges that can kill a mutant.
const (
	BySuite       = "suite"       // a case of testdata/suites
	ByAgreement   = "agreement"   // machinetest.Agree: the store does not do what the table says
	ByConformance = "conformance" // a clause of machinetest.Run
	ByTest        = "test"        // a test in Go
	ByChecker     = "checker"     // the model checker breaks an invariant
	ByNobody      = ""            // it survived
)

// Verdict is what became of a mutant.
type Verdict struct {
	ID      string
	Killer  string   // one of the judges
	By      string   // which case, clause, test or invariant
	Says    string   // the first that was heard
	Clauses []string // contract clauses and invariants that the cases name which noticed it (of the table's mutants: all of them)
	Broke   string   // the invariant that the checker saw broken; "" if none, or if it was not asked
	Same    string   // what shows that the database does the same without the clause: nobody can notice then
	Millis  int64
	Error   string // what kept it from being judged
}

// Killed reports whether somebody noticed.
func (v Verdict) Killed() bool { return v.Killer != ByNobody }

// Checker explores the program of a mutant of the table, and tells which invariant breaks, with the story of how; "" if
// none does within its bound.
type Checker func(p *transitions.Program) (invariant string, story string, err error)
