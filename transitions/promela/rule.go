package promela

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// varying are the parameters in which the statements of one run differ; every other parameter is a constant of the run.
var varying = []string{"owner", "revision", "evidence_seq", "remote_job_id", "kind"}

// rule writes one event: its guards as a condition may_…, and what it does as an inline fire_…, which is always called
// inside a d_step. Everything that is assigned is first computed from the row as it was.
func (m *model) rule(r *transitions.Rule) {
	m.tr.creating = r.New
	m.printf("\n/* %s: %s -> %s; fence %s; by %s */\n", r.Event, phases(r), landing(r), r.Fence, r.Actor)
	m.printf("#define may_%s (true", r.Event)
	for _, g := range r.Guards {
		m.printf(" \\\n\t&& %s /* guard %s: %s */", m.tr.holds(g.Expr), g.Name, g.Expr)
	}
	m.printf(")\n#define can_%s (true", r.Event) // what of it is known before the statement is: where it fails, stating changes nothing
	for _, g := range r.Guards {
		if !varies(g.Expr) {
			m.printf(" \\\n\t&& %s", m.tr.holds(g.Expr))
		}
	}
	m.printf(")\n\ninline fire_%s()\n{\n\tapplied = 0;\n\tif\n\t:: may_%s ->\n\t\tprintf(\"%s\\n\");\n", r.Event, r.Event, r.Event)
	sets := m.kept(r)
	for _, s := range sets {
		m.printf("\t\tnext.%s = %s; /* %s */\n", s.Col, m.tr.value(s.Expr), s.Expr)
	}
	m.asserts(r)
	for _, s := range sets {
		m.printf("\t\trow.%s = next.%s;\n", s.Col, s.Col)
	}
	m.ghosts(r)
	m.printf("\t\tapplied = 1;\n\t\tc_code { applied_count[%d]++; };\n\t:: else\n\tfi\n}\n", m.number(r))
}

// varies reports whether x asks for a parameter in which statements differ.
func varies(x transitions.Expr) bool {
	found := false
	x.Walk(func(x transitions.Expr) {
		found = found || x.Op == transitions.OpParam && slices.Contains(varying, x.Name)
	})
	return found
}

// kept are the assignments to the columns of the model.
func (m *model) kept(r *transitions.Rule) []transitions.Set {
	var sets []transitions.Set
	for _, s := range r.Sets {
		if m.moving[s.Col] {
			sets = append(sets, s)
		}
	}
	return sets
}

// asserts writes the invariants that an event must keep, seen from the row as it was (row) and as it is to be (next).
// They do not look at the table's guards: what a lease is, and whose, is kept apart from the row in lease_claim.
func (m *model) asserts(r *transitions.Rule) {
	assert := func(name, format string, args ...any) {
		m.printf("\t\t%s = (%s); assert(%s);\n", name, fmt.Sprintf(format, args...), name)
	}
	sets := func(col string) bool {
		return slices.ContainsFunc(r.Sets, func(s transitions.Set) bool { return s.Col == col })
	}
	const underItsLease = "given.holds == 1 && row.lease_until != null && row.lease_until > now"
	if sets("outcome") && !r.New {
		assert("I3_outcome_never_changes", "row.outcome == null || next.outcome == row.outcome")
	}
	if sets("snapshot") && !r.New {
		assert("I3_no_snapshot_after_the_outcome", "row.outcome == null")
	}
	if r.Event == "review_not_created" {
		assert("I1_no_proof_against_a_known_job", "row.remote_job_id == null && row.late_remote_job_id == null")
	}
	if r.Fence == transitions.Held {
		assert("I4_nothing_under_a_dead_lease", underItsLease)
	}
	for _, col := range []string{"remote_job_id", "late_remote_job_id"} {
		if sets(col) && m.moving[col] {
			assert("I5_no_blank_remote_job_id", "next.%s != blank", col)
		}
	}
	if r.Action == transitions.Observe {
		assert("I5_nothing_blank_is_observed", "row.remote_job_id != null && row.remote_job_id != blank")
	}
	if sets("phase") && !r.New {
		if r.Event != "review_not_created" {
			assert("I6_no_other_way_from_uncertain_to_prepared", "!(row.phase == w_uncertain && next.phase == w_prepared)")
		}
		if r.Event != "submit_not_created" {
			assert("I6_no_other_way_from_submitting_to_prepared", "!(row.phase == w_submitting && next.phase == w_prepared)")
		} else if r.Fence != transitions.Held {
			assert("I6_not_created_under_the_senders_lease", underItsLease)
		}
	}
	if r.Event == "evidence_noted" {
		for _, col := range []string{"phase", "outcome", "lease_owner", "lease_until", "revision"} {
			if sets(col) {
				assert("I8_evidence_moves_nothing", "next.%s == row.%s", col, col)
			}
		}
	}
}

// ghosts keeps the books that the row does not keep.
func (m *model) ghosts(r *transitions.Rule) {
	if slices.ContainsFunc(r.Sets, func(s transitions.Set) bool { return s.Col == "lease_owner" }) {
		m.printf("\t\tnobody_holds();\n")
	}
	switch r.Event {
	case "submit_begin":
		m.printf("\t\tbegun_revision = row.revision;\n")
	case "submit_not_created", "review_not_created":
		m.printf("\t\tnot_created++;\n")
	}
}

func phases(r *transitions.Rule) string {
	switch {
	case r.New:
		return "(new)"
	case r.Any:
		return "any"
	default:
		return strings.Join(r.From, ", ")
	}
}

func landing(r *transitions.Rule) string {
	if r.To == "" {
		return "same"
	}
	return r.To
}
