package machinetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

func takesNoMoreThanLimit(s *suite) {
	for i := range 20 {
		s.put(s.row(fmt.Sprintf("a-%02d", i), transitions.Prepared))
	}
	s.same("taken with limit 0", 0, len(s.take("dispatch_claim", 0, claiming)))
	s.same("taken with limit 1", 1, len(s.take("dispatch_claim", 1, claiming)))
	s.same("taken with limit 7", 7, len(s.take("dispatch_claim", 7, claiming)))
	s.same("taken with limit 100", 12, len(s.take("dispatch_claim", 100, claiming)))
	s.same("taken of nothing", 0, len(s.take("dispatch_claim", 100, claiming)))
}

func takesInOrder(s *suite) {
	due := func(minutesAgo int) values {
		return values{"due_at": s.now.Add(-time.Duration(minutesAgo) * time.Minute)}
	}
	s.put(
		s.row("low-old", transitions.Prepared, due(90), values{"priority": -1}),
		s.row("mid-new", transitions.Prepared, due(1)),
		s.row("mid-old", transitions.Prepared, due(30)),
		s.row("mid-same-b", transitions.Prepared, due(10)),
		s.row("mid-same-a", transitions.Prepared, due(10)),
		// What decides is when it could first be taken: its lease ended later than it was due.
		s.row("mid-lapsed", transitions.Prepared, due(80), values{"lease_owner": "w", "lease_until": s.now.Add(-5 * time.Minute)}),
		s.row("high", transitions.Prepared, due(2), values{"priority": 10}),
	)
	want := []string{"high", "mid-old", "mid-same-a", "mid-same-b", "mid-lapsed", "mid-new", "low-old"}
	s.same("taken together, in order", want, s.take("dispatch_claim", 10, claiming))
	for _, id := range want {
		s.has(id, values{"lease_owner": "w2", "revision": 4})
	}
}

func takesOnlyItsOwn(s *suite) {
	s.put(
		s.row("mine", transitions.Prepared),
		s.row("other-provider", transitions.Prepared, values{"provider": "print"}),
		s.row("other-account", transitions.Prepared, values{"account": ""}),
		s.row("other-action", transitions.Submitted),
		s.row("later", transitions.Prepared, values{"due_at": s.now.Add(time.Hour)}),
		s.row("never", transitions.Prepared, values{"due_at": nil}),
		s.row("leased", transitions.Prepared, s.leased()),
		s.row("asked", transitions.Prepared, values{"cancel_requested_at": s.now}),
		s.row("marked", transitions.Prepared, values{"duplicate_suspected": true}),
		s.row("late", transitions.Prepared, values{"late_remote_job_id": "x"}),
	)
	s.same("taken to dispatch", []string{"mine"}, s.take("dispatch_claim", 100, claiming))
	s.same("taken to observe", []string{"other-action"}, s.take("observe_claim", 100, claiming))
	s.same("taken of another provider", []string{"other-provider"}, s.take("dispatch_claim", 100, claiming, values{"provider": "print"}))
	s.sameHistory("other-account")
}

// noStarvation: rows that a claim or sweep cannot take stand in front of those that it can, more of them than a page
// (report B28; the guards are part of what is looked for).
func noStarvation(s *suite) {
	const page = 5
	old := values{"due_at": s.now.Add(-48 * time.Hour)}
	var rows []transitions.Row
	for i := range 2 * page {
		rows = append(rows,
			s.row(fmt.Sprintf("a-asked-%02d", i), transitions.Prepared, old, values{"cancel_requested_at": s.now.Add(-time.Hour), "priority": 9}),
			s.row(fmt.Sprintf("a-blank-%02d", i), transitions.Submitted, old, values{"remote_job_id": nil}),
			s.row(fmt.Sprintf("a-uncertain-%02d", i), transitions.Uncertain, old, s.lapsed()),
			s.row(fmt.Sprintf("a-exhausted-%02d", i), transitions.Delivering, old, values{"delivery_attempts": 8}))
	}
	for i := range page {
		rows = append(rows,
			s.row(fmt.Sprintf("b-prepared-%d", i), transitions.Prepared),
			s.row(fmt.Sprintf("b-submitted-%d", i), transitions.Submitted),
			s.row(fmt.Sprintf("b-delivering-%d", i), transitions.Delivering),
			s.row(fmt.Sprintf("b-submitting-%d", i), transitions.Submitting, values{"lease_owner": "w", "lease_until": s.now.Add(-time.Second)}))
	}
	s.put(rows...)
	for event, prefix := range map[string]string{
		"dispatch_claim": "b-prepared", "observe_claim": "b-submitted", "deliver_claim": "b-delivering", "submit_lapsed": "b-submitting",
	} {
		var want []string
		for i := range page {
			want = append(want, fmt.Sprintf("%s-%d", prefix, i))
		}
		got := s.take(event, page, claiming)
		slices.Sort(got)
		s.same("taken by "+event, want, got)
	}
}

func takersShareNothing(s *suite) {
	const rows, takers = 120, 2
	var all []transitions.Row
	var want []string
	for i := range rows {
		id := fmt.Sprintf("a-%03d", i)
		want = append(want, id)
		all = append(all, s.row(id, transitions.Prepared))
	}
	s.put(all...)
	var mu sync.Mutex
	var taken []string
	var done sync.WaitGroup
	for n := range takers {
		done.Go(func() {
			mine := values{"owner": fmt.Sprintf("taker-%d", n)}
			// A taker that finds nothing may have met rows that the other holds locked; it looks again.
			for empty := 0; empty < 100; {
				got := s.take("dispatch_claim", 7, claiming, mine)
				if len(got) == 0 {
					empty++
				}
				mu.Lock()
				taken = append(taken, got...)
				everything := len(taken) >= rows
				mu.Unlock()
				if everything {
					return
				}
			}
		})
	}
	done.Wait()
	slices.Sort(taken)
	s.same("everything taken once", want, taken)
	for _, id := range want {
		s.has(id, values{"revision": 4})
	}
}
