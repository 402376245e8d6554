package machinetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// page is what a claim or a sweep is let loose on: rows that it may take, in an order that only priorities, times and ids
// tell, and before them rows that it may not take, each for one reason.
type page struct {
	*suite
	g         *generator
	params    transitions.Params
	rows      []transitions.Row
	reference *machine.Memory // which rows are found, and in which order
}

// What a page is made of, beside a row for every guard that fails alone.
const (
	eligibleRows  = 16
	ineligibleFor = 3 // rows that one guard refuses
	anyRows       = 12
)

// everyTake holds what claims and sweeps find against the memory store, and what they do to it against Eval: one row,
// then two, then all that are left.
func everyTake(t *testing.T, s *suite) {
	s.putHolders()
	taken := 0
	for n, rule := range s.p.Rules {
		if !s.fires(rule) || !rule.Has(transitions.Batch) && !rule.Has(transitions.Sweep) {
			continue
		}
		if p := s.pageOf(n, rule); p != nil {
			taken += p.take(1) + p.take(2) + p.take(1000)
			p.park()
		}
	}
	t.Logf("agreement: %d operations found and taken on %T", taken, s.Store)
}

// pageOf makes the page of a rule; nil where no row can be found that the rule applies to.
func (s *suite) pageOf(n int, rule *transitions.Rule) *page {
	s.Helper()
	now := s.now
	g := &generator{p: s.p, rule: rule, now: now, rng: rand.New(rand.NewPCG(4, uint64(n)))}
	p := &page{suite: s, g: g, reference: machine.NewMemory(s.p, machine.MemoryClock(func() time.Time { return now }))}
	first, ok := g.search(rule.Event+"-page-z", rule.From, applied)
	if !ok {
		return nil
	}
	if rule.Uses("detail") {
		first.params["detail"] = transitions.TextValue("told to all")
	}
	g.fixed, p.params = first.params, first.params
	for _, row := range s.getAll("holder-0", "holder-1", "holder-2", "holder-3") {
		p.rows = append(p.rows, row)
	}
	p.add(first)
	for i := range eligibleRows { // the ids against the order in which they are written
		if c, ok := g.search(fmt.Sprintf("%s-page-m%02d", rule.Event, eligibleRows-i), rule.From, applied); ok {
			if i%4 > 0 { // the others are where chance puts them
				c = p.changed(c, values{"priority": i / 4 % 2}, values{"due_at": now.Add(-time.Duration(1+i/8) * time.Hour)})
			}
			p.add(c)
		}
	}
	for _, guard := range rule.Guards {
		among := rule.From
		if guard.Name == "phase" {
			among = s.p.PhaseNames()
		}
		for i := range ineligibleFor {
			c, ok := g.search(fmt.Sprintf("%s-page-a-%s-%d", rule.Event, guard.Name, i), among, deniedOnlyBy(guard.Name))
			if !ok {
				break // no row can fail this one alone
			}
			// Before all that may be taken, so far as that is not what it fails for.
			c = p.changed(c, values{"priority": 9}, values{"due_at": now.AddDate(0, 0, -3)})
			if due := s.p.Column("due_at"); due >= 0 && !c.row[due].IsNull() {
				c = p.changed(c, values{"lease_owner": nil, "lease_until": nil})
			}
			p.add(c)
		}
	}
	for i := range anyRows {
		p.add(g.random(fmt.Sprintf("%s-page-r%d", rule.Event, i), pick(g, s.p.PhaseNames()...)))
	}
	s.put(p.rows...)
	return p
}

func (p *page) add(c trial) { p.rows = append(p.rows, c.row) }

// changed is a trial with changes of its row, of which those are left out that would change its verdict.
func (p *page) changed(c trial, changes ...values) trial {
	verdict := p.g.eval(c).Failed
	for _, change := range changes {
		moved := trial{id: c.id, row: p.with(c.row, change), params: c.params}
		if slices.Equal(verdict, p.g.eval(moved).Failed) && p.g.possible(moved) {
			c = moved
		}
	}
	return c
}

// take takes up to a number of rows, holds which they are and what became of them against what should be, and looks
// whether the others stayed as they were.
func (p *page) take(limit int) int {
	p.Helper()
	ids := p.ids(p.rows)
	before := p.getAll(ids...)
	for _, row := range before {
		if err := p.reference.Put(row); err != nil {
			p.Fatalf("the reference does not take a row of the store: %v", err)
		}
	}
	params := transitions.Params{"limit": transitions.IntValue(int64(limit))}
	for name, v := range p.params {
		if name != "operation_id" {
			params[name] = v
		}
	}
	event := p.g.rule.Event
	want, err := p.reference.Take(context.Background(), event, params)
	if err != nil {
		p.Fatalf("find what %s takes: %v", event, err)
	}
	got, err := p.Store.Take(p.ctx, event, params)
	if err != nil {
		p.Fatalf("take %d by %s: %v", limit, event, err)
	}
	p.same(fmt.Sprintf("what %s takes of a page, %d at most", event, limit), p.ids(want), p.ids(got))
	p.g.now = p.clock()
	after := p.getAll(ids...)
	for _, row := range got {
		id := p.ids([]transitions.Row{row})[0]
		if _, left := before[id]; !left {
			continue // taken twice, or none of the page's: told above
		}
		c := trial{id: id, row: before[id], params: params}
		p.agrees(p.g, c, machine.Answer{Applied: true, Exists: true, Row: row}, after[id])
		delete(before, id)
	}
	for id, row := range before {
		p.same(id+", which "+event+" did not take", p.readable(row), p.readable(after[id]))
	}
	return len(got)
}

// park puts the rows out of the way of the next page.
func (p *page) park() {
	p.Helper()
	var rows []transitions.Row
	for _, row := range p.getAll(p.ids(p.rows)...) {
		rows = append(rows, p.with(row, values{"due_at": p.now.AddDate(10, 0, 0), "lease_owner": nil, "lease_until": nil}))
	}
	p.put(rows...)
}
