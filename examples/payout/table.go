package payout

import t "github.com/fencerow/fencerow/transitions"

// The phases.
const (
	Drafted  = "drafted"
	Sending  = "sending"
	Sent     = "sent"
	Settling = "settling"
	Disputed = "disputed"
	Closed   = "closed"
)

// The work that is claimed.
const (
	Pay    = "pay"
	Settle = "settle"
)

// Table declares the lifecycle of a payout.
func Table() t.Table {
	return t.Table{
		Name:    "payout",
		Columns: columns(),
		Phases: []t.Phase{
			{Name: Drafted, Restless: true, Action: Pay, Sendable: true, True: "the order is stored; the bank knows nothing", Lapse: "safe: another payer may claim"},
			{Name: Sending, Restless: true, Action: Pay, Effecting: true, True: "the bank may have the order", Lapse: "not safe: only to disputed"},
			{Name: Sent, Restless: true, True: "the bank took the order and gave a reference", Lapse: "–"},
			{Name: Settling, Restless: true, Action: Settle, True: "a worker reads the bank's ledger", Lapse: "safe: reading changes nothing"},
			{Name: Disputed, True: "nobody here knows whether the bank has the order", Lapse: "–"},
			{Name: Closed, HasOutcome: true, True: "the money is there, or is not and will not be", Lapse: "–"},
		},
		Actions: []t.Action{
			{Name: Pay, By: "payer", Doc: "give the order to the bank"},
			{Name: Settle, By: "settler", Doc: "read whether it was booked"},
			{Name: "decide", Doc: "a person calls the bank"},
		},
		Outcomes: []string{"booked", "returned", "refused", "given_up"},
		Reasons:  []string{"no_answer", "unclear_answer"},
		Events:   events(),
	}
}

// columns: the first twelve are those without which the SQL stores cannot claim. The names from order on are the
// payout's own, words that SQL keeps for itself included.
func columns() []t.Column {
	return []t.Column{
		{Name: "operation_id", Kind: t.Text, NotNull: true, Quiet: true, Doc: "the payout's number"},
		{Name: "provider", Kind: t.Text, NotNull: true, Doc: "the bank"},
		{Name: "account", Kind: t.Text, NotNull: true, Doc: "the account that is debited"},
		{Name: "phase", Kind: t.Text, NotNull: true, Words: "phases", Quiet: true, Doc: "where the payout is"},
		{Name: "next_action", Kind: t.Text, Words: "actions", Doc: "the work that comes next"},
		{Name: "priority", Kind: t.Int, NotNull: true, Default: t.IntValue(0), Doc: "salaries before refunds"},
		{Name: "due_at", Kind: t.Time, Quiet: true, Doc: "when the next work is due"},
		{Name: "lease_owner", Kind: t.Text, Quiet: true, Doc: "who holds it"},
		{Name: "lease_until", Kind: t.Time, Quiet: true, Doc: "until when"},
		{Name: "revision", Kind: t.Int, NotNull: true, Default: t.IntValue(0), Check: "natural", Quiet: true, Doc: "what fences"},
		{Name: "created_at", Kind: t.Time, NotNull: true, Quiet: true, Doc: "when it was drafted"},
		{Name: "updated_at", Kind: t.Time, NotNull: true, Quiet: true, Doc: "when an event last changed it"},
		{Name: "order", Kind: t.Bytes, NotNull: true, Quiet: true, Doc: "the payment order, byte for byte"},
		{Name: "to", Kind: t.Text, NotNull: true, Doc: "the beneficiary's account"},
		{Name: "amount_cents", Kind: t.Int, NotNull: true, Check: "natural", Doc: "how much"},
		{Name: "currency", Kind: t.Text, NotNull: true, Default: t.TextValue("EUR"), Words: "EUR GBP USD", Doc: "of what"},
		{Name: "remote_job_id", Kind: t.Text, Check: "usable", Doc: "the bank's reference"},
		{Name: "late_remote_job_id", Kind: t.Text, Check: "usable", Doc: "a reference that came too late"},
		{Name: "evidence_seq", Kind: t.Int, NotNull: true, Default: t.IntValue(0), Check: "natural", Doc: "counts what was noted"},
		{Name: "orders", Kind: t.Int, NotNull: true, Default: t.IntValue(0), Check: "natural", Doc: "how often giving the order was begun"},
		{Name: "ledger", Kind: t.Bytes, Doc: "what the bank's ledger said last"},
		{Name: "value_date", Kind: t.Time, Doc: "the earliest day on which it can be booked"},
		{Name: "uncertain_reason", Kind: t.Text, Words: "reasons", Doc: "why nobody knows"},
		{Name: "quiet_until", Kind: t.Time, Doc: "until then an old payer might still give the order"},
		{Name: "outcome", Kind: t.Text, Words: "outcomes", Doc: "how it ended"},
	}
}

func events() []t.Event {
	on := func(phases ...string) []string { return phases }
	gs := func(g ...t.Guard) []t.Guard { return g }
	fx := func(e ...t.Effect) []t.Effect { return e }
	told := t.Notes{Reason: reason}
	decided := t.Notes{Reason: reason, Reviewer: reviewer}
	return []t.Event{
		{Name: "draft", New: true, To: Drafted, Fence: t.Open, Guards: gs(named, withinLimit), Effects: fx(drafted), Actor: "bookkeeping", Doc: "stores the order"},

		{Name: "pay_claim", From: on(Drafted), Fence: t.Vacant, Guards: claim(Pay, noLateReference), Effects: fx(take), Also: t.Batch, Actor: "payer", Doc: "takes the payout in order to give the order"},
		{Name: "pay_begin", From: on(Drafted), To: Sending, Fence: t.Held, Guards: gs(noLateReference), Effects: fx(begun), Actor: "payer", Doc: "stores the intent before the bank is called"},
		{Name: "pay_taken", From: on(Sending), To: Sent, Fence: t.Held, Guards: gs(referenceUsable, referenceFree), Effects: fx(sentAs(reference), release), Actor: "payer", Doc: "the bank took the order"},
		{Name: "pay_refused", From: on(Sending), To: Closed, Fence: t.Held, Effects: fx(ends("refused"), release), Notes: told, Actor: "payer", Doc: "the bank refused the order for good"},
		{Name: "pay_not_sent", From: on(Sending), To: Drafted, Fence: t.Held, Guards: gs(proven), Effects: fx(payDue, release), Notes: t.Notes{Reason: proof}, Actor: "payer", Doc: "the bank was never reached"},
		{Name: "pay_unclear", From: on(Sending), To: Disputed, Fence: t.Held, Effects: fx(doubted("unclear_answer"), release), Notes: told, Actor: "payer", Doc: "the bank's answer says nothing"},
		{Name: "pay_lapsed", From: on(Sending), To: Disputed, Fence: t.Lapsed, Effects: fx(doubted("no_answer"), bump), Notes: t.Notes{Reason: t.Str("no_answer")}, Also: t.Sweep, Actor: "reconciler", Doc: "the payer is gone"},
		{Name: "late_recalled", From: on(Drafted), To: Disputed, Fence: t.Lapsed, Guards: gs(lateReference), Effects: fx(doubted("no_answer"), bump), Notes: t.Notes{Reason: t.Str("no_answer")}, Also: t.Sweep, Actor: "reconciler", Doc: "what was thought not to be ordered may be ordered after all"},

		{Name: "settle_claim", From: on(Sent, Settling), To: Settling, Fence: t.Vacant, Guards: claim(Settle), Effects: fx(take), Also: t.Batch, Actor: "settler", Doc: "takes the payout in order to read the ledger"},
		{Name: "settle_waiting", From: on(Settling), Fence: t.Held, Effects: fx(ledgerKept, dueOnValueDate, release), Notes: t.Notes{Unless: []t.Expr{t.Same(t.Col("ledger"), ledger)}}, Actor: "settler", Doc: "not booked yet"},
		{Name: "settle_booked", From: on(Settling), To: Closed, Fence: t.Held, Guards: gs(valueDatePassed), Effects: fx(ledgerKept, ends("booked"), release), Actor: "settler", Doc: "the money is there"},
		{Name: "settle_returned", From: on(Settling), To: Closed, Fence: t.Held, Effects: fx(ledgerKept, ends("returned"), release), Notes: told, Actor: "settler", Doc: "the money came back"},
		{Name: "bank_returned", From: on(Sent, Settling, Disputed), To: Closed, Fence: t.Remote, Effects: fx(ledgerKept, ends("returned"), bump), Notes: told, Actor: "bank", Doc: "the bank says by itself that the money came back"},

		{Name: "note", Fence: t.Open, Effects: fx(noted), Notes: t.Notes{Reason: t.Param("kind", t.Text), Evidence: &t.EvidenceRow{
			When: t.Yes(), Kind: t.Param("kind", t.Text), RemoteJobID: reference, Detail: t.Param("raw", t.Bytes), Revision: t.Param("revision", t.Int), Owner: t.Param("owner", t.Text),
		}}, Actor: "anybody", Doc: "keeps what came to light"},
		{Name: "late_attach", From: on(Disputed), To: Sent, Fence: t.Lapsed, Guards: gs(noReference, lateReference, lateFree), Effects: fx(sentAs(t.Col("late_remote_job_id")), bump), Notes: t.Notes{Reason: t.Str("late answer")}, Also: t.Sweep, Actor: "reconciler", Doc: "the late answer gave the reference"},

		{Name: "decide_sent", From: on(Disputed), To: Sent, Fence: t.Seen, Guards: gs(referenceUsable, referenceFree, noReference, noLateReference, byName, forReason), Effects: fx(sentAs(reference), bump), Notes: decided, Actor: "treasurer", Doc: "the bank has the order"},
		{Name: "decide_not_sent", From: on(Disputed), To: Drafted, Fence: t.Seen, Guards: gs(byName, forReason, noReference, noLateReference, quiet), Effects: fx(payDue, undoubted, bump), Notes: decided, Actor: "treasurer", Doc: "the bank has no order, and will get none from an old payer"},
		{Name: "decide_give_up", From: on(Disputed), To: Closed, Fence: t.Seen, Guards: gs(byName, forReason), Effects: fx(ends("given_up"), bump), Notes: decided, Actor: "treasurer", Doc: "nobody pursues it"},

		{Name: "renew", From: on(Drafted, Sending, Settling), Fence: t.Held, Effects: fx(extend), Notes: t.Notes{Unless: []t.Expr{t.Yes()}}, Actor: "lease holder", Doc: "extends the lease"},
		{Name: "release", From: on(Drafted, Settling), Fence: t.Held, Effects: fx(release), Notes: told, Actor: "lease holder", Doc: "gives the lease up"},
	}
}
