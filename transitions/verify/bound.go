package verify

import (
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Bound says how much is explored. What it does not name is not bounded: claims, takeovers, crashes, renewals, ticks of
// the clock, evidence, and how often a reviewer looks.
type Bound struct {
	Workers      int  // at once, 1 to 3; each may crash and begin anew at any moment
	Begins       int  // requests begun, 1 to 3
	Statements   int  // under way at once without their sender: they arrive late, twice or never; 0 to 2
	Mistakes     int  // decisions "not created" of a job that exists, or before the quarantine is over; 0 or 1
	ReusedOwners bool // every worker has the same owner string
	Imports      bool // also from rows that somebody wrote by hand without a remote job id
	States       int  // give up after so many; 0: 20 million
	Unreduced    bool // without the reductions: for tests that hold the verdicts against each other

	// Faults are put in; a table that is right must be found wrong under most of them.
	Faults []Fault

	// Only looks for these invariants; empty: for all.
	Only []Code

	// Given are parameters of the event that creates the row, where the usual values will not do.
	Given transitions.Params
}

// Usual is the bound that make test explores: two workers, one statement under way, two requests, one mistaken decision.
func Usual() Bound {
	return Bound{Workers: 2, Begins: 2, Statements: 1, Mistakes: 1, Imports: true}
}

// Large is the bound that make soak explores.
func Large() Bound {
	return Bound{Workers: 2, Begins: 3, Statements: 2, Mistakes: 1, Imports: true, States: 200_000_000}
}

// String says the bound in words.
func (b Bound) String() string {
	words := []string{
		plural(b.Workers, "worker"), "a reconciler", "a reviewer", "a webhook",
		"at most " + plural(b.Begins, "request") + " begun",
		plural(b.Statements, "statement") + " late or repeated at a time",
		plural(b.Mistakes, "mistaken decision"),
	}
	words = append(words, pick(b.ReusedOwners, "owner strings reused", "owner strings distinct"))
	if b.Imports {
		words = append(words, "rows written by hand without a remote job id")
	}
	for _, f := range b.Faults {
		words = append(words, "fault: "+string(f))
	}
	return strings.Join(words, ", ")
}

func (b Bound) check() error {
	switch {
	case b.Workers < 1 || b.Workers > maxWorkers:
		return fmt.Errorf("check the bound: %d workers, want 1 to %d", b.Workers, maxWorkers)
	case b.Begins < 1 || b.Begins > 3:
		return fmt.Errorf("check the bound: %d requests, want 1 to 3", b.Begins)
	case b.Statements < 0 || b.Statements > maxStray:
		return fmt.Errorf("check the bound: %d statements under way, want 0 to %d", b.Statements, maxStray)
	case b.Mistakes < 0 || b.Mistakes > 1:
		return fmt.Errorf("check the bound: %d mistaken decisions, want 0 or 1", b.Mistakes)
	}
	for _, f := range b.Faults {
		if _, ok := faultWords[f]; !ok {
			return fmt.Errorf("check the bound: %q is no fault; the faults are those of Faults", f)
		}
	}
	return nil
}

// Fault is something done otherwise than the lifecycle demands of those who fire its events. The table is not to blame
// for what follows: the faults show that the checker sees it, and why the demand is made.
type Fault string

// The faults.
const (
	AdoptsRevision Fault = "a renewal adopts the newest revision"
	ClaimByOwner   Fault = "an unknown claim is looked up by its owner"
	AssumesBegun   Fault = "an unknown begin is taken for begun"
	DeniedRereads  Fault = "a denied begin is looked up by its owner"
	SendsFirst     Fault = "the request is sent before submitting is stored"
	GuessesNotSent Fault = "a connection that was reset is taken for not sent"
	NoOwnDeadline  Fault = "the sender does not look at its own deadline"
	SlowNetwork    Fault = "the network carries a request for as long as it likes"
	NoReconciler   Fault = "there is no reconciler"
	NoReviewer     Fault = "there is no reviewer"
	NoTakeover     Fault = "a lease that has ended is not taken over"
	LooksTooEarly  Fault = "the reviewer decides on what the remote showed before the quarantine was over"
)

var faultWords = map[Fault]string{
	AdoptsRevision: "renew", ClaimByOwner: "claim", AssumesBegun: "begin", DeniedRereads: "begin", SendsFirst: "send",
	GuessesNotSent: "record", NoOwnDeadline: "send", SlowNetwork: "remote", NoReconciler: "reconcile", NoReviewer: "review",
	NoTakeover: "claim", LooksTooEarly: "review",
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func pick(cond bool, yes, no string) string {
	if cond {
		return yes
	}
	return no
}
