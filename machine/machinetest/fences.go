package machinetest

import (
	"maps"
	"slices"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

func judgedOneByOne(s *suite) {
	s.put(s.row("a", transitions.Observing, s.leased()), s.row("b", transitions.Observing, s.lapsed()),
		s.row("c", transitions.Observing, s.leased()))
	renew := func(id string) transitions.Params {
		return params(held, values{"operation_id": id, "ttl_ms": 7_200_000})
	}
	answers, err := s.Store.ApplyMany(s.ctx, "renew", []transitions.Params{renew("c"), renew("nobody"), renew("b"), renew("a")})
	if err != nil {
		s.Fatal(err)
	}
	type said struct {
		Applied, Exists bool
		Failed          []string
		ID              string
	}
	var got []said
	for _, a := range answers {
		one := said{Applied: a.Applied, Exists: a.Exists, Failed: a.Failed}
		if a.Exists {
			one.ID = a.Row[s.p.Column("operation_id")].Text()
		}
		got = append(got, one)
	}
	s.same("the answers", []said{
		{true, true, nil, "c"}, {}, {false, true, []string{"lease_live"}, "b"}, {true, true, nil, "a"},
	}, got)
	none, err := s.Store.ApplyMany(s.ctx, "renew", nil)
	if err != nil || len(none) != 0 {
		s.Errorf("fire on nothing: got %d answers and %v, want none", len(none), err)
	}
}

// unfit are leases and bindings under which a holder is no holder, with the guards that say so.
func (s *suite) unfit() []struct {
	name   string
	lease  values
	bound  values
	guards []string
} {
	return []struct {
		name   string
		lease  values
		bound  values
		guards []string
	}{
		{"another owner", s.leased(), values{"owner": "w2"}, []string{"owner"}},
		{"no owner given", s.leased(), values{"owner": nil}, []string{"owner"}},
		{"an older revision", s.leased(), values{"revision": 2}, []string{"revision"}},
		{"a newer revision", s.leased(), values{"revision": 4}, []string{"revision"}},
		{"no revision given", s.leased(), values{"revision": nil}, []string{"revision"}},
		{"an expired lease", s.lapsed(), nil, []string{"lease_live"}},
		{"a lease without an end", values{"lease_owner": "w"}, nil, []string{"lease_live"}},
		{"a lease without an owner", values{"lease_until": s.now.Add(time.Hour)}, nil, []string{"owner"}},
		{"no lease", nil, nil, []string{"owner", "lease_live"}},
	}
}

func renewalIsFenced(s *suite) {
	for _, c := range s.unfit() {
		s.put(s.row("a", transitions.Observing, c.lease))
		s.denied("renew", "a", c.guards, held, c.bound, values{"ttl_ms": 60_000})
	}
	s.put(s.row("b", transitions.Observing, s.leased()))
	op := s.must("renew", "b", held, values{"ttl_ms": 7_200_000})
	if left := op.LeaseUntil.Sub(s.now); left < 2*time.Hour || left > 3*time.Hour {
		s.Errorf("a lease renewed for two hours ends after %s", left)
	}
	s.has("b", values{"revision": 3, "lease_owner": "w"})
}

func renewalNeverShortens(s *suite) {
	s.put(s.row("a", transitions.Observing, s.leased()))
	s.must("renew", "a", held, values{"ttl_ms": 1_000})
	s.has("a", values{"lease_until": s.now.Add(time.Hour)})
}

func staleRevision(s *suite) {
	// The owner string comes back: a pid reused, a host name shared.
	s.put(s.row("a", transitions.Prepared))
	first := s.must("dispatch_claim", "a", claiming, values{"owner": "host:1"})
	row := s.get("a")
	row[s.p.Column("lease_until")] = value(s.now.Add(-time.Minute))
	s.put(row)
	second := s.must("dispatch_claim", "a", claiming, values{"owner": "host:1"})
	s.same("the second claim's revision", first.Revision+1, second.Revision)
	for _, event := range []string{"renew", "submit_begin", "release"} {
		s.denied(event, "a", []string{"revision"}, values{"owner": "host:1", "revision": first.Revision, "ttl_ms": 60_000})
	}
	s.must("submit_begin", "a", values{"owner": "host:1", "revision": second.Revision})
}

// heldIsFenced: an owner and a revision without a live lease are nothing, for every event alike (report B44).
func heldIsFenced(s *suite) {
	// What each event needs beside its fence.
	more := values{
		"ttl_ms": 60_000, "remote_job_id": "job-new", "proof": "refused", "object_key": "a.mp4", "reason": "panic",
	}
	n := 0
	for _, r := range s.p.Rules {
		if r.Fence != transitions.Held {
			continue
		}
		n++
		for _, c := range s.unfit() {
			for _, phase := range r.From {
				s.put(s.row("a", phase, c.lease))
				s.denied(r.Event, "a", c.guards, more, held, c.bound)
			}
		}
		s.same("history rows after denials of "+r.Event, 0, len(s.history("a")))
	}
	if n == 0 {
		s.Error("the table has no event under a lease")
	}
}

// ready are rows that each claim takes.
func (s *suite) ready() map[string]transitions.Row {
	return map[string]transitions.Row{
		"dispatch_claim":    s.row("a", transitions.Prepared),
		"observe_claim":     s.row("a", transitions.Submitted),
		"deliver_claim":     s.row("a", transitions.Terminal, values{"next_action": transitions.Deliver, "due_at": s.now.Add(-time.Minute), "delivery": "pending"}),
		"investigate_claim": s.row("a", transitions.Uncertain, values{"next_action": transitions.Investigate, "due_at": s.now.Add(-time.Minute)}),
	}
}

// with is a row with changes, as far as the table has the columns.
func (s *suite) with(row transitions.Row, changes ...values) transitions.Row {
	row = slices.Clone(row)
	for _, set := range changes {
		for name, v := range set {
			if i := s.p.Column(name); i >= 0 {
				row[i] = value(v)
			}
		}
	}
	return row
}

func liveLeaseKeepsClaimsOut(s *suite) {
	for event, row := range s.ready() {
		for name, lease := range map[string]values{
			"a live lease":             s.leased(),
			"a live lease of nobody":   {"lease_until": s.now.Add(time.Hour)},
			"a live lease of your own": {"lease_owner": "w2", "lease_until": s.now.Add(time.Hour)},
		} {
			s.put(s.with(row, lease))
			s.denied(event, "a", []string{"lease_vacant"}, claiming)
			s.same(event+" in a batch over "+name, []string{}, s.take(event, 10, claiming))
		}
	}
}

func vacantLetsClaimsIn(s *suite) {
	for event, row := range s.ready() {
		for name, lease := range map[string]values{
			"no lease": {}, "a lease that is over": s.lapsed(),
			"an owner without an end": {"lease_owner": "w"},
		} {
			s.put(s.with(row, lease))
			op := s.must(event, "a", claiming)
			if left := op.LeaseUntil.Sub(s.now); left < time.Minute || left > 30*time.Minute {
				s.Errorf("%s over %s: a lease of a minute ends after %s", event, name, left)
			}
			s.has("a", values{"lease_owner": "w2", "revision": 4})
			s.put(s.with(row, lease))
			s.same(event+" in a batch over "+name, []string{"a"}, s.take(event, 10, claiming))
			s.has("a", values{"lease_owner": "w2", "revision": 4})
		}
	}
}

func claimNeedsItsOwn(s *suite) {
	for event, row := range s.ready() {
		for guard, c := range map[string]struct{ row, claim values }{
			"next_action": {row: values{"next_action": transitions.Review}},
			"due":         {row: values{"due_at": s.now.Add(time.Hour)}},
			"provider":    {claim: values{"provider": "print"}},
			"account":     {claim: values{"account": "other"}},
		} {
			s.put(s.with(row, c.row))
			s.denied(event, "a", []string{guard}, claiming, c.claim)
			s.same(event+" in a batch against "+guard, []string{}, s.take(event, 10, claiming, c.claim))
		}
		s.put(s.with(row, values{"due_at": nil}))
		s.denied(event, "a", []string{"due"}, claiming)
	}
	s.put(s.row("a", transitions.Submitted, values{"remote_job_id": nil}))
	s.denied("observe_claim", "a", []string{"remote_job_id_known"}, claiming)
	for guard, marks := range map[string]values{
		"cancel_not_asked":      {"cancel_requested_at": s.now},
		"no_mark":               {"duplicate_suspected": true},
		"no_late_remote_job_id": {"late_remote_job_id": "job-late"},
	} {
		s.put(s.row("a", transitions.Prepared, marks))
		s.denied("dispatch_claim", "a", []string{guard}, claiming)
		s.put(s.row("a", transitions.Prepared, marks, s.leased()))
		s.denied("submit_begin", "a", []string{guard}, held)
	}
}

func decisionIsBound(s *suite) {
	decision := values{"revision": 3, "evidence_seq": 1, "reviewer": "ann", "reason": "looked", "remote_job_id": "job-x"}
	row := s.row("a", transitions.Uncertain, values{"evidence_seq": 1})
	for _, event := range []string{"review_attach", "review_not_created", "review_abandon"} {
		for guard, c := range map[string]struct{ row, decision values }{
			"revision":     {decision: values{"revision": 2}},
			"evidence_seq": {decision: values{"evidence_seq": 0}},
			"lease_vacant": {row: s.leased()},
			"reviewer":     {decision: values{"reviewer": " "}},
			"reason":       {decision: values{"reason": nil}},
		} {
			s.put(s.with(row, c.row))
			bound := maps.Clone(decision)
			maps.Copy(bound, c.decision)
			s.denied(event, "a", []string{guard}, bound)
		}
		s.put(row)
		s.must(event, "a", decision)
		s.has("a", values{"revision": 4})
	}
	s.put(s.with(row, values{"quarantine_until": s.now.Add(time.Hour)}))
	s.denied("review_not_created", "a", []string{"quarantine_over"}, decision)
	s.must("review_not_created", "a", decision, values{"override": true})
	s.has("a", values{"phase": transitions.Prepared, "not_created_revision": 4, "uncertain_reason": nil, "quarantine_until": nil})
}
