package machine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

var lateA = machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-a", Revision: 1}

// locked is a store on which, while it is shut, no evidence of one operation can be noted.
type locked struct {
	machine.Store
	id   string
	shut bool
}

func (l *locked) Apply(ctx context.Context, event string, p transitions.Params) (machine.Answer, error) {
	if l.shut && event == "evidence_noted" && p["operation_id"].Text() == l.id {
		return machine.Answer{}, errors.New("the row is locked")
	}
	return l.Store.Apply(ctx, event, p)
}

// redoneUnmarked is an abandoned operation a of which a job came to light while the row of b, which repeats it, was locked.
func redoneUnmarked(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t)
	d.uncertain("a")
	d.abandon("a")
	d.redo("a", "b")
	l := &locked{d.Store(), "b", true}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it tries as long as that
	defer cancel()
	if _, err := d.In(l).Note(ctx, "a", lateA); err != nil {
		t.Fatalf("what is learnt of a is not stored, since b is locked: %v", err)
	}
	if a, b := d.op("a"), d.op("b"); !a.OutcomeContradicted || b.Marked() {
		t.Fatalf("a is marked %t, b %t; want a alone", a.Marked(), b.Marked())
	}
	return d
}

func (d *desk) claimed(id string) *machine.Lease {
	d.Helper()
	l, err := d.Claim(d.Context(), transitions.Dispatch, id, machine.Who{Provider: "video", Account: "main"})
	if err != nil {
		d.Fatal(err)
	}
	return l
}

// rejected sends an operation, whose request the remote rejects.
func (d *desk) rejected(id string) {
	d.Helper()
	l := d.claimed(id)
	if _, err := d.Begin(d.Context(), l); err != nil {
		d.Fatal(err)
	}
	if _, err := d.Rejected(d.Context(), l, "422"); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) denied(what string, err error, guards ...string) {
	d.Helper()
	denied, ok := machine.IsDenied(err)
	if !ok {
		d.Errorf("%s: got %v, want a denial by %v", what, err, guards)
		return
	}
	if diff := cmp.Diff(guards, denied.Failed); diff != "" {
		d.Errorf("%s: the guards (-want +got):\n%s", what, diff)
	}
}

// However many were redone in between: what an operation repeats may not have a job (I1; late truth).
func TestNothingIsRedoneThatRepeatsWhatHasAJobAfterAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("a")
		d.abandon("a")
		d.redo("a", "b")
		d.rejected("b")
		d.redo("b", "c")
		d.rejected("c")
		d.note("a", lateA)
		_, err := d.Redo(t.Context(), "c", "d", machine.Decision{Reviewer: "ada", Reason: "once more"}, machine.Risks{Override: true})
		d.denied("redo c, which repeats b, which repeats a", err, "no_mark", "no_late_remote_job_id")
		if denied, ok := machine.IsDenied(err); ok && denied.OperationID != "a" {
			t.Errorf("the denial is about %q, want a, which has the job", denied.OperationID)
		}
		if _, err := d.Get(t.Context(), "d"); !errors.Is(err, machine.ErrNotFound) {
			t.Errorf("d: got %v, want that it does not exist", err)
		}
	})
}

// Who dies between the two marks, or cannot write the second, leaves a repetition that is not begun all the same (I1).
func TestARepetitionThatCouldNotBeMarkedIsNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := redoneUnmarked(t)
		_, err := d.Begin(t.Context(), d.claimed("b"))
		d.denied("begin b", err, "no_mark")
		if b := d.op("b"); !b.DuplicateSuspected || b.Attempts != 0 {
			t.Errorf("b is marked %t after %d requests", b.DuplicateSuspected, b.Attempts)
		}
	})
}

// The reconciler finds what was not marked, and does not ask a reviewer twice.
func TestWhatWasNotMarkedIsFoundLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := redoneUnmarked(t)
		round := func() int {
			t.Helper()
			next, noted, err := d.MarkRepeated(t.Context(), machine.ReviewCursor{}, 10)
			if err != nil || next != (machine.ReviewCursor{}) {
				t.Fatalf("the round ends at %+v with %v", next, err)
			}
			return noted
		}
		first := round()
		if b := d.op("b"); first != 1 || !b.DuplicateSuspected || b.EvidenceSeq != 1 {
			t.Errorf("%d were marked; b %t, by %d pieces of evidence", first, b.DuplicateSuspected, b.EvidenceSeq)
		}
		if _, err := d.ReviewAcknowledge(t.Context(), "b", d.ada("b")); err != nil {
			t.Fatal(err)
		}
		if again := round(); again != 0 || d.op("b").Marked() {
			t.Errorf("%d were marked again, after a reviewer had seen it", again)
		}
	})
}

// A round goes on behind the page where the last one ended.
func TestARoundOfMarksGoesPageByPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		ids := []string{"a", "b", "c"}
		d.uncertain(ids...)
		for _, id := range ids {
			d.abandon(id)
			d.redo(id, id+"-again")
			l := &locked{d.Store(), id + "-again", true}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := d.In(l).Note(ctx, id, machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-" + id}); err != nil {
				t.Fatal(err)
			}
		}
		var noted []int
		for at, pages := (machine.ReviewCursor{Rank: machine.RankContradicted}), 0; pages < 5; pages++ {
			next, n, err := d.MarkRepeated(t.Context(), at, 2)
			if err != nil {
				t.Fatal(err)
			}
			noted = append(noted, n)
			if at = next; at == (machine.ReviewCursor{}) {
				break
			}
		}
		if diff := cmp.Diff([]int{2, 1}, noted); diff != "" {
			t.Errorf("marked on each page (-want +got):\n%s", diff)
		}
	})
}

// A remote whose word is stored calls again as long as what repeats the operation is not marked.
func TestANoticeIsNotStoredBeforeTheRepetitionIsMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		l := d.begun("a")[0]
		if _, err := d.Accepted(t.Context(), l, "job-a", nil, 0); err != nil {
			t.Fatal(err)
		}
		word := func(says string) machine.Notice {
			return machine.Notice{Who: machine.Who{Provider: "video", Account: "main"}, RemoteJobID: "job-a", Says: says, Snapshot: []byte(says)}
		}
		if _, err := d.Notify(t.Context(), word("failed")); err != nil {
			t.Fatal(err)
		}
		d.redo("a", "b")
		store := &locked{d.Store(), "b", true}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if done, err := d.In(store).Notify(short, word("succeeded")); err == nil {
			t.Errorf("it is said to be %s while b is not marked", done.Fate)
		}
		store.shut = false
		done, err := d.In(store).Notify(t.Context(), word("succeeded"))
		if err != nil || done.Fate != machine.NoticeKnown || !d.op("b").DuplicateSuspected {
			t.Errorf("the second call is %s, %v; b is marked %t", done.Fate, err, d.op("b").DuplicateSuspected)
		}
	})
}

// To have seen the marks is no proof: what was about to be sent goes to a reviewer, as it would have without the click.
func TestAcknowledgingTheMarkOfARepetitionDoesNotSendIt(t *testing.T) {
	marked := func(t *testing.T) *desk {
		d := newDesk(t)
		d.uncertain("a")
		d.abandon("a")
		d.redo("a", "b")
		return d
	}
	t.Run("due", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := marked(t)
			d.note("a", lateA)
			r := machine.Review{Choice: machine.ChoiceAcknowledge, OperationID: "b", Decision: d.ada("b")}
			preview, err := d.Preview(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			b, err := d.Decide(t.Context(), r)
			if err != nil || b.Phase != transitions.Uncertain || b.Marked() {
				t.Errorf("b is %s, marked %t, %v; want uncertain, and nothing to send", b.Phase, b.Marked(), err)
			}
			if preview.After.Phase != b.Phase || preview.Failed != nil {
				t.Errorf("the preview says %s, %v", preview.After.Phase, preview.Failed)
			}
		})
	})
	t.Run("under a lease", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d := marked(t)
			l := d.claimed("b")
			d.note("a", lateA)
			r := machine.Review{Choice: machine.ChoiceAcknowledge, OperationID: "b", Decision: d.ada("b")}
			preview, err := d.Preview(t.Context(), r)
			if diff := cmp.Diff([]string{"lease_vacant"}, preview.Failed); err != nil || diff != "" {
				t.Errorf("the preview: %v (-want +got):\n%s", err, diff)
			}
			_, err = d.Decide(t.Context(), r)
			d.denied("acknowledge", err, "lease_vacant")
			_, err = d.Begin(t.Context(), l)
			d.denied("begin", err, "no_mark")
		})
	})
}

// A redo that does not wait for the quarantine is recorded as what it is, and one that is refused leaves nothing.
func TestARedoIsRecordedAsWhatItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("a")
		d.abandon("a")
		d.redo("a", "b")
		_, err := d.Redo(t.Context(), "a", "c", machine.Decision{Reviewer: "ada", Reason: "once more"}, machine.Risks{Override: true})
		var invalid *machine.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(invalid.Text, `as "b"`) {
			t.Errorf("a second redo: got %v, want an error that names b", err)
		}
		history, err := d.Store().History(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var details []string
		for _, e := range history {
			if e.Event == "redo" {
				details = append(details, e.Detail)
			}
		}
		if diff := cmp.Diff([]string{"as b, quarantine overridden"}, details); diff != "" {
			t.Errorf("history of redos (-want +got):\n%s", diff)
		}
	})
}

// What a remote told of while an earlier request of the operation was in doubt stays a candidate after it was sent again:
// the reviewer may have been wrong.
func TestACandidateOfAnEarlierRequestStaysOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("a")
		time.Sleep(time.Second) // sleep: synthetic
		n := machine.Notice{Who: machine.Who{Provider: "video", Account: "main"}, RemoteJobID: "lost", Says: "succeeded"}
		if _, err := d.Notify(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // sleep: synthetic
		wrong := machine.Review{Choice: machine.ChoiceNotCreated, OperationID: "a", Decision: d.ada("a"), Override: true, DespiteCandidates: true}
		if _, err := d.Decide(t.Context(), wrong); err != nil {
			t.Fatal(err)
		}
		l := d.claimed("a")
		if _, err := d.Begin(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Unknown(t.Context(), l, "no_response", "cut"); err != nil {
			t.Fatal(err)
		}
		page, err := d.Reviews(t.Context(), machine.ReviewQuery{})
		if err != nil || len(page.Operations) != 1 {
			t.Fatalf("%d wait, %v", len(page.Operations), err)
		}
		if c := page.Operations[0].Candidates; len(c) != 1 || c[0].RemoteJobID != "lost" {
			t.Errorf("the candidates are %v, want the job that was told of after the first request", c)
		}
	})
}

// late is a store that does not show an operation yet when it is first looked for.
type late struct {
	machine.Store
	id   string
	once bool
}

func (s *late) Get(ctx context.Context, ids ...string) ([]transitions.Row, error) {
	if slices.Contains(ids, s.id) && !s.once {
		s.once = true
		return nil, nil
	}
	return s.Store.Get(ctx, ids...)
}

// Report B55: of a double click both get the one operation that repeats, also where the second looked for it before the
// first had prepared it.
func TestTheSameRedoAskedForTwiceAtOnceIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.givenUp("a")
		by := d.ada("a")
		if _, err := d.Redo(t.Context(), "a", "b", by, machine.Risks{}); err != nil {
			t.Fatal(err)
		}
		second, err := machine.New(&late{Store: d.Store(), id: "b"}, machine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := second.Redo(t.Context(), "a", "b", by, machine.Risks{})
		if err != nil || p.Operation.OperationID != "b" || p.Operation.RedoOf != "a" {
			t.Errorf("the second is told %q, which repeats %q, %v", p.Operation.OperationID, p.Operation.RedoOf, err)
		}
		var invalid *machine.InvalidError
		if _, err := second.Redo(t.Context(), "a", "c", by, machine.Risks{}); !errors.As(err, &invalid) {
			t.Errorf("under a third id it is %v", err)
		}
	})
}
