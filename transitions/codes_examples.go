package transitions

import "slices"

// The examples, in the order of the codes. Each is the standard lifecycle with one thing wrong.

// broken changes one event of the standard lifecycle. It is joined to no other, so that one fault gives one finding.
func broken(event string, change func(*Event)) Table {
	t := Standard()
	t.Joined = slices.DeleteFunc(t.Joined, func(j Joined) bool { return j.First == event || j.Then == event })
	for i := range t.Events {
		if t.Events[i].Name == event {
			change(&t.Events[i])
		}
	}
	return t
}

// without leaves out a guard or an effect by name.
func without[T any](items []T, name string, nameOf func(T) string) []T {
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool { return nameOf(item) == name })
}

func unguarded(event, guard string) Table {
	return broken(event, func(e *Event) {
		e.Guards = without(e.Guards, guard, func(g Guard) string { return g.Name })
	})
}

func ineffective(event string, effect Effect, instead ...Effect) Table {
	return broken(event, func(e *Event) {
		e.Effects = append(without(e.Effects, effect.Name, func(x Effect) string { return x.Name }), instead...)
	})
}

// decided is a reviewer's way from one phase to another.
func decided(name, from, to string) Event {
	return Event{Name: name, From: []string{from}, To: to, Fence: Seen, Guards: []Guard{gReviewer, gReason},
		Effects: []Effect{bump}, Notes: Notes{Reason: pReason, Reviewer: pReviewer}, Actor: "reviewer", Doc: "a person moves it"}
}

func exampleNoUpdatedAt() Table {
	t := Standard()
	t.Columns = without(t.Columns, "updated_at", func(c Column) string { return c.Name })
	return t
}

func exampleColumnTwice() Table {
	t := Standard()
	t.Columns = append(t.Columns, Column{Name: "keep", Kind: Text, Doc: "again"})
	return t
}

func exampleEventTwice() Table {
	t := Standard()
	for _, e := range t.Events {
		if e.Name == "redo" {
			t.Events = append(t.Events, e)
		}
	}
	return t
}

func exampleUnknownPhase() Table {
	return broken("cancel_request", func(e *Event) { e.From = append(slices.Clone(e.From), "preparing") })
}

func exampleUnknownColumn() Table {
	return broken("cancel", func(e *Event) {
		e.Guards = append(e.Guards, Guard{"unpaid", Not(Col("paid")), "nobody paid for it"})
	})
}

func exampleKinds() Table {
	return ineffective("submit_begin", begun, Effect{"attempt begun", []Set{
		{"attempts", Now()}, {"submitted_at", Now()}, {"next_action", Null()}, {"due_at", Null()},
	}})
}

func exampleAssignedTwice() Table {
	return broken("observe_failed", func(e *Event) { e.Effects = append(e.Effects, keepSnapshot) })
}

func exampleGuardTwice() Table {
	return broken("redeliver", func(e *Event) { e.Guards = append(e.Guards, gDeliveryEnded) })
}

func exampleNoCreation() Table {
	t := Standard()
	t.Events = without(t.Events, "prepare", func(e Event) string { return e.Name })
	return t
}

func exampleNotGiven() Table {
	rest := without(stored.Sets, "created_at", func(s Set) string { return s.Col })
	return ineffective("prepare", stored, Effect{stored.Name, rest})
}

func exampleUnreachable() Table {
	t := Standard()
	t.Phases = append(t.Phases, Phase{Name: "archived", HasOutcome: true, True: "nobody looks at it any more", Lapse: "–"})
	return t
}

func exampleNoWayOut() Table {
	t := Standard()
	t.Phases = append(t.Phases, Phase{Name: "parked", True: "somebody will think about it", Lapse: "–"})
	t.Events = append(t.Events, decided("park", Uncertain, "parked"))
	return t
}

func exampleTrap() Table {
	t := exampleNoWayOut()
	t.Phases = append(t.Phases, Phase{Name: "waiting", True: "somebody thinks about it", Lapse: "–"})
	t.Events = append(t.Events, decided("think", "parked", "waiting"), decided("think_again", "waiting", "parked"))
	return t
}

func exampleDeadHolder() Table {
	t := broken("deliver_claim", func(e *Event) { e.From = []string{Terminal} })
	t.Events = without(t.Events, "deliver_exhausted", func(e Event) string { return e.Name })
	return t
}

func exampleClaimNoBump() Table {
	return ineffective("dispatch_claim", take, Effect{"take lease", []Set{{"lease_owner", pOwner}, {"lease_until", After(Now(), pTTL)}}})
}

func exampleClaimFence() Table {
	return broken("investigate_claim", func(e *Event) { e.Fence = Held })
}

func exampleClaimNoWork() Table { return unguarded("investigate_claim", "next_action") }

func exampleHalfLease() Table {
	return ineffective("deliver_retry", release, Effect{"release", []Set{{"lease_owner", Null()}}})
}

func exampleRenewal() Table {
	return ineffective("renew", extend, Effect{"set lease", []Set{{"lease_until", After(Now(), pTTL)}}})
}

func exampleRevision() Table {
	return ineffective("redeliver", bump, Effect{"begin anew", []Set{{"lease_owner", Null()}, {"lease_until", Null()}, {"revision", Num(0)}}})
}

func exampleTakeoverNoBump() Table { return ineffective("submit_lapsed", bump, release) }

func exampleLeaseCarried() Table { return ineffective("observe_succeeded", release) }

func exampleHeldNowhere() Table {
	return broken("deliver_retry", func(e *Event) { e.From = []string{Delivering, Terminal} })
}

func exampleForms() Table {
	return broken("redeliver", func(e *Event) { e.Also = Sweep })
}

func exampleNoTrace() Table {
	return broken("submit_begin", func(e *Event) { e.Notes.Unless = []Expr{Yes()} })
}

func exampleUnfencedMove() Table {
	return broken("cancel", func(e *Event) { e.Fence = Open; e.Also = "" })
}

func exampleUnfencedState() Table {
	return broken("cancel_request", func(e *Event) {
		e.Effects = append(e.Effects, Effect{"nothing comes next", []Set{{"next_action", Null()}}})
	})
}

func exampleNoProof() Table { return unguarded("submit_not_created", "proof") }

func exampleKnownJob() Table { return unguarded("review_not_created", "no_remote_job_id") }

func exampleNoQuarantine() Table { return unguarded("review_not_created", "quarantine_over") }

func exampleUnfencedSend() Table {
	return broken("dispatch_claim", func(e *Event) { e.To = Submitting })
}

func exampleSendFromElsewhere() Table {
	t := Standard()
	for i := range t.Phases {
		if t.Phases[i].Name == Prepared {
			t.Phases[i].Sendable = false
		}
	}
	return t
}

func exampleReleaseOnTheWire() Table {
	return broken("release", func(e *Event) { e.From = append(slices.Clone(e.From), Submitting) })
}

func exampleKeepsLease() Table { return ineffective("submit_not_created", release) }

func exampleGuess() Table {
	return broken("submit_lapsed", func(e *Event) { e.To = Submitted })
}

func exampleIDLost() Table {
	return broken("review_attach", func(e *Event) { e.Notes.Evidence = nil })
}

func exampleOutcomeTwice() Table {
	return broken("deliver_failed", func(e *Event) {
		e.Effects = append(e.Effects, Effect{"outcome failed", []Set{{"outcome", Str("failed")}}})
	})
}

func exampleNoOutcome() Table { return ineffective("observe_failed", ends("failed"), nothingDue) }

func exampleReopened() Table {
	t := Standard()
	t.Events = append(t.Events, decided("reopen", Terminal, Uncertain))
	return t
}

func exampleNoAuthor() Table { return unguarded("review_abandon", "reviewer") }

func exampleJoinedUnknown() Table {
	t := Standard()
	t.Joined = append(t.Joined, Joined{First: "dispatch_claim", Then: "submit_start", Doc: "claims and begins"})
	return t
}

func exampleIntentWithItsEnd() Table {
	t := Standard()
	t.Joined = append(t.Joined, Joined{First: "submit_begin", Then: "submit_accepted", Doc: "stores the request's begin and its end"})
	return t
}
