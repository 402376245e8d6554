package machinetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// pruneAge is the age from which on the clauses prune.
const pruneAge = 90 * time.Minute

// pruner gives the store as one that can prune, false if it cannot: a store need not.
func (s *suite) pruner() (machine.Pruner, *machine.Machine, bool) {
	s.Helper()
	p, ok := s.Store.(machine.Pruner)
	if !ok {
		s.Logf("a %T is no machine.Pruner", s.Store)
		return nil, nil, false
	}
	m, err := machine.New(s.Store, machine.Config{})
	if err != nil {
		s.Fatal(err)
	}
	return p, m, true
}

// finished is a row that may be pruned, of which a piece of evidence was noted, with changes made by hand afterwards.
func (s *suite) finished(id string, changes ...values) {
	s.Helper()
	s.put(s.row(id, transitions.Terminal, values{"remote_job_id": "job-" + strings.ReplaceAll(id, " ", "-")}))
	s.must("evidence_noted", id, values{"kind": "note", "raw": []byte("of " + id), "owner": "w"})
	s.put(s.with(s.get(id), append([]values{{"updated_at": s.now.Add(-2 * time.Hour)}}, changes...)...))
}

func (s *suite) prune(m *machine.Machine, p machine.Pruning) machine.PruneResult {
	s.Helper()
	p.OlderThan = pruneAge
	r, err := m.Prune(s.ctx, p)
	if err != nil {
		s.Fatalf("prune: %v", err)
	}
	return r
}

// events are the events of an operation's history.
func (s *suite) events(id string) []string {
	s.Helper()
	var names []string
	for _, h := range s.history(id) {
		names = append(names, h.Event)
	}
	return names
}

// unpruned are changes that each keep a finished operation from being pruned.
func (s *suite) unpruned() map[string]values {
	return map[string]values{
		"work is due":                  {"next_action": transitions.Deliver},
		"a reviewer's turn":            {"next_action": transitions.Review},
		"given up, its end not known":  {"outcome": "abandoned"},
		"a suspected duplicate":        {"duplicate_suspected": true},
		"a contradicted outcome":       {"outcome_contradicted": true},
		"a late remote job id":         {"late_remote_job_id": "late"},
		"held":                         {"lease_owner": "w", "lease_until": s.now.Add(time.Hour)},
		"held until a while ago":       {"lease_owner": "w", "lease_until": s.now.Add(-time.Hour)},
		"delivered again if asked to":  {"delivery": "failed"},
		"not yet delivered":            {"delivery": "pending"},
		"changed a while ago only":     {"updated_at": s.now.Add(-pruneAge + 10*time.Minute)},
		"changed now":                  {"updated_at": s.now},
		"uncertain (report B89)":       {"phase": transitions.Uncertain, "outcome": nil, "uncertain_reason": "no_response", "remote_job_id": nil},
		"on the wire, for all we know": {"phase": transitions.Submitting, "outcome": nil, "remote_job_id": nil},
	}
}

func prunesNothingElse(s *suite) {
	_, m, ok := s.pruner()
	if !ok {
		return
	}
	var left []string
	for id, change := range s.unpruned() {
		s.finished(id, change)
		left = append(left, id)
	}
	for _, phase := range []string{transitions.Prepared, transitions.Submitted, transitions.Observing, transitions.Delivering} {
		s.put(s.row(phase, phase))
		s.must("evidence_noted", phase, values{"kind": "note"})
		s.put(s.with(s.get(phase), values{"updated_at": s.now.Add(-2 * time.Hour)}))
		left = append(left, phase)
	}
	s.put(s.row("without a history", transitions.Terminal, values{"updated_at": s.now.Add(-2 * time.Hour)}))
	before := map[string][]machine.HistoryEntry{}
	for _, id := range left {
		before[id] = s.history(id)
	}
	s.same("a batch that finds nothing", machine.PruneResult{After: s.last(append(left, "without a history")), Done: true}, s.prune(m, machine.Pruning{}))

	done := map[string]values{
		"succeeded": {}, "delivered": {"delivery": "delivered", "object_key": "a/b", "object_sha256": "00ff", "object_bytes": 12},
		"failed": {"outcome": "failed"}, "canceled": {"outcome": "canceled"}, "rejected": {"outcome": "rejected", "remote_job_id": nil},
		"with everything": {
			"priority": -7, "not_before": s.now, "wants_delivery": true, "can_investigate": true, "keep": `{"a":"\"é"}`,
			"attempts": 3, "delivery_attempts": 2, "submitted_at": s.now.Add(-3 * time.Hour), "snapshot": []byte("\x00\xff{}"),
			"uncertain_reason": "no_response", "quarantine_until": s.now, "observe_deadline": s.now, "not_found_until": s.now,
			"cancel_requested_at": s.now, "not_created_revision": 1, "not_created_attempts": 2, "redo_of": "succeeded",
			"observe_deadline_ms": 5, "not_found_grace_ms": 0, "quarantine_ms": 0, "delivery_attempts_max": 0,
		},
	}
	for id, change := range done {
		s.finished(id, change)
	}
	s.same("a batch that finds what is finished", machine.PruneResult{
		Found: len(done), Pruned: len(done), After: s.last(append(left, "without a history", "with everything", "succeeded")), Done: true,
	}, s.prune(m, machine.Pruning{}))
	for _, id := range left {
		s.same("the history of what is "+id, before[id], s.history(id))
		s.same("the evidence of what is "+id, 1, len(s.evidence(id)))
	}
	for id := range done {
		s.same("the history of what is "+id, []string{machine.EventPruned}, s.events(id))
		s.same("the evidence of what is "+id, 0, len(s.evidence(id)))
		s.audited(m, id)
	}
}

func (s *suite) last(ids []string) string { return slices.Max(ids) }

// audited asks that the audit finds nothing.
func (s *suite) audited(m *machine.Machine, id string) {
	s.Helper()
	findings, err := m.Audit(s.ctx, id)
	if err != nil || len(findings) > 0 {
		s.Errorf("the audit of %s found %v, %v", id, findings, err)
	}
}

// What was found is judged once more as it is deleted, by all that it was found by and by what was seen of it.
func prunesOnlyWhatWasSeen(s *suite) {
	p, _, ok := s.pruner()
	if !ok {
		return
	}
	moved := s.unpruned()
	moved["another revision"], moved["more evidence"] = values{"revision": 4}, values{"evidence_seq": 2}
	for id := range moved {
		s.finished(id)
	}
	for _, id := range []string{"as it was", "with new evidence"} {
		s.finished(id)
	}
	q := machine.PruneQuery{OlderThan: pruneAge}
	page, err := p.Prunable(s.ctx, q)
	if err != nil || len(page.Found) != len(moved)+2 {
		s.Fatalf("found %v, %v", page, err)
	}
	for id, change := range moved {
		s.put(s.with(s.get(id), change))
	}
	s.must("evidence_noted", "with new evidence", values{"kind": "accepted", "remote_job_id": "another"})
	pruned, err := p.Prune(s.ctx, q, append(page.Found, machine.Prunable{OperationID: "nobody knows this one"}))
	if diff := cmp.Diff([]string{"as it was"}, pruned); diff != "" || err != nil {
		s.Errorf("pruned, %v (-want +got):\n%s", err, diff)
	}
	for id := range moved {
		s.same("the history of what is "+id+" by now", []string{"evidence_noted"}, s.events(id))
		s.same("the evidence of what is "+id+" by now", 1, len(s.evidence(id)))
	}
	s.same("the evidence that came between", 2, len(s.evidence("with new evidence")))
	again, err := p.Prune(s.ctx, q, page.Found)
	s.same("pruned by a second one that found the same", 0, len(again))
	s.same("the history after it", []string{machine.EventPruned}, s.events("as it was"))
	if err != nil {
		s.Error(err)
	}
}

// A life as it is, pruned: what is asked of it afterwards is answered as before, and what comes late is kept.
func prunedLifeGoesOn(s *suite) {
	_, m, ok := s.pruner()
	if !ok {
		return
	}
	request := machine.Request{OperationID: "a", Kind: "clip", Provider: provider, Account: account, Request: []byte(`{"n": 1}`), Priority: 3, CanInvestigate: true}
	if _, err := m.Prepare(s.ctx, request); err != nil {
		s.Fatal(err)
	}
	who := machine.Who{Provider: provider, Account: account}
	lease, err := m.Claim(s.ctx, transitions.Dispatch, "a", who)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := m.Begin(s.ctx, lease); err != nil {
		s.Fatal(err)
	}
	s.must("evidence_noted", "a", values{"kind": "note", "raw": []byte("seen by hand"), "owner": "w"})
	if _, err := m.Rejected(s.ctx, lease, "no such model"); err != nil {
		s.Fatal(err)
	}
	s.noteUnmatched(early("job-of-nobody", "pending", ""))
	whole := s.history("a")
	s.put(s.with(s.get("a"), values{"updated_at": s.now.Add(-2 * time.Hour)}))
	row := s.get("a")
	s.same("the batch", 1, s.prune(m, machine.Pruning{}).Pruned)
	s.same("the row", s.readable(row), s.readable(s.get("a")))
	last := whole[len(whole)-1]
	s.same("what the last row said", []string{"rejected", "no such model"}, []string{last.Reason, last.Detail})
	got := s.history("a")[0]
	want := machine.HistoryEntry{OperationID: "a", Event: machine.EventPruned, To: transitions.Terminal, Revision: last.Revision, Reason: last.Reason, Detail: last.Detail}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(machine.HistoryEntry{}, "Seq", "Changes", "At")); diff != "" || got.Seq <= last.Seq || got.At.Before(s.now) {
		s.Errorf("what stands for the history, as number %d at %s (-want +got):\n%s", got.Seq, got.At, diff)
	}
	s.audited(m, "a")

	again, err := m.Prepare(s.ctx, request)
	if err != nil || again.Created || again.Operation.Outcome != "rejected" {
		s.Errorf("preparing it again: created %t, %q, %v", again.Created, again.Operation.Outcome, err)
	}
	request.Request = []byte(`{"n": 2}`)
	var conflict *machine.ConflictError
	if _, err := m.Prepare(s.ctx, request); !errors.As(err, &conflict) {
		s.Errorf("preparing another request by its id: want a *ConflictError, got %v", err)
	}
	if lease, err := m.Claim(s.ctx, transitions.Dispatch, "a", who); err == nil {
		s.Errorf("it was claimed to be sent again: %+v", lease)
	}
	s.same("claimed by a batch", 0, len(s.take("dispatch_claim", 10, claiming)))

	marked := s.must("evidence_noted", "a", values{"kind": "accepted", "remote_job_id": "late", "raw": []byte("it was done after all")})
	s.same("late evidence marks it", []bool{true, true}, []bool{marked.Marked(), marked.LateRemoteJobID == "late"})
	s.audited(m, "a")
	if _, err := m.ReviewAcknowledge(s.ctx, "a", machine.Decision{Reviewer: "r", Reason: "paid for", Seen: marked.Seen()}); err != nil {
		s.Errorf("acknowledging what came late: %v", err)
	}
	s.audited(m, "a")
	s.same("the history since", []string{machine.EventPruned, "evidence_noted", "review_acknowledge"}, s.events("a"))
	s.same("the evidence since", 1, len(s.evidence("a")))
	s.same("who was told of nothing", 1, len(s.unmatched(machine.UnmatchedQuery{})))
}

// Evidence that names a remote job which is not the operation's own goes on telling who was told of it.
func prunedKeepsOtherJobs(s *suite) {
	_, m, ok := s.pruner()
	if !ok {
		return
	}
	s.finished("a")
	for _, job := range []string{"job-a", "job-b", "job-c"} {
		s.noteUnmatched(early(job, "ended_succeeded", ""))
	}
	s.must("evidence_noted", "a", values{"kind": "accepted", "remote_job_id": "job-a"})
	s.must("evidence_noted", "a", values{"kind": "accepted", "remote_job_id": "job-b"})
	s.put(s.with(s.get("a"), values{"updated_at": s.now.Add(-2 * time.Hour), "duplicate_suspected": false, "late_remote_job_id": nil, "outcome_contradicted": false}))
	known := func() []bool {
		var list []bool
		for _, u := range s.unmatched(machine.UnmatchedQuery{}) {
			list = append(list, u.Holder != "" || u.Told)
		}
		return list
	}
	s.same("the jobs that somebody knows", []bool{true, true, false}, known())
	s.same("the batch", 1, s.prune(m, machine.Pruning{}).Pruned)
	s.same("the jobs that somebody knows afterwards", []bool{true, true, false}, known())
	var kept []string
	for _, e := range s.evidence("a") {
		kept = append(kept, e.RemoteJobID)
	}
	s.same("the evidence that is left of it", []string{"job-b"}, kept)
	s.same("the evidence that names its own job", []string{""}, operationsOf(s.naming(provider, account, "job-a")))
	s.same("the evidence that names the other", []string{"", "a"}, operationsOf(s.naming(provider, account, "job-b")))
}

func operationsOf(entries []machine.EvidenceEntry) []string {
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.OperationID)
	}
	return ids
}

// A batch passes a page of ids and no more, also where it finds nothing, and the next one begins behind it.
func prunesInPages(s *suite) {
	_, m, ok := s.pruner()
	if !ok {
		return
	}
	for i := range 9 {
		id := fmt.Sprintf("op-%d", i)
		if i == 2 || i == 3 {
			s.finished(id, values{"outcome": "abandoned"})
		} else {
			s.finished(id)
		}
	}
	s.finished("op-4", values{"kind": "still", "outcome": "failed"})
	s.finished("op-8", values{"account": "other"})
	batch := func(q machine.PruneQuery, dry bool) string {
		r := s.prune(m, machine.Pruning{PruneQuery: q, DryRun: dry})
		return fmt.Sprintf("%d of %d, on to %q, done %t", r.Pruned, r.Found, r.After, r.Done)
	}
	for _, c := range []struct {
		what string
		q    machine.PruneQuery
		dry  bool
		want string
	}{
		{"a page", machine.PruneQuery{Page: 2}, true, `0 of 2, on to "op-1", done false`},
		{"a page of which nothing may be pruned", machine.PruneQuery{Page: 2, After: "op-1"}, false, `0 of 0, on to "op-3", done false`},
		{"a page with more than the limit", machine.PruneQuery{Page: 5, Limit: 2, After: "op-1"}, true, `0 of 2, on to "op-5", done false`},
		{"all that is there", machine.PruneQuery{}, true, `0 of 7, on to "op-8", done true`},
		{"an outcome", machine.PruneQuery{Outcome: "failed"}, true, `0 of 1, on to "op-8", done true`},
		{"a kind", machine.PruneQuery{Kind: "still"}, true, `0 of 1, on to "op-8", done true`},
		{"an account", machine.PruneQuery{Account: "other"}, true, `0 of 1, on to "op-8", done true`},
		{"a provider", machine.PruneQuery{Provider: "another"}, true, `0 of 0, on to "op-8", done true`},
		{"the first page", machine.PruneQuery{Page: 5, Limit: 2}, false, `2 of 2, on to "op-1", done false`},
		{"from there on", machine.PruneQuery{Page: 5, After: "op-1"}, false, `3 of 3, on to "op-6", done false`},
		{"the last page, which is not full", machine.PruneQuery{Page: 5, After: "op-6"}, false, `2 of 2, on to "op-8", done true`},
		{"beyond the last", machine.PruneQuery{After: "op-8"}, false, `0 of 0, on to "op-8", done true`},
		{"all over again", machine.PruneQuery{}, false, `0 of 0, on to "op-8", done true`},
	} {
		s.same(c.what, c.want, batch(c.q, c.dry))
	}
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := m.Prune(ctx, machine.Pruning{PruneQuery: machine.PruneQuery{OlderThan: pruneAge}}); !errors.Is(err, context.Canceled) || machine.IsUnknown(err) {
		s.Errorf("prune under a context that is over: got %v, want context.Canceled, told as not run", err)
	}
}

// shelf is an archive that forgets everything with the test.
type shelf struct {
	kept []machine.Archived
	sync func() error
}

func (a *shelf) Keep(op machine.Archived) error {
	a.kept = append(a.kept, op)
	return nil
}

func (a *shelf) Sync() error { return a.sync() }

// What is pruned is in the archive as it was, and nothing is deleted before it is durable there.
func prunesWhatIsArchived(s *suite) {
	_, m, ok := s.pruner()
	if !ok {
		return
	}
	const many = 60 // more than are read at once
	type told struct {
		Row      map[string]string
		History  []machine.HistoryEntry
		Evidence []machine.EvidenceEntry
	}
	want := make([]told, many)
	for i := range want {
		id := fmt.Sprintf("op-%02d", i)
		s.finished(id)
		want[i] = told{s.readable(s.get(id)), s.history(id), s.evidence(id)}
	}
	full := errors.New("no room left")
	archive := &shelf{sync: func() error { return full }}
	q := machine.PruneQuery{OlderThan: pruneAge}
	r, err := m.Prune(s.ctx, machine.Pruning{PruneQuery: q, Archive: archive})
	if !errors.Is(err, full) || r != (machine.PruneResult{}) {
		s.Errorf("an archive that is full: %+v, %v", r, err)
	}
	s.same("the history after it", []string{"evidence_noted"}, s.events("op-00"))
	archive = &shelf{sync: func() error {
		s.same("what is deleted before all of it is archived", []string{"evidence_noted"}, s.events("op-00"))
		s.must("evidence_noted", "op-01", values{"kind": "note"})
		return nil
	}}
	s.same("the batch, one of which moved", machine.PruneResult{Found: many, Pruned: many - 1, Moved: 1, After: "op-59", Done: true}, s.prune(m, machine.Pruning{Archive: archive}))
	got := make([]told, len(archive.kept))
	for i, a := range archive.kept {
		got[i] = told{s.readable(a.Operation.Row()), a.History, a.Evidence}
	}
	s.same("the archive", want, got)
}
