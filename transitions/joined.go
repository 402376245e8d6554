package transitions

import (
	"fmt"
	"slices"
	"strings"
)

// Joined says that two events may be fired in one statement, the second on what the first has left: for whoever does
// one right after the other anyway, and would wait for the disk in between. It is no event of its own, and no way that
// the two have not: each is judged by its own guards, at one moment, and leaves its own history row. The second is only
// fired where the first was applied; where it is denied, the first stands. What the model checker finds for the events
// one after the other therefore holds for them joined.
//
// Two of which the second can never come after the first, or that are neither a claim's nor a lease holder's, or that
// append evidence or may leave no history, are not joined: whoever does both does so in two statements.
type Joined struct {
	First, Then string // events
	Doc         string
}

// Name is what the two are fired by, as if they were one event.
func (j Joined) Name() string { return j.First + "+" + j.Then }

// ThenPrefix stands before the name of a parameter of the second of two joined events, where the first has one of its
// own.
const ThenPrefix = "then_"

// join compiles what the table joins, from the rules of its events.
func (p *Program) join() error {
	p.Joined = nil
	for _, j := range p.joins {
		first, then := p.rule[j.First], p.rule[j.Then]
		taken := slices.ContainsFunc(p.Rules, func(r *Rule) bool { return r.Event == j.Name() })
		if first == nil || then == nil || taken || !joinable(first, then) {
			continue
		}
		r := first.clone()
		r.Event, r.Doc, r.Forms, r.Params = j.Name(), j.Doc, []Form{One}, nil
		r.First, r.Then = first, then.after(first)
		for _, x := range []*Rule{r.Then, r} {
			if err := p.collectParams(x); err != nil {
				return fmt.Errorf("join %s: %w", j.Name(), err)
			}
		}
		p.Joined = append(p.Joined, r)
		p.rule[r.Event] = r
	}
	return nil
}

// after is the rule as the second of two: its parameters have names of their own. Where the first is a claim, the second
// is fired under that claim, which its statement has just made: the owner is the claim's, and the revision is the row's.
func (r *Rule) after(first *Rule) *Rule {
	c := r.clone()
	c.Params = nil
	rename := func(x Expr) Expr {
		switch {
		case x.Op != OpParam || x.Name == "operation_id" || first.IsClaim() && x.Name == "owner":
			return x
		case first.IsClaim() && x.Name == "revision":
			return Col("revision")
		}
		x.Name = ThenPrefix + x.Name
		return x
	}
	for i, g := range c.Guards {
		c.Guards[i].Expr = g.Expr.mapped(rename)
	}
	c.Guards = slices.DeleteFunc(c.Guards, func(g Guard) bool { // the revision is the row's own
		x := g.Expr
		return x.Op == OpEq && x.Args[0].Op == OpCol && isCol(x.Args[1], x.Args[0].Name)
	})
	for i, s := range c.Sets {
		c.Sets[i].Expr = s.Expr.mapped(rename)
	}
	for _, x := range []*Expr{&c.Reason, &c.Reviewer, &c.Owner, &c.Detail} {
		*x = x.mapped(rename)
	}
	return c
}

// mapped is the expression with every part of it changed.
func (e Expr) mapped(change func(Expr) Expr) Expr {
	e.Args = slices.Clone(e.Args)
	for i, a := range e.Args {
		e.Args[i] = a.mapped(change)
	}
	return change(e)
}

// joinable reports whether one statement can fire the two, and the second can ever come after the first: both are a
// claim's or a lease holder's, of an operation that exists, and leave one history row each and no evidence.
func joinable(first, then *Rule) bool {
	fits := func(r *Rule) bool {
		if slices.ContainsFunc(r.Params, func(d ParamDef) bool { return strings.HasPrefix(d.Name, ThenPrefix) }) {
			return false // the second's parameters could not be told from it
		}
		return !r.New && (r.Fence == Held || r.IsClaim()) && r.Evidence == nil && !r.Quiet.IsSet()
	}
	return fits(first) && fits(then) && slices.ContainsFunc(first.From, func(from string) bool { return then.Leaves(first.Lands(from)) })
}

// checkJoined holds joined events to what the table has. Two that do not fit are no finding: a table that extends another
// may lead elsewhere.
func checkJoined(s *survey, found report) {
	known := func(event string) bool {
		return slices.ContainsFunc(s.Events, func(e Event) bool { return e.Name == event })
	}
	for i, j := range s.Joined {
		switch same := func(k Joined) bool { return k.Name() == j.Name() }; {
		case !known(j.First) || !known(j.Then):
			found(j.Name(), "it joins what is no event of the table", "name two events")
		case known(j.Name()):
			found(j.Name(), "an event of the table is called as the two are", "call the event otherwise")
		case slices.ContainsFunc(s.Joined[:i], same):
			found(j.Name(), "it is declared twice", "keep one of them")
		}
	}
}

// checkIntentAlone refuses to store the intent to send together with what came of it.
func checkIntentAlone(s *survey, found report) {
	for _, j := range s.Joined {
		for _, d := range s.deeds {
			if d.Name == j.First && d.To != "" && s.phase[d.To] != nil && s.phase[d.To].Effecting {
				found(j.Name(), fmt.Sprintf("it stores that a request may be on the wire, in %s, together with what came of it", d.To),
					"let the event that lands there stand alone, or come second")
			}
		}
	}
}
