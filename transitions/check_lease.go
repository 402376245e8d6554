package transitions

import (
	"fmt"
	"slices"
)

func checkClaimBumps(s *survey, found report) {
	for _, d := range s.deeds {
		if d.takesLease() && !d.bumps() {
			found(d.Name, "it takes the lease and leaves the revision as it was, so that the holder before it still passes for the holder",
				"assign revision + 1")
		}
	}
}

func checkClaimFence(s *survey, found report) {
	for _, d := range s.deeds {
		if d.takesLease() && d.Fence != Vacant {
			found(d.Name, fmt.Sprintf("it takes the lease under the fence %s", d.Fence), "make its fence Vacant: a live lease is nobody else's to take")
		}
	}
}

// claimedAction recognizes the guard by which a claim names its work, in the one form that is compiled.
func claimedAction(g Guard) string {
	if g.Name == "next_action" && g.Expr.Op == OpEq && len(g.Expr.Args) == 2 && isCol(g.Expr.Args[0], "next_action") && g.Expr.Args[1].Op == OpLit {
		return g.Expr.Args[1].Value.Text()
	}
	return ""
}

func checkClaimNamesWork(s *survey, found report) {
	for _, d := range s.deeds {
		action := ""
		for _, g := range d.guards {
			if g.Name != "next_action" {
				continue
			}
			if action = claimedAction(g); action == "" || !d.takesLease() {
				found(d.Name, "its guard next_action is not that of a claim", "write next_action = a word in a claim, and give other guards other names")
			}
		}
		if !d.takesLease() {
			continue
		}
		if action == "" && !slices.ContainsFunc(d.guards, func(g Guard) bool { return g.Name == "next_action" }) {
			found(d.Name, "it claims an operation without naming the work", "add the guard next_action = a word")
		}
		for _, from := range d.from {
			if to := s.lands(d, from); to != nil && action != "" && to.Action != action {
				found(d.Name, fmt.Sprintf("it claims to %s, and lands in %s, where that holder has no business", action, to.Name),
					"claim the phase's own action, or land elsewhere")
				break
			}
		}
	}
}

func checkWholeLease(s *survey, found report) {
	for _, d := range s.deeds {
		owner, hasOwner := d.assigns("lease_owner")
		until, hasUntil := d.assigns("lease_until")
		extends := hasUntil && !hasOwner && !isNullLiteral(until)
		if !hasOwner && !hasUntil || extends {
			continue
		}
		if hasOwner != hasUntil || isNullLiteral(owner) != isNullLiteral(until) {
			found(d.Name, "it changes half of a lease", "assign lease_owner and lease_until together, or clear both")
		}
	}
}

func checkRenewal(s *survey, found report) {
	for _, d := range s.deeds {
		until, hasUntil := d.assigns("lease_until")
		if _, hasOwner := d.assigns("lease_owner"); hasOwner || !hasUntil || isNullLiteral(until) {
			continue
		}
		if d.Fence != Held {
			found(d.Name, fmt.Sprintf("it extends a lease under the fence %s", d.Fence), "make its fence Held: only the holder may extend")
		}
		if until.Op != OpGreatest || !hasCol(until, "lease_until") {
			found(d.Name, "it may shorten the lease, for instance when the clock was set back", "assign the greatest of lease_until and the new end")
		}
	}
}

func checkRevision(s *survey, found report) {
	for _, d := range s.deeds {
		x, ok := d.assigns("revision")
		if !ok || d.New {
			continue
		}
		one := x.Op == OpPlus && len(x.Args) == 2 && isCol(x.Args[0], "revision") && x.Args[1].Op == OpLit && x.Args[1].Value == IntValue(1)
		if !one {
			found(d.Name, fmt.Sprintf("it sets the revision to %s, which an earlier holder may have had", x), "assign revision + 1")
		}
	}
}

func checkTakeoverBumps(s *survey, found report) {
	for _, d := range s.deeds {
		byOthers := slices.Contains([]Fence{Vacant, Lapsed, Seen, Remote}, d.Fence)
		if byOthers && !d.takesLease() && !d.bumps() && (len(d.sets) > 0 || s.moves(d)) {
			found(d.Name, "it acts in place of a lease holder and leaves the revision as it was, so that a holder that was only paused still passes for the holder",
				"assign revision + 1")
		}
	}
}

func checkLeaseCarried(s *survey, found report) {
	for _, d := range s.deeds {
		if d.takesLease() || d.givesLeaseUp() {
			continue
		}
		for _, from := range d.from {
			to := s.lands(d, from)
			if to == nil || s.phase[from].Action == "" || to.Action == s.phase[from].Action || s.phase[from].Effecting && d.Fence == Held {
				continue // leaving an effecting phase is a matter of its own rule
			}
			found(d.Name, fmt.Sprintf("it carries the lease of %s into %s, where that holder has no business", from, to.Name), "clear the lease")
			break
		}
	}
}

func checkHeldSomewhere(s *survey, found report) {
	for _, d := range s.deeds {
		for _, from := range d.from {
			if d.Fence == Held && s.phase[from].Action == "" {
				found(d.Name, fmt.Sprintf("it needs the lease in %s, where nobody may hold it", from), "drop the phase from its From, or give the phase an action")
			}
		}
	}
}

func checkForms(s *survey, found report) {
	for _, d := range s.deeds {
		switch {
		case d.Also == Batch && !d.takesLease():
			found(d.Name, "it works on batches, and is no claim", "keep batches for claims")
		case d.Also == Sweep && (d.takesLease() || d.Fence != Lapsed && d.Fence != Vacant):
			found(d.Name, fmt.Sprintf("it sweeps under the fence %s, whose values differ from row to row, or as a claim", d.Fence), "sweep only what needs no holder and no decider")
		}
	}
}

func checkMovesAreKept(s *survey, found report) {
	for _, d := range s.deeds {
		if len(d.Notes.Unless) > 0 && (s.moves(d) || d.bumps() || d.New) {
			found(d.Name, "it may change the phase or the revision without leaving a trace", "drop its Unless: only what changes nothing but the lease and the schedule may go unrecorded")
		}
	}
}

// stateColumns need a fence: who holds the operation, and by what it is observed.
var stateColumns = []string{"operation_id", "lease_owner", "lease_until", "revision", "remote_job_id"}

func isUnfenced(d *deed) bool { return !d.New && (d.Fence == Open || d.Fence == Noticed) }

func checkUnfencedMoves(s *survey, found report) {
	for _, d := range s.deeds {
		if isUnfenced(d) && s.moves(d) {
			found(d.Name, "it changes the phase, whoever holds the lease", "give it a fence")
		}
	}
}

func checkUnfencedState(s *survey, found report) {
	for _, d := range s.deeds {
		if !isUnfenced(d) || s.moves(d) {
			continue
		}
		for _, x := range d.sets {
			switch {
			case slices.Contains(stateColumns, x.Col) || s.column[x.Col].Words != "":
				found(d.Name, fmt.Sprintf("it assigns %s, whoever holds the lease", x.Col), "give it a fence, or assign only marks, evidence and the schedule")
			case d.Fence == Open && !onlyAdds(d, x.Col, x.Expr):
				found(d.Name, fmt.Sprintf("it may take back what %s says", x.Col), "count up, set a mark with or, fill what is null, or move a time with least or greatest")
			}
		}
	}
}

// onlyAdds reports whether an assignment can take nothing back: it counts up, sets a mark, moves a time one way only,
// or fills a column that is null.
func onlyAdds(d *deed, col string, e Expr) bool {
	isEmpty := func(c Expr) bool {
		arg, ok := c.operand(OpIsNull)
		return ok && isCol(arg, col)
	}
	switch {
	case isCol(e, col), d.demands(isEmpty):
		return true
	case e.Op == OpOr || e.Op == OpLeast || e.Op == OpGreatest || e.Op == OpPlus:
		return hasCol(e, col)
	case e.Op == OpIf && len(e.Args) == 3 && onlyAdds(d, col, e.Args[2]):
		fills := func(c Expr) bool {
			same := func(a Expr) bool { return isEmpty(a) || a.Op == OpEq && hasCol(a, col) }
			return isEmpty(c) || c.Op == OpOr && !slices.ContainsFunc(c.Args, func(a Expr) bool { return !same(a) })
		}
		return onlyAdds(d, col, e.Args[1]) || slices.ContainsFunc(conjuncts(e.Args[0]), fills)
	}
	return false
}
