package transitions

import (
	"fmt"
	"maps"
	"slices"
)

// CompileUnchecked compiles a table without asking Check. It is for those who have to run a table that breaks a safety
// rule in order to show what comes of it: the model checker, tests and the mutation run. A program that was compiled so
// can send a request twice, so nothing that sends may be given one. The error is what makes compiling impossible.
func CompileUnchecked(t Table) (*Program, error) { return compile(t) }

// Altered gives a copy of the program in which alter has changed one event's rule; the program itself stays as it is.
// Like CompileUnchecked it is for the model checker, tests and the mutation run, and what it gives can send a request
// twice. It is an error if the program has no such event, or if alter changed nothing that the rule says.
//
// Alter may replace the rule's fields and their elements. What is derived from them (Params, Action) stays as it is
// unless alter changes it too: so that a guard that is taken away takes nothing else along.
func (p *Program) Altered(event string, alter func(*Rule)) (*Program, error) {
	at := slices.IndexFunc(p.Rules, func(r *Rule) bool { return r.Event == event })
	if at < 0 {
		return nil, fmt.Errorf("alter table %s: it has no event %q", p.Name, event)
	}
	r := p.Rules[at].clone()
	alter(r)
	if r.same(p.Rules[at]) {
		return nil, fmt.Errorf("alter table %s: event %s is what it was", p.Name, event)
	}
	q := *p
	q.Rules = slices.Clone(p.Rules)
	q.Rules[at] = r
	q.rule = maps.Clone(p.rule)
	q.rule[event] = r
	if err := q.join(); err != nil {
		return nil, fmt.Errorf("alter table %s: %w", p.Name, err)
	}
	return &q, nil
}

// Without is Altered by taking one guard away, be it the phase's, its fence's or the event's own.
func (p *Program) Without(event, guard string) (*Program, error) {
	q, err := p.Altered(event, func(r *Rule) {
		r.Guards = slices.DeleteFunc(r.Guards, func(g Guard) bool { return g.Name == guard })
	})
	if err != nil {
		return nil, fmt.Errorf("take guard %s away: %w", guard, err)
	}
	return q, nil
}

// WithoutSet is Altered by taking the assignment of one column away, from the row and from what history records.
func (p *Program) WithoutSet(event, column string) (*Program, error) {
	q, err := p.Altered(event, func(r *Rule) {
		r.Sets = slices.DeleteFunc(r.Sets, func(s Set) bool { return s.Col == column })
		r.Recorded = slices.DeleteFunc(r.Recorded, func(i int) bool { return p.Columns[i].Name == column })
	})
	if err != nil {
		return nil, fmt.Errorf("take the assignment of %s away: %w", column, err)
	}
	return q, nil
}

// clone copies a rule so that its lists can be changed.
func (r *Rule) clone() *Rule {
	c := *r
	c.From, c.Guards, c.Sets, c.Forms = slices.Clone(r.From), slices.Clone(r.Guards), slices.Clone(r.Sets), slices.Clone(r.Forms)
	c.Params, c.Recorded = slices.Clone(r.Params), slices.Clone(r.Recorded)
	if r.Evidence != nil {
		e := *r.Evidence
		c.Evidence = &e
	}
	return &c
}

// same compares what two rules say, word by word.
func (r *Rule) same(other *Rule) bool {
	said := func(r *Rule) string {
		s := fmt.Sprint(r, r.Recorded, r.Reason, r.Reviewer, r.Owner, r.Detail)
		if e := r.Evidence; e != nil {
			s += fmt.Sprint(e.When, e.Kind, e.RemoteJobID, e.Detail, e.Revision, e.Owner)
		}
		return s
	}
	return said(r) == said(other)
}
