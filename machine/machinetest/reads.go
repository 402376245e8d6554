package machinetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

func sorted(ids []string) []string {
	slices.Sort(ids)
	return ids
}

// ordered gives ids in the order of like, for where the order is not asked for.
func ordered(ids []string, like ...string) []string {
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(slices.Index(like, a), slices.Index(like, b)) })
	return ids
}

func readsWhatExists(s *suite) {
	s.put(s.row("a", transitions.Prepared), s.row("b", transitions.Submitted))
	for _, c := range []struct{ ask, want []string }{
		{nil, []string{}}, {[]string{"nobody"}, []string{}}, {[]string{"b", "nobody", "a"}, []string{"a", "b"}},
	} {
		rows, err := s.Store.Get(s.ctx, c.ask...)
		if err != nil {
			s.Fatal(err)
		}
		s.same(fmt.Sprintf("read %v", c.ask), c.want, sorted(s.ids(rows)))
	}
	s.same("a hand-made row", s.readable(s.row("b", transitions.Submitted)), s.readable(s.get("b")))
	s.same("history of nobody", 0, len(s.history("nobody")))
	s.same("evidence of nobody", 0, len(s.evidence("nobody")))
	row, err := s.Store.Find(s.ctx, provider, account, "job-x")
	if err != nil || row != nil {
		s.Errorf("find a job that nobody holds: got %v and %v, want nothing", row, err)
	}
}

func (s *suite) list(q machine.Query) []string {
	s.Helper()
	rows, err := s.Store.List(s.ctx, q)
	if err != nil {
		s.Fatalf("list %+v: %v", q, err)
	}
	return s.ids(rows)
}

func listPages(s *suite) {
	var rows []transitions.Row
	var want []string
	for i := range 105 {
		// Three of them share each second, so that a page ends between equals.
		id := fmt.Sprintf("a-%03d", i)
		rows = append(rows, s.row(id, transitions.Prepared, values{"created_at": s.now.Add(time.Duration(i/3-1000) * time.Second)}))
		want = append(want, id)
	}
	s.put(rows...)
	slices.Reverse(want)
	s.same("the first page, as long as by default", want[:100], s.list(machine.Query{}))
	var got []string
	var after *machine.Cursor
	for range 30 {
		page := s.list(machine.Query{Limit: 10, After: after})
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		last := s.op(page[len(page)-1])
		after = &machine.Cursor{CreatedAt: last.CreatedAt, OperationID: last.OperationID}
	}
	s.same("all pages of ten", want, got)
}

func listFilters(s *suite) {
	s.put(
		s.row("prepared", transitions.Prepared, values{"created_at": s.now.Add(-10 * time.Hour)}),
		s.row("still", transitions.Prepared, values{"kind": "still", "created_at": s.now.Add(-5 * time.Hour)}),
		s.row("print", transitions.Submitted, values{"provider": "print", "created_at": s.now.Add(-4 * time.Hour)}),
		s.row("other", transitions.Submitted, values{"account": "other", "created_at": s.now.Add(-3 * time.Hour)}),
		s.row("overdue", transitions.Uncertain, values{"uncertain_reason": "overdue", "created_at": s.now.Add(-2 * time.Hour)}),
		s.row("failed", transitions.Terminal, values{"outcome": "failed", "duplicate_suspected": true}),
		s.row("undelivered", transitions.Terminal, values{"delivery": "failed", "outcome_contradicted": true, "created_at": s.now.Add(-time.Minute)}),
	)
	for _, c := range []struct {
		q    machine.Query
		want []string
	}{
		{machine.Query{}, []string{"undelivered", "failed", "overdue", "other", "print", "still", "prepared"}},
		{machine.Query{Limit: 2}, []string{"undelivered", "failed"}},
		{machine.Query{Phase: transitions.Prepared}, []string{"still", "prepared"}},
		{machine.Query{Outcome: "failed"}, []string{"failed"}},
		{machine.Query{Reason: "overdue"}, []string{"overdue"}},
		{machine.Query{Kind: "still"}, []string{"still"}},
		{machine.Query{Provider: "print"}, []string{"print"}},
		{machine.Query{Account: "other"}, []string{"other"}},
		{machine.Query{Delivery: "failed"}, []string{"undelivered"}},
		{machine.Query{Marked: true}, []string{"undelivered", "failed"}},
		{machine.Query{MinAge: 270 * time.Minute}, []string{"still", "prepared"}},
		{machine.Query{MaxAge: 30 * time.Minute}, []string{"undelivered"}},
		{machine.Query{MinAge: 150 * time.Minute, MaxAge: 270 * time.Minute, Phase: transitions.Submitted, Provider: provider}, []string{"other"}},
		{machine.Query{Phase: transitions.Prepared, After: &machine.Cursor{CreatedAt: s.now.Add(-5 * time.Hour), OperationID: "still"}}, []string{"prepared"}},
	} {
		s.same(fmt.Sprintf("%+v", c.q), append([]string{}, c.want...), s.list(c.q))
	}
}

func statsCount(s *suite) {
	s.put(
		s.row("a", transitions.Prepared, values{"due_at": s.now.Add(-2 * time.Hour)}),
		s.row("b", transitions.Prepared, s.leased()),
		s.row("c", transitions.Prepared, s.lapsed()),
		s.row("d", transitions.Uncertain, values{"due_at": s.now.Add(time.Hour)}), // not due yet
		s.row("e", transitions.Uncertain, values{"uncertain_reason": "overdue"}),
		s.row("f", transitions.Terminal),
		s.row("g", transitions.Terminal, values{"delivery": "failed"}),
		s.row("h", transitions.Terminal, values{"outcome": "failed"}),
	)
	stats, err := s.Store.Stats(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	slices.SortFunc(stats, func(a, b machine.Stat) int {
		return cmp.Compare(fmt.Sprint(a.Phase, a.Outcome, a.Delivery, a.Reason), fmt.Sprint(b.Phase, b.Outcome, b.Delivery, b.Reason))
	})
	s.same("the counts", []machine.Stat{
		{Phase: transitions.Prepared, Count: 3, OldestDue: s.now.Add(-2 * time.Hour), Leased: 1, Lapsed: 1},
		{Phase: transitions.Terminal, Outcome: "failed", Count: 1},
		{Phase: transitions.Terminal, Outcome: "succeeded", Count: 1},
		{Phase: transitions.Terminal, Outcome: "succeeded", Delivery: "failed", Count: 1},
		{Phase: transitions.Uncertain, Reason: "no_response", Count: 1},
		{Phase: transitions.Uncertain, Reason: "overdue", Count: 1},
	}, stats)
}
