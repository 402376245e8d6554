package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// desk is a machine on the memory store whose reads are counted, in a bubble of synthetic time.
type desk struct {
	*testing.T
	*machine.Machine
	reads *counted
}

// counted is a store that counts its statements.
type counted struct {
	machine.Store
	n int
}

func (c *counted) Get(ctx context.Context, ids ...string) ([]transitions.Row, error) {
	c.n++
	return c.Store.Get(ctx, ids...)
}

func (c *counted) Find(ctx context.Context, provider, account, id string) (transitions.Row, error) {
	c.n++
	return c.Store.Find(ctx, provider, account, id)
}

func (c *counted) History(ctx context.Context, id string) ([]machine.HistoryEntry, error) {
	c.n++
	return c.Store.History(ctx, id)
}

func (c *counted) Evidence(ctx context.Context, id string) ([]machine.EvidenceEntry, error) {
	c.n++
	return c.Store.Evidence(ctx, id)
}

func (c *counted) Unmatched(ctx context.Context, q machine.UnmatchedQuery) ([]machine.Unmatched, error) {
	c.n++
	return c.Store.Unmatched(ctx, q)
}

func (c *counted) Review(ctx context.Context, q machine.ReviewQuery) ([]transitions.Row, error) {
	c.n++
	return c.Store.Review(ctx, q)
}

func (c *counted) Recent(ctx context.Context, limit, detail int, ids ...string) ([]machine.HistoryEntry, []machine.EvidenceEntry, error) {
	c.n += 2 // one of history and one of evidence
	return c.Store.Recent(ctx, limit, detail, ids...)
}

func (c *counted) Redone(ctx context.Context, ids ...string) ([]transitions.Row, error) {
	c.n++
	return c.Store.Redone(ctx, ids...)
}

func (c *counted) Now(ctx context.Context) (time.Time, error) {
	c.n++
	return c.Store.Now(ctx)
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	reads := &counted{Store: machine.NewMemory(transitions.MustCompile(transitions.Standard()))}
	m, err := machine.New(reads, machine.Config{Label: "w"})
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t, m, reads}
}

// begun leaves operations submitting, each under its lease.
func (d *desk) begun(ids ...string) []*machine.Lease {
	d.Helper()
	var leases []*machine.Lease
	for _, id := range ids {
		if _, err := d.Prepare(d.Context(), machine.Request{OperationID: id, Kind: "video", Account: "main", Request: []byte("{}")}); err != nil {
			d.Fatal(err)
		}
		l, err := d.Claim(d.Context(), transitions.Dispatch, id, machine.Who{Provider: "video", Account: "main"})
		if err != nil {
			d.Fatal(err)
		}
		if _, err := d.Begin(d.Context(), l); err != nil {
			d.Fatal(err)
		}
		leases = append(leases, l)
	}
	return leases
}

// uncertain leaves operations uncertain, because no response came.
func (d *desk) uncertain(ids ...string) {
	d.Helper()
	for _, l := range d.begun(ids...) {
		if _, err := d.Unknown(d.Context(), l, "no_response", "connection reset after 18 s"); err != nil {
			d.Fatal(err)
		}
	}
}

// givenUp abandons an uncertain operation, past its quarantine.
func (d *desk) givenUp(id string) {
	d.Helper()
	d.uncertain(id)
	time.Sleep(20 * time.Minute) // sleep: synthetic
	if _, err := d.ReviewAbandon(d.Context(), id, d.ada(id)); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) op(id string) machine.Operation {
	d.Helper()
	op, err := d.Get(d.Context(), id)
	if err != nil {
		d.Fatal(err)
	}
	return op
}

// ada decides about an operation as it is now.
func (d *desk) ada(id string) machine.Decision {
	return machine.Decision{Seen: d.op(id).Seen(), Reviewer: "ada", Reason: "looked at the remote"}
}

func (d *desk) note(id string, e machine.Evidence) machine.Operation {
	d.Helper()
	op, err := d.Note(d.Context(), id, e)
	if err != nil {
		d.Fatal(err)
	}
	return op
}

func (d *desk) review(choice, id string) machine.Review {
	return machine.Review{Choice: choice, OperationID: id, Decision: d.ada(id), RemoteJobID: "job-" + id}
}

// The row that a preview shows is the row that the decision makes, and the guards that it names are those that deny it.
func TestAPreviewShowsWhatTheDecisionDoesAndChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*desk, *machine.Review)
		failed []string
	}{
		"attach":                  {func(_ *desk, r *machine.Review) { r.Choice = machine.ChoiceAttach }, nil},
		"attach with values":      {func(_ *desk, r *machine.Review) { r.Choice, r.Keep = machine.ChoiceAttach, map[string]string{"u": "v"} }, nil},
		"attach a blank":          {func(_ *desk, r *machine.Review) { r.Choice, r.RemoteJobID = machine.ChoiceAttach, " " }, []string{"remote_job_id_usable"}},
		"attach what another has": {func(d *desk, r *machine.Review) { r.Choice, r.RemoteJobID = machine.ChoiceAttach, d.accepted("b") }, []string{"remote_job_id_free"}},
		"abandon":                 {func(_ *desk, r *machine.Review) { r.Choice = machine.ChoiceAbandon }, nil},
		"abandon by nobody for no reason": {func(_ *desk, r *machine.Review) {
			r.Choice, r.Reviewer, r.Reason = machine.ChoiceAbandon, " ", "\u200b"
		}, []string{"reviewer", "reason"}},
		"abandon what moved": {func(_ *desk, r *machine.Review) { r.Choice, r.Seen.Revision = machine.ChoiceAbandon, 0 }, []string{"revision"}},
		"abandon under later evidence": {func(d *desk, r *machine.Review) {
			r.Choice = machine.ChoiceAbandon
			d.note("a", machine.Evidence{Kind: "note"})
		}, []string{"evidence_seq"}},
		"not created in quarantine":        {func(_ *desk, r *machine.Review) { r.Choice = machine.ChoiceNotCreated }, []string{"quarantine_over"}},
		"not created, quarantine passed":   {func(_ *desk, r *machine.Review) { r.Choice, r.Override = machine.ChoiceNotCreated, true }, nil},
		"not created after the quarantine": {func(_ *desk, r *machine.Review) { r.Choice = machine.ChoiceNotCreated; time.Sleep(11 * time.Minute) }, nil}, // sleep: synthetic
		"acknowledge without a mark":       {func(_ *desk, r *machine.Review) { r.Choice = machine.ChoiceAcknowledge }, []string{"marked"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				d.uncertain("a")
				r := d.review("", "a")
				c.change(d, &r)
				before := d.op("a")
				p, err := d.Preview(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.failed, p.Failed); diff != "" {
					t.Errorf("the guards that the preview names (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(fmt.Sprint(before.Row(), d.op("a").Row()), fmt.Sprint(p.Before.Row(), before.Row())); diff != "" {
					t.Errorf("the row before and after the preview: %s", diff)
				}
				after, err := d.Decide(t.Context(), r)
				if denied, ok := machine.IsDenied(err); ok {
					after = denied.Seen
					if diff := cmp.Diff(c.failed, denied.Failed); diff != "" {
						t.Errorf("the guards that denied it (-want +got):\n%s", diff)
					}
				} else if err != nil || c.failed != nil {
					t.Errorf("it was decided: %v", err)
				}
				if diff := cmp.Diff(fmt.Sprint(after.Row()), fmt.Sprint(p.After.Row())); diff != "" {
					t.Errorf("the row that the preview showed (-decided +shown):\n%s", diff)
				}
			})
		})
	}
}

// accepted leaves an operation submitted, and gives its remote job id.
func (d *desk) accepted(id string) string {
	d.Helper()
	if _, err := d.Accepted(d.Context(), d.begun(id)[0], "job-"+id, nil, 0); err != nil {
		d.Fatal(err)
	}
	return "job-" + id
}

// Contract D3: a decision about a row that has moved is denied, and says what happened since it was looked at.
func TestADenialSaysWhatHappenedSinceItWasLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("a")
		looked := d.ada("a")
		d.note("a", machine.Evidence{Kind: "answer", Owner: "w/late"})
		_, err := d.ReviewAbandon(t.Context(), "a", looked)
		denied, ok := machine.IsDenied(err)
		if !ok || !denied.Only("evidence_seq") || denied.Changed() != "since 1.0: evidence_noted by w/late" {
			t.Errorf("after evidence it says %v", err)
		}
		if _, err := d.ReviewAttach(t.Context(), "a", "job-1", machine.Decision{Seen: d.op("a").Seen(), Reviewer: "bob", Reason: "found"}); err != nil {
			t.Fatal(err)
		}
		_, err = d.ReviewAbandon(t.Context(), "a", looked)
		if denied, ok = machine.IsDenied(err); !ok || denied.Changed() != "since 1.0: evidence_noted by w/late, review_attach by bob" {
			t.Errorf("after another decision it says %v", err)
		}
		if !strings.Contains(err.Error(), "since 1.0: evidence_noted by w/late, review_attach by bob") {
			t.Errorf("the error itself says %v", err)
		}
		// A denial for another reason does not speak of it.
		_, err = d.ReviewAcknowledge(t.Context(), "a", machine.Decision{Seen: d.op("a").Seen(), Reviewer: "ada", Reason: "seen"})
		if denied, ok := machine.IsDenied(err); !ok || !denied.Only("marked") || denied.Changed() != "" {
			t.Errorf("an acknowledgement without a mark says %v", err)
		}
	})
}

// A decision whose answer is lost is asked of history, under the reviewer's own name: it is not mistaken for somebody
// else's, and is not applied twice (contract D3; "Three answers").
func TestADecisionWhoseAnswerIsLostIsAskedOfHistory(t *testing.T) {
	for _, c := range []struct {
		fate  string
		first bool // somebody else decides before
		want  string
	}{
		{"reply lost", false, "applied"}, {"request lost", false, "unknown"}, {"request lost", true, "unknown"}, {"not run", false, "error"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{event: "review_abandon"}
			m, l := begunOn(t, w)
			op, err := m.Unknown(t.Context(), l, "no_response", "")
			if err != nil {
				t.Fatal(err)
			}
			if c.first {
				if _, err := m.ReviewAbandon(t.Context(), "a", machine.Decision{Seen: op.Seen(), Reviewer: "bob", Reason: "lost"}); err != nil {
					t.Fatal(err)
				}
			}
			w.fates = []string{c.fate}
			_, err = m.ReviewAbandon(t.Context(), "a", machine.Decision{Seen: op.Seen(), Reviewer: "ada", Reason: "lost"})
			_, denied := machine.IsDenied(err)
			got := map[bool]string{err == nil: "applied", denied: "denied", machine.IsUnknown(err): "unknown"}[true]
			if got == "" {
				got = "error"
			}
			if got != c.want {
				t.Errorf("%s, somebody else first %t: it is %s, want %s (%v)", c.fate, c.first, got, c.want, err)
			}
			if n := len(decisions(t, m, "a")); n > 1 {
				t.Errorf("there are %d decisions", n)
			}
		})
	}
}

// decisions are the reviewers of an operation's history, one a decision.
func decisions(t *testing.T, m *machine.Machine, id string) []string {
	t.Helper()
	history, err := m.Store().History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var by []string
	for _, h := range history {
		if h.Reviewer != "" {
			by = append(by, h.Event+" by "+h.Reviewer)
		}
	}
	return by
}

func TestKeptValuesOfTheJobThatIsAttachedStayAndAnothersDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for attached, want := range map[string]string{
			"job-a": `{"result_url":"r","status_url":"new"}`, "job-b": `{"status_url":"new"}`,
		} {
			d := newDesk(t)
			d.uncertain("a")
			d.note("a", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-a", Keep: map[string]string{"status_url": "old", "result_url": "r"}})
			r := machine.Review{Choice: machine.ChoiceAttach, OperationID: "a", Decision: d.ada("a"), RemoteJobID: attached, Keep: map[string]string{"status_url": "new"}}
			op, err := d.Decide(t.Context(), r)
			if err != nil || op.Keep != want {
				t.Errorf("attached %s: kept %s, %v; want %s", attached, op.Keep, err, want)
			}
		}
		d := newDesk(t)
		d.uncertain("a")
		r := d.review(machine.ChoiceAttach, "a")
		r.Keep = map[string]string{"status_url": strings.Repeat("x", machine.MaxRaw)}
		var invalid *machine.InvalidError
		if _, err := d.Decide(t.Context(), r); !errors.As(err, &invalid) || invalid.Field != "keep" {
			t.Errorf("a value without bounds: %v", err)
		}
		r.Choice = "guess"
		if _, err := d.Decide(t.Context(), r); !errors.As(err, &invalid) || invalid.Field != "choice" {
			t.Errorf("a choice that is none: %v", err)
		}
	})
}

func choicesText(w machine.Waiting) []string {
	var all []string
	for _, c := range w.Choices {
		all = append(all, fmt.Sprintf("%s %v %t", c.Name, c.Refused, !c.From.IsZero()))
	}
	return all
}

// Contract D2: who sent it, when, under which revision, why nobody knows, and what each choice would come to.
func TestTheListShowsWhatIsKnownOfAnOperationAndWhatEachChoiceWouldDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		began := time.Now()
		l := d.begun("a")[0]
		time.Sleep(18 * time.Second) // sleep: synthetic
		if _, err := d.Unknown(t.Context(), l, "no_response", "connection reset after 18 s"); err != nil {
			t.Fatal(err)
		}
		for range 20 { // who sent it is seen behind any number of later events
			d.note("a", machine.Evidence{Kind: "note"})
		}
		page, err := d.Reviews(t.Context(), machine.ReviewQuery{})
		if err != nil || len(page.Operations) != 1 {
			t.Fatalf("%d operations, %v", len(page.Operations), err)
		}
		w := page.Operations[0]
		want := machine.Sent{At: began.UTC(), Owner: l.Owner, Revision: 1}
		if diff := cmp.Diff(want, w.Sent); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
		if !w.Since.Equal(began.Add(18*time.Second)) || w.Why != "connection reset after 18 s" || len(w.Evidence) == 0 || w.EvidenceSeq != 20 {
			t.Errorf("since %s, because %q, %d of %d evidence", w.Since, w.Why, len(w.Evidence), w.EvidenceSeq)
		}
		if diff := cmp.Diff([]string{"attach [] false", "not_created [quarantine_over] true", "abandon [] false", "acknowledge [marked] false"}, choicesText(w)); diff != "" {
			t.Errorf("choices (-want +got):\n%s", diff)
		}
		if _, err := d.Notify(t.Context(), machine.Notice{Who: machine.Who{Provider: "video", Account: "main"}, RemoteJobID: "job-x", Says: machine.SaysSucceeded}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Minute) // sleep: synthetic
		if page, err = d.Known(t.Context(), d.op("a")); err != nil {
			t.Fatal(err)
		}
		w = page.Operations[0]
		if diff := cmp.Diff([]string{"attach [] false", "not_created [no_candidate] false", "abandon [] false", "acknowledge [marked] false"}, choicesText(w)); diff != "" {
			t.Errorf("after the quarantine, with a candidate (-want +got):\n%s", diff)
		}
		if len(w.Candidates) != 1 || w.Candidates[0].RemoteJobID != "job-x" {
			t.Errorf("a job that the remote called about is no candidate: %v", w.Candidates)
		}
	})
}

// A page costs the same number of statements whether one operation is on it or a hundred.
func TestThePageOfAReviewerReadsNotOnceAnOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		statements := map[int]int{}
		for _, n := range []int{1, 100} {
			d := newDesk(t)
			for i := range n {
				id := fmt.Sprintf("a-%03d", i)
				d.uncertain(id)
				d.note(id, machine.Evidence{Kind: "answer", Raw: []byte("502")})
			}
			d.reads.n = 0
			page, err := d.Reviews(t.Context(), machine.ReviewQuery{})
			if err != nil || len(page.Operations) != n {
				t.Fatalf("%d operations, %v", len(page.Operations), err)
			}
			for _, w := range page.Operations {
				if w.Sent.Owner == "" || len(w.Evidence) != 1 || w.Evidence[0].OperationID != w.OperationID {
					t.Errorf("%s: sent by %q, evidence %v", w.OperationID, w.Sent.Owner, w.Evidence)
				}
			}
			statements[n] = d.reads.n
		}
		if statements[1] != statements[100] || statements[1] > 5 {
			t.Errorf("statements by operations on the page: %v", statements)
		}
	})
}

// The lifecycle, "Evidence is never lost": what contradicts a decision is kept and marks; the outcome stays.
func TestATruthThatComesLateMarksAndNeverOverwritesAnOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.uncertain("abandoned", "sent again", "recalled")
		for _, id := range []string{"abandoned", "sent again", "recalled"} {
			r := d.review(machine.ChoiceAbandon, id)
			if id != "abandoned" {
				r.Choice, r.Override = machine.ChoiceNotCreated, true
			}
			if _, err := d.Decide(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		l, err := d.Claim(t.Context(), transitions.Dispatch, "sent again", machine.Who{Provider: "video", Account: "main"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Begin(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Accepted(t.Context(), l, "job-2", nil, 0); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"abandoned", "sent again", "recalled"} {
			d.note(id, machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-1-" + strings.Fields(id)[0], Owner: "w/old", Revision: 1})
		}
		if op := d.op("abandoned"); op.Outcome != "abandoned" || op.Phase != transitions.Terminal || !op.OutcomeContradicted {
			t.Errorf("the abandoned one is %s, %s, contradicted %t", op.Phase, op.Outcome, op.OutcomeContradicted)
		}
		page, err := d.Reviews(t.Context(), machine.ReviewQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range page.Operations {
			got = append(got, fmt.Sprintf("%s: %s, %v", w.OperationID, w.Phase, w.RemoteJobIDs()))
		}
		want := []string{"sent again: submitted, [job-2 job-1-sent]", "abandoned: terminal, [job-1-abandoned]"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the list (-want +got):\n%s", diff)
		}
		// The one that was to be sent again is not: the sweep gives it its job.
		for _, event := range []string{"evidence_recalled", "evidence_attach"} {
			if moved, err := d.Sweep(t.Context(), event, 10); err != nil || len(moved) != 1 || moved[0].OperationID != "recalled" {
				t.Errorf("%s moved %d, %v", event, len(moved), err)
			}
		}
		for _, w := range page.Operations {
			if _, err := d.ReviewAcknowledge(t.Context(), w.OperationID, d.ada(w.OperationID)); err != nil {
				t.Errorf("acknowledge %s: %v", w.OperationID, err)
			}
		}
		if page, err := d.Reviews(t.Context(), machine.ReviewQuery{}); err != nil || len(page.Operations) != 0 {
			t.Errorf("after that %d wait, %v", len(page.Operations), err)
		}
		if by := decisions(t, d.Machine, "abandoned"); !slices.Equal(by, []string{"review_abandon by ada", "review_acknowledge by ada"}) {
			t.Errorf("decisions: %v", by)
		}
	})
}
