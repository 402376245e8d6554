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
