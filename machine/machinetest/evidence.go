package machinetest

import (
	"bytes"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

func evidenceAlways(s *suite) {
	for _, phase := range s.p.PhaseNames() {
		for name, lease := range map[string]values{"-free": nil, "-held": s.leased(), "-lapsed": s.lapsed()} {
			id := phase + name
			row := s.row(id, phase, lease)
			s.put(row)
			op := s.must("evidence_noted", id, values{
				"owner": "stranger", "revision": 1, "kind": "unclear", "remote_job_id": " not usable\u200b", "raw": []byte("502 Bad Gateway"),
			})
			s.same(id+": the row but for its evidence",
				s.readable(s.with(row, values{"evidence_seq": 1, "updated_at": op.UpdatedAt})), s.readable(s.get(id)))
			s.sameEvidence(id, machine.EvidenceEntry{
				OperationID: id, Provider: provider, Account: account, Kind: "unclear", Revision: 1, Owner: "stranger",
				RemoteJobID: " not usable\u200b", Detail: []byte("502 Bad Gateway"),
			})
		}
	}
}

func evidenceRaw(s *suite) {
	s.put(s.row("a", transitions.Uncertain))
	var want []machine.EvidenceEntry
	for _, raw := range [][]byte{nil, {}, {0}, {0xff, 0xfe, 0}, []byte("{\"a\":\"'\\\"\"}"), bytes.Repeat([]byte{7}, 70_000)} {
		s.must("evidence_noted", "a", values{"kind": "note", "raw": raw})
		want = append(want, machine.EvidenceEntry{OperationID: "a", Provider: provider, Account: account, Kind: "note", Detail: raw})
	}
	s.sameEvidence("a", want...)
	s.has("a", values{"evidence_seq": len(want), "phase": transitions.Uncertain, "revision": 3})

	// An id that no text column takes is kept too, in whatever field the database can keep it.
	for _, id := range []string{"job\x00-1", "job-\xff\xfe"} {
		s.must("evidence_noted", "a", values{"kind": "accepted", "remote_job_id": id})
		noted := s.evidence("a")
		last := noted[len(noted)-1]
		if last.RemoteJobID != id && !bytes.Contains(last.Detail, []byte(id)) {
			s.Errorf("evidence with the id %q: kept %q and %q", id, last.RemoteJobID, last.Detail)
		}
		s.denied("review_attach", "a", []string{"remote_job_id_usable"},
			values{"revision": 3, "evidence_seq": s.op("a").EvidenceSeq, "reviewer": "ann", "reason": "found", "remote_job_id": id})
	}
	s.has("a", values{"late_remote_job_id": nil})
}

func evidenceDuplicate(s *suite) {
	accepted := func(id string) values { return values{"kind": "accepted", "remote_job_id": id} }
	s.put(s.row("a", transitions.Uncertain), s.row("b", transitions.Observing), s.row("c", transitions.Prepared, s.leased()))

	s.must("evidence_noted", "a", accepted("job-1"))
	s.must("evidence_noted", "a", accepted("job-1"))
	s.has("a", values{"late_remote_job_id": "job-1", "duplicate_suspected": false, "evidence_seq": 2})
	s.must("evidence_noted", "a", accepted("job-2"))
	s.has("a", values{"late_remote_job_id": "job-1", "duplicate_suspected": true, "evidence_seq": 3})
	s.same("attached", []string{}, s.take("evidence_attach", 10))

	s.must("evidence_noted", "b", accepted("job-b"))
	s.has("b", values{"late_remote_job_id": nil, "duplicate_suspected": false})
	s.must("evidence_noted", "b", accepted("job-other"))
	s.has("b", values{"late_remote_job_id": "job-other", "duplicate_suspected": true, "remote_job_id": "job-b"})

	// A prepared operation with a late id is begun by nobody, whoever holds it.
	s.must("evidence_noted", "c", accepted("job-c"))
	s.denied("submit_begin", "c", []string{"no_late_remote_job_id"}, held)

	// The request was sent again on a reviewer's word; then the first send's answer comes to light.
	s.put(s.row("d", transitions.Submitting, s.leased(), values{"attempts": 2, "revision": 6, "not_created_revision": 4, "not_created_attempts": 1}))
	s.must("evidence_noted", "d", accepted("job-d"), values{"revision": 2})
	s.has("d", values{"late_remote_job_id": "job-d", "duplicate_suspected": true})

	s.denied("review_acknowledge", "a", []string{"evidence_seq"}, values{"evidence_seq": 2, "reviewer": "ann", "reason": "seen"})
	s.must("review_acknowledge", "a", values{"evidence_seq": 3, "reviewer": "ann", "reason": "job-2 is another's"})
	s.has("a", values{"duplicate_suspected": false, "late_remote_job_id": "job-1", "revision": 3})
}

func evidenceContradiction(s *suite) {
	s.put(
		s.row("a", transitions.Terminal),
		s.row("b", transitions.Terminal, values{"outcome": "rejected"}),
		s.row("c", transitions.Terminal, values{"outcome": "canceled"}),
	)
	s.must("evidence_noted", "a", values{"kind": "ended_succeeded"})
	s.has("a", values{"outcome_contradicted": false})
	s.must("evidence_noted", "a", values{"kind": "ended_failed", "raw": []byte("failed after all")})
	s.has("a", values{"outcome_contradicted": true, "outcome": "succeeded", "phase": transitions.Terminal, "evidence_seq": 2})
	for _, id := range []string{"b", "c"} {
		s.must("evidence_noted", id, values{"kind": "accepted", "remote_job_id": "job-" + id})
		s.has(id, values{"outcome_contradicted": true, "late_remote_job_id": "job-" + id})
	}
}

func evidenceReplaced(s *suite) {
	s.put(s.row("a", transitions.Uncertain, values{"remote_job_id": "job-old"}))
	s.must("review_attach", "a", values{"revision": 3, "evidence_seq": 0, "reviewer": "ann", "reason": "found", "remote_job_id": "job-new"})
	s.has("a", values{"remote_job_id": "job-new", "evidence_seq": 1, "phase": transitions.Submitted})
	s.sameEvidence("a", machine.EvidenceEntry{
		OperationID: "a", Provider: provider, Account: account, Kind: "replaced", RemoteJobID: "job-old", Revision: 3,
	})
	s.put(s.row("b", transitions.Uncertain, s.leased(), values{"remote_job_id": "job-then", "next_action": transitions.Investigate}))
	s.must("investigate_found", "b", held, values{"remote_job_id": "job-now", "reason": "matched by its name"})
	s.sameEvidence("b", machine.EvidenceEntry{
		OperationID: "b", Provider: provider, Account: account, Kind: "replaced", RemoteJobID: "job-then", Revision: 3,
	})
	decision := values{"revision": 3, "evidence_seq": 0, "reviewer": "ann", "reason": "found"}
	s.put(s.row("c", transitions.Uncertain, values{"remote_job_id": "job-c"}), s.row("d", transitions.Uncertain, values{"account": "other"}))
	answers, err := s.Store.ApplyMany(s.ctx, "review_attach", []transitions.Params{
		params(decision, values{"operation_id": "c", "remote_job_id": "job-c2"}), params(decision, values{"operation_id": "d", "remote_job_id": "job-d"}),
	})
	if err != nil || len(answers) != 2 || !answers[0].Applied || !answers[1].Applied {
		s.Fatalf("attach two at once: %+v, %v", answers, err)
	}
	s.sameEvidence("c", machine.EvidenceEntry{
		OperationID: "c", Provider: provider, Account: account, Kind: "replaced", RemoteJobID: "job-c", Revision: 3,
	})
	s.sameEvidence("d")
}

// lateIDElsewhere: whether a late id is taken is asked of its own provider and account alone, and not of the row itself.
func lateIDElsewhere(s *suite) {
	late := values{"late_remote_job_id": "job-1", "due_at": s.now.Add(-time.Minute)}
	s.put(
		s.row("there", transitions.Observing, values{"remote_job_id": "job-1", "account": "other"}),
		s.row("print", transitions.Observing, values{"remote_job_id": "job-1", "provider": "print"}),
		s.row("a", transitions.Uncertain, late),
		s.row("b", transitions.Uncertain, late, values{"account": "third"}),
		s.row("c", transitions.Uncertain, late, values{"account": "other"}),
	)
	s.must("evidence_attach", "a")
	s.has("a", values{"phase": transitions.Submitted, "remote_job_id": "job-1"})
	s.denied("evidence_attach", "c", []string{"remote_job_id_free"})
	s.same("attached by a sweep", []string{"b"}, s.take("evidence_attach", 10))
}

func remoteIDUnique(s *suite) {
	s.put(
		s.row("holder", transitions.Observing, values{"remote_job_id": "Job-1"}),
		s.row("a", transitions.Submitting, s.leased()),
		s.row("b", transitions.Submitting, s.leased(), values{"account": "other"}),
		s.row("c", transitions.Submitting, s.leased()),
	)
	s.denied("submit_accepted", "a", []string{"remote_job_id_free"}, held, values{"remote_job_id": "Job-1"})
	s.must("submit_accepted", "b", held, values{"remote_job_id": "Job-1"})
	// Byte for byte: another case is another id.
	s.must("submit_accepted", "c", held, values{"remote_job_id": "job-1"})
	s.must("evidence_noted", "a", held, values{"kind": "accepted", "remote_job_id": "Job-1"})
	s.must("submit_unknown", "a", held, values{"reason": "remote_id_taken"})
	s.has("a", values{"phase": transitions.Uncertain, "uncertain_reason": "remote_id_taken", "late_remote_job_id": "Job-1"})
	s.put(s.row("d", transitions.Observing, values{"remote_job_id": "Job-1", "provider": "print"}))
	for _, c := range []struct{ provider, account, id, want string }{
		{provider, account, "Job-1", "holder"}, {provider, account, "job-1", "c"}, {provider, account, "JOB-1", ""},
		{provider, "other", "Job-1", "b"}, {"print", account, "Job-1", "d"}, {"print", "other", "Job-1", ""},
	} {
		row, err := s.Store.Find(s.ctx, c.provider, c.account, c.id)
		if err != nil {
			s.Fatal(err)
		}
		if got := machine.OperationOf(s.p, s.orBlank(row)).OperationID; got != c.want {
			s.Errorf("the operation of %s/%s that holds %q: got %q, want %q", c.provider, c.account, c.id, got, c.want)
		}
	}
}

func (s *suite) orBlank(row transitions.Row) transitions.Row {
	if row == nil {
		return make(transitions.Row, len(s.p.Columns))
	}
	return row
}

func outcomeStays(s *suite) {
	s.put(s.row("a", transitions.Observing, s.leased()))
	late := values{"snapshot": []byte("running"), "delay_ms": 0, "provider": provider, "account": account, "remote_job_id": "job-a"}
	s.must("notified_failed", "a", late, values{"snapshot": []byte("failed"), "reason": "nsfw"})
	s.has("a", values{"phase": transitions.Terminal, "outcome": "failed", "revision": 4, "lease_owner": nil})
	for _, event := range []string{"observe_pending", "observe_succeeded", "observe_canceled"} {
		s.denied(event, "a", []string{"phase", "owner", "revision", "lease_live"}, held, late)
	}
	s.denied("notified_succeeded", "a", []string{"phase"}, late)
	s.has("a", values{"outcome": "failed", "snapshot": []byte("failed")})

	s.put(s.row("b", transitions.Submitted))
	s.denied("notified_succeeded", "b", []string{"provider", "account", "remote_job_id"})
	s.denied("notified_succeeded", "b", []string{"remote_job_id"}, late)
	// Whoever observes is fenced out by the webhook.
	s.put(s.row("c", transitions.Observing, s.leased(), values{"wants_delivery": true}))
	s.must("notified_succeeded", "c", late, values{"remote_job_id": "job-c"})
	s.has("c", values{"outcome": "succeeded", "delivery": "pending", "next_action": transitions.Deliver})
	s.denied("observe_pending", "c", []string{"phase", "owner", "revision", "lease_live"}, held, late)
	if due := s.op("c").DueAt; due.Sub(s.now).Abs() > time.Hour {
		s.Errorf("a delivery is due at %s, want at once (%s)", due, s.now)
	}
}
