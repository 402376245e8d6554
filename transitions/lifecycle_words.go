package transitions

// The phases of the standard lifecycle.
const (
	Prepared   = "prepared"
	Submitting = "submitting"
	Submitted  = "submitted"
	Observing  = "observing"
	Terminal   = "terminal"
	Delivering = "delivering"
	Uncertain  = "uncertain"
)

// The actions of the standard lifecycle.
const (
	Dispatch    = "dispatch"
	Observe     = "observe"
	Deliver     = "deliver"
	Investigate = "investigate"
	Review      = "review"
)

// The parameters that guards and effects speak of; their names are those of the command line's documents.
var (
	pID          = Param("operation_id", Text)
	pOwner       = Param("owner", Text)
	pRevision    = Param("revision", Int)
	pEvidenceSeq = Param("evidence_seq", Int)
	pTTL         = Param("ttl_ms", Int)
	pDelay       = Param("delay_ms", Int)
	pRemoteJobID = Param("remote_job_id", Text)
	pKeep        = Param("keep", Text)
	pSnapshot    = Param("snapshot", Bytes)
	pReason      = Param("reason", Text)
	pReviewer    = Param("reviewer", Text)
	pObjectKey   = Param("object_key", Text)
	pSHA256      = Param("object_sha256", Text)
	pObjectBytes = Param("object_bytes", Int)
	pProof       = Param("proof", Text)
	pOverride    = Param("override", Bool)
	pRequest     = Param("request", Bytes)
	pKind        = Param("kind", Text)
	pProvider    = Param("provider", Text)
	pAccount     = Param("account", Text)
	pRaw         = Param("raw", Bytes)
)

// The guards of the fences. The live lease and the vacant one both judge by the clock after the lock was had.
var (
	gOwner        = Guard{"owner", Eq(Col("lease_owner"), pOwner), "the lease is held by this claim's owner"}
	gRevision     = Guard{"revision", Eq(Col("revision"), pRevision), "the row has the revision that was bound or looked at"}
	gLeaseLive    = Guard{"lease_live", Lt(Now(), Col("lease_until")), "the lease has not ended"}
	gLeaseVacant  = Guard{"lease_vacant", Or(IsNull(Col("lease_until")), Le(Col("lease_until"), Now())), "there is no lease, or it has ended"}
	gEvidenceSeq  = Guard{"evidence_seq", Eq(Col("evidence_seq"), pEvidenceSeq), "the evidence is what was looked at"}
	gProvider     = Guard{"provider", Eq(Col("provider"), pProvider), "the operation is this provider's"}
	gAccount      = Guard{"account", Eq(Col("account"), pAccount), "the operation is this account's"}
	gRemoteJob    = Guard{"remote_job_id", Eq(Col("remote_job_id"), pRemoteJobID), "the row holds this remote job id"}
	fenceVacant   = []Guard{gLeaseVacant}
	fenceHeld     = []Guard{gOwner, gRevision, gLeaseLive}
	fenceLapsed   = []Guard{gLeaseVacant}
	fenceSeen     = []Guard{gRevision, gEvidenceSeq, gLeaseVacant}
	fenceNoticed  = []Guard{gEvidenceSeq}
	fenceRemote   = []Guard{gProvider, gAccount, gRemoteJob}
	guardsOfFence = map[Fence][]Guard{
		Open: nil, Vacant: fenceVacant, Held: fenceHeld, Lapsed: fenceLapsed,
		Seen: fenceSeen, Noticed: fenceNoticed, Remote: fenceRemote,
	}
)

// The further guards.
var (
	gDue            = Guard{"due", Le(Col("due_at"), Now()), "the schedule says that it is time"}
	gNotAsked       = Guard{"cancel_not_asked", IsNull(Col("cancel_requested_at")), "nobody asked to cancel"}
	gAsked          = Guard{"cancel_asked", NotNull(Col("cancel_requested_at")), "somebody asked to cancel"}
	gNoMark         = Guard{"no_mark", Not(marked), "no mark waits for a reviewer"}
	gMarked         = Guard{"marked", marked, "a mark waits for a reviewer"}
	gNoLateID       = Guard{"no_late_remote_job_id", IsNull(Col("late_remote_job_id")), "no id came to light outside the fence"}
	gLateID         = Guard{"late_remote_job_id", NotNull(Col("late_remote_job_id")), "an id came to light outside the fence"}
	gRecalled       = Guard{"recalled", Or(NotNull(Col("late_remote_job_id")), marked), "a late id or a mark came to light"}
	gNoID           = Guard{"no_remote_job_id", IsNull(Col("remote_job_id")), "the row holds no remote job id"}
	gIDGiven        = Guard{"remote_job_id_usable", Usable(pRemoteJobID), "the given remote job id is not blank"}
	gIDFree         = Guard{"remote_job_id_free", Not(Taken(pRemoteJobID)), "no other operation of the provider and account holds the given id"}
	gLateFree       = Guard{"remote_job_id_free", Not(Taken(Col("late_remote_job_id"))), "no other operation of the provider and account holds the late id"}
	gIDKnown        = Guard{"remote_job_id_known", Usable(Col("remote_job_id")), "the row holds a remote job id that is not blank"}
	gIDBlank        = Guard{"remote_job_id_blank", Not(Usable(Col("remote_job_id"))), "the row holds no usable remote job id"}
	gProof          = Guard{"proof", In(pProof, "not_sent", "refused"), "there is proof that nothing was created"}
	gGraceOver      = Guard{"not_found_grace_over", Or(IsNull(Col("not_found_until")), Le(Col("not_found_until"), Now())), "a new job would be readable by now"}
	gOverdue        = Guard{"observe_deadline_passed", Le(Col("observe_deadline"), Now()), "it was observed long enough"}
	gSucceeded      = Guard{"outcome_succeeded", Eq(Col("outcome"), Str("succeeded")), "there is a result to deliver"}
	gAttemptsLeft   = Guard{"delivery_attempts_left", Lt(Col("delivery_attempts"), Col("delivery_attempts_max")), "delivery may be begun again"}
	gNoAttemptsLeft = Guard{"no_delivery_attempts_left", Not(Lt(Col("delivery_attempts"), Col("delivery_attempts_max"))), "delivery was begun often enough"}
	gObjectKey      = Guard{"object_key", Not(Blank(pObjectKey)), "the object's key is given"}
	gDeliveryEnded  = Guard{"delivery_ended", In(Col("delivery"), "failed", "delivered"), "the delivery failed, or its file may be gone"}
	gReviewer       = Guard{"reviewer", Not(Blank(pReviewer)), "the reviewer is named"}
	gReason         = Guard{"reason", Not(Blank(pReason)), "the reason is given"}
	gQuarantine     = Guard{"quarantine_over", Or(IsNull(Col("quarantine_until")), Le(Col("quarantine_until"), Now()), Eq(pOverride, Yes())), "an old sender can send no longer, or the risk is taken by name"}
	gIDNotBlank     = Guard{"operation_id", Not(Blank(pID)), "the operation's id is not blank"}
	gRedoable       = Guard{"outcome_redoable", In(Col("outcome"), "failed", "rejected", "abandoned"), "it ended without a result"}
	gFinished       = Guard{"finished", IsNull(Col("next_action")), "nothing is left to do"}
	gRedoProof      = Guard{"redo_proof", Or(Ne(Col("outcome"), Str("abandoned")), And(IsNull(Col("remote_job_id")), Or(IsNull(Col("quarantine_until")), Le(Col("quarantine_until"), Now()), Eq(pOverride, Yes())))), "an abandoned one has no remote job and its quarantine is over"}

	marked = Or(Col("duplicate_suspected"), Col("outcome_contradicted"))
)

func gAction(action string) Guard {
	return Guard{"next_action", Eq(Col("next_action"), Str(action)), "the work that comes next is to " + action}
}

// claim is every claim's further guards: the claim names its worker's provider and account and takes no other's.
func claim(action string, more ...Guard) []Guard {
	return append([]Guard{gAction(action), gDue, gProvider, gAccount}, more...)
}

// The effects on the lease.
var (
	take    = Effect{"take lease, bump", []Set{{"lease_owner", pOwner}, {"lease_until", After(Now(), pTTL)}, {"revision", bumped}}}
	bump    = Effect{"clear lease, bump", []Set{{"lease_owner", Null()}, {"lease_until", Null()}, {"revision", bumped}}}
	release = Effect{"release", []Set{{"lease_owner", Null()}, {"lease_until", Null()}}}
	extend  = Effect{"extend lease", []Set{{"lease_until", Greatest(Col("lease_until"), After(Now(), pTTL))}}}

	bumped = Plus(Col("revision"), Num(1))
	later  = After(Now(), Coalesce(pDelay, Num(0)))
)

// The effects on the schedule.
var (
	dueLater    = Effect{"due later", []Set{{"due_at", later}}}
	deferred    = Effect{"due no earlier", []Set{{"due_at", Greatest(Col("due_at"), After(Now(), pDelay))}}}
	nothingDue  = Effect{"nothing due", []Set{{"next_action", Null()}, {"due_at", Null()}}}
	dispatchDue = Effect{"dispatch due", []Set{{"next_action", Str(Dispatch)}, {"due_at", later}}}
	deliveryDue = Effect{"deliver due", []Set{{"next_action", Str(Deliver)}, {"due_at", Now()}, {"delivery", Str("pending")}}}
	deliveryOff = Effect{"delivery failed", []Set{{"delivery", Str("failed")}, {"next_action", Null()}, {"due_at", Null()}}}
)

// ends stores how it ended. Delivery follows only a success that wants it.
func ends(outcome string) Effect {
	return Effect{"outcome " + outcome, []Set{
		{"outcome", Str(outcome)}, {"next_action", Null()}, {"due_at", Null()}, {"uncertain_reason", Null()},
	}}
}

// endsWithResult stores a success, and makes its delivery due if that is wanted.
var endsWithResult = Effect{"outcome succeeded, delivery if wanted", []Set{
	{"outcome", Str("succeeded")},
	{"delivery", If(Col("wants_delivery"), Str("pending"), Null())},
	{"next_action", If(Col("wants_delivery"), Str(Deliver), Null())},
	{"due_at", If(Col("wants_delivery"), Now(), Null())},
	{"uncertain_reason", Null()},
}}

var keepSnapshot = Effect{"snapshot", []Set{{"snapshot", Coalesce(pSnapshot, Col("snapshot"))}}}

// submittedAs stores a remote job id and starts the observation deadline and the not-found grace anew. A late id that
// is another than this one means that two remote jobs may exist.
func submittedAs(id Expr) Effect {
	return Effect{"store remote job id, observe due", []Set{
		{"remote_job_id", id},
		{"late_remote_job_id", If(Same(Col("late_remote_job_id"), id), Null(), Col("late_remote_job_id"))},
		{"duplicate_suspected", Or(Col("duplicate_suspected"), And(NotNull(Col("late_remote_job_id")), Not(Same(Col("late_remote_job_id"), id))))},
		{"next_action", Str(Observe)},
		{"due_at", later},
		{"observe_deadline", After(Now(), Col("observe_deadline_ms"))},
		{"not_found_until", After(Now(), Col("not_found_grace_ms"))},
		{"uncertain_reason", Null()},
		{"quarantine_until", Null()},
	}}
}

// doubted starts the quarantine, from the later of the lease's end and now, and asks the investigator or the
// reviewer. A late id is due at once: the reconciler attaches it.
func doubted(reason Expr) Effect {
	investigable := Col("can_investigate")
	return Effect{"uncertain", []Set{
		{"uncertain_reason", reason},
		{"quarantine_until", After(Greatest(Col("lease_until"), Now()), Col("quarantine_ms"))},
		{"next_action", If(investigable, Str(Investigate), Str(Review))},
		{"due_at", If(Or(investigable, NotNull(Col("late_remote_job_id"))), Now(), Null())},
	}}
}

// replaced keeps a remote job id that the event is about to replace.
var replaced = &EvidenceRow{
	When: And(NotNull(Col("remote_job_id")), Not(Same(Col("remote_job_id"), pRemoteJobID))),
	Kind: Str("replaced"), RemoteJobID: Col("remote_job_id"), Detail: Null(), Revision: Col("revision"), Owner: Null(),
}
