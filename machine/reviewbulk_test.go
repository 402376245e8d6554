package machine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// outage is a decision about everything that got no response.
func outage(choice string, limit int) machine.Bulk {
	return machine.Bulk{
		Choice: choice, Query: machine.ReviewQuery{Reason: "no_response", Kind: "video"},
		Reviewer: "ada", Reason: "the provider was down", Limit: limit,
	}
}

func (d *desk) all(b machine.Bulk) machine.BulkResult {
	d.Helper()
	result, err := d.DecideAll(d.Context(), b)
	if err != nil {
		d.Fatalf("decide about all: %v", err)
	}
	return result
}

func (d *desk) many(n int) []string {
	d.Helper()
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("a-%03d", i))
	}
	d.uncertain(ids...)
	return ids
}

func TestADecisionAboutManyIsOneDecisionEachAndGoesOnWhereItEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		ids := d.many(250)
		dry := outage(machine.ChoiceAbandon, 0)
		dry.DryRun = true
		if r := d.all(dry); r.Decided != 250 || r.Left != 0 {
			t.Errorf("a dry run: %d would be decided, %d left", r.Decided, r.Left)
		}
		for _, want := range []machine.BulkResult{{Decided: 120, Left: 130}, {Decided: 120, Left: 10}, {Decided: 10}, {}} {
			want.Kept = map[string]int{}
			if diff := cmp.Diff(want, d.all(outage(machine.ChoiceAbandon, 120))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		for _, id := range ids {
			if diff := cmp.Diff([]string{"review_abandon by ada"}, decisions(t, d.Machine, id)); diff != "" {
				t.Errorf("%s: decisions (-want +got):\n%s", id, diff)
			}
		}
	})
}

// What is known of an operation is not decided about in bulk, nor what a guard refuses, nor what was not selected.
func TestADecisionAboutManyLeavesAloneWhatHasToBeLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("old", "known", "marked", "held")
		time.Sleep(10 * time.Minute) // sleep: synthetic
		d.uncertain("young")
		d.note("known", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-1"})
		for _, job := range []string{"job-2", "job-3"} {
			d.note("marked", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: job})
		}
		l := d.begun("overdue")[0]
		if _, err := d.Unknown(t.Context(), l, "shutdown", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // sleep: synthetic: the first ones' quarantine is over
		r := d.all(outage(machine.ChoiceNotCreated, 0))
		want := machine.BulkResult{Decided: 2, Kept: map[string]int{"no_late_remote_job_id": 1, "no_mark": 1, "quarantine_over": 1}, Left: 3, From: d.op("young").QuarantineUntil}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("not created (-want +got):\n%s", diff)
		}
		r = d.all(outage(machine.ChoiceAbandon, 0))
		if diff := cmp.Diff(machine.BulkResult{Decided: 1, Kept: map[string]int{"no_late_remote_job_id": 1, "no_mark": 1}, Left: 2}, r); diff != "" {
			t.Errorf("abandoned (-want +got):\n%s", diff)
		}
		for id, want := range map[string]string{
			"old": "prepared", "held": "prepared", "young": "terminal", "known": "uncertain", "marked": "uncertain", "overdue": "uncertain",
		} {
			if got := d.op(id).Phase; got != want {
				t.Errorf("%s is %s, want %s", id, got, want)
			}
		}
	})
}

// moving is a store whose rows move between the list and the decision.
type moving struct {
	machine.Store
	move func(id string)
}

func (m *moving) Apply(ctx context.Context, event string, p transitions.Params) (machine.Answer, error) {
	if event == "review_abandon" && m.move != nil {
		m.move(p["operation_id"].Text())
	}
	return m.Store.Apply(ctx, event, p)
}

func TestADecisionAboutManyIsBoundToWhatTheListShowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.many(3)
		m := d.In(&moving{d.Store(), func(id string) {
			if id == "a-001" {
				d.note(id, machine.Evidence{Kind: "answer", Owner: "w/late"})
			}
		}})
		r, err := m.DecideAll(t.Context(), outage(machine.ChoiceAbandon, 0))
		if err != nil || r.Decided != 2 || r.Left != 1 || len(r.Denied) != 1 {
			t.Fatalf("decided %d, denied %d, left %d, %v", r.Decided, len(r.Denied), r.Left, err)
		}
		if denied := r.Denied[0]; denied.OperationID != "a-001" || !denied.Only("evidence_seq") || denied.Changed() != "since 1.0: evidence_noted by w/late" {
			t.Errorf("denied: %v", denied)
		}
	})
}

// An end that is not known stops it: what was decided is told, and the same decision goes on.
func TestADecisionAboutManyStopsWhereTheDatabaseDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.many(5)
		w := &wire{Store: d.Store(), event: "review_abandon", fates: []string{"reply lost", "reply lost", "request lost"}}
		told := 0
		b := outage(machine.ChoiceAbandon, 0)
		b.Progress = func(machine.BulkResult) { told++ }
		r, err := d.In(w).DecideAll(t.Context(), b)
		if !machine.IsUnknown(err) || r.Decided != 2 || told != 0 {
			t.Errorf("decided %d, told %d times, %v; want 2 whose lost replies history explains, and an unknown end", r.Decided, told, err)
		}
		if r := d.all(b); r.Decided != 3 || r.Left != 0 || told != 1 {
			t.Errorf("then decided %d, left %d, told %d times", r.Decided, r.Left, told)
		}
	})
}

func TestADecisionAboutManyNeedsItsWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.many(1)
		for name, c := range map[string]struct {
			change func(*machine.Bulk)
			field  string
		}{
			"attach":      {func(b *machine.Bulk) { b.Choice = machine.ChoiceAttach }, "choice"},
			"acknowledge": {func(b *machine.Bulk) { b.Choice = machine.ChoiceAcknowledge }, "choice"},
			"no reason":   {func(b *machine.Bulk) { b.Reason = " " }, "reason"},
			"no reviewer": {func(b *machine.Bulk) { b.Reviewer = "" }, "reviewer"},
			"no kind":     {func(b *machine.Bulk) { b.Query.Kind = "" }, "kind"},
			"every end":   {func(b *machine.Bulk) { b.Query.Reason = "" }, "reason of uncertainty"},
			"limit":       {func(b *machine.Bulk) { b.Limit = -1 }, "limit"},
		} {
			b := outage(machine.ChoiceAbandon, 0)
			c.change(&b)
			var invalid *machine.InvalidError
			if _, err := d.DecideAll(t.Context(), b); !errors.As(err, &invalid) || invalid.Field != c.field {
				t.Errorf("%s: %v, want that %s is wrong", name, err, c.field)
			}
		}
		if op := d.op("a-000"); op.Phase != transitions.Uncertain {
			t.Errorf("it is %s", op.Phase)
		}
	})
}

func (d *desk) redo(id, as string) machine.Operation {
	d.Helper()
	p, err := d.Redo(d.Context(), id, as, machine.Decision{Reviewer: "ada", Reason: "once more"}, machine.Risks{Override: true})
	if err != nil {
		d.Fatalf("redo %s as %s: %v", id, as, err)
	}
	return p.Operation
}

func (d *desk) abandon(id string) {
	d.Helper()
	if _, err := d.ReviewAbandon(d.Context(), id, d.ada(id)); err != nil {
		d.Fatal(err)
	}
}

// Where the original of a redo turns out to exist, the operation that repeats it is marked and not sent; both show the
// other.
func TestARedoWhoseOriginalExistsIsMarkedAndNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("a")
		d.abandon("a")
		d.redo("a", "b")
		d.note("a", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-a", Revision: 1})
		d.note("a", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-a", Revision: 1}) // the same once more
		b := d.op("b")
		if !b.DuplicateSuspected || b.EvidenceSeq != 1 {
			t.Errorf("b is marked %t by %d pieces of evidence, want by one", b.DuplicateSuspected, b.EvidenceSeq)
		}
		_, err := d.Claim(t.Context(), transitions.Dispatch, "b", machine.Who{Provider: "video", Account: "main"})
		if denied, ok := machine.IsDenied(err); !ok || !denied.Only("no_mark") {
			t.Errorf("a claim in order to send b says %v", err)
		}
		page, err := d.Reviews(t.Context(), machine.ReviewQuery{})
		if err != nil || len(page.Operations) != 2 {
			t.Fatalf("%d wait, %v", len(page.Operations), err)
		}
		for _, w := range page.Operations {
			switch w.OperationID {
			case "a":
				if w.Redone == nil || w.Redone.OperationID != "b" {
					t.Errorf("a does not show b: %v", w.Redone)
				}
			case "b":
				if w.Original == nil || w.Original.LateRemoteJobID != "job-a" || !cmp.Equal(w.RemoteJobIDs(), []string{"job-a"}) {
					t.Errorf("b does not show a's job: %v", w.RemoteJobIDs())
				}
			}
		}
		// The reviewer gives the job to the one that is not finished: nothing is paid twice.
		if _, err := d.Sweep(t.Context(), "evidence_recalled", 1); err != nil {
			t.Fatal(err)
		}
		if _, err := d.ReviewAttach(t.Context(), "b", "job-a", d.ada("b")); err != nil {
			t.Errorf("attach a's job to b: %v", err)
		}
	})
}

// The mark finds the end of a chain of redos, and leaves what is finished alone.
func TestTheMarkOfAnOriginalGoesToTheRedoThatIsNotFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("a")
		d.abandon("a")
		d.redo("a", "b")
		l, err := d.Claim(t.Context(), transitions.Dispatch, "b", machine.Who{Provider: "video", Account: "main"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Begin(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Rejected(t.Context(), l, "422"); err != nil {
			t.Fatal(err)
		}
		d.redo("b", "c")
		d.note("a", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-a"})
		if b, c := d.op("b"), d.op("c"); b.Marked() || !c.DuplicateSuspected {
			t.Errorf("b is marked %t, c %t; want c alone", b.Marked(), c.Marked())
		}
	})
}

// Evidence that comes between the two events of a redo marks the new operation too.
func TestEvidenceDuringARedoIsNotMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("a")
		d.abandon("a")
		m := d.In(&preparing{d.Store(), func() {
			d.note("a", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-a"})
		}})
		p, err := m.Redo(t.Context(), "a", "b", machine.Decision{Reviewer: "ada", Reason: "once more"}, machine.Risks{Override: true})
		if err != nil || !p.Operation.DuplicateSuspected || !d.op("b").DuplicateSuspected {
			t.Errorf("b is marked %t, %v", p.Operation.DuplicateSuspected, err)
		}
		// Asked for once more, it is the same operation, marked as it is.
		if again, err := m.Redo(t.Context(), "a", "b", machine.Decision{Reviewer: "ada", Reason: "once more"}, machine.Risks{Override: true}); err != nil || again.Operation.EvidenceSeq != 1 {
			t.Errorf("again: evidence %d, %v", again.Operation.EvidenceSeq, err)
		}
	})
}

// preparing is a store in which something happens right before an operation is prepared.
type preparing struct {
	machine.Store
	before func()
}

func (p *preparing) ApplyMany(ctx context.Context, event string, params []transitions.Params) ([]machine.Answer, error) {
	if event == "prepare" {
		p.before()
	}
	return p.Store.ApplyMany(ctx, event, params)
}

// A decision about many leaves alone what a job was found of that could not be attached: a person has to look at that job.
func TestADecisionAboutManyLeavesAloneWhatAJobWasFoundOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("a", "b", "c")
		d.note("a", machine.Evidence{Kind: machine.EvidenceFound, Raw: []byte(`id " ", names operation "a"`)})
		d.note("b", machine.Evidence{Kind: machine.EvidenceInvestigation, Raw: []byte("the list")})
		time.Sleep(11 * time.Minute) // sleep: synthetic
		done, err := d.DecideAll(t.Context(), outage(machine.ChoiceNotCreated, 0))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]int{machine.KeptFound: 1}, done.Kept); diff != "" || done.Decided != 2 {
			t.Errorf("%d were decided; left alone (-want +got):\n%s", done.Decided, diff)
		}
		if a := d.op("a"); a.Phase != transitions.Uncertain {
			t.Errorf("a is %s", a.Phase)
		}
	})
}
