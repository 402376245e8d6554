package promela

import (
	"fmt"

	"github.com/fencerow/fencerow/transitions"
)

// Options bound a run, and say what its world is like. Every bound limits how much happens, never in which order.
type Options struct {
	Requests  int // submit_begin is stated until so many attempts were begun
	Revisions int // nothing that starts anew (a claim, a decision) is stated once the row has this revision
	Late      int // statements that land late, or for the second time, in the whole run; one at a time
	Evidence  int // evidence is noted until so much has been

	LeaseTicks      int // how long a lease lasts
	TransitTicks    int // how long a request may be on its way to the remote after it left the sender
	QuarantineTicks int // the row's quarantine_ms; one less than TransitTicks is enough, for a request leaves under a lease

	SameOwner      bool // every claim has the same owner string; else each worker has its own
	WantsDelivery  bool
	CanInvestigate bool
	Cancel         bool // somebody may ask to cancel
	Redone         bool // the operation repeats another's request, and that one may turn out to have a remote job
	IDElsewhere    bool // the remote gives the first job an id that another operation holds already
	Unreduced      bool // statements that can never apply any more are kept: many times the states for the same verdict

	// What a table cannot answer for. People may be wrong, and then there can be two remote jobs; all else must hold.
	Mistaken bool // reviewers overlook the remote's jobs
	Override bool // reviewers override the quarantine

	// What breaks the promise under every table: what workers and reviewers have to do for themselves.
	NoDeadline   bool // senders do not look at their own clock before the first byte
	LooksEarly   bool // reviewers look at the remote while the quarantine runs, and decide once it is over
	AssumesBegun bool // a sender whose submit_begin has no answer sends without asking history
}

// Standard is the bound of the long check: owner strings reused, which is the worst of worlds, and everything that may
// happen to an operation.
func Standard() Options {
	return Options{
		Requests: 2, Revisions: 6, Late: 2, Evidence: 2,
		LeaseTicks: 2, TransitTicks: 2, QuarantineTicks: 1,
		SameOwner: true, WantsDelivery: true, CanInvestigate: true, Cancel: true,
	}
}

// Small is a bound that is searched in seconds and that still has a second request, a late statement and a death at any
// moment in it.
func Small() Options {
	o := Standard()
	o.Revisions, o.Late, o.Evidence, o.LeaseTicks, o.Cancel = 4, 1, 1, 1, false
	return o
}

// stated are the events that the model's actors name. A table without one of them has another lifecycle, of which this
// package has no world.
var stated = []string{
	"prepare", "dispatch_claim", "submit_begin", "submit_accepted", "submit_rejected", "submit_not_created", "submit_unknown",
	"observe_claim", "observe_pending", "observe_succeeded", "observe_failed", "observe_canceled", "observe_lost",
	"notified_succeeded", "notified_failed", "notified_canceled",
	"deliver_claim", "deliver_done", "deliver_retry", "deliver_failed", "redeliver", "cancel_request",
	"investigate_claim", "investigate_inconclusive", "investigate_found", "evidence_noted",
	"review_attach", "review_not_created", "review_abandon", "review_acknowledge", "redo", "renew", "release",
}

// spoken are the words that the model's actors name.
var spoken = []string{
	"prepared", "submitting", "uncertain", "observing", "delivering", "terminal", "submitted",
	"accepted", "ended_succeeded", "ended_failed", "ended_canceled", "original_exists",
}

func (o Options) validate(p *transitions.Program) error {
	for _, n := range []struct {
		field    string
		value    int
		low, top int
	}{
		{"Requests", o.Requests, 1, 3}, {"Revisions", o.Revisions, 1, 40}, {"Late", o.Late, 0, 4}, {"Evidence", o.Evidence, 0, 8},
		{"LeaseTicks", o.LeaseTicks, 1, 8}, {"TransitTicks", o.TransitTicks, 1, 8}, {"QuarantineTicks", o.QuarantineTicks, 0, 8},
	} {
		if n.value < n.low || n.value > n.top {
			return fmt.Errorf("model table %s: Options.%s is %d; give %d to %d", p.Name, n.field, n.value, n.low, n.top)
		}
	}
	for _, event := range stated {
		if p.Rule(event) == nil {
			return fmt.Errorf("model table %s: it has no event %s, which the model's actors state; "+
				"only tables with the events of the standard lifecycle can be modelled", p.Name, event)
		}
	}
	return nil
}

// asked are the parameters that are constants of a run, as Promela.
func (o Options) asked() map[string]string {
	bit := func(b bool) string {
		if b {
			return "1"
		}
		return "0"
	}
	original := "null"
	if o.Redone {
		original = "said"
	}
	return map[string]string{
		"redo_of":      original,
		"operation_id": "said", "kind": "said", "provider": "said", "account": "said", "reviewer": "said", "reason": "said",
		"object_key": "said", "not_before": "null", "delay_ms": "0", "proof": "w_refused",
		"override": "(OVERRIDE -> 1 : 0)", "wants_delivery": bit(o.WantsDelivery), "can_investigate": bit(o.CanInvestigate),
		"ttl_ms": "LEASE", "quarantine_ms": fmt.Sprint(o.QuarantineTicks),
		"observe_deadline_ms": "0", "not_found_grace_ms": "0", "delivery_attempts_max": "1",
	}
}

// String says the bound in words, as reports and the model's first lines do.
func (o Options) String() string {
	s := fmt.Sprintf("2 workers, %d requests begun, claims and decisions up to revision %d, %d statements late or twice, %d notes of evidence",
		o.Requests, o.Revisions, o.Late, o.Evidence)
	if o.SameOwner {
		s += ", owner strings reused"
	}
	return s
}
