package hostile_test

import (
	"context"
	"errors"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// deed is an event in one of the forms in which it is sent.
type deed struct {
	event string
	form  transitions.Form
	phase string // in which the operation is before, with a lease on it; "" is no operation, "-" one that is prepared

	// fire sends it once through the store, and tells whether it was applied.
	fire func(ctx context.Context, w *wire, s subject) (applied bool, err error)

	// verb is what callers call, until it knows; nil where an unknown answer is simply given up.
	verb func(ctx context.Context, w *wire, s subject) error

	// count tells how often it landed.
	count func(d *database, s subject) int
}

// subject is the operation that a deed is done to.
type subject struct {
	id, provider string
	lease        *machine.Lease // nil before the first claim
}

var deeds = []deed{
	{"prepare", transitions.One, "", applies("prepare", preparing), nil, landsUnder("prepare")},
	{"prepare", persist.Many, "", preparesTwo, prepareAgain, landsUnder("prepare")},
	{"dispatch_claim", transitions.One, "-", applies("dispatch_claim", claiming), nil, takes},
	{"dispatch_claim", transitions.Batch, "-", takesBatch, nil, takes},
	{"submit_begin", transitions.One, transitions.Prepared, applies("submit_begin", nil), begin, landsUnder("submit_begin")},
	{claimAndBegin, transitions.One, "-", applies(claimAndBegin, claiming), takeAndBegin, begins},
	{"submit_accepted", transitions.One, transitions.Submitting, applies("submit_accepted", naming), accept, landsUnder("submit_accepted")},
	{acceptedAndClaim, transitions.One, transitions.Submitting, applies(acceptedAndClaim, namingThen), acceptAndTake, landsUnder("submit_accepted")},
	{"observe_succeeded", transitions.One, transitions.Observing, applies("observe_succeeded", nil), observe, landsUnder("observe_succeeded")},
	{succeededAndClaim, transitions.One, transitions.Observing, applies(succeededAndClaim, claimingThen), observeAndTake, landsUnder("observe_succeeded")},
	{"deliver_done", transitions.One, transitions.Delivering, applies("deliver_done", placing), deliver, landsUnder("deliver_done")},
	{"renew", persist.Many, transitions.Prepared, renewsTwo, nil, extends},
}

// Two events in one statement.
const (
	claimAndBegin     = "dispatch_claim+submit_begin"
	acceptedAndClaim  = "submit_accepted+observe_claim"
	succeededAndClaim = "observe_succeeded+deliver_claim"
)

func preparing(s subject) transitions.Params {
	return transitions.Params{
		"kind": transitions.TextValue("video"), "provider": transitions.TextValue(s.provider),
		"account": transitions.TextValue(""), "request": transitions.BytesValue(request(s.id, s.provider).Request),
	}
}

func claiming(s subject) transitions.Params { return whose("claimer", s.provider) }
func claimingThen(s subject) transitions.Params {
	then := transitions.Params{}
	for name, v := range claiming(s) {
		then["then_"+name] = v
	}
	return then
}
func namingThen(s subject) transitions.Params { return merged(naming(s), claimingThen(s)) }
func naming(s subject) transitions.Params     { return text("remote_job_id", "job-"+s.id) }
func placing(s subject) transitions.Params    { return text("object_key", s.id+".mp4") }

// params are a deed's for one of its operations: under the lease, if there is one.
func params(s subject, more func(subject) transitions.Params) transitions.Params {
	p := text("operation_id", s.id)
	if s.lease != nil {
		p = fence(s.lease)
	}
	if more == nil {
		return p
	}
	return merged(p, more(s))
}

func applies(event string, more func(subject) transitions.Params) func(context.Context, *wire, subject) (bool, error) {
	return func(ctx context.Context, w *wire, s subject) (bool, error) {
		a, err := w.store.Apply(ctx, event, params(s, more))
		return a.Applied, err
	}
}

// second is a further operation for the statements that are about several.
func (s subject) second() subject { return subject{s.id + "-2", s.provider, nil} }

func preparesTwo(ctx context.Context, w *wire, s subject) (bool, error) {
	a, err := w.store.ApplyMany(ctx, "prepare", []transitions.Params{params(s, preparing), params(s.second(), preparing)})
	return err == nil && a[0].Applied, err
}

func renewsTwo(ctx context.Context, w *wire, s subject) (bool, error) {
	nobody := merged(fence(s.lease), text("operation_id", "nobody"))
	a, err := w.store.ApplyMany(ctx, "renew", []transitions.Params{
		merged(fence(s.lease), num("ttl_ms", 3_600_000)), merged(nobody, num("ttl_ms", 3_600_000)),
	})
	return err == nil && a[0].Applied, err
}

func takesBatch(ctx context.Context, w *wire, s subject) (bool, error) {
	rows, err := w.store.Take(ctx, "dispatch_claim", merged(claiming(s), num("limit", 5)))
	return len(rows) == 1, err
}

// prepareAgain does what callers do: it is called again where it may have landed, and where it was given up before it was
// sent, as on a machine too busy to begin a session.
func prepareAgain(ctx context.Context, w *wire, s subject) error {
	for {
		_, err := w.engine.PrepareMany(ctx, []machine.Request{request(s.id, s.provider), request(s.second().id, s.provider)})
		givenUp := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
		if !machine.IsUnknown(err) && !givenUp {
			return err
		}
	}
}

func begin(ctx context.Context, w *wire, s subject) error {
	_, err := w.engine.Begin(ctx, s.lease)
	return err
}

func takeAndBegin(ctx context.Context, w *wire, s subject) error {
	_, err := w.engine.ClaimAndBegin(ctx, machine.Operation{OperationID: s.id}, machine.Who{Provider: s.provider})
	return err
}

func acceptAndTake(ctx context.Context, w *wire, s subject) error {
	_, _, err := w.engine.AcceptedAndClaim(ctx, s.lease, "job-"+s.id, nil, machine.Who{Provider: s.provider})
	return err
}

func observeAndTake(ctx context.Context, w *wire, s subject) error {
	_, _, err := w.engine.SucceededAndClaim(ctx, s.lease, nil, "", machine.Who{Provider: s.provider})
	return err
}

func accept(ctx context.Context, w *wire, s subject) error {
	_, err := w.engine.Accepted(ctx, s.lease, "job-"+s.id, nil, 0)
	return err
}

func observe(ctx context.Context, w *wire, s subject) error {
	_, err := w.engine.Observed(ctx, s.lease, "succeeded", nil, "")
	return err
}

func deliver(ctx context.Context, w *wire, s subject) error {
	_, err := w.engine.Delivered(ctx, s.lease, s.id+".mp4", "", 1)
	return err
}

// landsUnder counts an event in history, under the lease's revision.
func landsUnder(event string) func(*database, subject) int {
	return func(d *database, s subject) int {
		var revision int64
		if s.lease != nil {
			revision = s.lease.Revision
		}
		return d.landed(s.id, event, revision)
	}
}

func takes(d *database, s subject) int { return d.landed(s.id, "dispatch_claim", 1) }

func begins(d *database, s subject) int { return d.landed(s.id, "submit_begin", 1) }

// extends counts a renewal, which leaves no history, by the lease's end.
func extends(d *database, s subject) int {
	if d.op(s.id).LeaseUntil.After(s.lease.Operation.LeaseUntil) {
		return 1
	}
	return 0
}

// stage makes the operation that a deed is done to.
func (d *database) stage(deed deed, id string) subject {
	d.Helper()
	s := subject{id: id, provider: "for " + id}
	switch deed.phase {
	case "":
	case "-":
		d.prepared(s.id, s.provider)
	default:
		s.lease = d.at(deed.phase, s.id, s.provider)
	}
	return s
}
