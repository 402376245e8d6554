package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// tellDenied says which guards of an event did not hold, in the table's own words, and what the row is now.
func (a *app) tellDenied(d *machine.DeniedError) {
	a.sayf("fencerow: %s on operation %q was denied; nothing was changed. It needs:", d.Event, d.OperationID)
	a.tellGuards(d.Event, d.Failed)
	a.sayf("The row is now: %s", standing(d.Seen, time.Now()))
	if changed := d.Changed(); changed != "" {
		a.sayf("What happened %s", changed)
	}
	if hint := a.deniedHint(d); hint != "" {
		a.sayf("%s", hint)
	}
}

// tellGuards says what guards ask for, in the table's own words.
func (a *app) tellGuards(event string, names []string) {
	docs := map[string]string{}
	if rule := program().Rule(event); rule != nil {
		for _, g := range rule.Guards {
			docs[g.Name] = g.Doc
		}
	}
	docs[machine.NoCandidate] = "the remote has told of no job that nobody here knows, or --despite-candidates says that none of them is this one's"
	for _, name := range names {
		a.sayf("  %s: %s", name, docs[name])
	}
}

// standing is where an operation is, on one line.
func standing(op machine.Operation, now time.Time) string {
	parts := []string{op.Phase, "seen " + op.Seen().String()}
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	add("outcome", op.Outcome)
	add("delivery", op.Delivery)
	add("reason", op.UncertainReason)
	add("remote job", op.RemoteJobID)
	add("late remote job", op.LateRemoteJobID)
	add("marked", marks(op))
	if op.LeaseUntil.After(now) {
		add("leased until", stamp(op.LeaseUntil))
	}
	if op.Phase == transitions.Uncertain && op.QuarantineUntil.After(now) {
		add("in quarantine until", stamp(op.QuarantineUntil))
	}
	return strings.Join(parts, ", ")
}

func (a *app) deniedHint(d *machine.DeniedError) string {
	for _, name := range d.Failed {
		switch name {
		case "revision", "evidence_seq":
			return fmt.Sprintf("It has moved since you looked. Look again with %s, and decide with --seen %s if it is still right.",
				a.commandOn(d.OperationID, []string{"show"}), d.Seen.Seen())
		case machine.NoCandidate:
			return fmt.Sprintf("%s lists what the remote told of. Look at the remote: if one of the jobs is this one's, attach it.", a.command("review", "unmatched"))
		case "quarantine_over", "redo_proof":
			if !onlyTimeIsMissing(d) {
				return ""
			}
			return "Look at the remote again after it: what a look before the end shows may be overtaken. Until the quarantine is over an old sender might still send. --override-quarantine takes that risk, and is recorded."
		}
	}
	return ""
}

// onlyTimeIsMissing reports whether all that stands against a decision is time, or a risk that can be taken.
func onlyTimeIsMissing(d *machine.DeniedError) bool {
	for _, name := range d.Failed {
		if name != "quarantine_over" && name != "redo_proof" && name != "lease_vacant" {
			return false
		}
	}
	return d.Seen.RemoteJobID == "" && d.Seen.LateRemoteJobID == ""
}

func marks(op machine.Operation) string {
	var names []string
	if op.DuplicateSuspected {
		names = append(names, "duplicate_suspected")
	}
	if op.OutcomeContradicted {
		names = append(names, "outcome_contradicted")
	}
	return strings.Join(names, " ")
}

// stamp writes a time in UTC, to the second.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}
