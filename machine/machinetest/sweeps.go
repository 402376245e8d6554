package machinetest

import (
	"fmt"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

func sweepsLapsed(s *suite) {
	s.put(
		s.row("gone", transitions.Submitting, s.lapsed()),
		s.row("gone-investigable", transitions.Submitting, s.lapsed(), values{"can_investigate": true}),
		s.row("live", transitions.Submitting, s.leased()),
		s.row("prepared", transitions.Prepared, s.lapsed()),
		s.row("by hand", transitions.Submitting, values{"due_at": nil, "lease_until": nil, "lease_owner": nil}),
	)
	got := s.take("submit_lapsed", 10)
	s.same("moved", []string{"by hand", "gone", "gone-investigable"}, sorted(got))
	s.has("gone", values{
		"phase": transitions.Uncertain, "uncertain_reason": "no_response", "next_action": transitions.Review, "due_at": nil,
		"lease_owner": nil, "lease_until": nil, "revision": 4,
	})
	s.has("gone-investigable", values{"next_action": transitions.Investigate, "revision": 4})
	if op := s.op("gone"); op.QuarantineUntil.Sub(op.UpdatedAt) != 10*time.Minute {
		s.Errorf("the quarantine of a lease that ended long ago lasts for %s from now, want 10m", op.QuarantineUntil.Sub(op.UpdatedAt))
	}
	s.denied("submit_lapsed", "live", []string{"lease_vacant"})
	s.denied("submit_lapsed", "prepared", []string{"phase"})
	s.denied("submit_not_created", "gone", []string{"phase", "owner", "revision", "lease_live"}, held, values{"proof": "refused"})
}

func sweepsMissingIDs(s *suite) {
	s.put(
		s.row("submitted", transitions.Submitted, values{"remote_job_id": nil}),
		s.row("observing", transitions.Observing, values{"remote_job_id": nil}, s.lapsed()),
		s.row("held", transitions.Observing, values{"remote_job_id": nil}, s.leased()),
		s.row("whole", transitions.Submitted),
		s.row("by hand", transitions.Submitted, values{"remote_job_id": nil, "due_at": nil, "lease_until": nil, "lease_owner": nil}),
	)
	s.same("taken to observe", []string{"whole"}, s.take("observe_claim", 10, claiming))
	s.same("moved", []string{"by hand", "observing", "submitted"}, sorted(s.take("remote_id_missing", 10)))
	for _, id := range []string{"submitted", "observing", "by hand"} {
		s.has(id, values{"phase": transitions.Uncertain, "uncertain_reason": "missing_remote_id", "revision": 4})
	}
	s.has("held", values{"phase": transitions.Observing, "revision": 3})
}

func sweepsOverdue(s *suite) {
	over, ahead := values{"observe_deadline": s.now.Add(-time.Hour)}, values{"observe_deadline": s.now.Add(time.Hour)}
	s.put(
		s.row("over", transitions.Submitted, over),
		s.row("over-lapsed", transitions.Observing, over, s.lapsed()),
		s.row("over-held", transitions.Observing, over, s.leased()),
		s.row("ahead", transitions.Submitted, ahead),
		s.row("for-ever", transitions.Submitted),
	)
	s.same("moved", []string{"over", "over-lapsed"}, sorted(s.take("observe_overdue", 10)))
	s.has("over", values{"phase": transitions.Uncertain, "uncertain_reason": "overdue", "remote_job_id": "job-over", "revision": 4})
	s.denied("observe_overdue", "ahead", []string{"observe_deadline_passed"})
}

func sweepsRecalled(s *suite) {
	s.put(
		s.row("late", transitions.Prepared, values{"late_remote_job_id": "job-late"}),
		s.row("marked", transitions.Prepared, values{"duplicate_suspected": true}),
		s.row("clean", transitions.Prepared),
	)
	s.same("moved", []string{"late", "marked"}, sorted(s.take("evidence_recalled", 10)))
	s.has("late", values{"phase": transitions.Uncertain, "uncertain_reason": "no_response", "late_remote_job_id": "job-late", "revision": 4})
	// It is due, so that the next sweep attaches what came to light.
	s.same("attached", []string{"late"}, s.take("evidence_attach", 10))
}

func sweepsLateAnswer(s *suite) {
	s.put(s.row("a", transitions.Submitting, s.lapsed()))
	s.take("submit_lapsed", 10)
	s.denied("submit_accepted", "a", []string{"phase", "owner", "revision", "lease_live"}, held, values{"remote_job_id": "job-1"})
	s.must("evidence_noted", "a", held, values{"kind": "accepted", "remote_job_id": "job-1"})
	s.has("a", values{"late_remote_job_id": "job-1", "evidence_seq": 1, "revision": 4, "phase": transitions.Uncertain})
	s.same("attached", []string{"a"}, s.take("evidence_attach", 10))
	s.has("a", values{
		"phase": transitions.Submitted, "remote_job_id": "job-1", "late_remote_job_id": nil, "next_action": transitions.Observe,
		"uncertain_reason": nil, "quarantine_until": nil, "revision": 5, "duplicate_suspected": false,
	})
	s.same("taken to observe", []string{"a"}, s.take("observe_claim", 10, claiming))
}

func sweepsNoTakenID(s *suite) {
	due := values{"late_remote_job_id": "job-1", "due_at": s.now.Add(-time.Minute)}
	s.put(
		s.row("holder", transitions.Submitted, values{"remote_job_id": "job-1"}),
		s.row("taken", transitions.Uncertain, due),
		s.row("marked", transitions.Uncertain, due, values{"late_remote_job_id": "job-2", "duplicate_suspected": true}),
		s.row("has", transitions.Uncertain, due, values{"late_remote_job_id": "job-3", "remote_job_id": "job-4"}),
		s.row("elsewhere", transitions.Uncertain, due, values{"account": "other"}),
	)
	s.same("attached", []string{"elsewhere"}, s.take("evidence_attach", 10))
	s.denied("evidence_attach", "taken", []string{"remote_job_id_free"})
	s.has("taken", values{"phase": transitions.Uncertain, "late_remote_job_id": "job-1"})
	// Two late answers with one id: only one of them can have it, also where both come in one sweep.
	s.put(
		s.row("twin-a", transitions.Uncertain, due, values{"late_remote_job_id": "job-twin"}),
		s.row("twin-b", transitions.Uncertain, due, values{"late_remote_job_id": "job-twin"}),
	)
	for range 3 {
		if _, err := s.Store.Take(s.ctx, "evidence_attach", params(values{"limit": 10})); err != nil {
			s.Logf("a sweep over two claims to one id: %v", err)
		}
	}
	if a, b := s.op("twin-a"), s.op("twin-b"); a.RemoteJobID+b.RemoteJobID != "job-twin" {
		s.Errorf("two late answers with one id: one holds %q, the other %q; want one of them to hold it", a.RemoteJobID, b.RemoteJobID)
	}
}

func sweepsExhausted(s *suite) {
	s.put(
		s.row("died", transitions.Delivering, values{"delivery_attempts": 8}, s.lapsed()),
		s.row("holds", transitions.Delivering, values{"delivery_attempts": 8}, s.leased()),
		s.row("again", transitions.Delivering, values{"delivery_attempts": 7}, s.lapsed()),
	)
	s.denied("deliver_claim", "died", []string{"delivery_attempts_left"}, claiming)
	s.same("moved", []string{"died"}, s.take("deliver_exhausted", 10))
	s.has("died", values{
		"phase": transitions.Terminal, "outcome": "succeeded", "delivery": "failed", "next_action": nil, "due_at": nil, "revision": 4,
	})
	s.must("redeliver", "died", values{"revision": 4, "evidence_seq": 0, "reviewer": "ann", "reason": "disk is back"})
	s.has("died", values{"delivery": "pending", "delivery_attempts": 0, "next_action": transitions.Deliver, "revision": 5})
	s.same("taken to deliver", []string{"died", "again"}, ordered(s.take("deliver_claim", 10, claiming), "died", "again"))
}

func sweepsCancel(s *suite) {
	s.put(
		s.row("later", transitions.Prepared, values{"due_at": s.now.Add(24 * time.Hour)}),
		s.row("held", transitions.Prepared, s.leased()),
		s.row("sent", transitions.Submitted),
		s.row("nobody-asked", transitions.Prepared),
	)
	for _, id := range []string{"later", "held", "sent"} {
		s.must("cancel_request", id, values{"reviewer": "ann", "reason": "no longer wanted"})
		s.denied("cancel_request", id, []string{"cancel_not_asked"})
	}
	s.denied("submit_begin", "held", []string{"cancel_not_asked"}, held)
	s.same("moved", []string{"later"}, s.take("cancel", 10))
	s.has("later", values{"phase": transitions.Terminal, "outcome": "canceled", "next_action": nil, "due_at": nil, "revision": 4})
	s.must("release", "held", held)
	s.same("moved once its holder let go", []string{"held"}, s.take("cancel", 10))
	s.denied("cancel", "nobody-asked", []string{"cancel_asked"})
	s.denied("cancel", "sent", []string{"phase"})
}

func sweepsInPages(s *suite) {
	var rows []transitions.Row
	for i := range 12 {
		rows = append(rows, s.row(fmt.Sprintf("a-%02d", i), transitions.Submitting, s.lapsed()))
	}
	s.put(rows...)
	for _, want := range []int{5, 5, 2, 0} {
		s.same("moved with limit 5", want, len(s.take("submit_lapsed", 5)))
	}
}
