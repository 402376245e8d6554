package transitions

import "slices"

// Standard is the standard lifecycle: one external side effect that costs money, cannot be undone and takes no
// idempotency key. This declaration is the only place that says what moves an operation.
func Standard() Table {
	return Table{
		Name:     "standard",
		Columns:  StandardColumns(),
		Phases:   slices.Clone(standardPhases),
		Actions:  slices.Clone(standardActions),
		Outcomes: []string{"succeeded", "failed", "canceled", "rejected", "abandoned"},
		Reasons: []string{"no_response", "missing_remote_id", "unclear_answer", "remote_id_taken", "remote_not_found",
			"overdue", "shutdown", "panic", "unclassified"},
		Events: standardEvents(),
		Joined: []Joined{
			{First: "dispatch_claim", Then: "submit_begin", Doc: "takes the operation and makes the intent to send durable at once: for whoever sends without a further look"},
			{First: "submit_accepted", Then: "observe_claim", Doc: "stores the remote's job and goes on to read its status: for who carries an operation through alone, or whose remote has done its work when it answers"},
			{First: "observe_succeeded", Then: "deliver_claim", Doc: "stores the success and goes on to bring the result home: for an observer that delivers too"},
		},
	}
}

var standardPhases = []Phase{
	{Name: Prepared, Restless: true, Action: Dispatch, Sendable: true, True: "the request is stored; nothing has been sent", Lapse: "safe: another dispatcher may claim"},
	{Name: Submitting, Restless: true, Action: Dispatch, Effecting: true, True: "the intent to send is durable; the request may be on the wire", Lapse: "not safe: only to uncertain"},
	{Name: Submitted, Restless: true, True: "the remote accepted; a remote job id is stored", Lapse: "–"},
	{Name: Observing, Restless: true, Action: Observe, True: "a worker has begun to read the remote status", Lapse: "safe: reads repeat freely"},
	{Name: Terminal, HasOutcome: true, True: "the outcome is known and stored, and never changes again", Lapse: "–"},
	{Name: Delivering, Restless: true, Action: Deliver, HasOutcome: true, True: "the result is being copied to its place", Lapse: "safe: the key is deterministic and inspected first"},
	{Name: Uncertain, Action: Investigate, True: "nobody here can know whether the remote side effect exists", Lapse: "safe: looking changes nothing"},
}

var standardActions = []Action{
	{Name: Dispatch, By: "dispatcher", Doc: "send the request"},
	{Name: Observe, By: "observer", Doc: "read the remote status"},
	{Name: Deliver, By: "deliverer", Doc: "bring the result home"},
	{Name: Investigate, By: "investigator", Doc: "look for the remote job of an uncertain operation"},
	{Name: Review, Doc: "a person decides"},
}

var (
	inFlight   = []string{Submitted, Observing}
	unfinished = []string{Submitted, Observing, Uncertain}
	lapse      = Str("no_response")
)

func standardEvents() []Event {
	fx := func(e ...Effect) []Effect { return e }
	gs := func(g ...Guard) []Guard { return g }
	on := func(p ...string) []string { return p }
	why := Notes{Reason: pReason}
	decision := Notes{Reason: pReason, Reviewer: pReviewer}
	found := Notes{Reason: pReason, Evidence: replaced}
	attach := Notes{Reason: pReason, Reviewer: pReviewer, Evidence: replaced}
	sameSnapshot := Notes{Unless: []Expr{Or(IsNull(pSnapshot), Same(Col("snapshot"), pSnapshot))}}
	return []Event{
		{Name: "prepare", New: true, To: Prepared, Fence: Open, Guards: gs(gIDNotBlank), Effects: fx(stored), Actor: "caller", Doc: "stores the request byte for byte; the same id and request again give the existing row"},

		{Name: "dispatch_claim", From: on(Prepared), Fence: Vacant, Guards: claim(Dispatch, gNotAsked, gNoMark, gNoLateID), Effects: fx(take), Also: Batch, Actor: "dispatcher", Doc: "takes the operation in order to send its request"},
		{Name: "submit_begin", From: on(Prepared), To: Submitting, Fence: Held, Guards: gs(gNotAsked, gNoMark, gNoLateID), Effects: fx(begun), Actor: "dispatcher", Doc: "makes the intent to send durable before the first byte leaves"},
		{Name: "submit_accepted", From: on(Submitting), To: Submitted, Fence: Held, Guards: gs(gIDGiven, gIDFree), Effects: fx(submittedAs(pRemoteJobID), kept, release), Actor: "dispatcher", Doc: "the remote created a job and named it"},
		{Name: "submit_rejected", From: on(Submitting), To: Terminal, Fence: Held, Effects: fx(ends("rejected"), release), Notes: why, Actor: "dispatcher", Doc: "the remote created nothing and never will"},
		{Name: "submit_not_created", From: on(Submitting), To: Prepared, Fence: Held, Guards: gs(gProof), Effects: fx(dispatchDue, release), Notes: Notes{Reason: pProof}, Actor: "dispatcher", Doc: "there is proof that nothing was created; the next send needs a new claim"},
		{Name: "submit_unknown", From: on(Submitting), To: Uncertain, Fence: Held, Effects: fx(doubted(Coalesce(pReason, Str("unclassified"))), release), Notes: why, Actor: "dispatcher", Doc: "the request may have arrived, and no reliable answer came"},
		{Name: "submit_lapsed", From: on(Submitting), To: Uncertain, Fence: Lapsed, Effects: fx(doubted(lapse), bump), Notes: Notes{Reason: lapse}, Also: Sweep, Actor: "reconciler", Doc: "the sender is gone; what it sent nobody knows"},
		{Name: "evidence_recalled", From: on(Prepared), To: Uncertain, Fence: Lapsed, Guards: gs(gRecalled), Effects: fx(doubted(lapse), bump), Notes: Notes{Reason: lapse}, Also: Sweep, Actor: "reconciler", Doc: "what was believed not to exist may exist after all"},
		{Name: "remote_id_missing", From: inFlight, To: Uncertain, Fence: Lapsed, Guards: gs(gIDBlank), Effects: fx(doubted(Str("missing_remote_id")), bump), Notes: Notes{Reason: Str("missing_remote_id")}, Also: Sweep, Actor: "reconciler", Doc: "there is nothing to observe by, however that came about"},

		{Name: "observe_claim", From: inFlight, To: Observing, Fence: Vacant, Guards: claim(Observe, gIDKnown), Effects: fx(take), Also: Batch, Actor: "observer", Doc: "takes the operation in order to read its remote status"},
		{Name: "observe_pending", From: on(Observing), Fence: Held, Effects: fx(keepSnapshot, dueLater, release), Notes: sameSnapshot, Actor: "observer", Doc: "the remote job has not ended"},
		{Name: "observe_succeeded", From: on(Observing), To: Terminal, Fence: Held, Effects: fx(keepSnapshot, endsWithResult, release), Actor: "observer", Doc: "the remote job succeeded"},
		{Name: "observe_failed", From: on(Observing), To: Terminal, Fence: Held, Effects: fx(keepSnapshot, ends("failed"), release), Notes: why, Actor: "observer", Doc: "the remote job failed"},
		{Name: "observe_canceled", From: on(Observing), To: Terminal, Fence: Held, Effects: fx(keepSnapshot, ends("canceled"), release), Notes: why, Actor: "observer", Doc: "the remote job was canceled"},
		{Name: "observe_lost", From: on(Observing), To: Uncertain, Fence: Held, Guards: gs(gGraceOver), Effects: fx(keepSnapshot, doubted(Str("remote_not_found")), release), Notes: Notes{Reason: Str("remote_not_found")}, Actor: "observer", Doc: "the remote says that it has no such job, past its grace"},
		{Name: "observe_overdue", From: inFlight, To: Uncertain, Fence: Lapsed, Guards: gs(gOverdue), Effects: fx(doubted(Str("overdue")), bump), Notes: Notes{Reason: Str("overdue")}, Also: Sweep, Actor: "reconciler", Doc: "the job did not end within its time"},
		{Name: "notified_succeeded", From: unfinished, To: Terminal, Fence: Remote, Effects: fx(keepSnapshot, endsWithResult, bump), Actor: "webhook", Doc: "the remote says that its job succeeded"},
		{Name: "notified_failed", From: unfinished, To: Terminal, Fence: Remote, Effects: fx(keepSnapshot, ends("failed"), bump), Notes: why, Actor: "webhook", Doc: "the remote says that its job failed"},
		{Name: "notified_canceled", From: unfinished, To: Terminal, Fence: Remote, Effects: fx(keepSnapshot, ends("canceled"), bump), Notes: why, Actor: "webhook", Doc: "the remote says that its job was canceled"},

		{Name: "deliver_claim", From: on(Terminal, Delivering), To: Delivering, Fence: Vacant, Guards: claim(Deliver, gSucceeded, gAttemptsLeft), Effects: fx(take, deliveryBegun), Also: Batch, Actor: "deliverer", Doc: "takes the operation in order to bring its result home"},
		{Name: "deliver_done", From: on(Delivering), To: Terminal, Fence: Held, Guards: gs(gObjectKey), Effects: fx(delivered, nothingDue, release), Actor: "deliverer", Doc: "the result is in its place, whole"},
		{Name: "deliver_retry", From: on(Delivering), Fence: Held, Effects: fx(dueLater, release), Notes: why, Actor: "deliverer", Doc: "this delivery did not work; a later one may"},
		{Name: "deliver_failed", From: on(Delivering), To: Terminal, Fence: Held, Effects: fx(deliveryOff, release), Notes: why, Actor: "deliverer", Doc: "no further delivery is tried; the outcome stays"},
		{Name: "deliver_exhausted", From: on(Delivering), To: Terminal, Fence: Lapsed, Guards: gs(gNoAttemptsLeft), Effects: fx(deliveryOff, bump), Notes: Notes{Reason: Str("exhausted")}, Also: Sweep, Actor: "reconciler", Doc: "every deliverer died on it"},
		{Name: "redeliver", From: on(Terminal), Fence: Seen, Guards: gs(gDeliveryEnded), Effects: fx(deliveryDue, deliveryAnew, bump), Notes: decision, Actor: "operator", Doc: "delivers again, from the first attempt: what failed, or what was lost where it had been delivered to"},

		{Name: "cancel", From: on(Prepared), To: Terminal, Fence: Vacant, Guards: gs(gAsked, gNoMark, gNoLateID), Effects: fx(ends("canceled"), bump), Notes: why, Also: Sweep, Actor: "reconciler", Doc: "ends what was asked to be canceled before it was sent; where an earlier request may have created a job after all, evidence_recalled comes first"},
		{Name: "cancel_request", From: on(Prepared, Submitting, Submitted, Observing), Fence: Open, Guards: gs(gNotAsked), Effects: fx(cancelAsked), Notes: decision, Actor: "operator", Doc: "marks the row: a prepared one is not begun; for what was sent an observer asks the remote, whose status decides"},

		{Name: "investigate_claim", From: on(Uncertain), Fence: Vacant, Guards: claim(Investigate), Effects: fx(take), Also: Batch, Actor: "investigator", Doc: "takes the operation in order to look for its remote job"},
		{Name: "investigate_inconclusive", From: on(Uncertain), Fence: Held, Effects: fx(lookLater, release), Notes: why, Actor: "investigator", Doc: "nothing certain was found: later again, or a reviewer; never proof of absence"},
		{Name: "investigate_found", From: on(Uncertain), To: Submitted, Fence: Held, Guards: gs(gIDGiven, gIDFree), Effects: fx(submittedAs(pRemoteJobID), keptOfJob, counted, release), Notes: found, Actor: "investigator", Doc: "exactly one remote job is this operation's"},

		{Name: "evidence_noted", Fence: Open, Effects: fx(noted), Notes: Notes{Reason: pKind, Evidence: evidence}, Actor: "anybody", Doc: "appends evidence; never refused for ownership, moves nothing"},
		{Name: "evidence_attach", From: on(Uncertain), To: Submitted, Fence: Lapsed, Guards: gs(gNoID, gLateID, gNoMark, gLateFree), Effects: fx(submittedAs(Col("late_remote_job_id")), bump), Notes: Notes{Reason: Str("late answer")}, Also: Sweep, Actor: "reconciler", Doc: "the late answer named the job"},

		{Name: "review_attach", From: on(Uncertain), To: Submitted, Fence: Seen, Guards: gs(gIDGiven, gIDFree, gReviewer, gReason), Effects: fx(submittedAs(pRemoteJobID), keptOfJob, counted, bump), Notes: attach, Actor: "reviewer", Doc: "a person found the remote job"},
		{Name: "review_not_created", From: on(Uncertain), To: Prepared, Fence: Seen, Guards: gs(gReviewer, gReason, gNoID, gNoLateID, gQuarantine), Effects: fx(dispatchDue, sendable, bump), Notes: decision, Actor: "reviewer", Doc: "a person has proof that nothing was created: the only way back from uncertain to prepared"},
		{Name: "review_abandon", From: on(Uncertain), To: Terminal, Fence: Seen, Guards: gs(gReviewer, gReason), Effects: fx(ends("abandoned"), bump), Notes: decision, Actor: "reviewer", Doc: "a person gives it up; whether a remote job exists stays unknown"},
		{Name: "review_acknowledge", Fence: Noticed, Guards: gs(gMarked, gReviewer, gReason), Effects: fx(unmarked), Notes: decision, Actor: "reviewer", Doc: "a person has seen the marks"},
		{Name: "redo", From: on(Terminal), Fence: Open, Guards: gs(gRedoable, gFinished, gNoMark, gNoLateID, gReviewer, gReason, gRedoProof), Notes: decision, Actor: "operator", Doc: "allows a new operation with the same request; this one stays as it is"},

		{Name: "renew", From: on(Prepared, Submitting, Observing, Delivering, Uncertain), Fence: Held, Effects: fx(extend), Notes: Notes{Unless: []Expr{Yes()}}, Actor: "lease holder", Doc: "extends the lease, never shortens it"},
		{Name: "release", From: on(Prepared, Observing, Delivering, Uncertain), Fence: Held, Effects: fx(deferred, notDelivered, release), Notes: why, Actor: "lease holder", Doc: "gives the lease up; not while a request may be on the wire. A delivery that is given back used up no attempt"},
	}
}
