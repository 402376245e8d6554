package machinetest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// request is what prepare is given.
var request = values{
	"kind": "clip", "provider": provider, "account": account, "request": []byte(`{"prompt": "a fence" }`),
	"wants_delivery": true,
}

func preparesOnce(s *suite) {
	op := s.must("prepare", "a", request, values{"priority": 7})
	want := values{
		"operation_id": "a", "kind": "clip", "provider": provider, "account": account, "phase": transitions.Prepared,
		"next_action": transitions.Dispatch, "request": []byte(`{"prompt": "a fence" }`), "priority": 7,
		"wants_delivery": true, "can_investigate": false, "revision": 0, "attempts": 0, "evidence_seq": 0,
		"quarantine_ms": 600_000, "not_found_grace_ms": 120_000, "delivery_attempts_max": 8,
		"lease_owner": nil, "lease_until": nil, "outcome": nil, "remote_job_id": nil,
		"due_at": op.CreatedAt, "updated_at": op.CreatedAt,
	}
	s.has("a", want)
	s.same("the row of the answer", s.readable(op.Row()), s.readable(s.get("a")))
	if age := op.CreatedAt.Sub(s.now); age < -time.Second || age > time.Hour {
		s.Errorf("created at %s, the database's clock was %s", op.CreatedAt, s.now)
	}
	s.sameHistory("a", machine.HistoryEntry{OperationID: "a", Event: "prepare", To: transitions.Prepared})
}

func preparesAgain(s *suite) {
	s.must("prepare", "0", request)
	first := s.must("prepare", "a", request)
	s.must("prepare", "z", request) // lies behind it, as the other before it, and neither has to do with it
	for name, again := range map[string]values{
		"the same request": {},
		"another request":  {"request": []byte(`{"prompt":"a gate"}`), "kind": "still", "priority": 9},
	} {
		answer := s.fire("prepare", "a", request, again)
		s.same(name, machine.Answer{Exists: true, Failed: []string{"new"}},
			machine.Answer{Applied: answer.Applied, Exists: answer.Exists, Failed: answer.Failed})
		s.same(name+": the row that is there", s.readable(first.Row()), s.readable(answer.Row))
	}
	s.same("the row", s.readable(first.Row()), s.readable(s.get("a")))
	s.same("history rows", 1, len(s.history("a")))
	answers, err := s.Store.ApplyMany(s.ctx, "prepare", []transitions.Params{
		params(request, values{"operation_id": "b"}), params(request, values{"operation_id": "a"}), params(request, values{"operation_id": "c"}),
	})
	if err != nil {
		s.Fatal(err)
	}
	var got []string
	for _, a := range answers {
		got = append(got, fmt.Sprintf("%s: applied %t, failed %v", machine.OperationOf(s.p, s.orBlank(a.Row)).OperationID, a.Applied, a.Failed))
	}
	s.same("a new, a known and a new one", []string{"b: applied true, failed []", "a: applied false, failed [new]", "c: applied true, failed []"}, got)
}

func preparesNoBlankID(s *suite) {
	for _, id := range []string{"", " ", "\t\u200b"} {
		answer, err := s.Store.Apply(s.ctx, "prepare", params(request, values{"operation_id": id}))
		if err != nil {
			s.Fatalf("prepare %q: %v", id, err)
		}
		s.same("the answer", machine.Answer{Failed: []string{"operation_id"}},
			machine.Answer{Applied: answer.Applied, Exists: answer.Exists, Failed: answer.Failed})
	}
}

// live walks an operation from prepare to its delivered result, with a setback in every phase.
func live(s *suite, id string) {
	s.must("prepare", id, request)
	s.must("cancel_request", s.must("prepare", id+"-other", request).OperationID, values{"reason": "no", "reviewer": "ann"})
	claim := func(event string) values {
		op := s.must(event, id, claiming)
		return values{"owner": "w2", "revision": op.Revision}
	}
	mine := claim("dispatch_claim")
	s.must("renew", id, mine, values{"ttl_ms": 120_000})
	s.must("submit_begin", id, mine)
	s.must("submit_not_created", id, mine, values{"proof": "refused", "delay_ms": 0})
	mine = claim("dispatch_claim")
	s.must("submit_begin", id, mine)
	s.must("submit_accepted", id, mine, values{"remote_job_id": "job-" + id, "keep": `{"url":"x"}`})
	mine = claim("observe_claim")
	s.must("observe_pending", id, mine, values{"snapshot": []byte("running"), "delay_ms": 0})
	mine = claim("observe_claim")
	s.must("observe_pending", id, mine, values{"snapshot": []byte("running"), "delay_ms": 0})
	mine = claim("observe_claim")
	s.must("observe_succeeded", id, mine, values{"snapshot": []byte("done")})
	mine = claim("deliver_claim")
	s.must("deliver_retry", id, mine, values{"delay_ms": 0, "reason": "disk full"})
	mine = claim("deliver_claim")
	s.must("deliver_done", id, mine, values{"object_key": id + ".mp4", "object_sha256": "00ff", "object_bytes": 12})
}

func wholeLife(s *suite) {
	live(s, "a")
	s.has("a", values{
		"phase": transitions.Terminal, "outcome": "succeeded", "delivery": "delivered", "next_action": nil, "due_at": nil,
		"lease_owner": nil, "lease_until": nil, "revision": 7, "attempts": 2, "delivery_attempts": 2,
		"object_key": "a.mp4", "object_sha256": "00ff", "object_bytes": 12, "snapshot": []byte("done"), "keep": `{"url":"x"}`,
	})
	found, err := s.Store.Find(s.ctx, provider, account, "job-a")
	if err != nil {
		s.Fatal(err)
	}
	s.same("found by its remote job", s.readable(s.get("a")), s.readable(found))
}

func historyFolds(s *suite) {
	live(s, "a")
	s.must("evidence_noted", "a", values{"kind": "accepted", "remote_job_id": "job-second"})
	s.must("review_acknowledge", "a", values{"evidence_seq": 1, "reviewer": "ann", "reason": "seen"})
	for _, id := range []string{"a", "a-other"} {
		s.foldsToItsRow(id)
	}
}

// foldsToItsRow folds an operation's history over the defaults and compares what history records with the row.
func (s *suite) foldsToItsRow(id string) {
	s.Helper()
	folded := blankRow(s.p)
	for _, e := range s.history(id) {
		for name, v := range s.decode(e.Changes) {
			folded[s.p.Column(name)] = v
		}
		folded[s.p.Column("phase")] = transitions.TextValue(e.To)
		folded[s.p.Column("revision")] = transitions.IntValue(e.Revision)
	}
	row := s.get(id)
	want, got := values{}, values{}
	for i, c := range s.p.Columns {
		if !c.Quiet || c.Name == "phase" || c.Name == "revision" {
			want[c.Name], got[c.Name] = row[i].String(), folded[i].String()
		}
	}
	s.same("the folded history of "+id, want, got)
}

// decode reads a history row's changes.
func (s *suite) decode(changes string) map[string]transitions.Value {
	s.Helper()
	decoded, err := decodeChanges(s.p, changes)
	if err != nil {
		s.Fatal(err)
	}
	return decoded
}

func decodeChanges(p *transitions.Program, changes string) (map[string]transitions.Value, error) {
	decoder := json.NewDecoder(strings.NewReader(changes))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("decode changes %q: %w", changes, err)
	}
	out := map[string]transitions.Value{}
	for name, v := range object {
		i := p.Column(name)
		if i < 0 {
			return nil, fmt.Errorf("changes %q name %q, which is no column", changes, name)
		}
		decoded, ok := decodeValue(p.Columns[i].Kind, v)
		if !ok {
			return nil, fmt.Errorf("changes %q: %s is not written as a %s", changes, name, p.Columns[i].Kind)
		}
		out[name] = decoded
	}
	return out, nil
}

func decodeValue(kind transitions.Kind, v any) (transitions.Value, bool) {
	switch v := v.(type) {
	case nil:
		return transitions.NullValue, true
	case bool:
		return transitions.BoolValue(v), kind == transitions.Bool
	case json.Number:
		n, err := v.Int64()
		if kind == transitions.Time {
			return transitions.MicrosValue(n), err == nil
		}
		return transitions.IntValue(n), err == nil && kind == transitions.Int
	case string:
		if kind == transitions.Bytes {
			raw, err := hex.DecodeString(v)
			return transitions.BytesValue(raw), err == nil && strings.ToLower(v) == v
		}
		return transitions.TextValue(v), kind == transitions.Text
	}
	return transitions.NullValue, false
}

// sameHistory compares an operation's history, the sequence, the clock and the changes apart.
func (s *suite) sameHistory(id string, want ...machine.HistoryEntry) {
	s.Helper()
	s.sameEntries(id, want, s.history(id))
}

// sameEntries compares history rows.
func (s *suite) sameEntries(id string, want, got []machine.HistoryEntry) {
	s.Helper()
	apart := cmpopts.IgnoreFields(machine.HistoryEntry{}, "Seq", "At", "Changes")
	if diff := cmp.Diff(want, got, apart, cmpopts.EquateEmpty()); diff != "" {
		s.Errorf("the history of %s (-want +got):\n%s", id, diff)
	}
	for i := 1; i < len(got); i++ {
		if got[i].Seq <= got[i-1].Seq || got[i].At.Before(got[i-1].At) {
			s.Errorf("the history of %s is out of order: %d at %s comes after %d at %s",
				id, got[i].Seq, got[i].At, got[i-1].Seq, got[i-1].At)
		}
	}
}

func historyContent(s *suite) {
	s.put(s.row("a", transitions.Submitting, s.leased()))
	s.must("submit_unknown", "a", held, values{"reason": "shutdown", "detail": "killed while reading the answer"})
	s.must("review_abandon", "a", values{"revision": 3, "evidence_seq": 0, "reviewer": "ann", "reason": "not worth it"})
	s.sameHistory("a",
		machine.HistoryEntry{OperationID: "a", Event: "submit_unknown", From: transitions.Submitting, To: transitions.Uncertain,
			Owner: "w", Revision: 3, Reason: "shutdown", Detail: "killed while reading the answer"},
		machine.HistoryEntry{OperationID: "a", Event: "review_abandon", From: transitions.Uncertain, To: transitions.Terminal,
			Revision: 4, Reason: "not worth it", Reviewer: "ann"})
	s.put(s.row("b", transitions.Submitting, s.lapsed()))
	s.must("submit_lapsed", "b")
	s.sameHistory("b", machine.HistoryEntry{OperationID: "b", Event: "submit_lapsed", From: transitions.Submitting,
		To: transitions.Uncertain, Owner: "w", Revision: 4, Reason: "no_response"})
	// Everything that an event assigns and history records, and no more.
	want := map[string]string{}
	row := s.get("b")
	for _, i := range s.p.Rule("submit_lapsed").Recorded {
		want[s.p.Columns[i].Name] = row[i].String()
	}
	got := map[string]string{}
	for name, v := range s.decode(s.history("b")[0].Changes) {
		got[name] = v.String()
	}
	s.same("what submit_lapsed changed", want, got)
}

func quietEvents(s *suite) {
	poll := values{"snapshot": []byte("running"), "delay_ms": 60_000}
	s.put(s.row("a", transitions.Observing, s.leased(), values{"snapshot": []byte("queued")}))
	s.must("renew", "a", held, values{"ttl_ms": 60_000})
	s.same("history rows after a renewal", 0, len(s.history("a")))
	s.must("observe_pending", "a", held, poll)
	s.same("history rows after a poll that learnt something", 1, len(s.history("a")))
	for _, again := range []values{poll, {"delay_ms": 60_000}} {
		row := s.get("a")
		row[s.p.Column("lease_owner")], row[s.p.Column("lease_until")] = value("w"), value(s.now.Add(time.Hour))
		s.put(row)
		op := s.must("observe_pending", "a", held, again)
		if !op.DueAt.After(s.now) || op.LeaseOwner != "" {
			s.Errorf("an unchanged poll left due %s and owner %q; want later and none", op.DueAt, op.LeaseOwner)
		}
	}
	s.same("history rows after polls that learnt nothing", 1, len(s.history("a")))
}

func noSuchOperation(s *suite) {
	for _, r := range s.p.Rules {
		if r.New {
			continue
		}
		answer := s.fire(r.Event, "nobody", held, claiming)
		s.same(r.Event, machine.Answer{}, answer)
	}
	s.same("history rows", 0, len(s.history("nobody")))
}

func noSuchEvent(s *suite) {
	s.put(s.row("a", transitions.Prepared))
	_, err := s.Store.Apply(s.ctx, "explode", params(values{"operation_id": "a"}))
	if err == nil || machine.IsUnknown(err) {
		s.Errorf("fire an event that the table has not: got %v, want an error that says that it did not run", err)
	}
	if _, err := s.Store.Take(s.ctx, "submit_begin", params(held, values{"limit": 1})); err == nil || machine.IsUnknown(err) {
		s.Errorf("take by an event that has no batch: got %v, want an error that says that it did not run", err)
	}
}

func constraintRefuses(s *suite) {
	s.put(s.row("a", transitions.Submitting, s.leased()))
	before := s.readable(s.get("a"))
	_, err := s.Store.Apply(s.ctx, "submit_unknown", params(held, values{"operation_id": "a", "reason": "because"}))
	if err == nil || machine.IsUnknown(err) {
		s.Errorf("store a reason that is none of the table's: got %v, want an error that says that it did not run", err)
	}
	s.same("the row", before, s.readable(s.get("a")))
	s.same("history rows", 0, len(s.history("a")))
	// What is set by hand must not make the arithmetic of a whole batch fail.
	for _, odd := range []values{
		{"revision": transitions.MaxNatural + 1}, {"revision": math.MaxInt64}, {"quarantine_ms": math.MaxInt64}, {"attempts": -1},
		{"due_at": transitions.MaxTime.AddDate(1, 0, 0)},
	} {
		if err := s.Put(s.ctx, s.row("odd", transitions.Prepared, odd)); err == nil {
			s.Errorf("a row with %v was taken", odd)
		}
	}
}

func redoneOnce(s *suite) {
	s.put(s.row("old", transitions.Terminal, values{"outcome": "failed"}))
	s.must("prepare", "new", request, values{"redo_of": "old"})
	_, err := s.Store.Apply(s.ctx, "prepare", params(request, values{"operation_id": "another", "redo_of": "old"}))
	var invalid *machine.InvalidError
	if !errors.As(err, &invalid) || invalid.Field != "redo_of" {
		s.Errorf("redo an operation a second time: got %v, want an error about redo_of", err)
	}
	rows, err := s.Store.Get(s.ctx, "another")
	if err != nil || len(rows) != 0 {
		s.Errorf("the second redo: got %d rows and %v, want none", len(rows), err)
	}
}

func deadContext(s *suite) {
	s.put(s.row("a", transitions.Prepared))
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := s.Store.Apply(ctx, "dispatch_claim", params(claiming, values{"operation_id": "a"}))
	if !errors.Is(err, context.Canceled) || machine.IsUnknown(err) {
		s.Errorf("fire under a context that is over: got %v, want context.Canceled, told as not run", err)
	}
	if _, err := s.Store.Get(ctx, "a"); !errors.Is(err, context.Canceled) {
		s.Errorf("read under a context that is over: got %v, want context.Canceled", err)
	}
	s.has("a", values{"revision": 3, "lease_owner": nil})
}
