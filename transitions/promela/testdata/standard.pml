/* The table "standard" as a Promela model of one operation. Made from the compiled table: do not edit.
   2 workers, 2 requests begun, claims and decisions up to revision 6, 2 statements late or twice, 2 notes of evidence, owner strings reused */

/* bounds, and what the world is like */
#define REQUESTS 2
#define REVISIONS 6
#define LATE 2
#define EVIDENCE 2
#define LEASE 2
#define TRANSIT 2
#define SAME_OWNER true
#define CANCEL true
#define REDONE false
#define elsewhere null
#define OVERRIDE false
#define NO_DEADLINE false
#define MISTAKEN false
#define LOOKS_EARLY false
#define ASSUMES_BEGUN false

/* values: null, now (0 is also every time that has passed), texts, remote job ids from 1 */
#define null 255
#define now 0
#define blank 18
#define said 19
#define w_prepared 20
#define w_submitting 21
#define w_uncertain 22
#define w_observing 23
#define w_delivering 24
#define w_terminal 25
#define w_submitted 26
#define w_accepted 27
#define w_ended_succeeded 28
#define w_ended_failed 29
#define w_ended_canceled 30
#define w_original_exists 31
#define w_dispatch 32
#define w_observe 33
#define w_rejected 34
#define w_not_sent 35
#define w_refused 36
#define w_investigate 37
#define w_review 38
#define w_deliver 39
#define w_succeeded 40
#define w_pending 41
#define w_failed 42
#define w_canceled 43
#define w_delivered 44
#define w_abandoned 45

/* events */
#define EVENTS 40
#define ev_prepare 1
#define ev_dispatch_claim 2
#define ev_submit_begin 3
#define ev_submit_accepted 4
#define ev_submit_rejected 5
#define ev_submit_not_created 6
#define ev_submit_unknown 7
#define ev_submit_lapsed 8
#define ev_evidence_recalled 9
#define ev_remote_id_missing 10
#define ev_observe_claim 11
#define ev_observe_pending 12
#define ev_observe_succeeded 13
#define ev_observe_failed 14
#define ev_observe_canceled 15
#define ev_observe_lost 16
#define ev_observe_overdue 17
#define ev_notified_succeeded 18
#define ev_notified_failed 19
#define ev_notified_canceled 20
#define ev_deliver_claim 21
#define ev_deliver_done 22
#define ev_deliver_retry 23
#define ev_deliver_failed 24
#define ev_deliver_exhausted 25
#define ev_redeliver 26
#define ev_cancel 27
#define ev_cancel_request 28
#define ev_investigate_claim 29
#define ev_investigate_inconclusive 30
#define ev_investigate_found 31
#define ev_evidence_noted 32
#define ev_evidence_attach 33
#define ev_review_attach 34
#define ev_review_not_created 35
#define ev_review_abandon 36
#define ev_review_acknowledge 37
#define ev_redo 38
#define ev_renew 39
#define ev_release 40

/* what every statement is given alike */
#define asked_account said
#define asked_can_investigate 1
#define asked_delay_ms 0
#define asked_delivery_attempts_max 1
#define asked_kind said
#define asked_not_before null
#define asked_not_found_grace_ms 0
#define asked_object_key said
#define asked_observe_deadline_ms 0
#define asked_operation_id said
#define asked_override (OVERRIDE -> 1 : 0)
#define asked_proof w_refused
#define asked_provider said
#define asked_quarantine_ms 1
#define asked_reason said
#define asked_redo_of null
#define asked_reviewer said
#define asked_ttl_ms LEASE
#define asked_wants_delivery 1

/* columns that no event changes after the first */
#define fixed_provider (asked_provider != null -> asked_provider : asked_kind)
#define fixed_account (asked_account != null -> asked_account : blank)
#define fixed_wants_delivery (asked_wants_delivery != null -> asked_wants_delivery : 0)
#define fixed_can_investigate (asked_can_investigate != null -> asked_can_investigate : 0)
#define fixed_redo_of asked_redo_of
#define fixed_observe_deadline_ms asked_observe_deadline_ms
#define fixed_not_found_grace_ms (asked_not_found_grace_ms != null -> asked_not_found_grace_ms : 254)
#define fixed_quarantine_ms (asked_quarantine_ms != null -> asked_quarantine_ms : 254)
#define fixed_delivery_attempts_max (asked_delivery_attempts_max != null -> asked_delivery_attempts_max : 8)

/* scratch, meaningless between two steps */
#ifdef BREADTH
#define SCRATCH
#else
#define SCRATCH hidden
#endif

/* the invariants; each is asserted where it could break */
SCRATCH byte I1_requests_within_proofs,
	I1_one_remote_job,
	I1_no_proof_against_a_known_job,
	I2_sent_under_its_own_claim,
	I3_outcome_never_changes,
	I3_no_snapshot_after_the_outcome,
	I4_nothing_under_a_dead_lease,
	I5_no_blank_remote_job_id,
	I5_nothing_blank_is_observed,
	I6_no_other_way_from_uncertain_to_prepared,
	I6_no_other_way_from_submitting_to_prepared,
	I6_not_created_under_the_senders_lease,
	I7_a_way_out_without_the_dead,
	I8_evidence_is_never_refused,
	I8_evidence_moves_nothing;

/* the row: the columns on which a guard depends */
typedef Row {
	byte phase; /* where the operation is in its life */
	byte next_action; /* the work that comes next; null if none is due */
	byte remote_job_id; /* the remote's id of its job, byte for byte */
	byte late_remote_job_id; /* an id that came to light outside the fence */
	byte evidence_seq; /* counts the evidence, so that a decider can name what was seen */
	byte lease_owner; /* the token of the claim that holds the operation */
	byte lease_until; /* when the lease ends, by the database's wall clock */
	byte revision; /* changes on every claim and takeover; what fences */
	byte due_at; /* when the next work is due; null if none is */
	byte attempts; /* how often sending was begun */
	byte delivery_attempts; /* how often delivery was begun */
	byte outcome; /* how it ended; set once and never changed */
	byte delivery; /* the result's own way home, apart from the outcome */
	byte quarantine_until; /* until then an old sender might still send */
	byte observe_deadline; /* observed no longer than this */
	byte not_found_until; /* until then a remote that knows no such job may only be slow */
	byte cancel_requested_at; /* when somebody asked to cancel */
	byte duplicate_suspected; /* a mark: two remote jobs may exist */
	byte outcome_contradicted; /* a mark: the remote says otherwise than the outcome */
	byte not_created_revision; /* the revision of the last review_not_created */
	byte not_created_attempts; /* the attempts that it was decided about */
}

typedef Given {
	byte owner;
	byte revision;
	byte evidence_seq;
	byte remote_job_id;
	byte kind;
	byte holds /* the truth: whether the lease that the row has is the stating claim's */
}
SCRATCH Row next, kept;
SCRATCH Given given;
SCRATCH byte applied;

Row row;

/* before the first event: every column's default */
inline blank_row()
{
	row.phase = null;
	row.next_action = null;
	row.remote_job_id = null;
	row.late_remote_job_id = null;
	row.evidence_seq = 0;
	row.lease_owner = null;
	row.lease_until = null;
	row.revision = 0;
	row.due_at = null;
	row.attempts = 0;
	row.delivery_attempts = 0;
	row.outcome = null;
	row.delivery = null;
	row.quarantine_until = null;
	row.observe_deadline = null;
	row.not_found_until = null;
	row.cancel_requested_at = null;
	row.duplicate_suspected = 0;
	row.outcome_contradicted = 0;
	row.not_created_revision = null;
	row.not_created_attempts = null;
	skip
}

inline keep_row()
{
	kept.phase = row.phase;
	kept.next_action = row.next_action;
	kept.remote_job_id = row.remote_job_id;
	kept.late_remote_job_id = row.late_remote_job_id;
	kept.evidence_seq = row.evidence_seq;
	kept.lease_owner = row.lease_owner;
	kept.lease_until = row.lease_until;
	kept.revision = row.revision;
	kept.due_at = row.due_at;
	kept.attempts = row.attempts;
	kept.delivery_attempts = row.delivery_attempts;
	kept.outcome = row.outcome;
	kept.delivery = row.delivery;
	kept.quarantine_until = row.quarantine_until;
	kept.observe_deadline = row.observe_deadline;
	kept.not_found_until = row.not_found_until;
	kept.cancel_requested_at = row.cancel_requested_at;
	kept.duplicate_suspected = row.duplicate_suspected;
	kept.outcome_contradicted = row.outcome_contradicted;
	kept.not_created_revision = row.not_created_revision;
	kept.not_created_attempts = row.not_created_attempts;
	skip
}

inline restore_row()
{
	row.phase = kept.phase;
	row.next_action = kept.next_action;
	row.remote_job_id = kept.remote_job_id;
	row.late_remote_job_id = kept.late_remote_job_id;
	row.evidence_seq = kept.evidence_seq;
	row.lease_owner = kept.lease_owner;
	row.lease_until = kept.lease_until;
	row.revision = kept.revision;
	row.due_at = kept.due_at;
	row.attempts = kept.attempts;
	row.delivery_attempts = kept.delivery_attempts;
	row.outcome = kept.outcome;
	row.delivery = kept.delivery;
	row.quarantine_until = kept.quarantine_until;
	row.observe_deadline = kept.observe_deadline;
	row.not_found_until = kept.not_found_until;
	row.cancel_requested_at = kept.cancel_requested_at;
	row.duplicate_suspected = kept.duplicate_suspected;
	row.outcome_contradicted = kept.outcome_contradicted;
	row.not_created_revision = kept.not_created_revision;
	row.not_created_attempts = kept.not_created_attempts;
	kept.phase = 0;
	kept.next_action = 0;
	kept.remote_job_id = 0;
	kept.late_remote_job_id = 0;
	kept.evidence_seq = 0;
	kept.lease_owner = 0;
	kept.lease_until = 0;
	kept.revision = 0;
	kept.due_at = 0;
	kept.attempts = 0;
	kept.delivery_attempts = 0;
	kept.outcome = 0;
	kept.delivery = 0;
	kept.quarantine_until = 0;
	kept.observe_deadline = 0;
	kept.not_found_until = 0;
	kept.cancel_requested_at = 0;
	kept.duplicate_suspected = 0;
	kept.outcome_contradicted = 0;
	kept.not_created_revision = 0;
	kept.not_created_attempts = 0;
	skip
}

#ifdef BREADTH
inline wipe_scratch()
{
	next.phase = 0;
	next.next_action = 0;
	next.remote_job_id = 0;
	next.late_remote_job_id = 0;
	next.evidence_seq = 0;
	next.lease_owner = 0;
	next.lease_until = 0;
	next.revision = 0;
	next.due_at = 0;
	next.attempts = 0;
	next.delivery_attempts = 0;
	next.outcome = 0;
	next.delivery = 0;
	next.quarantine_until = 0;
	next.observe_deadline = 0;
	next.not_found_until = 0;
	next.cancel_requested_at = 0;
	next.duplicate_suspected = 0;
	next.outcome_contradicted = 0;
	next.not_created_revision = 0;
	next.not_created_attempts = 0;
	given.owner = 0;
	given.revision = 0;
	given.evidence_seq = 0;
	given.remote_job_id = 0;
	given.kind = 0;
	given.holds = 0;
	I1_requests_within_proofs = 0;
	I1_one_remote_job = 0;
	I1_no_proof_against_a_known_job = 0;
	I2_sent_under_its_own_claim = 0;
	I3_outcome_never_changes = 0;
	I3_no_snapshot_after_the_outcome = 0;
	I4_nothing_under_a_dead_lease = 0;
	I5_no_blank_remote_job_id = 0;
	I5_nothing_blank_is_observed = 0;
	I6_no_other_way_from_uncertain_to_prepared = 0;
	I6_no_other_way_from_submitting_to_prepared = 0;
	I6_not_created_under_the_senders_lease = 0;
	I7_a_way_out_without_the_dead = 0;
	I8_evidence_is_never_refused = 0;
	I8_evidence_moves_nothing = 0;
	applied = 0
}
#else
#define wipe_scratch() skip
#endif

/* the books: what is true whatever the row says */
byte posts;           /* requests that left a worker */
byte jobs;            /* jobs that the remote created; the n-th has the id n */
byte not_created;     /* submit_not_created and review_not_created that were applied */
byte begun_revision;  /* history: under which revision sending was last begun */

/* prepare: (new) -> prepared; fence –; by caller */
#define may_prepare (true \
	&& (asked_operation_id != null && asked_operation_id != blank) /* guard operation_id: not(blank(:operation_id)) */)
#define can_prepare (true \
	&& (asked_operation_id != null && asked_operation_id != blank))

inline fire_prepare()
{
	applied = 0;
	if
	:: may_prepare ->
		printf("prepare\n");
		next.phase = w_prepared; /* "prepared" */
		next.next_action = w_dispatch; /* "dispatch" */
		next.due_at = (asked_not_before == null || now > asked_not_before -> now : asked_not_before); /* greatest(now, :not_before) */
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.due_at = next.due_at;
		applied = 1;
		c_code { applied_count[1]++; };
	:: else
	fi
}

/* dispatch_claim: prepared -> same; fence vacant; by dispatcher */
#define may_dispatch_claim (true \
	&& (row.phase == w_prepared) /* guard phase: phase in ("prepared") */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& ((row.next_action != null) && row.next_action == w_dispatch) /* guard next_action: (next_action = "dispatch") */ \
	&& ((row.due_at != null) && row.due_at <= now) /* guard due: (due_at <= now) */ \
	&& ((asked_provider != null) && fixed_provider == asked_provider) /* guard provider: (provider = :provider) */ \
	&& ((asked_account != null) && fixed_account == asked_account) /* guard account: (account = :account) */ \
	&& (row.cancel_requested_at == null) /* guard cancel_not_asked: cancel_requested_at is null */ \
	&& ((row.duplicate_suspected == 0) && (row.outcome_contradicted == 0)) /* guard no_mark: not((duplicate_suspected or outcome_contradicted)) */ \
	&& (row.late_remote_job_id == null) /* guard no_late_remote_job_id: late_remote_job_id is null */)
#define can_dispatch_claim (true \
	&& (row.phase == w_prepared) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& ((row.next_action != null) && row.next_action == w_dispatch) \
	&& ((row.due_at != null) && row.due_at <= now) \
	&& ((asked_provider != null) && fixed_provider == asked_provider) \
	&& ((asked_account != null) && fixed_account == asked_account) \
	&& (row.cancel_requested_at == null) \
	&& ((row.duplicate_suspected == 0) && (row.outcome_contradicted == 0)) \
	&& (row.late_remote_job_id == null))

inline fire_dispatch_claim()
{
	applied = 0;
	if
	:: may_dispatch_claim ->
		printf("dispatch_claim\n");
		next.lease_owner = given.owner; /* :owner */
		next.lease_until = (((asked_ttl_ms == null)) -> null : now + asked_ttl_ms); /* after(now, :ttl_ms) */
		next.revision = (row.revision + 1); /* (revision + 1) */
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		nobody_holds();
		applied = 1;
		c_code { applied_count[2]++; };
	:: else
	fi
}

/* submit_begin: prepared -> submitting; fence held; by dispatcher */
#define may_submit_begin (true \
	&& (row.phase == w_prepared) /* guard phase: phase in ("prepared") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */ \
	&& (row.cancel_requested_at == null) /* guard cancel_not_asked: cancel_requested_at is null */ \
	&& ((row.duplicate_suspected == 0) && (row.outcome_contradicted == 0)) /* guard no_mark: not((duplicate_suspected or outcome_contradicted)) */ \
	&& (row.late_remote_job_id == null) /* guard no_late_remote_job_id: late_remote_job_id is null */)
#define can_submit_begin (true \
	&& (row.phase == w_prepared) \
	&& ((row.lease_until != null) && now < row.lease_until) \
	&& (row.cancel_requested_at == null) \
	&& ((row.duplicate_suspected == 0) && (row.outcome_contradicted == 0)) \
	&& (row.late_remote_job_id == null))

inline fire_submit_begin()
{
	applied = 0;
	if
	:: may_submit_begin ->
		printf("submit_begin\n");
		next.phase = w_submitting; /* "submitting" */
		next.next_action = null; /* null */
		next.due_at = null; /* null */
		next.attempts = (row.attempts + 1); /* (attempts + 1) */
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.due_at = next.due_at;
		row.attempts = next.attempts;
		begun_revision = row.revision;
		applied = 1;
		c_code { applied_count[3]++; };
	:: else
	fi
}

/* submit_accepted: submitting -> submitted; fence held; by dispatcher */
#define may_submit_accepted (true \
	&& (row.phase == w_submitting) /* guard phase: phase in ("submitting") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */ \
	&& (given.remote_job_id != null && given.remote_job_id != blank) /* guard remote_job_id_usable: usable(:remote_job_id) */ \
	&& (given.remote_job_id == null || given.remote_job_id != elsewhere) /* guard remote_job_id_free: not(taken(:remote_job_id)) */)
#define can_submit_accepted (true \
	&& (row.phase == w_submitting) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_submit_accepted()
{
	applied = 0;
	if
	:: may_submit_accepted ->
		printf("submit_accepted\n");
		next.phase = w_submitted; /* "submitted" */
		next.next_action = w_observe; /* "observe" */
		next.remote_job_id = given.remote_job_id; /* :remote_job_id */
		next.late_remote_job_id = ((row.late_remote_job_id == given.remote_job_id) -> null : row.late_remote_job_id); /* if(same(late_remote_job_id, :remote_job_id), null, late_remote_job_id) */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = (now + (asked_delay_ms != null -> asked_delay_ms : 0)); /* after(now, coalesce(:delay_ms, 0)) */
		next.quarantine_until = null; /* null */
		next.observe_deadline = (((fixed_observe_deadline_ms == null)) -> null : now + fixed_observe_deadline_ms); /* after(now, observe_deadline_ms) */
		next.not_found_until = (now + fixed_not_found_grace_ms); /* after(now, not_found_grace_ms) */
		next.duplicate_suspected = (((row.duplicate_suspected == 1) || ((row.late_remote_job_id != null) && (row.late_remote_job_id != given.remote_job_id))) -> 1 : 0); /* (duplicate_suspected or (late_remote_job_id is not null and not(same(late_remote_job_id, :remote_job_id)))) */
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I5_no_blank_remote_job_id = (next.remote_job_id != blank); assert(I5_no_blank_remote_job_id);
		I5_no_blank_remote_job_id = (next.late_remote_job_id != blank); assert(I5_no_blank_remote_job_id);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.remote_job_id = next.remote_job_id;
		row.late_remote_job_id = next.late_remote_job_id;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		row.quarantine_until = next.quarantine_until;
		row.observe_deadline = next.observe_deadline;
		row.not_found_until = next.not_found_until;
		row.duplicate_suspected = next.duplicate_suspected;
		nobody_holds();
		applied = 1;
		c_code { applied_count[4]++; };
	:: else
	fi
}

/* submit_rejected: submitting -> terminal; fence held; by dispatcher */
#define may_submit_rejected (true \
	&& (row.phase == w_submitting) /* guard phase: phase in ("submitting") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */)
#define can_submit_rejected (true \
	&& (row.phase == w_submitting) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_submit_rejected()
{
	applied = 0;
	if
	:: may_submit_rejected ->
		printf("submit_rejected\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = null; /* null */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = null; /* null */
		next.outcome = w_rejected; /* "rejected" */
		I3_outcome_never_changes = (row.outcome == null || next.outcome == row.outcome); assert(I3_outcome_never_changes);
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		row.outcome = next.outcome;
		nobody_holds();
		applied = 1;
		c_code { applied_count[5]++; };
	:: else
	fi
}

/* submit_not_created: submitting -> prepared; fence held; by dispatcher */
#define may_submit_not_created (true \
	&& (row.phase == w_submitting) /* guard phase: phase in ("submitting") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */ \
	&& (asked_proof == w_not_sent || asked_proof == w_refused) /* guard proof: :proof in ("not_sent", "refused") */)
#define can_submit_not_created (true \
	&& (row.phase == w_submitting) \
	&& ((row.lease_until != null) && now < row.lease_until) \
	&& (asked_proof == w_not_sent || asked_proof == w_refused))

inline fire_submit_not_created()
{
	applied = 0;
	if
	:: may_submit_not_created ->
		printf("submit_not_created\n");
		next.phase = w_prepared; /* "prepared" */
		next.next_action = w_dispatch; /* "dispatch" */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = (now + (asked_delay_ms != null -> asked_delay_ms : 0)); /* after(now, coalesce(:delay_ms, 0)) */
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		nobody_holds();
		not_created++;
		applied = 1;
		c_code { applied_count[6]++; };
	:: else
	fi
}

/* submit_unknown: submitting -> uncertain; fence held; by dispatcher */
#define may_submit_unknown (true \
	&& (row.phase == w_submitting) /* guard phase: phase in ("submitting") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */)
#define can_submit_unknown (true \
	&& (row.phase == w_submitting) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_submit_unknown()
{
	applied = 0;
	if
	:: may_submit_unknown ->
		printf("submit_unknown\n");
		next.phase = w_uncertain; /* "uncertain" */
		next.next_action = ((fixed_can_investigate == 1) -> w_investigate : w_review); /* if(can_investigate, "investigate", "review") */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = (((fixed_can_investigate == 1) || (row.late_remote_job_id != null)) -> now : null); /* if((can_investigate or late_remote_job_id is not null), now, null) */
		next.quarantine_until = ((row.lease_until == null -> now : (row.lease_until > now -> row.lease_until : now)) + fixed_quarantine_ms); /* after(greatest(lease_until, now), quarantine_ms) */
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		row.quarantine_until = next.quarantine_until;
		nobody_holds();
		applied = 1;
		c_code { applied_count[7]++; };
	:: else
	fi
}

/* submit_lapsed: submitting -> uncertain; fence lapsed; by reconciler */
#define may_submit_lapsed (true \
	&& (row.phase == w_submitting) /* guard phase: phase in ("submitting") */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */)
#define can_submit_lapsed (true \
	&& (row.phase == w_submitting) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)))

inline fire_submit_lapsed()
{
	applied = 0;
	if
	:: may_submit_lapsed ->
		printf("submit_lapsed\n");
		next.phase = w_uncertain; /* "uncertain" */
		next.next_action = ((fixed_can_investigate == 1) -> w_investigate : w_review); /* if(can_investigate, "investigate", "review") */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = (((fixed_can_investigate == 1) || (row.late_remote_job_id != null)) -> now : null); /* if((can_investigate or late_remote_job_id is not null), now, null) */
		next.quarantine_until = ((row.lease_until == null -> now : (row.lease_until > now -> row.lease_until : now)) + fixed_quarantine_ms); /* after(greatest(lease_until, now), quarantine_ms) */
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.quarantine_until = next.quarantine_until;
		nobody_holds();
		applied = 1;
		c_code { applied_count[8]++; };
	:: else
	fi
}

/* evidence_recalled: prepared -> uncertain; fence lapsed; by reconciler */
#define may_evidence_recalled (true \
	&& (row.phase == w_prepared) /* guard phase: phase in ("prepared") */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& ((row.late_remote_job_id != null) || ((row.duplicate_suspected == 1) || (row.outcome_contradicted == 1))) /* guard recalled: (late_remote_job_id is not null or (duplicate_suspected or outcome_contradicted)) */)
#define can_evidence_recalled (true \
	&& (row.phase == w_prepared) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& ((row.late_remote_job_id != null) || ((row.duplicate_suspected == 1) || (row.outcome_contradicted == 1))))

inline fire_evidence_recalled()
{
	applied = 0;
	if
	:: may_evidence_recalled ->
		printf("evidence_recalled\n");
		next.phase = w_uncertain; /* "uncertain" */
		next.next_action = ((fixed_can_investigate == 1) -> w_investigate : w_review); /* if(can_investigate, "investigate", "review") */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = (((fixed_can_investigate == 1) || (row.late_remote_job_id != null)) -> now : null); /* if((can_investigate or late_remote_job_id is not null), now, null) */
		next.quarantine_until = ((row.lease_until == null -> now : (row.lease_until > now -> row.lease_until : now)) + fixed_quarantine_ms); /* after(greatest(lease_until, now), quarantine_ms) */
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.quarantine_until = next.quarantine_until;
		nobody_holds();
		applied = 1;
		c_code { applied_count[9]++; };
	:: else
	fi
}

/* remote_id_missing: submitted, observing -> uncertain; fence lapsed; by reconciler */
#define may_remote_id_missing (true \
	&& (row.phase == w_submitted || row.phase == w_observing) /* guard phase: phase in ("submitted", "observing") */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& (row.remote_job_id == null || row.remote_job_id == blank) /* guard remote_job_id_blank: not(usable(remote_job_id)) */)
#define can_remote_id_missing (true \
	&& (row.phase == w_submitted || row.phase == w_observing) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& (row.remote_job_id == null || row.remote_job_id == blank))

inline fire_remote_id_missing()
{
	applied = 0;
	if
	:: may_remote_id_missing ->
		printf("remote_id_missing\n");
		next.phase = w_uncertain; /* "uncertain" */
		next.next_action = ((fixed_can_investigate == 1) -> w_investigate : w_review); /* if(can_investigate, "investigate", "review") */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = (((fixed_can_investigate == 1) || (row.late_remote_job_id != null)) -> now : null); /* if((can_investigate or late_remote_job_id is not null), now, null) */
		next.quarantine_until = ((row.lease_until == null -> now : (row.lease_until > now -> row.lease_until : now)) + fixed_quarantine_ms); /* after(greatest(lease_until, now), quarantine_ms) */
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.quarantine_until = next.quarantine_until;
		nobody_holds();
		applied = 1;
		c_code { applied_count[10]++; };
	:: else
	fi
}

/* observe_claim: submitted, observing -> observing; fence vacant; by observer */
#define may_observe_claim (true \
	&& (row.phase == w_submitted || row.phase == w_observing) /* guard phase: phase in ("submitted", "observing") */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& ((row.next_action != null) && row.next_action == w_observe) /* guard next_action: (next_action = "observe") */ \
	&& ((row.due_at != null) && row.due_at <= now) /* guard due: (due_at <= now) */ \
	&& ((asked_provider != null) && fixed_provider == asked_provider) /* guard provider: (provider = :provider) */ \
	&& ((asked_account != null) && fixed_account == asked_account) /* guard account: (account = :account) */ \
	&& (row.remote_job_id != null && row.remote_job_id != blank) /* guard remote_job_id_known: usable(remote_job_id) */)
#define can_observe_claim (true \
	&& (row.phase == w_submitted || row.phase == w_observing) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& ((row.next_action != null) && row.next_action == w_observe) \
	&& ((row.due_at != null) && row.due_at <= now) \
	&& ((asked_provider != null) && fixed_provider == asked_provider) \
	&& ((asked_account != null) && fixed_account == asked_account) \
	&& (row.remote_job_id != null && row.remote_job_id != blank))

inline fire_observe_claim()
{
	applied = 0;
	if
	:: may_observe_claim ->
		printf("observe_claim\n");
		next.phase = w_observing; /* "observing" */
		next.lease_owner = given.owner; /* :owner */
		next.lease_until = (((asked_ttl_ms == null)) -> null : now + asked_ttl_ms); /* after(now, :ttl_ms) */
		next.revision = (row.revision + 1); /* (revision + 1) */
		I5_nothing_blank_is_observed = (row.remote_job_id != null && row.remote_job_id != blank); assert(I5_nothing_blank_is_observed);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		nobody_holds();
		applied = 1;
		c_code { applied_count[11]++; };
	:: else
	fi
}

/* observe_pending: observing -> same; fence held; by observer */
#define may_observe_pending (true \
	&& (row.phase == w_observing) /* guard phase: phase in ("observing") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */)
#define can_observe_pending (true \
	&& (row.phase == w_observing) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_observe_pending()
{
	applied = 0;
	if
	:: may_observe_pending ->
		printf("observe_pending\n");
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = (now + (asked_delay_ms != null -> asked_delay_ms : 0)); /* after(now, coalesce(:delay_ms, 0)) */
		I3_no_snapshot_after_the_outcome = (row.outcome == null); assert(I3_no_snapshot_after_the_outcome);
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		nobody_holds();
		applied = 1;
		c_code { applied_count[12]++; };
	:: else
	fi
}

/* observe_succeeded: observing -> terminal; fence held; by observer */
#define may_observe_succeeded (true \
	&& (row.phase == w_observing) /* guard phase: phase in ("observing") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */)
#define can_observe_succeeded (true \
	&& (row.phase == w_observing) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_observe_succeeded()
{
	applied = 0;
	if
	:: may_observe_succeeded ->
		printf("observe_succeeded\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = ((fixed_wants_delivery == 1) -> w_deliver : null); /* if(wants_delivery, "deliver", null) */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = ((fixed_wants_delivery == 1) -> now : null); /* if(wants_delivery, now, null) */
		next.outcome = w_succeeded; /* "succeeded" */
		next.delivery = ((fixed_wants_delivery == 1) -> w_pending : null); /* if(wants_delivery, "pending", null) */
		I3_outcome_never_changes = (row.outcome == null || next.outcome == row.outcome); assert(I3_outcome_never_changes);
		I3_no_snapshot_after_the_outcome = (row.outcome == null); assert(I3_no_snapshot_after_the_outcome);
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		row.outcome = next.outcome;
		row.delivery = next.delivery;
		nobody_holds();
		applied = 1;
		c_code { applied_count[13]++; };
	:: else
	fi
}

/* observe_failed: observing -> terminal; fence held; by observer */
#define may_observe_failed (true \
	&& (row.phase == w_observing) /* guard phase: phase in ("observing") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */)
#define can_observe_failed (true \
	&& (row.phase == w_observing) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_observe_failed()
{
	applied = 0;
	if
	:: may_observe_failed ->
		printf("observe_failed\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = null; /* null */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = null; /* null */
		next.outcome = w_failed; /* "failed" */
		I3_outcome_never_changes = (row.outcome == null || next.outcome == row.outcome); assert(I3_outcome_never_changes);
		I3_no_snapshot_after_the_outcome = (row.outcome == null); assert(I3_no_snapshot_after_the_outcome);
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		row.outcome = next.outcome;
		nobody_holds();
		applied = 1;
		c_code { applied_count[14]++; };
	:: else
	fi
}

/* observe_canceled: observing -> terminal; fence held; by observer */
#define may_observe_canceled (true \
	&& (row.phase == w_observing) /* guard phase: phase in ("observing") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */)
#define can_observe_canceled (true \
	&& (row.phase == w_observing) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_observe_canceled()
{
	applied = 0;
	if
	:: may_observe_canceled ->
		printf("observe_canceled\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = null; /* null */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = null; /* null */
		next.outcome = w_canceled; /* "canceled" */
		I3_outcome_never_changes = (row.outcome == null || next.outcome == row.outcome); assert(I3_outcome_never_changes);
		I3_no_snapshot_after_the_outcome = (row.outcome == null); assert(I3_no_snapshot_after_the_outcome);
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		row.outcome = next.outcome;
		nobody_holds();
		applied = 1;
		c_code { applied_count[15]++; };
	:: else
	fi
}

/* observe_lost: observing -> uncertain; fence held; by observer */
#define may_observe_lost (true \
	&& (row.phase == w_observing) /* guard phase: phase in ("observing") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */ \
	&& ((row.not_found_until == null) || ((row.not_found_until != null) && row.not_found_until <= now)) /* guard not_found_grace_over: (not_found_until is null or (not_found_until <= now)) */)
#define can_observe_lost (true \
	&& (row.phase == w_observing) \
	&& ((row.lease_until != null) && now < row.lease_until) \
	&& ((row.not_found_until == null) || ((row.not_found_until != null) && row.not_found_until <= now)))

inline fire_observe_lost()
{
	applied = 0;
	if
	:: may_observe_lost ->
		printf("observe_lost\n");
		next.phase = w_uncertain; /* "uncertain" */
		next.next_action = ((fixed_can_investigate == 1) -> w_investigate : w_review); /* if(can_investigate, "investigate", "review") */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = (((fixed_can_investigate == 1) || (row.late_remote_job_id != null)) -> now : null); /* if((can_investigate or late_remote_job_id is not null), now, null) */
		next.quarantine_until = ((row.lease_until == null -> now : (row.lease_until > now -> row.lease_until : now)) + fixed_quarantine_ms); /* after(greatest(lease_until, now), quarantine_ms) */
		I3_no_snapshot_after_the_outcome = (row.outcome == null); assert(I3_no_snapshot_after_the_outcome);
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		row.quarantine_until = next.quarantine_until;
		nobody_holds();
		applied = 1;
		c_code { applied_count[16]++; };
	:: else
	fi
}

/* observe_overdue: submitted, observing -> uncertain; fence lapsed; by reconciler */
#define may_observe_overdue (true \
	&& (row.phase == w_submitted || row.phase == w_observing) /* guard phase: phase in ("submitted", "observing") */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& ((row.observe_deadline != null) && row.observe_deadline <= now) /* guard observe_deadline_passed: (observe_deadline <= now) */)
#define can_observe_overdue (true \
	&& (row.phase == w_submitted || row.phase == w_observing) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& ((row.observe_deadline != null) && row.observe_deadline <= now))

inline fire_observe_overdue()
{
	applied = 0;
	if
	:: may_observe_overdue ->
		printf("observe_overdue\n");
		next.phase = w_uncertain; /* "uncertain" */
		next.next_action = ((fixed_can_investigate == 1) -> w_investigate : w_review); /* if(can_investigate, "investigate", "review") */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = (((fixed_can_investigate == 1) || (row.late_remote_job_id != null)) -> now : null); /* if((can_investigate or late_remote_job_id is not null), now, null) */
		next.quarantine_until = ((row.lease_until == null -> now : (row.lease_until > now -> row.lease_until : now)) + fixed_quarantine_ms); /* after(greatest(lease_until, now), quarantine_ms) */
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.quarantine_until = next.quarantine_until;
		nobody_holds();
		applied = 1;
		c_code { applied_count[17]++; };
	:: else
	fi
}

/* notified_succeeded: submitted, observing, uncertain -> terminal; fence remote; by webhook */
#define may_notified_succeeded (true \
	&& (row.phase == w_submitted || row.phase == w_observing || row.phase == w_uncertain) /* guard phase: phase in ("submitted", "observing", "uncertain") */ \
	&& ((asked_provider != null) && fixed_provider == asked_provider) /* guard provider: (provider = :provider) */ \
	&& ((asked_account != null) && fixed_account == asked_account) /* guard account: (account = :account) */ \
	&& ((given.remote_job_id != null) && (row.remote_job_id != null) && row.remote_job_id == given.remote_job_id) /* guard remote_job_id: (remote_job_id = :remote_job_id) */)
#define can_notified_succeeded (true \
	&& (row.phase == w_submitted || row.phase == w_observing || row.phase == w_uncertain) \
	&& ((asked_provider != null) && fixed_provider == asked_provider) \
	&& ((asked_account != null) && fixed_account == asked_account))

inline fire_notified_succeeded()
{
	applied = 0;
	if
	:: may_notified_succeeded ->
		printf("notified_succeeded\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = ((fixed_wants_delivery == 1) -> w_deliver : null); /* if(wants_delivery, "deliver", null) */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = ((fixed_wants_delivery == 1) -> now : null); /* if(wants_delivery, now, null) */
		next.outcome = w_succeeded; /* "succeeded" */
		next.delivery = ((fixed_wants_delivery == 1) -> w_pending : null); /* if(wants_delivery, "pending", null) */
		I3_outcome_never_changes = (row.outcome == null || next.outcome == row.outcome); assert(I3_outcome_never_changes);
		I3_no_snapshot_after_the_outcome = (row.outcome == null); assert(I3_no_snapshot_after_the_outcome);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.outcome = next.outcome;
		row.delivery = next.delivery;
		nobody_holds();
		applied = 1;
		c_code { applied_count[18]++; };
	:: else
	fi
}

/* notified_failed: submitted, observing, uncertain -> terminal; fence remote; by webhook */
#define may_notified_failed (true \
	&& (row.phase == w_submitted || row.phase == w_observing || row.phase == w_uncertain) /* guard phase: phase in ("submitted", "observing", "uncertain") */ \
	&& ((asked_provider != null) && fixed_provider == asked_provider) /* guard provider: (provider = :provider) */ \
	&& ((asked_account != null) && fixed_account == asked_account) /* guard account: (account = :account) */ \
	&& ((given.remote_job_id != null) && (row.remote_job_id != null) && row.remote_job_id == given.remote_job_id) /* guard remote_job_id: (remote_job_id = :remote_job_id) */)
#define can_notified_failed (true \
	&& (row.phase == w_submitted || row.phase == w_observing || row.phase == w_uncertain) \
	&& ((asked_provider != null) && fixed_provider == asked_provider) \
	&& ((asked_account != null) && fixed_account == asked_account))

inline fire_notified_failed()
{
	applied = 0;
	if
	:: may_notified_failed ->
		printf("notified_failed\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = null; /* null */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = null; /* null */
		next.outcome = w_failed; /* "failed" */
		I3_outcome_never_changes = (row.outcome == null || next.outcome == row.outcome); assert(I3_outcome_never_changes);
		I3_no_snapshot_after_the_outcome = (row.outcome == null); assert(I3_no_snapshot_after_the_outcome);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.outcome = next.outcome;
		nobody_holds();
		applied = 1;
		c_code { applied_count[19]++; };
	:: else
	fi
}

/* notified_canceled: submitted, observing, uncertain -> terminal; fence remote; by webhook */
#define may_notified_canceled (true \
	&& (row.phase == w_submitted || row.phase == w_observing || row.phase == w_uncertain) /* guard phase: phase in ("submitted", "observing", "uncertain") */ \
	&& ((asked_provider != null) && fixed_provider == asked_provider) /* guard provider: (provider = :provider) */ \
	&& ((asked_account != null) && fixed_account == asked_account) /* guard account: (account = :account) */ \
	&& ((given.remote_job_id != null) && (row.remote_job_id != null) && row.remote_job_id == given.remote_job_id) /* guard remote_job_id: (remote_job_id = :remote_job_id) */)
#define can_notified_canceled (true \
	&& (row.phase == w_submitted || row.phase == w_observing || row.phase == w_uncertain) \
	&& ((asked_provider != null) && fixed_provider == asked_provider) \
	&& ((asked_account != null) && fixed_account == asked_account))

inline fire_notified_canceled()
{
	applied = 0;
	if
	:: may_notified_canceled ->
		printf("notified_canceled\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = null; /* null */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = null; /* null */
		next.outcome = w_canceled; /* "canceled" */
		I3_outcome_never_changes = (row.outcome == null || next.outcome == row.outcome); assert(I3_outcome_never_changes);
		I3_no_snapshot_after_the_outcome = (row.outcome == null); assert(I3_no_snapshot_after_the_outcome);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.outcome = next.outcome;
		nobody_holds();
		applied = 1;
		c_code { applied_count[20]++; };
	:: else
	fi
}

/* deliver_claim: terminal, delivering -> delivering; fence vacant; by deliverer */
#define may_deliver_claim (true \
	&& (row.phase == w_terminal || row.phase == w_delivering) /* guard phase: phase in ("terminal", "delivering") */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& ((row.next_action != null) && row.next_action == w_deliver) /* guard next_action: (next_action = "deliver") */ \
	&& ((row.due_at != null) && row.due_at <= now) /* guard due: (due_at <= now) */ \
	&& ((asked_provider != null) && fixed_provider == asked_provider) /* guard provider: (provider = :provider) */ \
	&& ((asked_account != null) && fixed_account == asked_account) /* guard account: (account = :account) */ \
	&& ((row.outcome != null) && row.outcome == w_succeeded) /* guard outcome_succeeded: (outcome = "succeeded") */ \
	&& (row.delivery_attempts < fixed_delivery_attempts_max) /* guard delivery_attempts_left: (delivery_attempts < delivery_attempts_max) */)
#define can_deliver_claim (true \
	&& (row.phase == w_terminal || row.phase == w_delivering) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& ((row.next_action != null) && row.next_action == w_deliver) \
	&& ((row.due_at != null) && row.due_at <= now) \
	&& ((asked_provider != null) && fixed_provider == asked_provider) \
	&& ((asked_account != null) && fixed_account == asked_account) \
	&& ((row.outcome != null) && row.outcome == w_succeeded) \
	&& (row.delivery_attempts < fixed_delivery_attempts_max))

inline fire_deliver_claim()
{
	applied = 0;
	if
	:: may_deliver_claim ->
		printf("deliver_claim\n");
		next.phase = w_delivering; /* "delivering" */
		next.lease_owner = given.owner; /* :owner */
		next.lease_until = (((asked_ttl_ms == null)) -> null : now + asked_ttl_ms); /* after(now, :ttl_ms) */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.delivery_attempts = (row.delivery_attempts + 1); /* (delivery_attempts + 1) */
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.delivery_attempts = next.delivery_attempts;
		nobody_holds();
		applied = 1;
		c_code { applied_count[21]++; };
	:: else
	fi
}

/* deliver_done: delivering -> terminal; fence held; by deliverer */
#define may_deliver_done (true \
	&& (row.phase == w_delivering) /* guard phase: phase in ("delivering") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */ \
	&& (asked_object_key != null && asked_object_key != blank) /* guard object_key: not(blank(:object_key)) */)
#define can_deliver_done (true \
	&& (row.phase == w_delivering) \
	&& ((row.lease_until != null) && now < row.lease_until) \
	&& (asked_object_key != null && asked_object_key != blank))

inline fire_deliver_done()
{
	applied = 0;
	if
	:: may_deliver_done ->
		printf("deliver_done\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = null; /* null */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = null; /* null */
		next.delivery = w_delivered; /* "delivered" */
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		row.delivery = next.delivery;
		nobody_holds();
		applied = 1;
		c_code { applied_count[22]++; };
	:: else
	fi
}

/* deliver_retry: delivering -> same; fence held; by deliverer */
#define may_deliver_retry (true \
	&& (row.phase == w_delivering) /* guard phase: phase in ("delivering") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */)
#define can_deliver_retry (true \
	&& (row.phase == w_delivering) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_deliver_retry()
{
	applied = 0;
	if
	:: may_deliver_retry ->
		printf("deliver_retry\n");
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = (now + (asked_delay_ms != null -> asked_delay_ms : 0)); /* after(now, coalesce(:delay_ms, 0)) */
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		nobody_holds();
		applied = 1;
		c_code { applied_count[23]++; };
	:: else
	fi
}

/* deliver_failed: delivering -> terminal; fence held; by deliverer */
#define may_deliver_failed (true \
	&& (row.phase == w_delivering) /* guard phase: phase in ("delivering") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */)
#define can_deliver_failed (true \
	&& (row.phase == w_delivering) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_deliver_failed()
{
	applied = 0;
	if
	:: may_deliver_failed ->
		printf("deliver_failed\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = null; /* null */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = null; /* null */
		next.delivery = w_failed; /* "failed" */
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		row.delivery = next.delivery;
		nobody_holds();
		applied = 1;
		c_code { applied_count[24]++; };
	:: else
	fi
}

/* deliver_exhausted: delivering -> terminal; fence lapsed; by reconciler */
#define may_deliver_exhausted (true \
	&& (row.phase == w_delivering) /* guard phase: phase in ("delivering") */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& (row.delivery_attempts >= fixed_delivery_attempts_max) /* guard no_delivery_attempts_left: not((delivery_attempts < delivery_attempts_max)) */)
#define can_deliver_exhausted (true \
	&& (row.phase == w_delivering) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& (row.delivery_attempts >= fixed_delivery_attempts_max))

inline fire_deliver_exhausted()
{
	applied = 0;
	if
	:: may_deliver_exhausted ->
		printf("deliver_exhausted\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = null; /* null */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = null; /* null */
		next.delivery = w_failed; /* "failed" */
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.delivery = next.delivery;
		nobody_holds();
		applied = 1;
		c_code { applied_count[25]++; };
	:: else
	fi
}

/* redeliver: terminal -> same; fence seen; by operator */
#define may_redeliver (true \
	&& (row.phase == w_terminal) /* guard phase: phase in ("terminal") */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((given.evidence_seq != null) && row.evidence_seq == given.evidence_seq) /* guard evidence_seq: (evidence_seq = :evidence_seq) */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& (row.delivery == w_failed || row.delivery == w_delivered) /* guard delivery_ended: delivery in ("failed", "delivered") */)
#define can_redeliver (true \
	&& (row.phase == w_terminal) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& (row.delivery == w_failed || row.delivery == w_delivered))

inline fire_redeliver()
{
	applied = 0;
	if
	:: may_redeliver ->
		printf("redeliver\n");
		next.next_action = w_deliver; /* "deliver" */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = now; /* now */
		next.delivery_attempts = 0; /* 0 */
		next.delivery = w_pending; /* "pending" */
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.delivery_attempts = next.delivery_attempts;
		row.delivery = next.delivery;
		nobody_holds();
		applied = 1;
		c_code { applied_count[26]++; };
	:: else
	fi
}

/* cancel: prepared -> terminal; fence vacant; by reconciler */
#define may_cancel (true \
	&& (row.phase == w_prepared) /* guard phase: phase in ("prepared") */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& (row.cancel_requested_at != null) /* guard cancel_asked: cancel_requested_at is not null */ \
	&& ((row.duplicate_suspected == 0) && (row.outcome_contradicted == 0)) /* guard no_mark: not((duplicate_suspected or outcome_contradicted)) */ \
	&& (row.late_remote_job_id == null) /* guard no_late_remote_job_id: late_remote_job_id is null */)
#define can_cancel (true \
	&& (row.phase == w_prepared) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& (row.cancel_requested_at != null) \
	&& ((row.duplicate_suspected == 0) && (row.outcome_contradicted == 0)) \
	&& (row.late_remote_job_id == null))

inline fire_cancel()
{
	applied = 0;
	if
	:: may_cancel ->
		printf("cancel\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = null; /* null */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = null; /* null */
		next.outcome = w_canceled; /* "canceled" */
		I3_outcome_never_changes = (row.outcome == null || next.outcome == row.outcome); assert(I3_outcome_never_changes);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.outcome = next.outcome;
		nobody_holds();
		applied = 1;
		c_code { applied_count[27]++; };
	:: else
	fi
}

/* cancel_request: prepared, submitting, submitted, observing -> same; fence –; by operator */
#define may_cancel_request (true \
	&& (row.phase == w_prepared || row.phase == w_submitting || row.phase == w_submitted || row.phase == w_observing) /* guard phase: phase in ("prepared", "submitting", "submitted", "observing") */ \
	&& (row.cancel_requested_at == null) /* guard cancel_not_asked: cancel_requested_at is null */)
#define can_cancel_request (true \
	&& (row.phase == w_prepared || row.phase == w_submitting || row.phase == w_submitted || row.phase == w_observing) \
	&& (row.cancel_requested_at == null))

inline fire_cancel_request()
{
	applied = 0;
	if
	:: may_cancel_request ->
		printf("cancel_request\n");
		next.due_at = ((row.phase == w_prepared) -> (row.due_at == null -> now : (row.due_at < now -> row.due_at : now)) : row.due_at); /* if((phase = "prepared"), least(due_at, now), due_at) */
		next.cancel_requested_at = now; /* now */
		row.due_at = next.due_at;
		row.cancel_requested_at = next.cancel_requested_at;
		applied = 1;
		c_code { applied_count[28]++; };
	:: else
	fi
}

/* investigate_claim: uncertain -> same; fence vacant; by investigator */
#define may_investigate_claim (true \
	&& (row.phase == w_uncertain) /* guard phase: phase in ("uncertain") */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& ((row.next_action != null) && row.next_action == w_investigate) /* guard next_action: (next_action = "investigate") */ \
	&& ((row.due_at != null) && row.due_at <= now) /* guard due: (due_at <= now) */ \
	&& ((asked_provider != null) && fixed_provider == asked_provider) /* guard provider: (provider = :provider) */ \
	&& ((asked_account != null) && fixed_account == asked_account) /* guard account: (account = :account) */)
#define can_investigate_claim (true \
	&& (row.phase == w_uncertain) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& ((row.next_action != null) && row.next_action == w_investigate) \
	&& ((row.due_at != null) && row.due_at <= now) \
	&& ((asked_provider != null) && fixed_provider == asked_provider) \
	&& ((asked_account != null) && fixed_account == asked_account))

inline fire_investigate_claim()
{
	applied = 0;
	if
	:: may_investigate_claim ->
		printf("investigate_claim\n");
		next.lease_owner = given.owner; /* :owner */
		next.lease_until = (((asked_ttl_ms == null)) -> null : now + asked_ttl_ms); /* after(now, :ttl_ms) */
		next.revision = (row.revision + 1); /* (revision + 1) */
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		nobody_holds();
		applied = 1;
		c_code { applied_count[29]++; };
	:: else
	fi
}

/* investigate_inconclusive: uncertain -> same; fence held; by investigator */
#define may_investigate_inconclusive (true \
	&& (row.phase == w_uncertain) /* guard phase: phase in ("uncertain") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */)
#define can_investigate_inconclusive (true \
	&& (row.phase == w_uncertain) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_investigate_inconclusive()
{
	applied = 0;
	if
	:: may_investigate_inconclusive ->
		printf("investigate_inconclusive\n");
		next.next_action = ((asked_delay_ms == null) -> w_review : w_investigate); /* if(:delay_ms is null, "review", "investigate") */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = ((row.late_remote_job_id != null) -> now : (((asked_delay_ms == null)) -> null : now + asked_delay_ms)); /* if(late_remote_job_id is not null, now, after(now, :delay_ms)) */
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		nobody_holds();
		applied = 1;
		c_code { applied_count[30]++; };
	:: else
	fi
}

/* investigate_found: uncertain -> submitted; fence held; by investigator */
#define may_investigate_found (true \
	&& (row.phase == w_uncertain) /* guard phase: phase in ("uncertain") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */ \
	&& (given.remote_job_id != null && given.remote_job_id != blank) /* guard remote_job_id_usable: usable(:remote_job_id) */ \
	&& (given.remote_job_id == null || given.remote_job_id != elsewhere) /* guard remote_job_id_free: not(taken(:remote_job_id)) */)
#define can_investigate_found (true \
	&& (row.phase == w_uncertain) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_investigate_found()
{
	applied = 0;
	if
	:: may_investigate_found ->
		printf("investigate_found\n");
		next.phase = w_submitted; /* "submitted" */
		next.next_action = w_observe; /* "observe" */
		next.remote_job_id = given.remote_job_id; /* :remote_job_id */
		next.late_remote_job_id = ((row.late_remote_job_id == given.remote_job_id) -> null : row.late_remote_job_id); /* if(same(late_remote_job_id, :remote_job_id), null, late_remote_job_id) */
		next.evidence_seq = (((row.remote_job_id != null) && (row.remote_job_id != given.remote_job_id)) -> (row.evidence_seq + 1) : row.evidence_seq); /* if((remote_job_id is not null and not(same(remote_job_id, :remote_job_id))), (evidence_seq + 1), evidence_seq) */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = (now + (asked_delay_ms != null -> asked_delay_ms : 0)); /* after(now, coalesce(:delay_ms, 0)) */
		next.quarantine_until = null; /* null */
		next.observe_deadline = (((fixed_observe_deadline_ms == null)) -> null : now + fixed_observe_deadline_ms); /* after(now, observe_deadline_ms) */
		next.not_found_until = (now + fixed_not_found_grace_ms); /* after(now, not_found_grace_ms) */
		next.duplicate_suspected = (((row.duplicate_suspected == 1) || ((row.late_remote_job_id != null) && (row.late_remote_job_id != given.remote_job_id))) -> 1 : 0); /* (duplicate_suspected or (late_remote_job_id is not null and not(same(late_remote_job_id, :remote_job_id)))) */
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		I5_no_blank_remote_job_id = (next.remote_job_id != blank); assert(I5_no_blank_remote_job_id);
		I5_no_blank_remote_job_id = (next.late_remote_job_id != blank); assert(I5_no_blank_remote_job_id);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.remote_job_id = next.remote_job_id;
		row.late_remote_job_id = next.late_remote_job_id;
		row.evidence_seq = next.evidence_seq;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		row.quarantine_until = next.quarantine_until;
		row.observe_deadline = next.observe_deadline;
		row.not_found_until = next.not_found_until;
		row.duplicate_suspected = next.duplicate_suspected;
		nobody_holds();
		applied = 1;
		c_code { applied_count[31]++; };
	:: else
	fi
}

/* evidence_noted: any -> same; fence –; by anybody */
#define may_evidence_noted (true)
#define can_evidence_noted (true)

inline fire_evidence_noted()
{
	applied = 0;
	if
	:: may_evidence_noted ->
		printf("evidence_noted\n");
		next.late_remote_job_id = ((((((given.kind != null) && given.kind == w_accepted) && (given.remote_job_id != null && given.remote_job_id != blank)) && (row.remote_job_id != given.remote_job_id)) && (row.late_remote_job_id == null)) -> given.remote_job_id : row.late_remote_job_id); /* if(((((:kind = "accepted") and usable(:remote_job_id)) and not(same(remote_job_id, :remote_job_id))) and late_remote_job_id is null), :remote_job_id, late_remote_job_id) */
		next.evidence_seq = (row.evidence_seq + 1); /* (evidence_seq + 1) */
		next.due_at = (((((((given.kind != null) && given.kind == w_accepted) && (given.remote_job_id != null && given.remote_job_id != blank)) && (row.remote_job_id != given.remote_job_id)) || (((given.kind != null) && given.kind == w_original_exists) && (fixed_redo_of != null))) && (row.phase == w_prepared || row.phase == w_uncertain)) -> (row.due_at == null -> now : (row.due_at < now -> row.due_at : now)) : row.due_at); /* if((((((:kind = "accepted") and usable(:remote_job_id)) and not(same(remote_job_id, :remote_job_id))) or ((:kind = "original_exists") and redo_of is not null)) and phase in ("prepared", "uncertain")), least(due_at, now), due_at) */
		next.duplicate_suspected = (((row.duplicate_suspected == 1) || (((((((given.kind != null) && given.kind == w_original_exists) && (fixed_redo_of != null)) || (((((given.kind != null) && given.kind == w_accepted) && (given.remote_job_id != null && given.remote_job_id != blank)) && (row.remote_job_id != given.remote_job_id)) && (((given.remote_job_id != null) && (row.late_remote_job_id != null) && row.late_remote_job_id != given.remote_job_id) || (row.remote_job_id != null) || (((row.not_created_attempts != null) && row.not_created_attempts < row.attempts) && ((given.revision == null) || ((row.not_created_revision != null) && (given.revision != null) && given.revision < row.not_created_revision)))))) -> 1 : (((((given.kind != null) && given.kind != w_original_exists) || (fixed_redo_of == null)) && (((((given.kind != null) && given.kind != w_accepted) || (given.remote_job_id == null || given.remote_job_id == blank)) || (row.remote_job_id == given.remote_job_id)) || (((given.remote_job_id != null) && (row.late_remote_job_id != null) && row.late_remote_job_id == given.remote_job_id) && (row.remote_job_id == null) && (((row.not_created_attempts != null) && row.not_created_attempts >= row.attempts) || ((given.revision != null) && ((row.not_created_revision != null) && (given.revision != null) && given.revision >= row.not_created_revision)))))) -> 0 : null)) != null -> (((((given.kind != null) && given.kind == w_original_exists) && (fixed_redo_of != null)) || (((((given.kind != null) && given.kind == w_accepted) && (given.remote_job_id != null && given.remote_job_id != blank)) && (row.remote_job_id != given.remote_job_id)) && (((given.remote_job_id != null) && (row.late_remote_job_id != null) && row.late_remote_job_id != given.remote_job_id) || (row.remote_job_id != null) || (((row.not_created_attempts != null) && row.not_created_attempts < row.attempts) && ((given.revision == null) || ((row.not_created_revision != null) && (given.revision != null) && given.revision < row.not_created_revision)))))) -> 1 : (((((given.kind != null) && given.kind != w_original_exists) || (fixed_redo_of == null)) && (((((given.kind != null) && given.kind != w_accepted) || (given.remote_job_id == null || given.remote_job_id == blank)) || (row.remote_job_id == given.remote_job_id)) || (((given.remote_job_id != null) && (row.late_remote_job_id != null) && row.late_remote_job_id == given.remote_job_id) && (row.remote_job_id == null) && (((row.not_created_attempts != null) && row.not_created_attempts >= row.attempts) || ((given.revision != null) && ((row.not_created_revision != null) && (given.revision != null) && given.revision >= row.not_created_revision)))))) -> 0 : null)) : 0) == 1)) -> 1 : 0); /* (duplicate_suspected or coalesce((((:kind = "original_exists") and redo_of is not null) or ((((:kind = "accepted") and usable(:remote_job_id)) and not(same(remote_job_id, :remote_job_id))) and ((late_remote_job_id <> :remote_job_id) or remote_job_id is not null or ((not_created_attempts < attempts) and (:revision is null or (:revision < not_created_revision)))))), false)) */
		next.outcome_contradicted = (((row.outcome_contradicted == 1) || (((((((given.kind != null) && given.kind == w_ended_succeeded) && ((row.outcome != null) && row.outcome != w_succeeded)) || (((given.kind != null) && given.kind == w_ended_failed) && ((row.outcome != null) && row.outcome != w_failed)) || (((given.kind != null) && given.kind == w_ended_canceled) && ((row.outcome != null) && row.outcome != w_canceled)) || ((((given.kind != null) && given.kind == w_accepted) && (given.remote_job_id != null && given.remote_job_id != blank)) && (row.outcome == w_rejected || row.outcome == w_canceled || row.outcome == w_abandoned) && (row.remote_job_id == null))) -> 1 : (((((given.kind != null) && given.kind != w_ended_succeeded) || ((row.outcome != null) && row.outcome == w_succeeded)) && (((given.kind != null) && given.kind != w_ended_failed) || ((row.outcome != null) && row.outcome == w_failed)) && (((given.kind != null) && given.kind != w_ended_canceled) || ((row.outcome != null) && row.outcome == w_canceled)) && ((((given.kind != null) && given.kind != w_accepted) || (given.remote_job_id == null || given.remote_job_id == blank)) || ((row.outcome != null) && row.outcome != w_rejected && row.outcome != w_canceled && row.outcome != w_abandoned) || (row.remote_job_id != null))) -> 0 : null)) != null -> (((((given.kind != null) && given.kind == w_ended_succeeded) && ((row.outcome != null) && row.outcome != w_succeeded)) || (((given.kind != null) && given.kind == w_ended_failed) && ((row.outcome != null) && row.outcome != w_failed)) || (((given.kind != null) && given.kind == w_ended_canceled) && ((row.outcome != null) && row.outcome != w_canceled)) || ((((given.kind != null) && given.kind == w_accepted) && (given.remote_job_id != null && given.remote_job_id != blank)) && (row.outcome == w_rejected || row.outcome == w_canceled || row.outcome == w_abandoned) && (row.remote_job_id == null))) -> 1 : (((((given.kind != null) && given.kind != w_ended_succeeded) || ((row.outcome != null) && row.outcome == w_succeeded)) && (((given.kind != null) && given.kind != w_ended_failed) || ((row.outcome != null) && row.outcome == w_failed)) && (((given.kind != null) && given.kind != w_ended_canceled) || ((row.outcome != null) && row.outcome == w_canceled)) && ((((given.kind != null) && given.kind != w_accepted) || (given.remote_job_id == null || given.remote_job_id == blank)) || ((row.outcome != null) && row.outcome != w_rejected && row.outcome != w_canceled && row.outcome != w_abandoned) || (row.remote_job_id != null))) -> 0 : null)) : 0) == 1)) -> 1 : 0); /* (outcome_contradicted or coalesce((((:kind = "ended_succeeded") and (outcome <> "succeeded")) or ((:kind = "ended_failed") and (outcome <> "failed")) or ((:kind = "ended_canceled") and (outcome <> "canceled")) or (((:kind = "accepted") and usable(:remote_job_id)) and outcome in ("rejected", "canceled", "abandoned") and remote_job_id is null)), false)) */
		I5_no_blank_remote_job_id = (next.late_remote_job_id != blank); assert(I5_no_blank_remote_job_id);
		row.late_remote_job_id = next.late_remote_job_id;
		row.evidence_seq = next.evidence_seq;
		row.due_at = next.due_at;
		row.duplicate_suspected = next.duplicate_suspected;
		row.outcome_contradicted = next.outcome_contradicted;
		applied = 1;
		c_code { applied_count[32]++; };
	:: else
	fi
}

/* evidence_attach: uncertain -> submitted; fence lapsed; by reconciler */
#define may_evidence_attach (true \
	&& (row.phase == w_uncertain) /* guard phase: phase in ("uncertain") */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& (row.remote_job_id == null) /* guard no_remote_job_id: remote_job_id is null */ \
	&& (row.late_remote_job_id != null) /* guard late_remote_job_id: late_remote_job_id is not null */ \
	&& ((row.duplicate_suspected == 0) && (row.outcome_contradicted == 0)) /* guard no_mark: not((duplicate_suspected or outcome_contradicted)) */ \
	&& (row.late_remote_job_id == null || row.late_remote_job_id != elsewhere) /* guard remote_job_id_free: not(taken(late_remote_job_id)) */)
#define can_evidence_attach (true \
	&& (row.phase == w_uncertain) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& (row.remote_job_id == null) \
	&& (row.late_remote_job_id != null) \
	&& ((row.duplicate_suspected == 0) && (row.outcome_contradicted == 0)) \
	&& (row.late_remote_job_id == null || row.late_remote_job_id != elsewhere))

inline fire_evidence_attach()
{
	applied = 0;
	if
	:: may_evidence_attach ->
		printf("evidence_attach\n");
		next.phase = w_submitted; /* "submitted" */
		next.next_action = w_observe; /* "observe" */
		next.remote_job_id = row.late_remote_job_id; /* late_remote_job_id */
		next.late_remote_job_id = ((row.late_remote_job_id == row.late_remote_job_id) -> null : row.late_remote_job_id); /* if(same(late_remote_job_id, late_remote_job_id), null, late_remote_job_id) */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = (now + (asked_delay_ms != null -> asked_delay_ms : 0)); /* after(now, coalesce(:delay_ms, 0)) */
		next.quarantine_until = null; /* null */
		next.observe_deadline = (((fixed_observe_deadline_ms == null)) -> null : now + fixed_observe_deadline_ms); /* after(now, observe_deadline_ms) */
		next.not_found_until = (now + fixed_not_found_grace_ms); /* after(now, not_found_grace_ms) */
		next.duplicate_suspected = (((row.duplicate_suspected == 1) || ((row.late_remote_job_id != null) && (row.late_remote_job_id != row.late_remote_job_id))) -> 1 : 0); /* (duplicate_suspected or (late_remote_job_id is not null and not(same(late_remote_job_id, late_remote_job_id)))) */
		I5_no_blank_remote_job_id = (next.remote_job_id != blank); assert(I5_no_blank_remote_job_id);
		I5_no_blank_remote_job_id = (next.late_remote_job_id != blank); assert(I5_no_blank_remote_job_id);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.remote_job_id = next.remote_job_id;
		row.late_remote_job_id = next.late_remote_job_id;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.quarantine_until = next.quarantine_until;
		row.observe_deadline = next.observe_deadline;
		row.not_found_until = next.not_found_until;
		row.duplicate_suspected = next.duplicate_suspected;
		nobody_holds();
		applied = 1;
		c_code { applied_count[33]++; };
	:: else
	fi
}

/* review_attach: uncertain -> submitted; fence seen; by reviewer */
#define may_review_attach (true \
	&& (row.phase == w_uncertain) /* guard phase: phase in ("uncertain") */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((given.evidence_seq != null) && row.evidence_seq == given.evidence_seq) /* guard evidence_seq: (evidence_seq = :evidence_seq) */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& (given.remote_job_id != null && given.remote_job_id != blank) /* guard remote_job_id_usable: usable(:remote_job_id) */ \
	&& (given.remote_job_id == null || given.remote_job_id != elsewhere) /* guard remote_job_id_free: not(taken(:remote_job_id)) */ \
	&& (asked_reviewer != null && asked_reviewer != blank) /* guard reviewer: not(blank(:reviewer)) */ \
	&& (asked_reason != null && asked_reason != blank) /* guard reason: not(blank(:reason)) */)
#define can_review_attach (true \
	&& (row.phase == w_uncertain) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& (asked_reviewer != null && asked_reviewer != blank) \
	&& (asked_reason != null && asked_reason != blank))

inline fire_review_attach()
{
	applied = 0;
	if
	:: may_review_attach ->
		printf("review_attach\n");
		next.phase = w_submitted; /* "submitted" */
		next.next_action = w_observe; /* "observe" */
		next.remote_job_id = given.remote_job_id; /* :remote_job_id */
		next.late_remote_job_id = ((row.late_remote_job_id == given.remote_job_id) -> null : row.late_remote_job_id); /* if(same(late_remote_job_id, :remote_job_id), null, late_remote_job_id) */
		next.evidence_seq = (((row.remote_job_id != null) && (row.remote_job_id != given.remote_job_id)) -> (row.evidence_seq + 1) : row.evidence_seq); /* if((remote_job_id is not null and not(same(remote_job_id, :remote_job_id))), (evidence_seq + 1), evidence_seq) */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = (now + (asked_delay_ms != null -> asked_delay_ms : 0)); /* after(now, coalesce(:delay_ms, 0)) */
		next.quarantine_until = null; /* null */
		next.observe_deadline = (((fixed_observe_deadline_ms == null)) -> null : now + fixed_observe_deadline_ms); /* after(now, observe_deadline_ms) */
		next.not_found_until = (now + fixed_not_found_grace_ms); /* after(now, not_found_grace_ms) */
		next.duplicate_suspected = (((row.duplicate_suspected == 1) || ((row.late_remote_job_id != null) && (row.late_remote_job_id != given.remote_job_id))) -> 1 : 0); /* (duplicate_suspected or (late_remote_job_id is not null and not(same(late_remote_job_id, :remote_job_id)))) */
		I5_no_blank_remote_job_id = (next.remote_job_id != blank); assert(I5_no_blank_remote_job_id);
		I5_no_blank_remote_job_id = (next.late_remote_job_id != blank); assert(I5_no_blank_remote_job_id);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.remote_job_id = next.remote_job_id;
		row.late_remote_job_id = next.late_remote_job_id;
		row.evidence_seq = next.evidence_seq;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.quarantine_until = next.quarantine_until;
		row.observe_deadline = next.observe_deadline;
		row.not_found_until = next.not_found_until;
		row.duplicate_suspected = next.duplicate_suspected;
		nobody_holds();
		applied = 1;
		c_code { applied_count[34]++; };
	:: else
	fi
}

/* review_not_created: uncertain -> prepared; fence seen; by reviewer */
#define may_review_not_created (true \
	&& (row.phase == w_uncertain) /* guard phase: phase in ("uncertain") */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((given.evidence_seq != null) && row.evidence_seq == given.evidence_seq) /* guard evidence_seq: (evidence_seq = :evidence_seq) */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& (asked_reviewer != null && asked_reviewer != blank) /* guard reviewer: not(blank(:reviewer)) */ \
	&& (asked_reason != null && asked_reason != blank) /* guard reason: not(blank(:reason)) */ \
	&& (row.remote_job_id == null) /* guard no_remote_job_id: remote_job_id is null */ \
	&& (row.late_remote_job_id == null) /* guard no_late_remote_job_id: late_remote_job_id is null */ \
	&& ((row.quarantine_until == null) || ((row.quarantine_until != null) && row.quarantine_until <= now) || ((asked_override != null) && asked_override == 1)) /* guard quarantine_over: (quarantine_until is null or (quarantine_until <= now) or (:override = true)) */)
#define can_review_not_created (true \
	&& (row.phase == w_uncertain) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& (asked_reviewer != null && asked_reviewer != blank) \
	&& (asked_reason != null && asked_reason != blank) \
	&& (row.remote_job_id == null) \
	&& (row.late_remote_job_id == null) \
	&& ((row.quarantine_until == null) || ((row.quarantine_until != null) && row.quarantine_until <= now) || ((asked_override != null) && asked_override == 1)))

inline fire_review_not_created()
{
	applied = 0;
	if
	:: may_review_not_created ->
		printf("review_not_created\n");
		next.phase = w_prepared; /* "prepared" */
		next.next_action = w_dispatch; /* "dispatch" */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = (now + (asked_delay_ms != null -> asked_delay_ms : 0)); /* after(now, coalesce(:delay_ms, 0)) */
		next.quarantine_until = null; /* null */
		next.not_created_revision = (row.revision + 1); /* (revision + 1) */
		next.not_created_attempts = row.attempts; /* attempts */
		I1_no_proof_against_a_known_job = (row.remote_job_id == null && row.late_remote_job_id == null); assert(I1_no_proof_against_a_known_job);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.quarantine_until = next.quarantine_until;
		row.not_created_revision = next.not_created_revision;
		row.not_created_attempts = next.not_created_attempts;
		nobody_holds();
		not_created++;
		applied = 1;
		c_code { applied_count[35]++; };
	:: else
	fi
}

/* review_abandon: uncertain -> terminal; fence seen; by reviewer */
#define may_review_abandon (true \
	&& (row.phase == w_uncertain) /* guard phase: phase in ("uncertain") */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((given.evidence_seq != null) && row.evidence_seq == given.evidence_seq) /* guard evidence_seq: (evidence_seq = :evidence_seq) */ \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) /* guard lease_vacant: (lease_until is null or (lease_until <= now)) */ \
	&& (asked_reviewer != null && asked_reviewer != blank) /* guard reviewer: not(blank(:reviewer)) */ \
	&& (asked_reason != null && asked_reason != blank) /* guard reason: not(blank(:reason)) */)
#define can_review_abandon (true \
	&& (row.phase == w_uncertain) \
	&& ((row.lease_until == null) || ((row.lease_until != null) && row.lease_until <= now)) \
	&& (asked_reviewer != null && asked_reviewer != blank) \
	&& (asked_reason != null && asked_reason != blank))

inline fire_review_abandon()
{
	applied = 0;
	if
	:: may_review_abandon ->
		printf("review_abandon\n");
		next.phase = w_terminal; /* "terminal" */
		next.next_action = null; /* null */
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.revision = (row.revision + 1); /* (revision + 1) */
		next.due_at = null; /* null */
		next.outcome = w_abandoned; /* "abandoned" */
		I3_outcome_never_changes = (row.outcome == null || next.outcome == row.outcome); assert(I3_outcome_never_changes);
		I6_no_other_way_from_uncertain_to_prepared = (!(row.phase == w_uncertain && next.phase == w_prepared)); assert(I6_no_other_way_from_uncertain_to_prepared);
		I6_no_other_way_from_submitting_to_prepared = (!(row.phase == w_submitting && next.phase == w_prepared)); assert(I6_no_other_way_from_submitting_to_prepared);
		row.phase = next.phase;
		row.next_action = next.next_action;
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.revision = next.revision;
		row.due_at = next.due_at;
		row.outcome = next.outcome;
		nobody_holds();
		applied = 1;
		c_code { applied_count[36]++; };
	:: else
	fi
}

/* review_acknowledge: any -> same; fence noticed; by reviewer */
#define may_review_acknowledge (true \
	&& ((given.evidence_seq != null) && row.evidence_seq == given.evidence_seq) /* guard evidence_seq: (evidence_seq = :evidence_seq) */ \
	&& ((row.duplicate_suspected == 1) || (row.outcome_contradicted == 1)) /* guard marked: (duplicate_suspected or outcome_contradicted) */ \
	&& (asked_reviewer != null && asked_reviewer != blank) /* guard reviewer: not(blank(:reviewer)) */ \
	&& (asked_reason != null && asked_reason != blank) /* guard reason: not(blank(:reason)) */)
#define can_review_acknowledge (true \
	&& ((row.duplicate_suspected == 1) || (row.outcome_contradicted == 1)) \
	&& (asked_reviewer != null && asked_reviewer != blank) \
	&& (asked_reason != null && asked_reason != blank))

inline fire_review_acknowledge()
{
	applied = 0;
	if
	:: may_review_acknowledge ->
		printf("review_acknowledge\n");
		next.duplicate_suspected = 0; /* false */
		next.outcome_contradicted = 0; /* false */
		row.duplicate_suspected = next.duplicate_suspected;
		row.outcome_contradicted = next.outcome_contradicted;
		applied = 1;
		c_code { applied_count[37]++; };
	:: else
	fi
}

/* redo: terminal -> same; fence –; by operator */
#define may_redo (true \
	&& (row.phase == w_terminal) /* guard phase: phase in ("terminal") */ \
	&& (row.outcome == w_failed || row.outcome == w_rejected || row.outcome == w_abandoned) /* guard outcome_redoable: outcome in ("failed", "rejected", "abandoned") */ \
	&& (row.next_action == null) /* guard finished: next_action is null */ \
	&& ((row.duplicate_suspected == 0) && (row.outcome_contradicted == 0)) /* guard no_mark: not((duplicate_suspected or outcome_contradicted)) */ \
	&& (row.late_remote_job_id == null) /* guard no_late_remote_job_id: late_remote_job_id is null */ \
	&& (asked_reviewer != null && asked_reviewer != blank) /* guard reviewer: not(blank(:reviewer)) */ \
	&& (asked_reason != null && asked_reason != blank) /* guard reason: not(blank(:reason)) */ \
	&& (((row.outcome != null) && row.outcome != w_abandoned) || ((row.remote_job_id == null) && ((row.quarantine_until == null) || ((row.quarantine_until != null) && row.quarantine_until <= now) || ((asked_override != null) && asked_override == 1)))) /* guard redo_proof: ((outcome <> "abandoned") or (remote_job_id is null and (quarantine_until is null or (quarantine_until <= now) or (:override = true)))) */)
#define can_redo (true \
	&& (row.phase == w_terminal) \
	&& (row.outcome == w_failed || row.outcome == w_rejected || row.outcome == w_abandoned) \
	&& (row.next_action == null) \
	&& ((row.duplicate_suspected == 0) && (row.outcome_contradicted == 0)) \
	&& (row.late_remote_job_id == null) \
	&& (asked_reviewer != null && asked_reviewer != blank) \
	&& (asked_reason != null && asked_reason != blank) \
	&& (((row.outcome != null) && row.outcome != w_abandoned) || ((row.remote_job_id == null) && ((row.quarantine_until == null) || ((row.quarantine_until != null) && row.quarantine_until <= now) || ((asked_override != null) && asked_override == 1)))))

inline fire_redo()
{
	applied = 0;
	if
	:: may_redo ->
		printf("redo\n");
		applied = 1;
		c_code { applied_count[38]++; };
	:: else
	fi
}

/* renew: prepared, submitting, observing, delivering, uncertain -> same; fence held; by lease holder */
#define may_renew (true \
	&& (row.phase == w_prepared || row.phase == w_submitting || row.phase == w_observing || row.phase == w_delivering || row.phase == w_uncertain) /* guard phase: phase in ("prepared", "submitting", "observing", "delivering", "uncertain") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */)
#define can_renew (true \
	&& (row.phase == w_prepared || row.phase == w_submitting || row.phase == w_observing || row.phase == w_delivering || row.phase == w_uncertain) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_renew()
{
	applied = 0;
	if
	:: may_renew ->
		printf("renew\n");
		next.lease_until = (row.lease_until == null -> (((asked_ttl_ms == null)) -> null : now + asked_ttl_ms) : ((((asked_ttl_ms == null)) -> null : now + asked_ttl_ms) == null || row.lease_until > (((asked_ttl_ms == null)) -> null : now + asked_ttl_ms) -> row.lease_until : (((asked_ttl_ms == null)) -> null : now + asked_ttl_ms))); /* greatest(lease_until, after(now, :ttl_ms)) */
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		row.lease_until = next.lease_until;
		applied = 1;
		c_code { applied_count[39]++; };
	:: else
	fi
}

/* release: prepared, observing, delivering, uncertain -> same; fence held; by lease holder */
#define may_release (true \
	&& (row.phase == w_prepared || row.phase == w_observing || row.phase == w_delivering || row.phase == w_uncertain) /* guard phase: phase in ("prepared", "observing", "delivering", "uncertain") */ \
	&& ((given.owner != null) && (row.lease_owner != null) && row.lease_owner == given.owner) /* guard owner: (lease_owner = :owner) */ \
	&& ((given.revision != null) && row.revision == given.revision) /* guard revision: (revision = :revision) */ \
	&& ((row.lease_until != null) && now < row.lease_until) /* guard lease_live: (now < lease_until) */)
#define can_release (true \
	&& (row.phase == w_prepared || row.phase == w_observing || row.phase == w_delivering || row.phase == w_uncertain) \
	&& ((row.lease_until != null) && now < row.lease_until))

inline fire_release()
{
	applied = 0;
	if
	:: may_release ->
		printf("release\n");
		next.lease_owner = null; /* null */
		next.lease_until = null; /* null */
		next.due_at = (row.due_at == null -> (((asked_delay_ms == null)) -> null : now + asked_delay_ms) : ((((asked_delay_ms == null)) -> null : now + asked_delay_ms) == null || row.due_at > (((asked_delay_ms == null)) -> null : now + asked_delay_ms) -> row.due_at : (((asked_delay_ms == null)) -> null : now + asked_delay_ms))); /* greatest(due_at, after(now, :delay_ms)) */
		next.delivery_attempts = ((row.phase == w_delivering) -> ((row.delivery_attempts + -1) > 0 -> (row.delivery_attempts + -1) : 0) : row.delivery_attempts); /* if((phase = "delivering"), greatest((delivery_attempts + -1), 0), delivery_attempts) */
		I4_nothing_under_a_dead_lease = (given.holds == 1 && row.lease_until != null && row.lease_until > now); assert(I4_nothing_under_a_dead_lease);
		row.lease_owner = next.lease_owner;
		row.lease_until = next.lease_until;
		row.due_at = next.due_at;
		row.delivery_attempts = next.delivery_attempts;
		nobody_holds();
		applied = 1;
		c_code { applied_count[40]++; };
	:: else
	fi
}

/* a statement is executed */
inline execute(WHAT)
{
	if
	:: WHAT == ev_dispatch_claim -> fire_dispatch_claim()
	:: WHAT == ev_submit_begin -> fire_submit_begin()
	:: WHAT == ev_submit_accepted -> fire_submit_accepted()
	:: WHAT == ev_submit_rejected -> fire_submit_rejected()
	:: WHAT == ev_submit_not_created -> fire_submit_not_created()
	:: WHAT == ev_submit_unknown -> fire_submit_unknown()
	:: WHAT == ev_submit_lapsed -> fire_submit_lapsed()
	:: WHAT == ev_evidence_recalled -> fire_evidence_recalled()
	:: WHAT == ev_remote_id_missing -> fire_remote_id_missing()
	:: WHAT == ev_observe_claim -> fire_observe_claim()
	:: WHAT == ev_observe_pending -> fire_observe_pending()
	:: WHAT == ev_observe_succeeded -> fire_observe_succeeded()
	:: WHAT == ev_observe_failed -> fire_observe_failed()
	:: WHAT == ev_observe_canceled -> fire_observe_canceled()
	:: WHAT == ev_observe_lost -> fire_observe_lost()
	:: WHAT == ev_observe_overdue -> fire_observe_overdue()
	:: WHAT == ev_notified_succeeded -> fire_notified_succeeded()
	:: WHAT == ev_notified_failed -> fire_notified_failed()
	:: WHAT == ev_notified_canceled -> fire_notified_canceled()
	:: WHAT == ev_deliver_claim -> fire_deliver_claim()
	:: WHAT == ev_deliver_done -> fire_deliver_done()
	:: WHAT == ev_deliver_retry -> fire_deliver_retry()
	:: WHAT == ev_deliver_failed -> fire_deliver_failed()
	:: WHAT == ev_deliver_exhausted -> fire_deliver_exhausted()
	:: WHAT == ev_redeliver -> fire_redeliver()
	:: WHAT == ev_cancel -> fire_cancel()
	:: WHAT == ev_cancel_request -> fire_cancel_request()
	:: WHAT == ev_investigate_claim -> fire_investigate_claim()
	:: WHAT == ev_investigate_inconclusive -> fire_investigate_inconclusive()
	:: WHAT == ev_investigate_found -> fire_investigate_found()
	:: WHAT == ev_evidence_noted -> fire_evidence_noted()
	:: WHAT == ev_evidence_attach -> fire_evidence_attach()
	:: WHAT == ev_review_attach -> fire_review_attach()
	:: WHAT == ev_review_not_created -> fire_review_not_created()
	:: WHAT == ev_review_abandon -> fire_review_abandon()
	:: WHAT == ev_review_acknowledge -> fire_review_acknowledge()
	:: WHAT == ev_redo -> fire_redo()
	:: WHAT == ev_renew -> fire_renew()
	:: WHAT == ev_release -> fire_release()
	fi
}

/* the row's times come nearer; 0 is past */
inline row_ticks()
{
	if :: row.lease_until != null && row.lease_until > 0 -> row.lease_until-- :: else fi;
	if :: row.due_at != null && row.due_at > 0 -> row.due_at-- :: else fi;
	if :: row.quarantine_until != null && row.quarantine_until > 0 -> row.quarantine_until-- :: else fi;
	if :: row.observe_deadline != null && row.observe_deadline > 0 -> row.observe_deadline-- :: else fi;
	if :: row.not_found_until != null && row.not_found_until > 0 -> row.not_found_until-- :: else fi;
	if :: row.cancel_requested_at != null && row.cancel_requested_at > 0 -> row.cancel_requested_at-- :: else fi;
	skip
}

#define row_waits (false \
	|| (row.lease_until != null && row.lease_until > 0) \
	|| (row.due_at != null && row.due_at > 0) \
	|| (row.quarantine_until != null && row.quarantine_until > 0) \
	|| (row.observe_deadline != null && row.observe_deadline > 0) \
	|| (row.not_found_until != null && row.not_found_until > 0) \
	|| (row.cancel_requested_at != null && row.cancel_requested_at > 0))

/* the reconciler's sweeps */
#define SWEEPS 7
#define SWEEP_STEPS \
	:: d_step { may_submit_lapsed -> fire_submit_lapsed(); done() } \
	:: d_step { may_evidence_recalled -> fire_evidence_recalled(); done() } \
	:: d_step { may_remote_id_missing -> fire_remote_id_missing(); done() } \
	:: d_step { may_observe_overdue -> fire_observe_overdue(); done() } \
	:: d_step { may_deliver_exhausted -> fire_deliver_exhausted(); done() } \
	:: d_step { may_cancel -> fire_cancel(); done() } \
	:: d_step { may_evidence_attach -> fire_evidence_attach(); done() }

inline nth_sweep(I, TO)
{
	if
	:: I == 0 -> TO = ev_submit_lapsed
	:: I == 1 -> TO = ev_evidence_recalled
	:: I == 2 -> TO = ev_remote_id_missing
	:: I == 3 -> TO = ev_observe_overdue
	:: I == 4 -> TO = ev_deliver_exhausted
	:: I == 5 -> TO = ev_cancel
	:: I == 6 -> TO = ev_evidence_attach
	fi
}

/* statements that can never apply any more */
#define lost_claim(R) (true && (R) != row.revision)
#define lost_decision(E, R, Q) (false \
	|| E == ev_redeliver && (true && R != row.revision || true && Q != row.evidence_seq) \
	|| E == ev_review_attach && (true && R != row.revision || true && Q != row.evidence_seq) \
	|| E == ev_review_not_created && (true && R != row.revision || true && Q != row.evidence_seq) \
	|| E == ev_review_abandon && (true && R != row.revision || true && Q != row.evidence_seq) \
	|| E == ev_review_acknowledge && (false && R != row.revision || true && Q != row.evidence_seq))

/* ------------------------------------------------------------------------
   The world. From here on the model is the same for every table: it knows the
   events by name and nothing of their guards and effects.
   ------------------------------------------------------------------------ */

/* how often each event was applied in the whole search, told at its end; it is
   outside of the states */
c_decl {
	static unsigned long applied_count[EVENTS + 1];
	static void tell_applied(void) {
		int i;
		for (i = 1; i <= EVENTS; i++) printf("applied %d %lu\n", i, applied_count[i]);
	}
}

/* what a worker is doing: nothing, or what it does next under its claim */
#define IDLE 0
#define CLAIMED 1       /* will state submit_begin */
#define ASKING 2        /* stated it and got no answer */
#define SENDING 3       /* will let the request leave */
#define WAITING 4       /* for the remote's answer */
#define RECORDING 5     /* will state what became of the request: event */
#define NOTING 6        /* the fence refused an accepted answer: it becomes evidence */
#define OBSERVING 7
#define DELIVERING 8
#define INVESTIGATING 9

typedef Worker {
	byte doing;
	byte event;     /* when recording */
	byte id;        /* the remote job id that it was told */
	byte revision;  /* of its claim */
	byte holds;     /* the truth: whether the lease that the row has is this claim's */
	byte deadline   /* its own clock: ticks until it must think its lease over */
}
Worker worker[2];

/* the request of each worker that left and has not arrived: ticks for which it may be on its way; it outlives its sender */
byte flight[2];

/* one statement on its way to the database, whose sender waits no more */
typedef Statement { byte event; byte owner; byte revision; byte evidence_seq; byte id; byte holds }
Statement late;
byte late_left = LATE;

/* a reviewer's decision, taken from what was seen, not yet stated */
typedef Decision { byte event; byte revision; byte evidence_seq; byte id }
Decision decision;

#define ANSWERED 0    /* executed at once, answer received */
#define NO_ANSWER 1   /* executed at once, answer lost */
#define LATER 2       /* executed at any later time, or never; no answer */
#define TWICE 3       /* executed at once and answered, and once more later */
#define UNKNOWN 2     /* beside 0, denied, and 1, applied */

byte pick;            /* within one atomic step: the event and the fate of a statement */
byte fate;

#define OWNER(w) (SAME_OWNER -> said : w + 1)

/* ---- statements ---- */

/* whenever an event gives the lease to somebody or to nobody */
inline nobody_holds()
{
	worker[0].holds = 0; worker[1].holds = 0; late.holds = 0
}

inline give(O, R, Q, I, H)
{
	given.owner = O; given.revision = R; given.evidence_seq = Q; given.remote_job_id = I; given.holds = H;
	given.kind = w_accepted
}

#define may_be_late (late.event == 0 && late_left > 0)

/* leaves out what changes nothing: a statement that would be denied, by a holder who could as well give up */
#define useful(event) (can_##event || may_be_late)

inline pick_fate()
{
	if
	:: fate = ANSWERED
	:: fate = NO_ANSWER
	:: may_be_late -> fate = LATER
	:: may_be_late -> fate = TWICE
	fi
}


#define any_claim (row.revision < REVISIONS \
	&& (can_dispatch_claim && row.attempts < REQUESTS || can_observe_claim || can_deliver_claim || can_investigate_claim))

inline pick_claim()
{
	if
	:: can_dispatch_claim && row.attempts < REQUESTS -> pick = ev_dispatch_claim
	:: can_observe_claim -> pick = ev_observe_claim
	:: can_deliver_claim -> pick = ev_deliver_claim
	:: can_investigate_claim -> pick = ev_investigate_claim
	fi
}

/* states the event with what is given; applied is then 0, 1 or UNKNOWN */
inline state(WHAT)
{
	if
	:: fate >= LATER ->
		printf("on its way: event %d\n", WHAT);
		late.event = WHAT; late.owner = given.owner; late.revision = given.revision;
		late.evidence_seq = given.evidence_seq; late.id = given.remote_job_id; late.holds = given.holds;
		late_left--
	:: else
	fi;
	if
	:: fate == LATER -> applied = UNKNOWN
	:: else ->
		execute(WHAT);
		if :: fate == NO_ANSWER -> applied = UNKNOWN :: else fi
	fi
}

inline forget(W)
{
	worker[W].doing = IDLE; worker[W].event = 0; worker[W].id = 0;
	worker[W].revision = 0; worker[W].holds = 0; worker[W].deadline = 0
}

/* Two workers in exchanged places are the same state: the lesser comes first. */
#define WEIGHT(w) ((((worker[w].doing * 64 + worker[w].event) * 32 + worker[w].id) * 64 + worker[w].revision) * 64 \
	+ worker[w].holds * 32 + worker[w].deadline * 8 + flight[w])
#define other_owner(o) ((SAME_OWNER || o != OWNER(0) && o != OWNER(1)) -> o : (OWNER(0) + OWNER(1)) - o)
#define exchange(f) swapped = worker[0].f; worker[0].f = worker[1].f; worker[1].f = swapped
SCRATCH byte swapped;

inline sort()
{
	if
	:: WEIGHT(0) > WEIGHT(1) ->
		exchange(doing); exchange(event); exchange(id); exchange(revision); exchange(holds); exchange(deadline);
		swapped = flight[0]; flight[0] = flight[1]; flight[1] = swapped;
		row.lease_owner = other_owner(row.lease_owner); late.owner = other_owner(late.owner);
		swapped = 0
	:: else
	fi
}

/* What can never apply any more is forgotten at once: its sender may forget it at any time, and nothing else could
   come of it. Which statements those are the table says (lost_claim, lost_decision). */
inline forget_lost(W)
{
	if
	:: worker[W].doing == NOTING && row.evidence_seq >= EVIDENCE -> forget(W)
	:: lost_claim(worker[W].revision) && (worker[W].doing == CLAIMED || worker[W].doing >= OBSERVING
		|| worker[W].doing == ASKING && begun_revision != worker[W].revision
		|| worker[W].doing == SENDING && worker[W].deadline == 0 && !NO_DEADLINE
		|| worker[W].doing == WAITING && flight[W] == 0
		|| worker[W].doing == RECORDING && worker[W].event != ev_submit_accepted) -> forget(W)
	:: lost_claim(worker[W].revision) && worker[W].doing == RECORDING && worker[W].event == ev_submit_accepted ->
		if
		:: row.evidence_seq >= EVIDENCE -> forget(W)
		:: else -> worker[W].doing = NOTING; worker[W].event = 0
		fi
	:: else
	fi
}

inline forget_late()
{
	late.event = 0; late.owner = 0; late.revision = 0; late.evidence_seq = 0; late.id = 0; late.holds = 0
}

inline forget_decision()
{
	decision.event = 0; decision.revision = 0; decision.evidence_seq = 0; decision.id = 0
}

inline settle()
{
	if
	:: begun_revision != worker[0].revision && begun_revision != worker[1].revision -> begun_revision = 0
	:: else
	fi;
	forget_lost(0); forget_lost(1);
	if :: late.event != 0 && late.event != ev_evidence_noted && lost_claim(late.revision) -> forget_late() :: else fi;
	if :: lost_decision(decision.event, decision.revision, decision.evidence_seq) -> forget_decision() :: else fi;
	sort()
}

inline done() { settle(); pick = 0; fate = 0; wipe_scratch() }

/* the holder of a claim states an event */
inline state_held(W, WHICH)
{
	give(OWNER(W), worker[W].revision, 0, worker[W].id, worker[W].holds);
	state(WHICH)
}

/* ---- workers ---- */

#define me worker[self]

proctype WorkerProcess(byte self)
{
end:	do
	/* a claim of any kind; one without an answer is given up, which is Lost's business */
	:: atomic {
		me.doing == IDLE && any_claim;
		pick_claim();
		d_step {
			give(OWNER(self), 0, 0, 0, 0);
			execute(pick);
			if
			:: applied == 1 ->
				me.revision = row.revision; me.holds = 1;
				if
				:: pick == ev_dispatch_claim -> me.doing = CLAIMED; me.deadline = LEASE
				:: pick == ev_observe_claim -> me.doing = OBSERVING
				:: pick == ev_deliver_claim -> me.doing = DELIVERING
				:: pick == ev_investigate_claim -> me.doing = INVESTIGATING
				fi
			:: else
			fi;
			done()
		} }

	/* the holder goes on, or gives up, or extends its lease */
	:: atomic {
		(me.doing == CLAIMED || me.doing == ASKING) && useful(submit_begin) || me.doing == CLAIMED && useful(release);
		if
		:: useful(submit_begin) -> pick = ev_submit_begin
		:: me.doing == CLAIMED && useful(release) -> pick = ev_release
		fi;
		pick_fate();
		d_step {
			state_held(self, pick);
			if
			:: pick == ev_submit_begin && applied == 1 -> me.doing = SENDING
			:: pick == ev_submit_begin && applied == UNKNOWN -> me.doing = (ASSUMES_BEGUN -> SENDING : ASKING)
			:: pick == ev_release && applied == UNKNOWN -> skip
			:: else -> forget(self)
			fi;
			done()
		} }
	:: d_step { me.doing == ASKING && begun_revision == me.revision -> printf("history says that submit_begin landed\n"); me.doing = SENDING; settle() } /* history says that it landed */

	/* the sender looks at its own clock, and the request leaves */
	:: d_step {
		me.doing == SENDING && (me.deadline > 0 || NO_DEADLINE) && flight[self] == 0 ->
		posts++;
		I1_requests_within_proofs = (posts <= 1 + not_created);
		assert(I1_requests_within_proofs);
		I2_sent_under_its_own_claim = (row.phase == w_submitting && row.lease_owner == OWNER(self)
			&& row.revision == me.revision && me.holds == 1);
		assert(I2_sent_under_its_own_claim);
		printf("the request leaves\n");
		flight[self] = TRANSIT; me.doing = WAITING; me.deadline = 0;
		done()
	}
	:: d_step { me.doing == SENDING -> printf("nothing left\n"); me.doing = RECORDING; me.event = ev_submit_not_created; me.deadline = 0; settle() } /* nothing left */
	:: d_step { me.doing == WAITING -> me.doing = RECORDING; me.event = ev_submit_unknown; settle() } /* waited long enough */

	/* what became of the request; without an answer the same again */
	:: atomic {
		me.doing == RECORDING;
		pick = me.event;
		pick_fate();
		d_step {
			state_held(self, pick);
			if
			:: applied == UNKNOWN -> skip
			:: applied == 0 && me.event == ev_submit_accepted -> me.doing = NOTING
			:: applied == 1 && me.event == ev_submit_not_created && me.holds == 1 -> /* the table left it the lease: it goes on */
				me.doing = CLAIMED; me.event = 0; me.deadline = row.lease_until
			:: else -> forget(self)
			fi;
			done()
		} }
	:: atomic {
		me.doing == NOTING && row.evidence_seq < EVIDENCE;
		pick_fate();
		d_step {
			give(OWNER(self), me.revision, 0, me.id, me.holds);
			state(ev_evidence_noted);
			I8_evidence_is_never_refused = (applied != 0);
			assert(I8_evidence_is_never_refused);
			if
			:: applied == 1 && me.id == blank -> me.doing = RECORDING; me.event = ev_submit_unknown
			:: applied == 1 && me.id != blank -> forget(self)
			:: else
			fi;
			done()
		} }

	/* the other kinds of work: whatever the remote says */
	:: atomic {
		me.doing >= OBSERVING && (useful(release)
			|| me.doing == OBSERVING && (useful(observe_pending) || useful(observe_succeeded) || useful(observe_lost)
				|| useful(observe_failed) || useful(observe_canceled))
			|| me.doing == DELIVERING && (useful(deliver_done) || useful(deliver_retry) || useful(deliver_failed))
			|| me.doing == INVESTIGATING && useful(investigate_inconclusive));
		if
		:: useful(release) -> pick = ev_release
		:: me.doing == OBSERVING && useful(observe_pending) -> pick = ev_observe_pending
		:: me.doing == OBSERVING && useful(observe_succeeded) -> pick = ev_observe_succeeded
		:: me.doing == OBSERVING && useful(observe_failed) -> pick = ev_observe_failed
		:: me.doing == OBSERVING && useful(observe_canceled) -> pick = ev_observe_canceled
		:: me.doing == OBSERVING && useful(observe_lost) -> pick = ev_observe_lost
		:: me.doing == DELIVERING && useful(deliver_done) -> pick = ev_deliver_done
		:: me.doing == DELIVERING && useful(deliver_retry) -> pick = ev_deliver_retry
		:: me.doing == DELIVERING && useful(deliver_failed) -> pick = ev_deliver_failed
		:: me.doing == INVESTIGATING && useful(investigate_inconclusive) -> pick = ev_investigate_inconclusive
		:: me.doing == INVESTIGATING && jobs > 0 && useful(investigate_found) -> pick = ev_investigate_found
		fi;
		pick_fate();
		d_step {
			give(OWNER(self), me.revision, 0, jobs, me.holds);
			state(pick);
			if :: applied == UNKNOWN -> skip :: else -> forget(self) fi;
			done()
		} }

	:: atomic {
		me.doing != IDLE && me.doing != NOTING && useful(renew);
		pick_fate();
		d_step {
			state_held(self, ev_renew);
			if
			:: applied == 1 ->
				if :: me.doing <= SENDING -> me.deadline = LEASE :: else fi
			:: else
			fi;
			done()
		} }

	/* it dies, and knows nothing when it comes back */
	:: d_step { me.doing != IDLE -> printf("dies\n"); forget(self); settle() }
	od
}

/* ---- the remote ---- */

#define answer(w, what, job) worker[w].doing = RECORDING; worker[w].event = what; worker[w].id = job

inline created()
{
	jobs++; printf("the remote creates job %d\n", jobs);
	I1_one_remote_job = (jobs <= 1 || OVERRIDE || MISTAKEN);
	assert(I1_one_remote_job)
}

proctype Remote(byte sender)
{
end:	do
	:: d_step { flight[sender] > 0 -> flight[sender] = 0; created(); done() }
	:: d_step { flight[sender] > 0 && worker[sender].doing == WAITING ->
		flight[sender] = 0; created(); answer(sender, ev_submit_accepted, jobs); done() }
	:: d_step { flight[sender] > 0 && worker[sender].doing == WAITING ->
		flight[sender] = 0; created(); answer(sender, ev_submit_accepted, blank); done() }
	:: d_step { flight[sender] > 0 && worker[sender].doing == WAITING ->
		flight[sender] = 0; answer(sender, ev_submit_rejected, 0); done() }
	:: d_step { flight[sender] > 0 && worker[sender].doing == WAITING ->
		flight[sender] = 0; answer(sender, ev_submit_not_created, 0); done() }
	:: d_step { flight[sender] > 0 -> flight[sender] = 0; done() } /* it never arrives, or no answer comes and nothing was created */
	od
}

/* a webhook: any end of a job that exists, as often as it likes, in contradiction to itself */
proctype Webhook()
{
	byte id;
end:	do
	:: atomic {
		jobs > 0 && (can_notified_succeeded || can_notified_failed || can_notified_canceled);
		if
		:: can_notified_succeeded -> pick = ev_notified_succeeded
		:: can_notified_failed -> pick = ev_notified_failed
		:: can_notified_canceled -> pick = ev_notified_canceled
		fi;
		if :: id = 1 :: jobs > 1 -> id = 2 fi;
		d_step { give(0, null, 0, id, 0); execute(pick); id = 0; done() } }
	:: atomic {
		jobs > 0 && row.evidence_seq < EVIDENCE;
		if
		:: pick = w_ended_succeeded
		:: pick = w_ended_failed
		:: pick = w_ended_canceled
		fi;
		if :: id = 1 :: jobs > 1 -> id = 2 fi;
		d_step {
			give(null, null, 0, id, 0); given.kind = pick;
			execute(ev_evidence_noted);
			I8_evidence_is_never_refused = (applied != 0);
			assert(I8_evidence_is_never_refused);
			id = 0; done()
		} }
	od
}

/* the operation that this one repeats: it has a remote job after all */
proctype Original()
{
end:	do
	:: d_step {
		REDONE && row.evidence_seq < EVIDENCE ->
		give(null, null, 0, null, 0); given.kind = w_original_exists;
		execute(ev_evidence_noted);
		I8_evidence_is_never_refused = (applied != 0);
		assert(I8_evidence_is_never_refused);
		done()
	}
	od
}

/* ---- the reconciler ---- */

proctype Reconciler()
{
end:	do
	SWEEP_STEPS
	od
}

/* ---- people ---- */

inline decide(WHAT, JOB)
{
	printf("looks, and decides: event %d\n", WHAT);
	decision.event = WHAT; decision.revision = row.revision; decision.evidence_seq = row.evidence_seq; decision.id = JOB
}

#define looks(what, job) give(null, row.revision, row.evidence_seq, job, 0)
#define free_to_decide (decision.event == 0 && row.revision < REVISIONS)

/* Looks at the row and at the remote, decides, and states it later under what was seen. Nobody decides what the row
   seen would not allow. Not created is said only while the remote shows no job, unless jobs are overlooked. */
proctype Reviewer()
{
end:	do
	:: d_step { free_to_decide && (jobs == 0 || MISTAKEN) && row.phase == w_uncertain && LOOKS_EARLY -> decide(ev_review_not_created, 0) }
	:: d_step { free_to_decide && (jobs == 0 || MISTAKEN) && can_review_not_created -> looks(1, 0);
		if :: may_review_not_created -> decide(ev_review_not_created, 0) :: else fi; done() }
	:: d_step { free_to_decide && jobs > 0 && can_review_attach -> looks(1, jobs);
		if :: may_review_attach -> decide(ev_review_attach, jobs) :: else fi; done() }
	:: d_step { free_to_decide && can_review_abandon -> looks(1, 0);
		if :: may_review_abandon -> decide(ev_review_abandon, 0) :: else fi; done() }
	:: d_step { free_to_decide && can_review_acknowledge -> looks(1, 0);
		if :: may_review_acknowledge -> decide(ev_review_acknowledge, 0) :: else fi; done() }
	:: d_step { free_to_decide && can_redeliver -> looks(1, 0);
		if :: may_redeliver -> decide(ev_redeliver, 0) :: else fi; done() }
	:: atomic {
		decision.event != 0;
		pick = decision.event;
		d_step { give(null, decision.revision, decision.evidence_seq, decision.id, 0); execute(pick); done() } }
	/* it had its answer, or gave up; until then it states the same again */
	:: d_step { decision.event != 0 -> forget_decision() }
	:: d_step { CANCEL && can_cancel_request -> give(null, null, 0, 0, 0); fire_cancel_request(); done() }
	:: d_step { can_redo -> give(null, null, 0, 0, 0); fire_redo(); done() }
	od
}

/* ---- the wire to the database, and time ---- */

/* A claim whose answer is lost, that lands late or for the second time: somebody has the lease and nobody knows. */
proctype Lost()
{
end:	do
	:: atomic {
		any_claim;
		pick_claim();
		if :: fate = 0 :: !SAME_OWNER -> fate = 1 fi;
		d_step { give(OWNER(fate), 0, 0, 0, 0); execute(pick); done() } }
	od
}

proctype Wire()
{
end:	do
	:: atomic {
		late.event != 0;
		pick = late.event;
		d_step {
			give(late.owner, late.revision, late.evidence_seq, late.id, late.holds);
			printf("late: ");
			execute(pick);
			forget_late();
			done()
		} }
	:: d_step { late.event != 0 -> forget_late() } /* never */
	od
}

inline near(T) { if :: T > 0 -> T-- :: else fi }

proctype Clock()
{
end:	do
	:: d_step {
		row_waits || worker[0].deadline > 0 || worker[1].deadline > 0 || flight[0] > 0 || flight[1] > 0 ->
		row_ticks();
		near(worker[0].deadline); near(worker[1].deadline);
		near(flight[0]); near(flight[1]);
		printf("a tick\n");
		settle()
	}
	od
}

/* ---- the way out ---- */

#define finished (row.outcome != null && row.next_action == null)
#define RESCUER 17    /* no worker that lived before */

inline nth_rescue(I, TO)
{
	if
	:: I < SWEEPS -> nth_sweep(I, TO)
	:: I == SWEEPS -> TO = ev_observe_failed
	:: I == SWEEPS + 1 -> TO = ev_deliver_failed
	:: I == SWEEPS + 2 -> TO = ev_submit_begin
	:: I == SWEEPS + 3 -> TO = ev_submit_rejected
	:: I == SWEEPS + 4 -> TO = ev_observe_claim
	:: I == SWEEPS + 5 -> TO = ev_deliver_claim
	:: I == SWEEPS + 6 -> TO = ev_dispatch_claim
	:: else -> TO = ev_review_abandon
	fi
}

SCRATCH byte kept_not_created, kept_begun_revision;

inline keep()
{
	keep_row();
	kept_not_created = not_created; kept_begun_revision = begun_revision
}

inline restore()
{
	restore_row();
	not_created = kept_not_created; begun_revision = kept_begun_revision;
	kept_not_created = 0; kept_begun_revision = 0
}

/* Where everybody is dead and nothing is in flight, which can be reached from everywhere since everybody may die at any
   time, those who come new (the reconciler, one worker, one reviewer) must be able to finish the operation. */
proctype Rescue()
{
	byte round, n, event;
end:	do
	:: d_step {
		(!finished && worker[0].doing == IDLE && worker[1].doing == IDLE && late.event == 0 && decision.event == 0
			&& flight[0] == 0 && flight[1] == 0) ->
		keep(); /* this is a question, not a deed */
		do
		:: finished || round == 40 -> break
		:: else ->
			round++; n = 0; applied = 0;
			do
			:: n == SWEEPS + 8 || applied == 1 -> break
			:: else ->
				nth_rescue(n, event);
				give(RESCUER, row.revision, row.evidence_seq, 1, 1);
				execute(event);
				n++
			od;
			if
			:: applied == 0 && row_waits -> row_ticks()
			:: applied == 0 && !row_waits -> round = 40
			:: else
			fi
		od;
		I7_a_way_out_without_the_dead = finished;
		assert(I7_a_way_out_without_the_dead);
		restore(); round = 0; n = 0; event = 0; wipe_scratch()
	}
	od
}

init {
	c_code { atexit(tell_applied); };
	d_step { blank_row(); give(null, null, 0, 0, 0); fire_prepare(); wipe_scratch() }
	atomic {
		run WorkerProcess(0); run WorkerProcess(1);
		run Remote(0); run Remote(1);
		run Webhook(); run Original(); run Reviewer(); run Reconciler(); run Lost(); run Wire(); run Clock(); run Rescue()
	}
}
