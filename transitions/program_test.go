package transitions_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/internal/golden"
	"github.com/fencerow/fencerow/transitions"
)

func TestTheStandardProgramIsTheOneThatWasReadAndCommitted(t *testing.T) {
	t.Parallel()
	golden.Compare(t, "testdata/standard.program.txt", []byte(transitions.MustCompile(transitions.Standard()).String()))
}

func TestCompilingTwiceGivesTheSameProgram(t *testing.T) {
	t.Parallel()
	want := transitions.MustCompile(transitions.Standard())
	for range 2 {
		got := transitions.MustCompile(transitions.Standard())
		if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Fatalf("compiling again gives another program (-first +again):\n%s", diff)
		}
	}
}

func TestEveryEventPhaseColumnAndGuardIsExplained(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	explained := func(what, name string, texts ...string) {
		if slices.Contains(texts, "") {
			t.Errorf("the %s %s is not explained: %q", what, name, texts)
		}
	}
	for _, r := range p.Rules {
		explained("event", r.Event, r.Doc, r.Actor)
		for _, g := range r.Guards {
			explained("guard", r.Event+"."+g.Name, g.Doc)
		}
	}
	for _, ph := range p.Phases {
		explained("phase", ph.Name, ph.True, ph.Lapse)
	}
	for _, c := range p.Columns {
		explained("column", c.Name, c.Doc)
	}
}

// Rows, histories and the programs of other people hold these words. A word may be added; none may change or go.
func TestTheStoredWordsNeverChange(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	var events []string
	for _, r := range p.Rules {
		events = append(events, r.Event)
	}
	columns := map[string]transitions.Column{}
	for _, c := range p.Columns {
		columns[c.Name] = c
	}
	for _, pinned := range []struct {
		what      string
		want, got []string
	}{
		{"phases", []string{"prepared", "submitting", "submitted", "observing", "terminal", "delivering", "uncertain"}, p.PhaseNames()},
		{"actions", []string{"dispatch", "observe", "deliver", "investigate", "review"}, p.Words(columns["next_action"])},
		{"outcomes", []string{"succeeded", "failed", "canceled", "rejected", "abandoned"}, p.Outcomes},
		{"deliveries", []string{"pending", "delivered", "failed"}, p.Words(columns["delivery"])},
		{"reasons", []string{
			"no_response", "missing_remote_id", "unclear_answer", "remote_id_taken", "remote_not_found", "overdue",
			"shutdown", "panic", "unclassified",
		}, p.Reasons},
		{"events", []string{
			"prepare", "dispatch_claim", "submit_begin", "submit_accepted", "submit_rejected", "submit_not_created",
			"submit_unknown", "submit_lapsed", "evidence_recalled", "remote_id_missing", "observe_claim",
			"observe_pending", "observe_succeeded", "observe_failed", "observe_canceled", "observe_lost",
			"observe_overdue", "notified_succeeded", "notified_failed", "notified_canceled", "deliver_claim",
			"deliver_done", "deliver_retry", "deliver_failed", "deliver_exhausted", "redeliver", "cancel",
			"cancel_request", "investigate_claim", "investigate_inconclusive", "investigate_found", "evidence_noted",
			"evidence_attach", "review_attach", "review_not_created", "review_abandon", "review_acknowledge", "redo",
			"renew", "release",
		}, events},
	} {
		for _, word := range pinned.want {
			if !slices.Contains(pinned.got, word) {
				t.Errorf("the word %s is gone from the %s: rows that hold it can no longer be read", word, pinned.what)
			}
		}
	}
}

func TestATableWithFindingsDoesNotCompileAndTheErrorNamesThemAll(t *testing.T) {
	t.Parallel()
	table := transitions.Standard()
	for i := range table.Events {
		switch table.Events[i].Name {
		case "submit_not_created", "review_abandon":
			table.Events[i].Guards = nil
		}
	}
	p, err := transitions.Compile(table)
	if p != nil || err == nil {
		t.Fatal("a table that sends again without proof was compiled")
	}
	want := `check table standard: 3 findings:
FR028 submit_not_created: it leads from submitting, where a request may be at the remote, back to where one may be sent, without proof; add a guard on a proof that the event brings, or lead to where a person decides
FR040 review_abandon: a person decides, and need not give a reason; note a parameter as the reason, and guard that it is not blank
FR040 review_abandon: a person decides, and need not give a reviewer; note a parameter as the reviewer, and guard that it is not blank
what each code means, and an example that breaks it: docs/codes.md`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("the error differs (-want +got):\n%s", diff)
	}
}

func TestATableWithoutLeasesCompilesAndIsEvaluated(t *testing.T) {
	t.Parallel()
	on := func(name, from, to string) transitions.Event {
		return transitions.Event{Name: name, From: []string{from}, To: to, Fence: transitions.Lapsed, Actor: "anybody", Doc: name,
			Effects: []transitions.Effect{{Name: "bump", Sets: []transitions.Set{{Col: "revision", Expr: transitions.Plus(transitions.Col("revision"), transitions.Num(1))}}}}}
	}
	end := on("close", "open", "closed")
	end.Effects = append(end.Effects, transitions.Effect{Name: "outcome", Sets: []transitions.Set{{Col: "outcome", Expr: transitions.Str("done")}}})
	p, err := transitions.Compile(transitions.Table{
		Name: "ticket",
		Columns: []transitions.Column{
			{Name: "operation_id", Kind: transitions.Text, NotNull: true},
			{Name: "phase", Kind: transitions.Text, NotNull: true, Words: "phases"},
			{Name: "revision", Kind: transitions.Int, NotNull: true, Default: transitions.IntValue(0)},
			{Name: "lease_until", Kind: transitions.Time},
			{Name: "outcome", Kind: transitions.Text, Words: "outcomes"},
			{Name: "updated_at", Kind: transitions.Time, NotNull: true},
		},
		Phases:   []transitions.Phase{{Name: "open"}, {Name: "closed", HasOutcome: true}},
		Outcomes: []string{"done"},
		Events: []transitions.Event{
			{Name: "file", New: true, To: "open", Fence: transitions.Open, Effects: []transitions.Effect{{Name: "store",
				Sets: []transitions.Set{{Col: "operation_id", Expr: transitions.Param("operation_id", transitions.Text)}}}}},
			end,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	filed := p.Eval("file", nil, transitions.Params{"operation_id": transitions.TextValue("t-1")}, transitions.World{Now: 1})
	closed := p.Eval("close", filed.Row, nil, transitions.World{Now: 2})
	want := &transitions.Entry{Event: "close", From: "open", To: "closed", Revision: 1, Changes: []transitions.Change{
		{Column: "phase", Value: transitions.TextValue("closed")}, {Column: "revision", Value: transitions.IntValue(1)}, {Column: "outcome", Value: transitions.TextValue("done")},
		{Column: "updated_at", Value: transitions.MicrosValue(2)},
	}}
	if diff := cmp.Diff(want, closed.Entry, cmp.Comparer(func(a, b transitions.Value) bool { return a == b })); diff != "" {
		t.Errorf("closing a ticket left another entry (-want +got):\n%s", diff)
	}
}
