package machinetest

import (
	"bytes"
	"fmt"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

func (s *suite) review(q machine.ReviewQuery) []string {
	s.Helper()
	rows, err := s.Store.Review(s.ctx, q)
	if err != nil {
		s.Fatalf("list what waits for a reviewer %+v: %v", q, err)
	}
	return s.ids(rows)
}

// reviewOrder: what may be paid for twice comes before what an end contradicts, and that before what nobody can know; the
// oldest first, whichever phase a marked one is in.
func reviewOrder(s *suite) {
	ago := func(hours int) values { return values{"created_at": s.now.Add(-time.Duration(hours) * time.Hour)} }
	duplicate, contradicted := values{"duplicate_suspected": true}, values{"outcome_contradicted": true}
	s.put(
		s.row("uncertain-1", transitions.Uncertain, ago(1)),
		s.row("uncertain-9", transitions.Uncertain, ago(9)),
		s.row("contradicted", transitions.Terminal, ago(2), contradicted),
		s.row("both", transitions.Terminal, ago(3), contradicted, duplicate),
		s.row("duplicate-1", transitions.Observing, ago(1), duplicate),
		s.row("duplicate-8", transitions.Uncertain, ago(8), duplicate),
		s.row("prepared", transitions.Prepared, ago(5)),
		s.row("done", transitions.Terminal, ago(6)),
	)
	want := []string{"duplicate-8", "both", "duplicate-1", "contradicted", "uncertain-9", "uncertain-1"}
	s.same("the list", want, s.review(machine.ReviewQuery{}))
	s.same("from the uncertain ones on", want[4:], s.review(machine.ReviewQuery{After: machine.ReviewCursor{Rank: machine.RankUncertain}}))
	for rank, count := range map[int]int64{machine.RankDuplicate: 6, machine.RankContradicted: 3, machine.RankUncertain: 2} {
		got, err := s.Store.ReviewCount(s.ctx, machine.ReviewQuery{After: machine.ReviewCursor{Rank: rank}})
		if err != nil || got != count {
			s.Errorf("from rank %d on there are %d, %v; want %d", rank, got, err, count)
		}
	}

	// What was seen to leaves the list, and what is decided does.
	s.must("review_acknowledge", "duplicate-1", values{"evidence_seq": 0, "reviewer": "ann", "reason": "seen"})
	s.must("review_abandon", "uncertain-9", values{"revision": 3, "evidence_seq": 0, "reviewer": "ann", "reason": "late"})
	s.must("evidence_noted", "uncertain-9", values{"kind": "ended_succeeded"})
	s.same("the list after that", []string{"duplicate-8", "both", "uncertain-9", "contradicted", "uncertain-1"}, s.review(machine.ReviewQuery{}))
}

func reviewPages(s *suite) {
	var rows []transitions.Row
	var want []string
	for i := range 105 {
		// Three of them share each second, so that a page ends between equals; the first nine are marked.
		id := fmt.Sprintf("a-%03d", i)
		rows = append(rows, s.row(id, transitions.Uncertain, values{"created_at": s.now.Add(time.Duration(i/3-1000) * time.Second), "duplicate_suspected": i < 9}))
		want = append(want, id)
	}
	s.put(rows...)
	s.same("the first page, as long as by default", want[:100], s.review(machine.ReviewQuery{}))
	var got []string
	var after machine.ReviewCursor
	for range 30 {
		page := s.review(machine.ReviewQuery{Limit: 10, After: after})
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		last := s.op(page[len(page)-1])
		rank, _ := last.Rank()
		written, err := machine.ParseReviewCursor(machine.ReviewCursor{Rank: rank, CreatedAt: last.CreatedAt, OperationID: last.OperationID}.String())
		if err != nil {
			s.Fatal(err)
		}
		after = written
	}
	s.same("all pages of ten", want, got)
}

func reviewFilters(s *suite) {
	ago := func(d time.Duration) values { return values{"created_at": s.now.Add(-d)} }
	s.put(
		s.row("a", transitions.Uncertain, ago(5*time.Hour)),
		s.row("overdue", transitions.Uncertain, ago(4*time.Hour), values{"uncertain_reason": "overdue"}),
		s.row("still", transitions.Uncertain, ago(3*time.Hour), values{"kind": "still"}),
		s.row("print", transitions.Uncertain, ago(2*time.Hour), values{"provider": "print"}),
		s.row("other", transitions.Uncertain, ago(time.Hour), values{"account": "other"}),
	)
	for _, c := range []struct {
		q    machine.ReviewQuery
		want []string
	}{
		{machine.ReviewQuery{Reason: "overdue"}, []string{"overdue"}},
		{machine.ReviewQuery{Kind: "still"}, []string{"still"}},
		{machine.ReviewQuery{Provider: "print"}, []string{"print"}},
		{machine.ReviewQuery{Account: "other"}, []string{"other"}},
		{machine.ReviewQuery{MinAge: 270 * time.Minute}, []string{"a"}},
		{machine.ReviewQuery{MaxAge: 90 * time.Minute}, []string{"other"}},
		{machine.ReviewQuery{Reason: "no_response", Provider: provider, Account: account, Kind: "still"}, []string{"still"}},
		{machine.ReviewQuery{Reason: "shutdown"}, []string{}},
	} {
		s.same(fmt.Sprintf("%+v", c.q), c.want, s.review(c.q))
		if n, err := s.Store.ReviewCount(s.ctx, c.q); err != nil || n != int64(len(c.want)) {
			s.Errorf("%+v: counted %d, %v; want %d", c.q, n, err, len(c.want))
		}
	}
}

// recentOfEach: the last ones of each operation, and however long ago they are who sent it and what made it uncertain.
func recentOfEach(s *suite) {
	for _, id := range []string{"a", "b"} {
		s.must("prepare", id, values{"kind": "video", "provider": provider, "account": account, "request": []byte("{}")})
		s.must("dispatch_claim", id, claiming)
		s.must("submit_begin", id, values{"owner": "w2", "revision": 1})
		s.must("submit_unknown", id, values{"owner": "w2", "revision": 1, "reason": "unclear_answer"})
	}
	for i := range 4 {
		s.must("evidence_noted", "a", values{"kind": fmt.Sprint("note-", i), "raw": bytes.Repeat([]byte{0xff}, 10*i)})
	}
	history, evidence, err := s.Store.Recent(s.ctx, 2, 15, "b", "nobody", "a")
	if err != nil {
		s.Fatal(err)
	}
	got := []string{}
	for _, h := range history {
		got = append(got, fmt.Sprintf("%s %s %s→%s by %q under %d", h.OperationID, h.Event, h.From, h.To, h.Owner, h.Revision))
		if h.Seq == 0 || h.At.IsZero() {
			s.Errorf("%s of %s has no number or no time", h.Event, h.OperationID)
		}
	}
	s.same("history", []string{
		`a submit_begin prepared→submitting by "w2" under 1`,
		`a submit_unknown submitting→uncertain by "w2" under 1`,
		`a evidence_noted uncertain→uncertain by "" under 1`,
		`a evidence_noted uncertain→uncertain by "" under 1`,
		`b submit_begin prepared→submitting by "w2" under 1`,
		`b submit_unknown submitting→uncertain by "w2" under 1`,
	}, got)
	got = []string{}
	for _, e := range evidence {
		got = append(got, fmt.Sprintf("%s %s %d bytes and %d", e.OperationID, e.Kind, len(e.Detail), e.Omitted))
	}
	s.same("evidence", []string{"a note-2 15 bytes and 5", "a note-3 15 bytes and 15"}, got)

	// Of several requests the last counts, and of several ways to uncertain too.
	s.must("review_not_created", "b", values{"revision": 1, "evidence_seq": 0, "reviewer": "ann", "reason": "looked", "override": true})
	s.must("dispatch_claim", "b", claiming)
	s.must("submit_begin", "b", values{"owner": "w2", "revision": 3})
	s.must("submit_unknown", "b", values{"owner": "w2", "revision": 3, "reason": "no_response"})
	for range 3 {
		s.must("evidence_noted", "b", values{"kind": "note"})
	}
	if history, _, err = s.Store.Recent(s.ctx, 2, 15, "b"); err != nil {
		s.Fatal(err)
	}
	got = []string{}
	for _, h := range history {
		got = append(got, fmt.Sprintf("%s under %d", h.Event, h.Revision))
	}
	s.same("history of what was sent twice", []string{"submit_begin under 3", "submit_unknown under 3", "evidence_noted under 3", "evidence_noted under 3"}, got)

	// What only was noted while it was sent did not send it, and what made it uncertain stays when it is so no more.
	s.must("prepare", "c", values{"kind": "video", "provider": provider, "account": account, "request": []byte("{}")})
	s.must("dispatch_claim", "c", claiming)
	s.must("submit_begin", "c", values{"owner": "w2", "revision": 1})
	s.must("evidence_noted", "c", values{"kind": "note"})
	s.must("submit_unknown", "c", values{"owner": "w2", "revision": 1, "reason": "no_response"})
	s.must("review_attach", "c", values{"revision": 1, "evidence_seq": 1, "reviewer": "ann", "reason": "found", "remote_job_id": "job-c"})
	if history, _, err = s.Store.Recent(s.ctx, 1, 15, "c"); err != nil {
		s.Fatal(err)
	}
	got = []string{}
	for _, h := range history {
		got = append(got, h.Event)
	}
	s.same("history of what was attached", []string{"submit_begin", "submit_unknown", "review_attach"}, got)

	history, evidence, err = s.Store.Recent(s.ctx, 2, 15)
	if err != nil || len(history)+len(evidence) != 0 {
		s.Errorf("of no operations: %d and %d, %v", len(history), len(evidence), err)
	}
}

func redoneOnes(s *suite) {
	s.put(
		s.row("a", transitions.Terminal, values{"outcome": "failed"}),
		s.row("a2", transitions.Terminal, values{"outcome": "failed", "redo_of": "a"}),
		s.row("a3", transitions.Prepared, values{"redo_of": "a2"}),
		s.row("b", transitions.Terminal),
	)
	for _, c := range []struct{ ask, want []string }{
		{nil, []string{}}, {[]string{"a", "b", "a", "nobody"}, []string{"a2"}}, {[]string{"a2", "a"}, []string{"a2", "a3"}}, {[]string{"\xff", "a3"}, []string{}},
	} {
		rows, err := s.Store.Redone(s.ctx, c.ask...)
		if err != nil {
			s.Fatal(err)
		}
		s.same(fmt.Sprintf("what repeats %v", c.ask), c.want, sorted(s.ids(rows)))
	}
}
