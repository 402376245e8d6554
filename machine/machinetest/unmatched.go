package machinetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// early is what a remote says of a job that nobody here knows yet.
func early(id, kind, detail string) machine.EvidenceEntry {
	return machine.EvidenceEntry{Provider: provider, Account: account, Kind: kind, RemoteJobID: id, Detail: []byte(detail)}
}

func (s *suite) noteUnmatched(entries ...machine.EvidenceEntry) {
	s.Helper()
	for _, e := range entries {
		if err := s.Store.NoteUnmatched(s.ctx, e); err != nil {
			s.Fatalf("note %s of %s without an operation: %v", e.Kind, e.RemoteJobID, err)
		}
	}
}

func (s *suite) naming(provider, account, id string) []machine.EvidenceEntry {
	s.Helper()
	entries, err := s.Store.EvidenceNaming(s.ctx, provider, account, id)
	if err != nil {
		s.Fatalf("read the evidence that names %q: %v", id, err)
	}
	return entries
}

func (s *suite) unmatched(q machine.UnmatchedQuery) []machine.Unmatched {
	s.Helper()
	page, err := s.Store.Unmatched(s.ctx, q)
	if err != nil {
		s.Fatalf("read unmatched evidence: %v", err)
	}
	return page
}

func unmatchedKept(s *suite) {
	s.put(s.row("a", transitions.Uncertain))
	whole := early("job-1", "ended_succeeded", `{"status":"succeeded"}`)
	whole.Owner, whole.Revision = "hook", 2
	raw := early("job-1", "ended_failed", "\x00\xff")
	same := raw // of an operation, which is no reason not to keep that of none
	same.OperationID = "a"
	s.must("evidence_noted", "a", values{"kind": "ended_failed", "remote_job_id": "job-1", "raw": raw.Detail})
	none, empty := early("job-1", "pending", ""), early("job-1", "pending", "")
	none.Detail = nil
	s.noteUnmatched(whole, whole, raw, raw, none, none, empty, empty)
	s.noteUnmatched(early("job-2", "pending", "x"), machine.EvidenceEntry{Provider: provider, Account: "other", Kind: "pending", RemoteJobID: "job-1"})
	s.must("evidence_noted", "a", values{"kind": "accepted", "remote_job_id": "job-1", "raw": []byte("late")})
	s.noteUnmatched(machine.EvidenceEntry{Provider: "print", Account: account, Kind: "pending", RemoteJobID: "job-1"})
	s.same("the evidence of another account, and of another provider", []int{1, 1},
		[]int{len(s.naming(provider, "other", "job-1")), len(s.naming("print", account, "job-1"))})
	accepted := early("job-1", "accepted", "late")
	accepted.OperationID = "a"
	got := s.naming(provider, account, "job-1")
	want := []machine.EvidenceEntry{same, whole, raw, none, empty, accepted}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(machine.EvidenceEntry{}, "Seq", "At")); diff != "" {
		s.Errorf("the evidence that names job-1 (-want +got):\n%s", diff)
	}
	for i, e := range got {
		if i > 0 && e.Seq <= got[i-1].Seq || e.At.Sub(s.now).Abs() > time.Hour {
			s.Errorf("entry %d has the number %d and the time %s", i, e.Seq, e.At)
		}
	}
	for _, id := range []string{"JOB-1", "job-3", "job-\x00", ""} {
		s.same("the evidence that names "+id, 0, len(s.naming(provider, account, id)))
	}
	s.same("the evidence of the operation, and of a blank id", []int{2, 0}, []int{len(s.evidence("a")), len(s.evidence(""))})
	s.has("a", values{"evidence_seq": 2})

	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := s.Store.NoteUnmatched(ctx, early("job-4", "pending", "")); !errors.Is(err, context.Canceled) || machine.IsUnknown(err) {
		s.Errorf("note under a context that is over: got %v, want context.Canceled, told as not run", err)
	}
	s.same("the evidence that names job-4", 0, len(s.naming(provider, account, "job-4")))
}

func unmatchedHeld(s *suite) {
	s.put(
		s.row("open", transitions.Observing, values{"remote_job_id": "held"}),
		s.row("ended", transitions.Terminal, values{"remote_job_id": "over", "outcome": "failed"}),
		s.row("other", transitions.Observing, values{"remote_job_id": "theirs", "account": "other"}),
		s.row("late", transitions.Uncertain),
		s.row("away", transitions.Uncertain, values{"account": "other"}),
		s.row("print", transitions.Uncertain, values{"provider": "print"}),
		s.row("there", transitions.Observing, values{"provider": "print", "remote_job_id": "free"}),
	)
	s.must("evidence_noted", "late", values{"kind": "accepted", "remote_job_id": "told"})
	s.must("evidence_noted", "away", values{"kind": "accepted", "remote_job_id": "free"}) // another account's job
	s.must("evidence_noted", "print", values{"kind": "accepted", "remote_job_id": "held"})
	s.must("evidence_noted", "late", values{"kind": "note", "remote_job_id": "free"})
	for _, id := range []string{"held", "over", "theirs", "told", "free"} {
		s.noteUnmatched(early(id, "ended_succeeded", ""))
	}
	s.noteUnmatched(machine.EvidenceEntry{Provider: "print", Account: account, Kind: "pending", RemoteJobID: "free"},
		early("free", "accepted", "")) // told to nobody
	want := []string{
		`video/main held ended_succeeded: held by "open", which ended "", told false`,
		`video/main over ended_succeeded: held by "ended", which ended "failed", told false`,
		`video/main theirs ended_succeeded: held by "", which ended "", told false`,
		`video/main told ended_succeeded: held by "", which ended "", told true`,
		`video/main free ended_succeeded: held by "", which ended "", told false`,
		`print/main free pending: held by "there", which ended "", told false`,
		`video/main free accepted: held by "", which ended "", told false`,
	}
	for _, newest := range []bool{false, true} {
		var got []string
		for _, u := range s.unmatched(machine.UnmatchedQuery{Newest: newest}) {
			got = append(got, fmt.Sprintf("%s/%s %s %s: held by %q, which ended %q, told %t", u.Provider, u.Account, u.RemoteJobID, u.Kind, u.Holder, u.Outcome, u.Told))
			if u.At.Sub(s.now).Abs() > time.Hour {
				s.Errorf("%s was noted at %s, now it is %s", u.RemoteJobID, u.At, s.now)
			}
		}
		s.same(fmt.Sprintf("who knows the jobs, newest first %t", newest), want, got)
		slices.Reverse(want)
	}
}

func unmatchedPages(s *suite) {
	const entries = 120
	var want []string
	for i := range entries {
		id := fmt.Sprintf("job-%03d", i)
		want = append(want, id)
		s.noteUnmatched(early(id, "pending", ""))
	}
	s.put(s.row("a", transitions.Prepared))
	s.must("evidence_noted", "a", values{"kind": "note", "remote_job_id": "job-a"})
	for _, newest := range []bool{false, true} {
		s.same("a page as long as by default", 100, len(s.unmatched(machine.UnmatchedQuery{Newest: newest})))
		var got []string
		q := machine.UnmatchedQuery{Newest: newest, Limit: 50}
		for page := s.unmatched(q); len(page) > 0 && len(got) <= entries; page = s.unmatched(q) {
			for _, u := range page {
				got, q.After = append(got, u.RemoteJobID), u.Seq
			}
		}
		s.same(fmt.Sprintf("all pages, newest first %t", newest), want, got)
		slices.Reverse(want)
	}
}
