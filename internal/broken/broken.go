// Package broken lists the faults that the model checker has to find, and some that it must not: tables that break an
// invariant, and workers, people and networks that do what the lifecycle demands they do not. The checker's tests, the
// replays on real stores and docs/tables/faults.md are made from this one list.
package broken

//go:generate go test -count=1 -run TestTheDocumentTellsEachStory . -update

import (
	"fmt"

	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/verify"
)

// Fault is something put in, and what the checker says of it.
type Fault struct {
	Name   string
	change change // nil: the table is the standard one
	limits []limit
	Want   verify.Code // the invariant that is broken; "": none

	Stopped string // what stops it in a store whose table has it; "": nothing does
}

// InTable reports whether the fault is one of the table: on a store of it, other rows come out.
func (f Fault) InTable() bool { return f.change != nil }

// Program is the table with the fault in it, compiled without the safety rules.
func (f Fault) Program() (*transitions.Program, error) {
	p, err := transitions.Compile(transitions.Standard())
	if err != nil || f.change == nil {
		return p, err
	}
	if p, err = f.change(p); err != nil {
		return nil, fmt.Errorf("put in the fault %q: %w", f.Name, err)
	}
	return p, nil
}

// Bound is what is explored.
func (f Fault) Bound() verify.Bound {
	b := verify.Usual()
	for _, l := range f.limits {
		b = l(b)
	}
	return b
}

// Faults are those that searches by hand found or found harmless, one at a time, and those that the guards of the
// standard table are there to keep out.
var Faults = []Fault{
	{"a fence without the revision, owner strings reused", without("revision", "held"), limits(reused), "I4", ""},
	{"a fence without the revision, and a denied begin looked up by its owner", without("revision", "held"), limits(reused, twice, doing(verify.DeniedRereads, verify.NoOwnDeadline)), "I1", ""},
	{"a fence without the revision, owner strings distinct, sends nothing twice", without("revision", "held"), limits(twice, small, calm), "", ""},
	{"a fence without the owner: the revision alone is enough", without("owner", "held"), limits(reused, small), "", ""},
	{"a fence without owner and revision", both(without("owner", "held"), without("revision", "held")), nil, "I4", ""},
	{"a fence without owner and revision sends twice", both(without("owner", "held"), without("revision", "held")), limits(twice, doing(verify.NoOwnDeadline)), "I1", ""},
	{"a lapsed submission goes back to prepared", lapsesBack(), nil, "I6", ""},
	{"a lapsed submission goes back to prepared, and is sent twice", lapsesBack(), limits(twice), "I1a", ""},
	{"a renewal adopts the newest revision, owner strings distinct", nil, limits(small, calm, doing(verify.AdoptsRevision)), "", ""},
	{"a renewal adopts the newest revision, owner strings reused", nil, limits(reused, doing(verify.AdoptsRevision)), "I4", ""},
	{"a renewal adopts the newest revision and sends twice", nil, limits(reused, twice, doing(verify.AdoptsRevision)), "I1", ""},
	{"an unknown claim is looked up by its owner, owner strings distinct", nil, limits(small, calm, doing(verify.ClaimByOwner)), "", ""},
	{"an unknown claim is looked up by its owner, owner strings reused", nil, limits(reused, twice, doing(verify.ClaimByOwner)), "I1", ""},
	{"an unknown begin is taken for begun", nil, limits(doing(verify.AssumesBegun)), "I2", ""},
	{"an unknown begin is taken for begun, and sent twice", nil, limits(twice, doing(verify.AssumesBegun)), "I1", ""},
	{"a denied begin is looked up by its owner, owner strings reused, and the own deadline is kept", nil, limits(reused, small, calm, twice, doing(verify.DeniedRereads)), "", ""},
	{"a denied begin is looked up by its owner, owner strings reused", nil, limits(reused, only("I1"), doing(verify.DeniedRereads, verify.NoOwnDeadline)), "I1", ""},
	{"the request is sent before submitting is stored", nil, limits(doing(verify.SendsFirst)), "I2", ""},
	{"the request is sent before submitting is stored, and sent twice", nil, limits(twice, calm, doing(verify.SendsFirst)), "I1", ""},
	{"a reset is taken for not sent", nil, limits(doing(verify.GuessesNotSent)), "I1a", ""},
	{"submit_not_created keeps its lease, and its statement is executed twice", keepsLease("submit_not_created"), nil, "I2", ""},
	{"submit_not_created keeps its lease, and the request is sent twice", keepsLease("submit_not_created"), limits(twice, three), "I1a", ""},
	{"submit_not_created keeps its lease, and no statement is late", keepsLease("submit_not_created"), limits(twice, small, calm), "", ""},
	{"a late begin finds its lease released: its phase guard alone is not needed", without("phase", "submit_begin"), limits(small), "", ""},
	{"a late record finds its lease released", without("phase", "submit_unknown"), limits(small), "", ""},
	{"a late observation finds its lease released", without("phase", "observe_pending"), limits(small), "", ""},
	{"a late begin overwrites an end that kept its lease", both(without("phase", "submit_begin"), keepsLease("submit_rejected")), nil, "I3", ""},
	{"a late record overwrites an end, where the ends of a request keep its lease", both(without("phase", "submit_not_created"), keepsLease("submit_not_created"), keepsLease("submit_rejected")), limits(only("I3")), "I3", ""},
	{"a late observation overwrites an end, where observations keep their lease", both(without("phase", "observe_pending"), keepsLease("observe_pending"), keepsLease("observe_succeeded")), nil, "I3", ""},
	{"a begin under a lease that has ended sends nothing twice", without("lease_live", "submit_begin"), limits(twice, small), "", ""},
	{"a begin under a lease that has ended", without("lease_live", "submit_begin"), nil, "I4", ""},
	{"no reconciler", nil, limits(calm, doing(verify.NoReconciler)), "I7", ""},
	{"no reviewer", nil, limits(calm, small, doing(verify.NoReviewer)), "I7", ""},
	{"no takeover", nil, limits(calm, small, doing(verify.NoTakeover)), "I7", ""},
	{"delivering is not taken over", table(func(tab *transitions.Table) { event(tab, "deliver_claim").From = []string{"terminal"} }), limits(calm, small), "I7", ""},
	{"the sender does not look at its own deadline", nil, limits(twice, doing(verify.NoOwnDeadline)), "I1a", ""},
	{"the network carries a request for as long as it likes", nil, limits(doing(verify.SlowNetwork)), "I1a", ""},
	{"the reviewer decides on what the remote showed too early", nil, limits(doing(verify.LooksTooEarly)), "I1a", ""},
	{"no quarantine", without("quarantine_over", "review_not_created"), nil, "I1a", ""},
	{"a claim takes a live lease", without("lease_vacant", "dispatch_claim"), nil, "I4a", ""},
	{"a claim without a bump", withoutSets("observe_claim", "revision"), limits(reused), "I4", ""},
	{"a known job does not keep a request from being begun", both(without("no_late_remote_job_id", "submit_begin"), without("no_late_remote_job_id", "dispatch_claim")), nil, "I1b", ""},
	{"a word is proof enough", without("proof", "submit_not_created"), nil, "I1a", ""},
	{"a blank id is stored", without("remote_job_id_usable", "submit_accepted"), nil, "I5", ""},
	{"another operation's id is stored", without("remote_job_id_free", "submit_accepted"), nil, "B8", "the unique index on remote job ids"},
	{"an observer without an id", without("remote_job_id_known", "observe_claim"), nil, "I5", ""},
	{"a decision on an old revision", without("revision", "review_abandon"), nil, "D3", ""},
	{"a decision that does not know the evidence", without("evidence_seq", "review_not_created"), nil, "D3", ""},
	{"a decision that nobody signs", without("reviewer", "review_attach"), nil, "D3", ""},
	{"an acknowledgement of what was not seen", without("evidence_seq", "review_acknowledge"), nil, "D3", ""},
	{"evidence moves the operation", table(func(tab *transitions.Table) { event(tab, "evidence_noted").To = "uncertain" }), nil, "I8", ""},
	{"a dead end", deadEnd(), limits(calm, small), "I7", ""},
	{"a way out that only the lease holder has", held("submit_lapsed"), limits(calm, small), "I7", ""},
	{"nobody gives up a delivery that kills its deliverers", held("deliver_exhausted"), limits(calm, small), "I7", ""},
}
