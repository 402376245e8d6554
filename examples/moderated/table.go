package moderated

import t "github.com/fencerow/fencerow/transitions"

// Moderating is the phase in which a result waits for somebody to look at it.
const Moderating = "moderating"

// Moderate is the work that is claimed there.
const Moderate = "moderate"

// notModerated is why an operation at whose result nobody looked in time is uncertain.
const notModerated = "not_moderated"

// Table is the standard lifecycle, in which a job that succeeded has no outcome before somebody looked at its result.
func Table() t.Table {
	table := t.Standard()
	table.Name = "moderated"
	table.Columns = append(table.Columns,
		t.Column{Name: "moderate_deadline_ms", Kind: t.Int, Check: "natural", Doc: "how long a result may wait to be looked at; null: for ever"},
		t.Column{Name: "moderate_deadline", Kind: t.Time, Doc: "looked at no later than this"},
	)
	table.AddPhase(t.Observing, t.Phase{
		Name: Moderating, Action: Moderate, Restless: true,
		True: "the remote job succeeded; nobody has said yet whether its result may be used", Lapse: "safe: looking changes nothing",
	})
	table.Actions = append(table.Actions, t.Action{Name: Moderate, By: "moderator", Doc: "look at the result"})
	table.Reasons = append(table.Reasons, notModerated)

	prepare := table.Event("prepare")
	prepare.Effects = append(prepare.Effects, deadlineGiven)
	for _, name := range []string{"observe_succeeded", "notified_succeeded"} {
		e := table.Event(name)
		e.To = Moderating
		e.Replace(t.EndsWithResult().Name, moderationDue)
	}
	for _, name := range []string{"renew", "release"} {
		e := table.Event(name)
		e.From = append(e.From, Moderating)
	}
	table.AddEvents("notified_canceled", moderation()...)
	return table
}

// moderation lists the events of the new phase.
func moderation() []t.Event {
	in := []string{Moderating}
	signed := t.Notes{Reason: t.Param("reason", t.Text), Reviewer: t.Param("reviewer", t.Text)}
	return []t.Event{
		{
			Name: "moderate_claim", From: in, Fence: t.Vacant, Guards: t.ClaimGuards(Moderate), Effects: []t.Effect{t.TakeLease()},
			Also: t.Batch, Actor: "moderator", Doc: "takes the operation in order to look at its result",
		},
		{
			Name: "moderate_passed", From: in, To: t.Terminal, Fence: t.Held, Guards: []t.Guard{t.ReviewerGiven()},
			Effects: []t.Effect{t.EndsWithResult(), t.ReleaseLease()}, Notes: signed,
			Actor: "moderator", Doc: "the result may be used",
		},
		{
			Name: "moderate_refused", From: in, To: t.Terminal, Fence: t.Held, Guards: []t.Guard{t.ReviewerGiven(), t.ReasonGiven()},
			Effects: []t.Effect{t.Ends("failed"), t.ReleaseLease()}, Notes: signed,
			Actor: "moderator", Doc: "the result may not be used, and somebody says why",
		},
		{
			Name: "moderate_overdue", From: in, To: t.Uncertain, Fence: t.Lapsed, Guards: []t.Guard{deadlinePassed},
			Effects: []t.Effect{unlooked, t.ClearLease()}, Notes: t.Notes{Reason: t.Str(notModerated)},
			Also: t.Sweep, Actor: "reconciler", Doc: "nobody looked in time, and nobody looks now: a person decides",
		},
	}
}

var (
	deadlinePassed = t.Guard{Name: "moderate_deadline_passed", Expr: t.Le(t.Col("moderate_deadline"), t.Now()), Doc: "the result waited long enough"}

	deadlineGiven = t.Effect{Name: "moderate deadline as given", Sets: []t.Set{
		{Col: "moderate_deadline_ms", Expr: t.Param("moderate_deadline_ms", t.Int)},
	}}
	moderationDue = t.Effect{Name: "moderate due", Sets: []t.Set{
		{Col: "next_action", Expr: t.Str(Moderate)}, {Col: "due_at", Expr: t.Now()},
		{Col: "moderate_deadline", Expr: t.After(t.Now(), t.Col("moderate_deadline_ms"))},
		{Col: "uncertain_reason", Expr: t.Null()}, {Col: "quarantine_until", Expr: t.Null()},
	}}
	// A reviewer, and no investigator: that the remote job exists is known.
	unlooked = t.Effect{Name: "review due", Sets: []t.Set{
		{Col: "uncertain_reason", Expr: t.Str(notModerated)},
		{Col: "quarantine_until", Expr: t.After(t.Greatest(t.Col("lease_until"), t.Now()), t.Col("quarantine_ms"))},
		{Col: "next_action", Expr: t.Str(t.Review)}, {Col: "due_at", Expr: t.Null()},
	}}
)
