package transitions

// The effects of single events, in the order of the table.
var (
	stored = Effect{"store the request", append(storedAsGiven(),
		Set{"operation_id", pID},
		Set{"request", pRequest},
		Set{"kind", pKind},
		Set{"provider", Coalesce(pProvider, pKind)},
		Set{"account", Coalesce(pAccount, Str(""))},
		Set{"next_action", Str(Dispatch)},
		Set{"not_before", Param("not_before", Time)},
		Set{"due_at", Greatest(Now(), Param("not_before", Time))},
		Set{"redo_of", Param("redo_of", Text)},
		Set{"observe_deadline_ms", Param("observe_deadline_ms", Int)},
		Set{"created_at", Now()},
	)}
	begun = Effect{"attempt begun", []Set{
		{"attempts", Plus(Col("attempts"), Num(1))}, {"submitted_at", Now()}, {"next_action", Null()}, {"due_at", Null()},
	}}
	kept          = Effect{"keep values", []Set{{"keep", Coalesce(pKeep, Col("keep"))}}}
	keptOfJob     = Effect{"keep values of the same job", []Set{{"keep", Coalesce(pKeep, If(Same(keptFor, pRemoteJobID), Col("keep"), Null()))}}}
	deliveryBegun = Effect{"delivery begun", []Set{{"delivery_attempts", Plus(Col("delivery_attempts"), Num(1))}}}
	// A delivery that is given back was not tried: a shutdown uses up none of its attempts.
	notDelivered = Effect{"delivery not tried", []Set{{"delivery_attempts", If(Eq(Col("phase"), Str(Delivering)),
		Greatest(Plus(Col("delivery_attempts"), Num(-1)), Num(0)), Col("delivery_attempts"))}}}
	delivered    = Effect{"delivered", []Set{{"delivery", Str("delivered")}, {"object_key", pObjectKey}, {"object_sha256", pSHA256}, {"object_bytes", pObjectBytes}}}
	deliveryAnew = Effect{"delivery attempts from 0", []Set{{"delivery_attempts", Num(0)}}}

	// A prepared operation is made due, so that the reconciler ends it soon; it is not begun any more.
	cancelAsked = Effect{"cancel asked", []Set{
		{"cancel_requested_at", Now()},
		{"due_at", If(Eq(Col("phase"), Str(Prepared)), Least(Col("due_at"), Now()), Col("due_at"))},
	}}
	lookLater = Effect{"investigate later, or review", []Set{
		{"next_action", If(IsNull(pDelay), Str(Review), Str(Investigate))},
		{"due_at", If(NotNull(Col("late_remote_job_id")), Now(), After(Now(), pDelay))},
	}}
	counted  = Effect{"count evidence", []Set{{"evidence_seq", If(replaced.When, Plus(Col("evidence_seq"), Num(1)), Col("evidence_seq"))}}}
	sendable = Effect{"may be sent again", []Set{
		{"uncertain_reason", Null()}, {"quarantine_until", Null()},
		{"not_created_revision", bumped}, {"not_created_attempts", Col("attempts")},
	}}
	// Kept values belong to one remote job: an address of the job that is replaced would tell of that job for ever.
	keptFor  = Coalesce(Col("remote_job_id"), Col("late_remote_job_id"))
	unmarked = Effect{"clear marks", []Set{{"duplicate_suspected", No()}, {"outcome_contradicted", No()}}}
)

// storedAsGiven takes what prepare may leave out: the column's default stands in.
func storedAsGiven() []Set {
	names := []struct {
		name string
		kind Kind
	}{
		{"priority", Int}, {"wants_delivery", Bool}, {"can_investigate", Bool}, {"not_found_grace_ms", Int},
		{"quarantine_ms", Int}, {"delivery_attempts_max", Int},
	}
	defaults := map[string]Value{}
	for _, c := range StandardColumns() {
		defaults[c.Name] = c.Default
	}
	var sets []Set
	for _, n := range names {
		sets = append(sets, Set{n.name, Coalesce(Param(n.name, n.kind), Expr{Op: OpLit, Value: defaults[n.name]})})
	}
	return sets
}

// evidence is what evidence_noted appends: whatever it is.
var evidence = &EvidenceRow{
	When: Yes(), Kind: pKind, RemoteJobID: pRemoteJobID, Detail: pRaw, Revision: pRevision, Owner: pOwner,
}

// An id that the row does not hold is news, whoever brings it.
var (
	isAccepted = And(Eq(pKind, Str("accepted")), Usable(pRemoteJobID))
	newsOfID   = And(isAccepted, Not(Same(Col("remote_job_id"), pRemoteJobID)))
	// The operation whose request this one repeats has a remote job after all.
	isOriginal = And(Eq(pKind, Str("original_exists")), NotNull(Col("redo_of")))
	// Two ids are known; or the request was sent again on a reviewer's word, and this id is not known to be the
	// later request's; or it is sent under two names.
	isSecond = Or(isOriginal, And(newsOfID, Or(
		Ne(Col("late_remote_job_id"), pRemoteJobID),
		NotNull(Col("remote_job_id")),
		And(Lt(Col("not_created_attempts"), Col("attempts")), Or(IsNull(pRevision), Lt(pRevision, Col("not_created_revision")))),
	)))
	// The remote tells of an end that is not the outcome, or of a job where an end says that there is none or that nobody
	// knows of one.
	isContradiction = Or(
		And(Eq(pKind, Str("ended_succeeded")), Ne(Col("outcome"), Str("succeeded"))),
		And(Eq(pKind, Str("ended_failed")), Ne(Col("outcome"), Str("failed"))),
		And(Eq(pKind, Str("ended_canceled")), Ne(Col("outcome"), Str("canceled"))),
		And(isAccepted, In(Col("outcome"), "rejected", "canceled", "abandoned"), IsNull(Col("remote_job_id"))),
	)
)

// noted notes the fact on the row, so that every guard stays a guard over one locked row. A row on which the
// reconciler has now something to do is made due.
var noted = Effect{"note evidence", []Set{
	{"evidence_seq", Plus(Col("evidence_seq"), Num(1))},
	{"late_remote_job_id", If(And(newsOfID, IsNull(Col("late_remote_job_id"))), pRemoteJobID, Col("late_remote_job_id"))},
	{"keep", If(And(isAccepted, Or(IsNull(Col("late_remote_job_id")), Eq(Col("late_remote_job_id"), pRemoteJobID)), IsNull(Col("remote_job_id")), IsNull(Col("keep"))), pKeep, Col("keep"))},
	{"duplicate_suspected", Or(Col("duplicate_suspected"), Coalesce(isSecond, No()))},
	{"outcome_contradicted", Or(Col("outcome_contradicted"), Coalesce(isContradiction, No()))},
	{"due_at", If(And(Or(newsOfID, isOriginal), In(Col("phase"), Prepared, Uncertain)), Least(Col("due_at"), Now()), Col("due_at"))},
}}
