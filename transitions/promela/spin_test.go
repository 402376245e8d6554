package promela_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/promela"
	"github.com/fencerow/fencerow/transitions/verify"
)

// long is what make soak sets: without it nothing here needs spin or a C compiler.
func long() bool { return os.Getenv("FENCEROW_TEST_LONG") == "1" }

// patience is how long one search may take on a machine that does other things too.
const patience = 15 * time.Minute

// opinion is a table and what spin has to say of it.
type opinion struct {
	name    string
	program *transitions.Program
	options promela.Options
	want    string // the assertion that fails; "" if every invariant holds
}

// overlooked is judged by spin's model alone. The request is not sent even so: dispatch_claim and submit_begin look for
// a late id too, and evidence_recalled comes. But what was recorded as a proof was none.
const overlooked = "I1_no_proof_against_a_known_job"

// with changes the small bound.
func with(change func(*promela.Options)) promela.Options {
	o := promela.Small()
	change(&o)
	return o
}

// sound are worlds in which the standard table keeps every invariant.
func sound(t testing.TB) []opinion {
	p := standard(t)
	distinct := promela.Standard()
	distinct.SameOwner, distinct.Late = false, 1
	return []opinion{
		{"whatever may happen, owner strings reused", p, promela.Standard(), ""},
		{"owner strings of their own", p, distinct, ""},
		{"neither investigated nor delivered", p, with(func(o *promela.Options) { o.CanInvestigate, o.WantsDelivery = false, false }), ""},
		{"reviewers who overlook jobs and override the quarantine, of a repeated operation",
			p, with(func(o *promela.Options) { o.Mistaken, o.Override, o.Redone = true, true, true }), ""},
		{"an id that another operation holds", p, with(func(o *promela.Options) { o.IDElsewhere = true }), ""},
		{"statements kept that can never apply any more",
			p, with(func(o *promela.Options) { o.Unreduced, o.Revisions = true, 3 }), ""},
	}
}

// broken are tables without one thing that the standard table has, and worlds in which somebody leaves out what no
// table can do for him.
func broken(t testing.TB, p *transitions.Program) []opinion {
	must := func(q *transitions.Program, err error) *transitions.Program {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	keepsLease := must(must(p.WithoutSet("submit_not_created", "lease_owner")).WithoutSet("submit_not_created", "lease_until"))
	ownerOnly := p
	for _, r := range p.Rules {
		if r.Fence == transitions.Held {
			ownerOnly = must(ownerOnly.Without(r.Event, "revision"))
		}
	}
	lapsesBack := must(p.Altered("submit_lapsed", func(r *transitions.Rule) {
		for i, s := range r.Sets {
			switch s.Col {
			case "phase":
				r.Sets[i].Expr = transitions.Str("prepared")
			case "next_action":
				r.Sets[i].Expr = transitions.Str("dispatch")
			case "due_at":
				r.Sets[i].Expr = transitions.Now()
			}
		}
	}))
	table := transitions.Standard()
	table.Events = slices.DeleteFunc(table.Events, func(e transitions.Event) bool { return e.Name == "submit_lapsed" })
	neverLapses := must(transitions.CompileUnchecked(table))
	small := promela.Small()
	return []opinion{
		{"a held fence without revision, owner strings reused", ownerOnly, small, "I4_nothing_under_a_dead_lease"},
		{"submit_not_created keeps its lease", keepsLease, small, "I2_sent_under_its_own_claim"},
		{"a lapsed submission may be sent again", lapsesBack, small, "I6_no_other_way_from_submitting_to_prepared"},
		{"no quarantine", must(p.Without("review_not_created", "quarantine_over")), small, "I1_one_remote_job"},
		{"a late id is no hindrance", must(p.Without("review_not_created", "no_late_remote_job_id")),
			with(func(o *promela.Options) { o.Mistaken = true }), overlooked},
		{"an answer is stored after the lease", must(p.Without("submit_accepted", "lease_live")), small, "I4_nothing_under_a_dead_lease"},
		{"a blank id is stored", must(p.Without("submit_accepted", "remote_job_id_usable")), small, "I5_no_blank_remote_job_id"},
		{"an end may be told of in every phase", must(p.Without("notified_failed", "phase")), small, "I3_outcome_never_changes"},
		{"evidence only from the lease's holder", must(p.Altered("evidence_noted", func(r *transitions.Rule) {
			r.Guards = append(r.Guards, transitions.Guard{Name: "lease_live",
				Expr: transitions.Lt(transitions.Now(), transitions.Col("lease_until")), Doc: "the lease has not ended"})
		})), small, "I8_evidence_is_never_refused"},
		{"nobody takes a lapsed submission over", neverLapses, small, "I7_a_way_out_without_the_dead"},
		{"senders do not look at their own clock", p, with(func(o *promela.Options) { o.NoDeadline = true }), "I2_sent_under_its_own_claim"},
		{"senders assume that they have begun", p, with(func(o *promela.Options) { o.AssumesBegun = true }), "I2_sent_under_its_own_claim"},
		{"reviewers look before the quarantine is over", p, with(func(o *promela.Options) { o.LooksEarly = true }), "I1_one_remote_job"},
	}
}

// bothSay holds spin's verdict against the other checker's: whether the table is sound, and if it is not, that the same
// invariant does not hold. The two know their worlds by other names, and a broken table breaks more than one invariant;
// so the other is asked for the one that spin names.
func bothSay(t *testing.T, o opinion, spin *promela.Verdict) {
	t.Helper()
	bound := verify.Usual()
	bound.ReusedOwners, bound.Imports, bound.Mistakes = o.options.SameOwner, false, 0
	if o.options.Mistaken {
		bound.Mistakes = 1
	}
	if spin.Violated != "" {
		for _, i := range verify.Invariants {
			if strings.HasPrefix(string(i.Code), spin.Invariant()) {
				bound.Only = append(bound.Only, i.Code)
			}
		}
	}
	other, err := verify.Check(o.program, bound)
	switch {
	case err != nil:
		t.Errorf("%s: %v", o.name, err)
	case !other.Complete && other.Broken == nil:
		t.Errorf("%s: the other checker did not finish after %d states", o.name, other.States)
	case (other.Broken == nil) != (spin.Violated == ""):
		t.Errorf("%s: spin says %q, the other checker %v", o.name, spin.Violated, other.Broken)
	case other.Broken != nil:
		t.Logf("%s: spin says %s after %d states, the other checker %s after %d",
			o.name, spin.Violated, spin.States, other.Broken.Invariant.Code, other.States)
	default:
		t.Logf("%s: both find nothing, spin in %d states, the other checker in %d", o.name, spin.States, other.States)
	}
}

func tools(t testing.TB) promela.Tools {
	t.Helper()
	found, err := promela.FindTools()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestSpinFindsNothingInTheStandardTable is spin's second opinion on invariants 1 to 8. Without FENCEROW_TEST_LONG it
// only makes the models.
func TestSpinFindsNothingInTheStandardTable(t *testing.T) {
	t.Parallel()
	applied := map[string]int{}
	for _, o := range sound(t) {
		if !long() {
			if _, err := promela.Model(o.program, o.options); err != nil {
				t.Errorf("%s: %v", o.name, err)
			}
			continue
		}
		ctx, stop := context.WithTimeout(t.Context(), patience)
		verdict, err := promela.Check(ctx, tools(t), o.program, o.options)
		stop()
		if err != nil {
			t.Errorf("%s: %v", o.name, err)
			continue
		}
		if verdict.Violated != "" {
			t.Errorf("%s: %s does not hold:\n%s", o.name, verdict.Violated, strings.Join(verdict.Trace, "\n"))
		}
		bothSay(t, o, verdict)
		t.Logf("%s (%s): %d states, %d steps deep, %.0f s (%.0f s of a processor), %.0f MB",
			o.name, o.options, verdict.States, verdict.Depth, verdict.Seconds, verdict.CPU, verdict.MemoryMB)
		for event, times := range verdict.Applied {
			applied[event] += times
		}
	}
	if !long() {
		return
	}
	// A search in which an event never applied has said nothing about it.
	for _, r := range standard(t).Rules {
		// No event leads to a row without a usable id (invariant 5): this one is for rows that were made by hand.
		if never := r.Event == "remote_id_missing"; never != (applied[r.Event] == 0) {
			t.Errorf("%s was applied %d times in all searches together", r.Event, applied[r.Event])
		}
	}
}

// TestSpinFindsWhatIsBroken: a checker that finds nothing anywhere would be no second opinion. Without
// FENCEROW_TEST_LONG it only makes the models, and sees that they are others than the standard table's.
func TestSpinFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	sane := standard(t)
	whole, err := promela.Model(sane, promela.Small())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range broken(t, sane) {
		if !long() {
			if model, err := promela.Model(o.program, o.options); err != nil || model == whole {
				t.Errorf("%s: the model is the standard table's, or none (%v)", o.name, err)
			}
			continue
		}
		ctx, stop := context.WithTimeout(t.Context(), patience)
		verdict, err := promela.Shortest(ctx, tools(t), o.program, o.options)
		stop()
		if err != nil {
			t.Errorf("%s: %v", o.name, err)
			continue
		}
		if verdict.Violated != o.want {
			t.Errorf("%s: want %s, spin says %q", o.name, o.want, verdict.Violated)
		}
		if o.program != sane && o.want != overlooked {
			bothSay(t, o, verdict)
		}
		t.Logf("%s: %s after %d states:\n\t%s", o.name, verdict.Violated, verdict.States, strings.Join(verdict.Trace, "\n\t"))
	}
}

func TestWithoutSpinOrACompilerTheSearchSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := promela.FindTools()
	if err == nil {
		t.Fatal("tools were found in an empty folder")
	}
	for _, says := range []string{"apt-get install spin", "a C compiler"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("the error does not say %q: %v", says, err)
		}
	}
}
