package transitions

import (
	"fmt"
	"slices"
	"strings"
)

// Compile checks a table and compiles it. A table with findings does not compile: the error is a *CheckError that
// holds all of them (contract F2).
func Compile(t Table) (*Program, error) {
	if findings := Check(t); len(findings) > 0 {
		return nil, &CheckError{Table: t.Name, Findings: findings}
	}
	return compile(t)
}

// MustCompile is Compile for a table that is part of the program's own text; it panics on a finding.
func MustCompile(t Table) *Program {
	p, err := Compile(t)
	if err != nil {
		panic(err)
	}
	return p
}

// compile does Compile's work without the safety rules; the findings that make it impossible are errors.
func compile(t Table) (*Program, error) {
	p := &Program{
		Name: t.Name, Columns: t.Columns, Phases: t.Phases, Actions: t.Actions,
		Outcomes: t.Outcomes, Reasons: t.Reasons,
		column: map[string]int{}, rule: map[string]*Rule{}, joins: t.Joined,
	}
	for i, c := range t.Columns {
		p.column[c.Name] = i
	}
	for i := range t.Events {
		r, err := p.compileEvent(&t.Events[i])
		if err != nil {
			return nil, fmt.Errorf("compile event %s: %w", t.Events[i].Name, err)
		}
		p.Rules = append(p.Rules, r)
		p.rule[r.Event] = r
	}
	return p, p.join()
}

func (p *Program) compileEvent(e *Event) (*Rule, error) {
	r := &Rule{
		Event: e.Name, From: e.From, To: e.To, New: e.New, Fence: e.Fence,
		Reason: orNull(e.Notes.Reason), Reviewer: orNull(e.Notes.Reviewer),
		Evidence: e.Notes.Evidence, Actor: e.Actor, Doc: e.Doc, Forms: []Form{One},
	}
	if e.Also != "" {
		r.Forms = append(r.Forms, e.Also)
	}
	if len(e.Notes.Unless) > 0 {
		r.Quiet = e.Notes.Unless[0]
	}
	if e.From == nil && !e.New {
		r.Any, r.From = true, p.PhaseNames()
	}
	if !e.New && !r.Any {
		r.Guards = append(r.Guards, Guard{"phase", In(Col("phase"), e.From...), "the phase is " + strings.Join(e.From, " or ")})
	}
	r.Guards = append(r.Guards, guardsOfFence[e.Fence]...)
	r.Guards = append(r.Guards, e.Guards...)
	for _, g := range r.Guards {
		if g.Name == "next_action" {
			r.Action = g.Expr.Args[1].Value.Text()
		}
	}
	if err := p.merge(r, e); err != nil {
		return nil, err
	}
	p.author(r)
	return r, p.collectParams(r)
}

// author says whom the rule's history row names, and what it may tell. Claims and renewals have nothing to tell.
func (p *Program) author(r *Rule) {
	r.Owner, r.Detail = Null(), Null()
	if p.Column("lease_owner") >= 0 {
		r.Owner = Col("lease_owner")
	}
	r.each(func(x Expr) {
		x.Walk(func(x Expr) {
			if x.Op == OpParam && x.Name == pOwner.Name {
				r.Owner = pOwner
			}
		})
	})
	if !r.IsClaim() && !(r.Quiet.Op == OpLit && r.Quiet.Value.Bool()) {
		r.Detail = Param("detail", Text)
	}
}

// merge gathers the effects into one assignment a column, in column order, and notes which of them history records.
func (p *Program) merge(r *Rule, e *Event) error {
	byCol := map[string]Expr{}
	add := func(col string, x Expr) error {
		if p.Column(col) < 0 {
			return fmt.Errorf("an effect assigns %q, which is no column", col)
		}
		if _, twice := byCol[col]; twice {
			return fmt.Errorf("two effects assign %q", col)
		}
		byCol[col] = x
		return nil
	}
	if e.To != "" && e.To != onlyOne(e.From) {
		if err := add("phase", Str(e.To)); err != nil {
			return err
		}
	}
	for _, effect := range e.Effects {
		for _, s := range effect.Sets {
			if err := add(s.Col, s.Expr); err != nil {
				return fmt.Errorf("effect %q: %w", effect.Name, err)
			}
		}
	}
	if err := add("updated_at", Now()); err != nil {
		return err
	}
	for i, c := range p.Columns {
		if x, ok := byCol[c.Name]; ok {
			r.Sets = append(r.Sets, Set{c.Name, x})
			if !c.Quiet {
				r.Recorded = append(r.Recorded, i)
			}
		}
	}
	return nil
}

func onlyOne(from []string) string {
	if len(from) == 1 {
		return from[0]
	}
	return ""
}

func orNull(e Expr) Expr {
	if e.IsSet() {
		return e
	}
	return Null()
}

// collectParams lists what the rule needs: operation_id first, then in the order of first use. Every rule
// that has something to tell takes a detail, which goes into its history row; it comes last.
func (p *Program) collectParams(r *Rule) error {
	kinds := map[string]Kind{}
	var err error
	see := func(x Expr) {
		if x.Op != OpParam {
			return
		}
		if k, ok := kinds[x.Name]; ok {
			if k != x.Kind {
				err = fmt.Errorf("parameter %q is used as %s and as %s", x.Name, k, x.Kind)
			}
			return
		}
		kinds[x.Name] = x.Kind
		r.Params = append(r.Params, ParamDef{x.Name, x.Kind})
	}
	r.each(func(x Expr) { x.Walk(see) })
	return err
}

// each visits every expression of a rule, in a fixed order.
func (r *Rule) each(visit func(Expr)) {
	visit(pID)
	for _, g := range r.Guards {
		visit(g.Expr)
	}
	for _, s := range r.Sets {
		visit(s.Expr)
	}
	for _, x := range []Expr{r.Reason, r.Reviewer, r.Quiet} {
		if x.IsSet() {
			visit(x)
		}
	}
	if e := r.Evidence; e != nil {
		for _, x := range []Expr{e.When, e.Kind, e.RemoteJobID, e.Detail, e.Revision, e.Owner} {
			visit(x)
		}
	}
	if r.Detail.IsSet() {
		visit(r.Detail)
	}
	if r.Then != nil {
		r.Then.each(visit)
	}
}

// Uses reports whether the rule takes a parameter.
func (r *Rule) Uses(param string) bool {
	return slices.ContainsFunc(r.Params, func(d ParamDef) bool { return d.Name == param })
}
