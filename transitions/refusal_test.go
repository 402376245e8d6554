package transitions_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
)

// scene is a row, what an event brings and the world around: all that a verdict depends on.
type scene struct {
	program *transitions.Program
	row     transitions.Row
	params  transitions.Params
	world   transitions.World
}

const noon = int64(1_700_000_000_000_000) // Unix microseconds

func (s *scene) set(col string, v transitions.Value) { s.row[s.program.Column(col)] = v }

func (s *scene) text(col, v string) { s.set(col, transitions.OptText(v)) }

func (s *scene) give(param, v string) { s.params[param] = transitions.TextValue(v) }

// allowed is a scene in which the event is applied.
func allowed(p *transitions.Program, r *transitions.Rule) *scene {
	s := &scene{program: p, row: make(transitions.Row, len(p.Columns)), params: transitions.Params{}, world: transitions.World{Now: noon}}
	for i, c := range p.Columns {
		s.row[i] = c.Default
	}
	for col, v := range map[string]string{"operation_id": "op", "kind": "video", "provider": "video", "account": "eu"} {
		s.text(col, v)
		s.give(col, v)
	}
	s.give("owner", "w")
	s.give("reviewer", "ann")
	s.give("reason", "looked")
	s.give("remote_job_id", "job-1")
	s.give("object_key", "op.mp4")
	s.give("proof", "refused")
	s.params["request"] = transitions.BytesValue([]byte("{}"))
	s.params["revision"], s.params["evidence_seq"] = transitions.IntValue(7), transitions.IntValue(3)
	s.params["ttl_ms"] = transitions.IntValue(45_000)
	s.set("revision", transitions.IntValue(7))
	s.set("evidence_seq", transitions.IntValue(3))
	s.set("due_at", transitions.MicrosValue(noon))
	if len(r.From) > 0 {
		s.text("phase", r.From[0])
	}
	s.text("next_action", r.Action)
	if r.Fence == transitions.Held {
		s.text("lease_owner", "w")
		s.set("lease_until", transitions.MicrosValue(noon+1))
	} else {
		s.text("lease_owner", "w")
		s.set("lease_until", transitions.MicrosValue(noon)) // ended this very moment
	}
	if needs := needs[r.Event]; needs != nil {
		needs(s)
	}
	return s
}

// needs is what an event's own guards ask for beyond that.
var needs = map[string]func(*scene){
	"evidence_recalled":  func(s *scene) { s.text("late_remote_job_id", "job-2") },
	"observe_claim":      func(s *scene) { s.text("remote_job_id", "job-1") },
	"observe_lost":       func(s *scene) { s.set("not_found_until", transitions.MicrosValue(noon)) },
	"observe_overdue":    func(s *scene) { s.set("observe_deadline", transitions.MicrosValue(noon)) },
	"notified_succeeded": func(s *scene) { s.text("remote_job_id", "job-1") },
	"notified_failed":    func(s *scene) { s.text("remote_job_id", "job-1") },
	"notified_canceled":  func(s *scene) { s.text("remote_job_id", "job-1") },
	"deliver_claim":      func(s *scene) { s.text("outcome", "succeeded") },
	"deliver_exhausted":  func(s *scene) { s.set("delivery_attempts", transitions.IntValue(8)) },
	"redeliver":          func(s *scene) { s.text("delivery", "failed") },
	"cancel":             func(s *scene) { s.set("cancel_requested_at", transitions.MicrosValue(noon)) },
	"evidence_attach":    func(s *scene) { s.text("late_remote_job_id", "job-2") },
	"review_not_created": func(s *scene) { s.set("quarantine_until", transitions.MicrosValue(noon)) },
	"review_acknowledge": func(s *scene) { s.set("duplicate_suspected", transitions.BoolValue(true)) },
	"redo":               func(s *scene) { s.text("outcome", "failed") },
}

type refusal struct {
	guard  string
	clause string
	wrong  func(s *scene, r *transitions.Rule)
}

// refusals has one line for every guard: the clause that asks for it, and what is wrong with a row that only this
// guard refuses.
var refusals = []refusal{
	{"operation_id", "lifecycle, events: prepare, id not blank", func(s *scene, _ *transitions.Rule) { s.give("operation_id", "\u200b") }},
	{"phase", "lifecycle, events: from", func(s *scene, r *transitions.Rule) {
		for _, name := range s.program.PhaseNames() {
			if !r.Leaves(name) {
				s.text("phase", name)
			}
		}
	}},
	{"owner", "A5: the owner of the claim", func(s *scene, _ *transitions.Rule) { s.text("lease_owner", "other") }},
	{"revision", "A6 and D3: a stale revision, also with the same owner", func(s *scene, _ *transitions.Rule) { s.set("revision", transitions.IntValue(8)) }},
	{"lease_live", "A5: expired and unclaimed is still denied", func(s *scene, _ *transitions.Rule) { s.set("lease_until", transitions.MicrosValue(noon)) }},
	{"lease_vacant", "A2: the lease is null or expired", func(s *scene, _ *transitions.Rule) { s.set("lease_until", transitions.MicrosValue(noon+1)) }},
	{"evidence_seq", "lifecycle, fences: the same evidence as the decider looked at", func(s *scene, _ *transitions.Rule) { s.set("evidence_seq", transitions.IntValue(4)) }},
	{"provider", "B8: a worker of another provider", func(s *scene, _ *transitions.Rule) { s.text("provider", "print") }},
	{"account", "B8: a worker of another account", func(s *scene, _ *transitions.Rule) { s.text("account", "us") }},
	{"remote_job_id", "C6: a webhook about another job", func(s *scene, _ *transitions.Rule) { s.text("remote_job_id", "job-2") }},
	{"next_action", "A2: the next action is the one asked for", func(s *scene, _ *transitions.Rule) { s.text("next_action", "review") }},
	{"due", "A2: it is due", func(s *scene, _ *transitions.Rule) { s.set("due_at", transitions.MicrosValue(noon+1)) }},
	{"cancel_not_asked", "lifecycle, events: no cancel asked", func(s *scene, _ *transitions.Rule) {
		s.set("cancel_requested_at", transitions.MicrosValue(noon))
	}},
	{"cancel_asked", "lifecycle, events: cancel asked", func(s *scene, _ *transitions.Rule) { s.set("cancel_requested_at", transitions.NullValue) }},
	{"no_mark", "lifecycle, events: no mark", func(s *scene, _ *transitions.Rule) { s.set("outcome_contradicted", transitions.BoolValue(true)) }},
	{"marked", "lifecycle, events: any marked", func(s *scene, _ *transitions.Rule) { s.set("duplicate_suspected", transitions.BoolValue(false)) }},
	{"no_late_remote_job_id", "invariant 1: a job that came to light", func(s *scene, _ *transitions.Rule) { s.text("late_remote_job_id", "job-2") }},
	{"late_remote_job_id", "B5: there is a late answer to attach", func(s *scene, _ *transitions.Rule) { s.text("late_remote_job_id", "") }},
	{"recalled", "lifecycle, events: a late id or a mark has come to light", func(s *scene, _ *transitions.Rule) { s.text("late_remote_job_id", "") }},
	{"no_remote_job_id", "lifecycle, events: the row holds no remote job id", func(s *scene, _ *transitions.Rule) { s.text("remote_job_id", "job-1") }},
	{"remote_job_id_usable", "invariant 5: a blank id is never stored", func(s *scene, _ *transitions.Rule) { s.give("remote_job_id", " job-1") }},
	{"remote_job_id_free", "B8: an id that another operation has", func(s *scene, _ *transitions.Rule) {
		s.world.Taken = func(_, _, _ string) bool { return true }
	}},
	{"remote_job_id_known", "invariant 5: a blank id is never observed", func(s *scene, _ *transitions.Rule) { s.set("remote_job_id", transitions.TextValue("\u00a0")) }},
	{"remote_job_id_blank", "B4: only a row without an id is missing it", func(s *scene, _ *transitions.Rule) { s.text("remote_job_id", "job-1") }},
	{"proof", "invariant 6: back to prepared only with proof", func(s *scene, _ *transitions.Rule) { s.give("proof", "believed") }},
	{"not_found_grace_over", "lifecycle, events: past its grace", func(s *scene, _ *transitions.Rule) {
		s.set("not_found_until", transitions.MicrosValue(noon+1))
	}},
	{"observe_deadline_passed", "C3: stops at a deadline", func(s *scene, _ *transitions.Rule) {
		s.set("observe_deadline", transitions.MicrosValue(noon+1))
	}},
	{"outcome_succeeded", "lifecycle, events: outcome succeeded", func(s *scene, _ *transitions.Rule) { s.text("outcome", "failed") }},
	{"delivery_attempts_left", "lifecycle, events: delivery attempts left", func(s *scene, _ *transitions.Rule) { s.set("delivery_attempts", transitions.IntValue(8)) }},
	{"no_delivery_attempts_left", "lifecycle, events: no delivery attempts left", func(s *scene, _ *transitions.Rule) { s.set("delivery_attempts", transitions.IntValue(7)) }},
	{"object_key", "C4: the key is what the result is found by", func(s *scene, _ *transitions.Rule) { s.give("object_key", "") }},
	{"delivery_ended", "lifecycle, events: redeliver, the delivery has ended", func(s *scene, _ *transitions.Rule) { s.text("delivery", "pending") }},
	{"reviewer", "D3: the reviewer is required", func(s *scene, _ *transitions.Rule) { s.give("reviewer", " ") }},
	{"reason", "D3: the reason is required", func(s *scene, _ *transitions.Rule) { delete(s.params, "reason") }},
	{"quarantine_over", "lifecycle, evidence: the quarantine is over", func(s *scene, _ *transitions.Rule) {
		s.set("quarantine_until", transitions.MicrosValue(noon+1))
	}},
	{"outcome_redoable", "command line: redo of a failed, rejected or abandoned one", func(s *scene, _ *transitions.Rule) { s.text("outcome", "succeeded") }},
	{"finished", "command line: redo of a finished one", func(s *scene, _ *transitions.Rule) { s.text("next_action", "deliver") }},
	{"redo_proof", "command line: an abandoned one only under the guards of review_not_created", func(s *scene, _ *transitions.Rule) {
		s.text("outcome", "abandoned")
		s.text("remote_job_id", "job-1")
	}},
}

func TestEveryGuardOfEveryEventRefusesARowThatNoOtherGuardRefuses(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	used := map[string]bool{}
	for _, r := range p.Rules {
		s := allowed(p, r)
		if v := p.Eval(r.Event, s.row, s.params, s.world); !v.Applied {
			t.Errorf("%s was denied where all is well: %v", r.Event, v.Failed)
			continue
		}
		for _, g := range r.Guards {
			i := slices.IndexFunc(refusals, func(x refusal) bool { return x.guard == g.Name })
			if i < 0 {
				t.Errorf("%s has the guard %s, and no row shows what it is for", r.Event, g.Name)
				continue
			}
			used[g.Name] = true
			s := allowed(p, r)
			refusals[i].wrong(s, r)
			before := slices.Clone(s.row)
			v := p.Eval(r.Event, s.row, s.params, s.world)
			if diff := cmp.Diff([]string{g.Name}, v.Failed); diff != "" {
				t.Errorf("%s, %s: the guards that did not hold differ (-want +got):\n%s", r.Event, refusals[i].clause, diff)
			}
			if v.Entry != nil || v.Evidence != nil || !r.New && !slices.Equal(before, v.Row) {
				t.Errorf("%s, %s: it was denied and left something behind", r.Event, refusals[i].clause)
			}
		}
	}
	for _, row := range refusals {
		if !used[row.guard] {
			t.Errorf("no event has the guard %s any more", row.guard)
		}
	}
}

func TestTheQuarantineIsOverriddenOnlyByName(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	for _, c := range []struct {
		override transitions.Value
		want     bool
	}{{transitions.NullValue, false}, {transitions.BoolValue(false), false}, {transitions.BoolValue(true), true}} {
		s := allowed(p, p.Rule("review_not_created"))
		s.set("quarantine_until", transitions.MicrosValue(noon+1))
		s.params["override"] = c.override
		if got := p.Eval("review_not_created", s.row, s.params, s.world).Applied; got != c.want {
			t.Errorf("with override %s inside the quarantine: applied is %t, want %t", c.override, got, c.want)
		}
	}
}

func TestEvidenceIsNeverRefusedAndNeverMoves(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	for _, phase := range p.PhaseNames() {
		for _, kind := range []string{"accepted", "ended_succeeded", "whatever", ""} {
			s := allowed(p, p.Rule("evidence_noted"))
			s.text("phase", phase)
			s.text("lease_owner", "somebody else")
			s.give("kind", kind)
			v := p.Eval("evidence_noted", s.row, s.params, s.world)
			if !v.Applied || v.Evidence == nil || v.Entry == nil || v.Row[p.Column("phase")].Text() != phase {
				t.Errorf("evidence %q in %s: it was refused, lost or moved the operation: %+v", kind, phase, v)
			}
		}
	}
}
