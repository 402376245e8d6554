package immediate

import (
	"slices"

	t "github.com/fencerow/fencerow/transitions"
)

// Table is the standard lifecycle without observation: who names the remote job has its result. The answer must name it
// (a receipt number, say), since it is by its name that a late answer is known to be this operation's.
func Table() t.Table {
	table := t.Standard()
	table.Name = "immediate"
	table.DropEvents("remote_id_missing",
		"observe_claim", "observe_pending", "observe_succeeded", "observe_failed", "observe_canceled", "observe_lost", "observe_overdue",
		"notified_succeeded", "notified_failed", "notified_canceled")
	table.DropPhases(t.Submitted, t.Observing)
	table.DropColumns("observe_deadline", "observe_deadline_ms", "not_found_until", "not_found_grace_ms")
	table.Actions = slices.DeleteFunc(table.Actions, func(a t.Action) bool { return a.Name == t.Observe })
	for _, name := range []string{"submit_accepted", "investigate_found", "evidence_attach", "review_attach"} {
		e := table.Event(name)
		e.To = t.Terminal
		const observed = "store remote job id, observe due"
		stored := e.Effect(observed).Without("next_action", "due_at", "uncertain_reason")
		stored.Name = "store remote job id"
		e.Replace(observed, stored, t.EndsWithResult())
		if name != "evidence_attach" { // a late answer's words are in the evidence
			e.Effects = append(e.Effects, t.KeepSnapshot())
		}
	}
	return table
}
