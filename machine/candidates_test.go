package machine_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
)

// told is a call of the remote about a job that nobody here knows.
func (d *desk) told(job string) {
	d.Helper()
	who := machine.Who{Provider: "video", Account: "main"}
	if got, err := d.Notify(d.Context(), machine.Notice{Who: who, RemoteJobID: job, Says: machine.SaysSucceeded}); err != nil || got.Fate != machine.NoticeUnmatched {
		d.Fatalf("a call about %s is %s, %v", job, got.Fate, err)
	}
}

// Nobody says by a tired click that nothing was created while the remote tells of a job that may be it: the decision, its
// dry run and the list refuse it until the candidates are passed over by name, and history has their ids.
func TestNothingWasCreatedIsDeniedWhileThereAreCandidates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.told("older")         // than the request: it is not its job
		time.Sleep(time.Second) // sleep: synthetic
		d.uncertain("a")
		time.Sleep(20 * time.Minute) // sleep: synthetic, past the quarantine
		r := machine.Review{Choice: machine.ChoiceNotCreated, OperationID: "a", Decision: d.ada("a")}
		if p, err := d.Preview(t.Context(), r); err != nil || p.Failed != nil {
			t.Fatalf("before there was a candidate: %v, %v", p.Failed, err)
		}
		d.told("job-1")
		before := d.op("a")
		_, err := d.Decide(t.Context(), r)
		denied, ok := machine.IsDenied(err)
		if !ok || !denied.Only(machine.NoCandidate) {
			t.Fatalf("want a denial by %s, got %v", machine.NoCandidate, err)
		}
		p, err := d.Preview(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{machine.NoCandidate}, p.Failed); diff != "" {
			t.Error(diff)
		}
		if after := d.op("a"); fmt.Sprint(before.Row()) != fmt.Sprint(after.Row()) {
			t.Errorf("something was changed: %s, then %s", before.Row(), after.Row())
		}
		r.DespiteCandidates = true
		if p, err = d.Preview(t.Context(), r); err != nil || p.Failed != nil || p.After.Phase != "prepared" {
			t.Errorf("a dry run despite them: %v, %s, %v", p.Failed, p.After.Phase, err)
		}
		op, err := d.Decide(t.Context(), r)
		if err != nil || op.Phase != "prepared" {
			t.Fatalf("despite them it is %s, %v", op.Phase, err)
		}
		history, err := d.Store().History(t.Context(), "a")
		if err != nil || history[len(history)-1].Detail != "despite candidate job-1" {
			t.Errorf("history has %+v, %v", history[len(history)-1], err)
		}
	})
}

// Of a row that has moved the denial says so, and of one that needs no job candidates say nothing.
func TestCandidatesKeepOnlyThatDecisionOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("a", "b")
		d.told("job-1")
		time.Sleep(20 * time.Minute) // sleep: synthetic
		stale := d.ada("a")
		d.note("a", machine.Evidence{Kind: "answer"})
		_, err := d.Decide(t.Context(), machine.Review{Choice: machine.ChoiceNotCreated, OperationID: "a", Decision: stale})
		if denied, ok := machine.IsDenied(err); !ok || !denied.Only("evidence_seq") {
			t.Errorf("want a denial by evidence_seq, got %v", err)
		}
		if _, err := d.ReviewAttach(t.Context(), "a", "job-1", d.ada("a")); err != nil {
			t.Error(err)
		}
		if _, err := d.ReviewNotCreated(t.Context(), "b", d.ada("b"), false); err != nil {
			t.Errorf("the job is another's now: %v", err)
		}
	})
}

// Contract D3: a decision about many leaves alone what has a candidate, and says so.
func TestADecisionAboutManyLeavesAloneWhatHasACandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("a", "b")
		d.told("job-1")
		time.Sleep(time.Second) // sleep: synthetic
		d.uncertain("sent-later")
		time.Sleep(20 * time.Minute) // sleep: synthetic
		want := machine.BulkResult{Decided: 1, Kept: map[string]int{machine.NoCandidate: 2}, Left: 2}
		if diff := cmp.Diff(want, d.all(outage(machine.ChoiceNotCreated, 0))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		despite := outage(machine.ChoiceNotCreated, 0)
		despite.DespiteCandidates = true
		if diff := cmp.Diff(machine.BulkResult{Decided: 2, Kept: map[string]int{}}, d.all(despite)); diff != "" {
			t.Errorf("despite them (-want +got):\n%s", diff)
		}
	})
}

// What was given up is ordered again past a candidate only by name.
func TestWhatWasGivenUpIsNotRedonePastACandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.givenUp("a")
		d.told("job-1")
		_, err := d.Redo(t.Context(), "a", "b", d.ada("a"), machine.Risks{Override: true})
		if denied, ok := machine.IsDenied(err); !ok || !denied.Only(machine.NoCandidate) {
			t.Fatalf("want a denial by %s, got %v", machine.NoCandidate, err)
		}
		if _, err := d.Get(t.Context(), "b"); !errors.Is(err, machine.ErrNotFound) {
			t.Errorf("it was prepared all the same: %v", err)
		}
		if _, err := d.Redo(t.Context(), "a", "b", d.ada("a"), machine.Risks{DespiteCandidates: true}); err != nil {
			t.Fatal(err)
		}
		history, err := d.Store().History(t.Context(), "a")
		if err != nil || history[len(history)-1].Detail != "as b, despite candidate job-1" {
			t.Errorf("history has %+v, %v", history[len(history)-1], err)
		}
	})
}
