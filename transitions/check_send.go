package transitions

import (
	"fmt"
	"slices"
)

// mayHaveSent gives the phases in which a request may be at the remote: those that can be come to from an effecting
// phase without passing a sendable one, which is what proof alone leads back to.
func (s *survey) mayHaveSent() map[string]bool {
	var effecting []string
	for _, ph := range s.Phases {
		if ph.Effecting {
			effecting = append(effecting, ph.Name)
		}
	}
	sent := s.reach(effecting, func(ph *Phase) bool { return ph.Sendable })
	for _, ph := range s.Phases {
		if ph.Sendable {
			delete(sent, ph.Name)
		}
	}
	return sent
}

// waysBack calls visit for every event and phase from which the event leads back to where a request may be sent.
func (s *survey) waysBack(visit func(d *deed, from *Phase)) {
	sent := s.mayHaveSent()
	for _, d := range s.deeds {
		for _, from := range d.from {
			if to := s.lands(d, from); to != nil && to.Sendable && sent[from] {
				visit(d, s.phase[from])
			}
		}
	}
}

// A proof is a word that only who fires the event can bring; a decision is a person's, about the row that was seen.
func checkProof(s *survey, found report) {
	byWord := func(e Expr) bool {
		return (e.Op == OpIn || e.Op == OpEq) && len(e.Args) > 1 && e.Args[0].Op == OpParam && e.Args[1].Op == OpLit
	}
	named := func(e Expr) bool { return isBlankRefused(e, "") }
	s.waysBack(func(d *deed, from *Phase) {
		decided := !from.Effecting && d.Fence == Seen && d.demands(named)
		if !d.demands(byWord) && !decided {
			found(d.Name, fmt.Sprintf("it leads from %s, where a request may be at the remote, back to where one may be sent, without proof", from.Name),
				"add a guard on a proof that the event brings, or lead to where a person decides")
		}
	})
}

func checkKnownJob(s *survey, found report) {
	s.waysBack(func(d *deed, from *Phase) {
		for _, col := range []string{"remote_job_id", "late_remote_job_id"} {
			isNull := func(e Expr) bool {
				arg, ok := e.operand(OpIsNull)
				return ok && isCol(arg, col)
			}
			if !from.Effecting && s.column[col] != nil && !d.demands(isNull) {
				found(d.Name, fmt.Sprintf("it allows a second request although %s may name the job of the first", col), "add the guard "+col+" is null")
			}
		}
	})
}

func checkQuarantine(s *survey, found report) {
	s.waysBack(func(d *deed, from *Phase) {
		waits := slices.ContainsFunc(d.guards, func(g Guard) bool {
			passed := false
			g.Expr.Walk(func(e Expr) {
				passed = passed || e.Op == OpLe && len(e.Args) == 2 && e.Args[0].Op == OpCol && e.Args[0].Name != "lease_until" && e.Args[1].Op == OpNow
			})
			return passed
		})
		if !from.Effecting && !waits {
			found(d.Name, "it allows a second request while a sender that was only paused may still send the first", "add a guard that a time of the row has passed, longer than any request can take")
		}
	})
}

func checkEffectingEntry(s *survey, found report) {
	for _, d := range s.deeds {
		for _, from := range d.from {
			to := s.lands(d, from)
			if to != nil && to.Effecting && d.Fence != Held && (to.Name != from || d.takesLease()) {
				found(d.Name, fmt.Sprintf("it lets a request out in %s under the fence %s", to.Name, d.Fence), "enter the phase under a lease that is held already")
				break
			}
		}
	}
}

func checkEffectingSource(s *survey, found report) {
	for _, d := range s.deeds {
		for _, from := range d.from {
			if to := s.lands(d, from); to != nil && to.Effecting && to.Name != from && !s.phase[from].Sendable {
				found(d.Name, fmt.Sprintf("it lets a request out from %s, which is not marked Sendable", from), "lead there from a sendable phase, or mark this one")
			}
		}
	}
}

func checkEffectingRelease(s *survey, found report) {
	for _, d := range s.deeds {
		for _, from := range d.from {
			if to := s.lands(d, from); to != nil && to.Effecting && d.givesLeaseUp() {
				found(d.Name, fmt.Sprintf("it gives the lease up and stays in %s, where a request may be on the wire", to.Name), "drop the phase from its From, or say how the request ended")
			}
		}
	}
}

func checkEffectingExit(s *survey, found report) {
	for _, d := range s.deeds {
		for _, from := range d.from {
			to := s.lands(d, from)
			if to != nil && s.phase[from].Effecting && to.Name != from && d.Fence == Held && !d.givesLeaseUp() {
				found(d.Name, fmt.Sprintf("it leaves %s and keeps the lease, so that the next send would pass under the same revision when an answer of the database is late or comes twice", from),
					"release the lease: the next send needs a new claim")
			}
		}
	}
}

// Who is not the sender knows nothing of how the request ended.
func checkGuess(s *survey, found report) {
	for _, d := range s.deeds {
		for _, from := range d.from {
			to := s.lands(d, from)
			if to == nil || !s.phase[from].Effecting || to.Name == from || d.Fence == Held || to.Sendable {
				continue // what leads back to a sendable phase is a matter of proof
			}
			byPerson := slices.ContainsFunc(s.exits(to.Name), func(x *deed) bool { return x.Fence == Seen })
			if to.HasOutcome || !byPerson {
				found(d.Name, fmt.Sprintf("it leads from %s to %s under the fence %s: that is a guess", from, to.Name, d.Fence),
					"lead to a phase without an outcome that a person's decision, fenced seen, leads out of")
			}
		}
	}
}

func checkIDKept(s *survey, found report) {
	for _, d := range s.deeds {
		if _, ok := d.assigns("remote_job_id"); !ok || d.Notes.Evidence != nil {
			continue
		}
		isNull := func(e Expr) bool {
			arg, ok := e.operand(OpIsNull)
			return ok && isCol(arg, "remote_job_id")
		}
		// Nothing leads to an effecting phase with an id: the way back to a sendable one refuses it.
		known := slices.ContainsFunc(d.from, func(from string) bool { return !s.phase[from].Effecting })
		if known && !d.demands(isNull) {
			found(d.Name, "it replaces a remote job id, and the old one is lost", "append it to the evidence, or add the guard remote_job_id is null")
		}
	}
}

func checkOutcomeOnce(s *survey, found report) {
	for _, d := range s.deeds {
		if _, ok := d.assigns("outcome"); !ok {
			continue
		}
		for _, from := range d.from {
			if s.phase[from].HasOutcome {
				found(d.Name, fmt.Sprintf("it sets the outcome in %s, where there is one already", from), "drop the phase from its From, or keep the outcome")
			}
		}
	}
}

func checkOutcomeSet(s *survey, found report) {
	for _, d := range s.deeds {
		for _, from := range append([]string{""}, d.from...) {
			start := s.phase[from]
			if (start == nil) != d.New || start != nil && start.HasOutcome {
				continue
			}
			to := s.lands(d, from)
			x, sets := d.assigns("outcome")
			if to != nil && to.HasOutcome && (!sets || slices.ContainsFunc(results(x), isNullLiteral)) {
				found(d.Name, fmt.Sprintf("it leads to %s and may leave the outcome empty", to.Name), "assign a word to outcome")
			}
			if to != nil && !to.HasOutcome && sets {
				found(d.Name, fmt.Sprintf("it sets the outcome and lands in %s, which is marked to have none", to.Name), "lead to a phase marked HasOutcome")
			}
		}
	}
}

func checkOutcomeLeft(s *survey, found report) {
	for _, d := range s.deeds {
		for _, from := range d.from {
			if to := s.lands(d, from); to != nil && s.phase[from].HasOutcome && !to.HasOutcome {
				found(d.Name, fmt.Sprintf("it leads from %s, whose outcome is known, to %s, which has none", from, to.Name), "keep what has ended among the phases that have an outcome")
			}
		}
	}
}

func checkDecision(s *survey, found report) {
	for _, d := range s.deeds {
		if d.Fence != Noticed && !(d.Fence == Seen && s.moves(d)) {
			continue
		}
		for _, n := range []struct {
			what string
			expr Expr
		}{{"reviewer", d.Notes.Reviewer}, {"reason", d.Notes.Reason}} {
			given := n.expr.Op == OpParam && d.demands(func(e Expr) bool { return isBlankRefused(e, n.expr.Name) })
			if !given {
				found(d.Name, fmt.Sprintf("a person decides, and need not give a %s", n.what), fmt.Sprintf("note a parameter as the %s, and guard that it is not blank", n.what))
			}
		}
	}
}
