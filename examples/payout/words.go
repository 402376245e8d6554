package payout

import t "github.com/fencerow/fencerow/transitions"

// The parameters.
var (
	reference = t.Param("remote_job_id", t.Text)
	reason    = t.Param("reason", t.Text)
	reviewer  = t.Param("reviewer", t.Text)
	proof     = t.Param("proof", t.Text)
	ledger    = t.Param("ledger", t.Bytes)
	amount    = t.Param("amount_cents", t.Int)
)

// limit is the most that one payout may be, in cents.
const limit = 1_000_000_00

// The guards. What the fences ask for is theirs.
var (
	named           = t.Guard{Name: "named", Expr: t.Not(t.Blank(t.Param("operation_id", t.Text))), Doc: "the payout has a number"}
	withinLimit     = t.Guard{Name: "within_limit", Expr: t.And(t.Lt(t.Num(0), amount), t.Le(amount, t.Num(limit))), Doc: "something is paid, and not too much"}
	noReference     = t.Guard{Name: "no_reference", Expr: t.IsNull(t.Col("remote_job_id")), Doc: "no reference is known"}
	noLateReference = t.Guard{Name: "no_late_reference", Expr: t.IsNull(t.Col("late_remote_job_id")), Doc: "no reference came too late"}
	lateReference   = t.Guard{Name: "late_reference", Expr: t.NotNull(t.Col("late_remote_job_id")), Doc: "a reference came too late"}
	referenceUsable = t.Guard{Name: "reference_usable", Expr: t.Usable(reference), Doc: "the given reference is not blank"}
	referenceFree   = t.Guard{Name: "reference_free", Expr: t.Not(t.Taken(reference)), Doc: "no other payout has the given reference"}
	lateFree        = t.Guard{Name: "reference_free", Expr: t.Not(t.Taken(t.Col("late_remote_job_id"))), Doc: "no other payout has the late reference"}
	proven          = t.Guard{Name: "proven", Expr: t.In(proof, "no_connection", "not_logged_in"), Doc: "the bank cannot have the order"}
	valueDatePassed = t.Guard{Name: "value_date_passed", Expr: t.Or(t.IsNull(t.Col("value_date")), t.Le(t.Col("value_date"), t.Now())), Doc: "nothing is booked before its day"}
	quiet           = t.Guard{Name: "quiet", Expr: t.Le(t.Col("quiet_until"), t.Now()), Doc: "an old payer can give the order no longer"}
	byName          = t.Guard{Name: "by_name", Expr: t.Not(t.Blank(reviewer)), Doc: "somebody signs"}
	forReason       = t.Guard{Name: "for_reason", Expr: t.Not(t.Blank(reason)), Doc: "and says why"}
)

// claim is what every claim asks for: its own work, due, of its own bank and account.
func claim(action string, more ...t.Guard) []t.Guard {
	return append([]t.Guard{
		{Name: "next_action", Expr: t.Eq(t.Col("next_action"), t.Str(action)), Doc: "the work that comes next is to " + action},
		{Name: "due", Expr: t.Le(t.Col("due_at"), t.Now()), Doc: "it is time"},
		{Name: "bank", Expr: t.Eq(t.Col("provider"), t.Param("provider", t.Text)), Doc: "it is this bank's"},
		{Name: "debtor", Expr: t.Eq(t.Col("account"), t.Param("account", t.Text)), Doc: "it is this account's"},
	}, more...)
}

// The effects.
var (
	bumped  = t.Plus(t.Col("revision"), t.Num(1))
	take    = effect("take the lease", set("lease_owner", t.Param("owner", t.Text)), set("lease_until", t.After(t.Now(), t.Param("ttl_ms", t.Int))), set("revision", bumped))
	bump    = effect("clear the lease", set("lease_owner", t.Null()), set("lease_until", t.Null()), set("revision", bumped))
	release = effect("release", set("lease_owner", t.Null()), set("lease_until", t.Null()))
	extend  = effect("extend the lease", set("lease_until", t.Greatest(t.Col("lease_until"), t.After(t.Now(), t.Param("ttl_ms", t.Int)))))

	drafted = effect("store the order",
		set("operation_id", t.Param("operation_id", t.Text)), set("provider", t.Param("provider", t.Text)), set("account", t.Param("account", t.Text)),
		set("order", t.Param("order", t.Bytes)), set("to", t.Param("to", t.Text)), set("amount_cents", amount),
		set("currency", t.Coalesce(t.Param("currency", t.Text), t.Str("EUR"))), set("priority", t.Coalesce(t.Param("priority", t.Int), t.Num(0))),
		set("value_date", t.Param("value_date", t.Time)), set("next_action", t.Str(Pay)), set("due_at", t.Now()), set("created_at", t.Now()))
	begun  = effect("order begun", set("orders", t.Plus(t.Col("orders"), t.Num(1))), set("next_action", t.Null()), set("due_at", t.Null()))
	payDue = effect("pay again", set("next_action", t.Str(Pay)), set("due_at", t.After(t.Now(), t.Coalesce(t.Param("delay_ms", t.Int), t.Num(0)))))

	ledgerKept     = effect("keep the ledger", set("ledger", t.Coalesce(ledger, t.Col("ledger"))))
	dueOnValueDate = effect("due on the value date", set("due_at", t.Greatest(t.Col("value_date"), t.After(t.Now(), t.Num(60_000)))))
	undoubted      = effect("known again", set("uncertain_reason", t.Null()), set("quiet_until", t.Null()))

	// A reference that the row does not hold is late, if it is the first one.
	isLate = t.And(t.Usable(reference), t.IsNull(t.Col("late_remote_job_id")), t.Not(t.Same(t.Col("remote_job_id"), reference)))
	noted  = effect("note", set("evidence_seq", t.Plus(t.Col("evidence_seq"), t.Num(1))),
		set("late_remote_job_id", t.If(isLate, reference, t.Col("late_remote_job_id"))),
		set("due_at", t.If(t.And(isLate, t.Eq(t.Col("phase"), t.Str(Disputed))), t.Least(t.Col("due_at"), t.Now()), t.Col("due_at"))))
)

func effect(name string, sets ...t.Set) t.Effect { return t.Effect{Name: name, Sets: sets} }

func set(column string, to t.Expr) t.Set { return t.Set{Col: column, Expr: to} }

func sentAs(id t.Expr) t.Effect {
	return effect("store the reference, settle on the value date", set("remote_job_id", id), set("late_remote_job_id", t.Null()),
		set("next_action", t.Str(Settle)), set("due_at", t.Greatest(t.Col("value_date"), t.Now())),
		set("uncertain_reason", t.Null()), set("quiet_until", t.Null()))
}

func doubted(why string) t.Effect {
	return effect("disputed", set("uncertain_reason", t.Str(why)), set("next_action", t.Str("decide")), set("due_at", t.Now()),
		set("quiet_until", t.After(t.Greatest(t.Col("lease_until"), t.Now()), t.Num(900_000))))
}

func ends(outcome string) t.Effect {
	return effect("outcome "+outcome, set("outcome", t.Str(outcome)), set("next_action", t.Null()), set("due_at", t.Null()), set("uncertain_reason", t.Null()))
}
