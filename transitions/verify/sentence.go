package verify

import (
	"fmt"
	"strings"
)

// sentence tells one step; "" where there is nothing to tell.
func (t *teller) sentence(s step, from, to *state) string {
	who := t.name(s.who)
	switch s.kind {
	case passes:
		return t.passing(from, to)
	case fires:
		return t.firing(s, from, to)
	case vanishes:
		return fmt.Sprintf("%s fires %s; no reply comes, and the statement may still be under way.", who, t.called(s.call))
	case lands:
		return fmt.Sprintf("%s's %s, which was under way, arrives and is applied: the operation is %s.", who, t.called(s.call), t.phrase(to.row))
	case drops:
		return fmt.Sprintf("%s's %s, which was under way, never arrives.", who, t.called(s.call))
	case asks:
		return fmt.Sprintf("%s asks history whether its %s was applied: %s.", who, t.called(s.call), pick(s.applied, "it was", "it was not, and it can be no more"))
	case crashes:
		return fmt.Sprintf("%s crashes%s.", who, pick(from.workers[s.who].pc == sending, "; its request is still under way", ""))
	case sends:
		return fmt.Sprintf("%s sends the request.%s", who, pick(s.broken != "" && s.broken != "I1", " The row is "+t.phrase(from.row)+", not submitting under its lease.", ""))
	case arrives:
		heard := pick(s.who >= 0, " and "+strings.ToLower(who[:1])+who[1:]+" gets the answer", ", and nobody gets the answer")
		return fmt.Sprintf("The request reaches the remote, which creates %s%s.", jobID(to.jobs), heard)
	case refuses:
		return fmt.Sprintf("The request reaches the remote, which creates nothing and says so to %s.", strings.ToLower(who[:1])+who[1:])
	case givesUp:
		return fmt.Sprintf("%s waits no longer for the remote's answer; the request is still under way.", who)
	case looks:
		return fmt.Sprintf("The reviewer looks: the operation is %s, evidence %d.", t.phrase(from.row), from.reviewer.seq)
	case adopts:
		return fmt.Sprintf("%s finds the row leased to its own owner string and takes it for its own claim: revision %d.", who, to.workers[s.who].rev)
	case supposes:
		return fmt.Sprintf("%s takes it for granted that its %s was applied.", who, t.called(s.call))
	case fails:
		return "A request whose sender is gone is lost in the network."
	default:
		return ""
	}
}

func (t *teller) called(n int16) string { return t.calls[n].rule.Event }

func (t *teller) firing(s step, from, to *state) string {
	c := t.calls[s.call]
	with := c.rule.Event
	if c.says != "" {
		with += " (" + c.says + ")"
	}
	if s.who == person {
		with += fmt.Sprintf(" on what it saw, revision %d", from.reviewer.rev)
	}
	if !s.applied {
		return fmt.Sprintf("%s fires %s: denied.", t.name(s.who), with)
	}
	text := fmt.Sprintf("%s fires %s: the operation is %s.", t.name(s.who), with, t.phrase(to.row))
	if s.twice {
		text += " The statement is under way a second time."
	}
	return text
}

// passing says what ends when time passes.
func (t *teller) passing(from, to *state) string {
	var ends []string
	b, a := t.space.rows[from.row], t.space.rows[to.row]
	for i, c := range t.p.Columns {
		if b[i] != a[i] && a[i].Micros() <= now {
			ends = append(ends, c.Name+" is reached")
		}
	}
	for i := range t.bound.Workers {
		if from.workers[i].left > 0 && to.workers[i].left == 0 {
			ends = append(ends, t.name(int8(i))+"'s own deadline has come")
		}
	}
	if len(ends) == 0 {
		return "Time passes."
	}
	return "Time passes: " + strings.Join(ends, ", ") + "."
}
