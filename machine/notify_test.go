package machine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

var remoteOf = machine.Who{Provider: "video"}

func said(says, words string) machine.Notice {
	return machine.Notice{Who: remoteOf, RemoteJobID: "job-1", Says: says, Snapshot: []byte(words)}
}

// begunOn leaves operation a submitting, with its lease.
func begunOn(t *testing.T, w *wire) (*machine.Machine, *machine.Lease) {
	t.Helper()
	m, l := claimed(t, w)
	if _, err := m.Begin(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	return m, l
}

// submittedOn leaves operation a submitted as job-1.
func submittedOn(t *testing.T, w *wire) *machine.Machine {
	t.Helper()
	m, l := begunOn(t, w)
	if _, err := m.Accepted(t.Context(), l, "job-1", nil, 0); err != nil {
		t.Fatal(err)
	}
	return m
}

// notify tells of some notices, one after the other, and gives their fates.
func notify(t *testing.T, m *machine.Machine, notices ...machine.Notice) []machine.Fate {
	t.Helper()
	var fates []machine.Fate
	for _, n := range notices {
		done, err := m.Notify(t.Context(), n)
		if err != nil {
			t.Fatalf("notify %s of %s: %v", n.Says, n.RemoteJobID, err)
		}
		fates = append(fates, done.Fate)
	}
	return fates
}

// told is what an operation has come to: phase, outcome, mark, evidence, the events of its history.
func told(t *testing.T, m *machine.Machine, id string) string {
	t.Helper()
	op, err := m.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	history, err := m.Store().History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range history {
		events = append(events, e.Event)
	}
	return fmt.Sprintf("%s %s contradicted=%t evidence=%d %v", op.Phase, op.Outcome, op.OutcomeContradicted, op.EvidenceSeq, events[min(4, len(events)):])
}

// The first end that a remote tells of ends the operation; the same again and pending words change nothing; another end
// is kept as evidence, once, and marked (C2; B56, B59).
func TestTheFirstEndThatIsToldStays(t *testing.T) {
	m := submittedOn(t, &wire{})
	fates := notify(t, m, said("pending", "p"), said("succeeded", "done"), said("succeeded", "done"), said("succeeded", "done again"),
		said("pending", "p"), said("failed", "not done"), said("failed", "not done"), said("succeeded", "done"))
	want := []machine.Fate{machine.NoticeKnown, machine.NoticeApplied, machine.NoticeKnown, machine.NoticeKnown,
		machine.NoticeKnown, machine.NoticeNoted, machine.NoticeKnown, machine.NoticeKnown}
	if diff := cmp.Diff(want, fates); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("terminal succeeded contradicted=true evidence=1 [notified_succeeded evidence_noted]", told(t, m, "a")); diff != "" {
		t.Errorf("the operation (-want +got):\n%s", diff)
	}
	if op, err := m.Get(t.Context(), "a"); err != nil || string(op.Snapshot) != "done" {
		t.Errorf("the snapshot is %q, %v; want the words of the first end", op.Snapshot, err)
	}
}

// What a remote tells before the id is stored is kept, and fired when it is: the first end ends the operation, another
// contradicts it, and matching once more changes nothing (B58).
func TestWhatWasToldBeforeTheIDIsMatchedWhenItLands(t *testing.T) {
	m, l := begunOn(t, &wire{})
	fates := notify(t, m, said("pending", "p1"), said("pending", "p2"), said("failed", "f"), said("failed", "f"), said("pending", "p3"), said("canceled", "c"))
	want := []machine.Fate{machine.NoticeUnmatched, machine.NoticeKnown, machine.NoticeUnmatched, machine.NoticeKnown,
		machine.NoticeKnown, machine.NoticeUnmatched}
	if diff := cmp.Diff(want, fates); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
	if all, err := m.Match(t.Context(), remoteOf, "job-1"); err != nil || len(all) != 0 {
		t.Errorf("matched %v, %v before the id was there", all, err)
	}
	if _, err := m.Accepted(t.Context(), l, "job-1", nil, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]machine.Fate{{machine.NoticeApplied, machine.NoticeNoted}, {machine.NoticeKnown, machine.NoticeKnown}} {
		all, err := m.Match(t.Context(), remoteOf, "job-1")
		if err != nil {
			t.Fatal(err)
		}
		var fates []machine.Fate
		for _, n := range all {
			fates = append(fates, n.Fate)
		}
		if diff := cmp.Diff(want, fates); diff != "" {
			t.Errorf("fates of what was told early (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff("terminal failed contradicted=true evidence=1 [notified_failed evidence_noted]", told(t, m, "a")); diff != "" {
		t.Errorf("the operation (-want +got):\n%s", diff)
	}
}

// meanwhile is a store in which something happens just before evidence of no operation is appended.
type meanwhile struct {
	machine.Store
	happens func()
}

func (s *meanwhile) NoteUnmatched(ctx context.Context, e machine.EvidenceEntry) error {
	if s.happens != nil {
		s.happens()
	}
	return s.Store.NoteUnmatched(ctx, e)
}

// A submission that stores its id, and finds no evidence, between a notice's look for the holder and its append, is
// found by the notice's second look.
func TestANoticeFindsTheIDThatLandsWhileItIsKept(t *testing.T) {
	w := &wire{}
	m, l := begunOn(t, w)
	late := &meanwhile{Store: w.Store}
	late.happens = func() {
		if _, err := m.Accepted(context.Background(), l, "job-1", nil, 0); err != nil {
			t.Error(err)
		}
		if all, err := m.Match(context.Background(), remoteOf, "job-1"); err != nil || len(all) != 0 {
			t.Errorf("the submission found %v, %v", all, err)
		}
	}
	if diff := cmp.Diff([]machine.Fate{machine.NoticeApplied}, notify(t, m.In(late), said("succeeded", "done"))); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("terminal succeeded contradicted=false evidence=0 [notified_succeeded]", told(t, m, "a")); diff != "" {
		t.Errorf("the operation (-want +got):\n%s", diff)
	}
}

// replacing is a store in which something happens just before an end is fired.
type replacing struct {
	machine.Store
	happens func()
}

func (s *replacing) Apply(ctx context.Context, event string, p transitions.Params) (machine.Answer, error) {
	if happens := s.happens; event == "notified_succeeded" && happens != nil {
		s.happens = nil
		happens()
	}
	return s.Store.Apply(ctx, event, p)
}

// An operation that a reviewer gives another job, just before the end of the old one is fired, is not ended by it: the
// end is kept as that of a job that nobody holds.
func TestAnEndOfAJobThatIsJustReplacedIsNoEndOfItsOperation(t *testing.T) {
	w := &wire{}
	m, l := begunOn(t, w)
	if _, err := m.Unknown(t.Context(), l, "no_response", ""); err != nil {
		t.Fatal(err)
	}
	row, err := w.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	row[0][w.Program().Column("remote_job_id")] = transitions.TextValue("job-1") // found overdue, say
	if err := w.Store.(*machine.Memory).Put(row[0]); err != nil {
		t.Fatal(err)
	}
	moving := &replacing{Store: w.Store, happens: func() {
		op, err := m.Get(context.Background(), "a")
		if err != nil {
			t.Error(err)
		}
		if _, err := m.ReviewAttach(context.Background(), "a", "job-2", machine.Decision{Seen: op.Seen(), Reviewer: "ann", Reason: "job-1 is another's"}); err != nil {
			t.Error(err)
		}
	}}
	if diff := cmp.Diff([]machine.Fate{machine.NoticeUnmatched}, notify(t, m.In(moving), said("succeeded", "done"))); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
	if op, err := m.Get(t.Context(), "a"); err != nil || op.Phase != "submitted" || op.RemoteJobID != "job-2" {
		t.Errorf("the operation is %s with %s, %v; want submitted with job-2", op.Phase, op.RemoteJobID, err)
	}
}

// Where an uncertain operation was told of the job in a late answer, the end stands among its evidence too, for whoever
// reviews it, and ends it once the id is attached.
func TestAnEndOfALateJobIsEvidenceOfItsOperation(t *testing.T) {
	m, l := begunOn(t, &wire{})
	if _, err := m.Unknown(t.Context(), l, "no_response", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Note(t.Context(), "a", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-1"}); err != nil {
		t.Fatal(err)
	}
	fates := notify(t, m, said("pending", "p"), said("succeeded", "done"), said("succeeded", "done"))
	if diff := cmp.Diff([]machine.Fate{machine.NoticeUnmatched, machine.NoticeNoted, machine.NoticeKnown}, fates); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
	evidence, err := m.Store().Evidence(t.Context(), "a")
	if err != nil || len(evidence) != 2 || evidence[1].Kind != "ended_succeeded" || string(evidence[1].Detail) != "done" {
		t.Errorf("the operation's evidence is %+v, %v; want the answer and the end", evidence, err)
	}
	if moved, err := m.Sweep(t.Context(), "evidence_attach", 10); err != nil || len(moved) != 1 {
		t.Fatalf("attached %d, %v", len(moved), err)
	}
	if _, err := m.Match(t.Context(), remoteOf, "job-1"); err != nil {
		t.Fatal(err)
	}
	if op, err := m.Get(t.Context(), "a"); err != nil || op.Outcome != "succeeded" || op.OutcomeContradicted {
		t.Errorf("the operation is %s %s, %v; want it succeeded", op.Phase, op.Outcome, err)
	}
}

// A lost reply is resolved from the row: the notice is fired again, and what landed is not fired twice.
func TestANoticeWhoseReplyIsLostIsResolved(t *testing.T) {
	for _, fates := range [][]string{{"reply lost"}, {"request lost"}, {"request lost", "reply lost"}, {"lands late", "request lost"},
		slices.Repeat([]string{"reply lost"}, 20)} {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{event: "notified_succeeded", fates: fates}
			m := submittedOn(t, w)
			notify(t, m, said("succeeded", "done"))
			w.landLate()
			if diff := cmp.Diff("terminal succeeded contradicted=false evidence=0 [notified_succeeded]", told(t, m, "a")); diff != "" {
				t.Errorf("after %q, the operation (-want +got):\n%s", fates, diff)
			}
		})
	}
}

// Where it is not known to be stored, or the database is away, the error says so, and the remote calls again.
func TestANoticeThatIsNotStoredIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{event: "notified_succeeded", fates: slices.Repeat([]string{"request lost"}, 20)}
		m := submittedOn(t, w)
		if done, err := m.Notify(t.Context(), said("succeeded", "done")); !machine.IsUnknown(err) {
			t.Errorf("after lost requests: %+v, %v; want an unknown answer", done, err)
		}
		w.fates = slices.Repeat([]string{"not run"}, 20)
		done, err := m.Notify(t.Context(), said("succeeded", "done"))
		if err == nil || machine.IsUnknown(err) {
			t.Errorf("after a refusal: %+v, %v; want an error that says that it did not run", done, err)
		}
	})
}

// What cannot be a notice is refused, and nothing is kept of it.
func TestANoticeNeedsAnIDAndAWord(t *testing.T) {
	m := submittedOn(t, &wire{})
	for _, n := range []machine.Notice{
		{Who: remoteOf, RemoteJobID: "", Says: "failed"}, {Who: remoteOf, RemoteJobID: "job 1", Says: "failed"},
		{Who: remoteOf, RemoteJobID: "job-1", Says: ""}, {Who: remoteOf, RemoteJobID: "job-1", Says: "abandoned"},
	} {
		var invalid *machine.InvalidError
		if _, err := m.Notify(t.Context(), n); !errors.As(err, &invalid) {
			t.Errorf("notify %+v: %v, want that it is invalid", n, err)
		}
	}
	// The word of another account's remote is no word about this one's job.
	other := said("failed", "f")
	other.Account = "other"
	if diff := cmp.Diff([]machine.Fate{machine.NoticeUnmatched}, notify(t, m, other)); diff != "" {
		t.Errorf("fates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("submitted  contradicted=false evidence=0 []", told(t, m, "a")); diff != "" {
		t.Errorf("the operation (-want +got):\n%s", diff)
	}
}

// A job that nobody here knows is a candidate for what was sent before it was told of, until somebody holds its id or
// was told of it (B58, the crash).
func TestAJobThatNobodyKnowsIsACandidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := begunOn(t, &wire{})
		job := func(id, says string) {
			notify(t, m, machine.Notice{Who: remoteOf, RemoteJobID: id, Says: says, Snapshot: []byte(id)})
			time.Sleep(time.Minute) // sleep: synthetic time, so that each is told at a time of its own
		}
		start := time.Now().UTC()
		for n := range 510 { // more than is read at once
			job(fmt.Sprintf("old-%d", n), "succeeded")
		}
		sent := time.Now().UTC()
		job("job-1", "pending")
		job("job-2", "failed")
		job("job-1", "succeeded")
		notify(t, m, machine.Notice{Who: machine.Who{Provider: "print"}, RemoteJobID: "print-1", Says: "failed"})
		candidates := func(since time.Time, limit int) []machine.Candidate {
			found, err := m.Candidates(t.Context(), remoteOf, since, limit)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		one := machine.Candidate{RemoteJobID: "job-1", Said: "succeeded", First: sent, Last: sent.Add(2 * time.Minute)}
		two := machine.Candidate{RemoteJobID: "job-2", Said: "failed", First: sent.Add(time.Minute), Last: sent.Add(time.Minute)}
		if diff := cmp.Diff([]machine.Candidate{one, two}, candidates(sent, 10)); diff != "" {
			t.Errorf("candidates (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]machine.Candidate{one}, candidates(sent, 1)); diff != "" {
			t.Errorf("the first candidate (-want +got):\n%s", diff)
		}
		if got := candidates(start, 1000); len(got) != 512 {
			t.Errorf("%d candidates since the start, want 512", len(got))
		}
		lapsed, err := m.Sweep(t.Context(), "submit_lapsed", 1)
		if err != nil || len(lapsed) != 1 {
			t.Fatalf("lapsed %d, %v", len(lapsed), err)
		}
		if _, err := m.ReviewAttach(t.Context(), "a", "job-1", machine.Decision{Seen: lapsed[0].Seen(), Reviewer: "ann", Reason: "found"}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]machine.Candidate{two}, candidates(sent, 10)); diff != "" {
			t.Errorf("candidates once job-1 has its operation (-want +got):\n%s", diff)
		}
		if _, err := m.Note(t.Context(), "a", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-2"}); err != nil {
			t.Fatal(err)
		}
		if got := candidates(sent, 10); len(got) != 0 {
			t.Errorf("candidates once job-2 was told of: %+v, want none", got)
		}
	})
}

// A remote that calls with the same large words again adds nothing, and neither does what is matched later: what is cut to
// be kept is cut to the same (B59).
func TestLargeWordsThatComeAgainAreKeptOnce(t *testing.T) {
	for _, size := range []int{machine.MaxRaw - 1, machine.MaxRaw, machine.MaxRaw + 1, machine.MaxRaw + 20, 80_000, 300_000, 5 << 20} {
		m := submittedOn(t, &wire{})
		large := said("failed", strings.Repeat("x", size))
		fates := notify(t, m, said("succeeded", "done"), large, large, large)
		want := []machine.Fate{machine.NoticeApplied, machine.NoticeNoted, machine.NoticeKnown, machine.NoticeKnown}
		if diff := cmp.Diff(want, fates); diff != "" {
			t.Errorf("%d bytes (-want +got):\n%s", size, diff)
		}
	}
}

// What was told early, at length and otherwise than it ended, is matched once, however often the reconciler looks.
func TestLargeWordsThatCameEarlyAreMatchedOnce(t *testing.T) {
	w := &wire{}
	m, l := begunOn(t, w)
	notify(t, m, said("succeeded", "done"), said("failed", strings.Repeat("x", 300_000)))
	if _, err := m.Accepted(t.Context(), l, "job-1", nil, 0); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if _, err := m.Match(t.Context(), remoteOf, "job-1"); err != nil {
			t.Fatal(err)
		}
	}
	op, err := m.Get(t.Context(), "a")
	if err != nil || op.EvidenceSeq != 1 {
		t.Errorf("it has %d pieces of evidence, %v; want one", op.EvidenceSeq, err)
	}
}

// slowly is a store whose evidence takes a moment to be read.
type slowly struct{ machine.Store }

func (s slowly) Evidence(ctx context.Context, id string) ([]machine.EvidenceEntry, error) {
	there, err := s.Store.Evidence(ctx, id)
	time.Sleep(time.Millisecond) // sleep: synthetic
	return there, err
}

// Sixteen equal calls at once are one piece of evidence: each more would deny a reviewer's decision (B59).
func TestEqualCallsAtOnceAreKeptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := submittedOn(t, &wire{})
		notify(t, m, said("succeeded", "done"))
		m = m.In(slowly{m.Store()})
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if _, err := m.Notify(t.Context(), said("failed", "no")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		op, err := m.Get(t.Context(), "a")
		if err != nil || op.EvidenceSeq != 1 {
			t.Errorf("it has %d pieces of evidence, %v; want one", op.EvidenceSeq, err)
		}
	})
}

// What is cut says how much of the whole is missing, fits, and is left alone by who cuts it again (C3).
func TestWhatIsCutStaysAsItIsCut(t *testing.T) {
	for _, size := range []int{0, 1, 99, 100, 101, 120, 200, 1000, 5 << 20} {
		once := machine.Bounded(bytes.Repeat([]byte("x"), size), 100)
		again := machine.Bounded(once, 100)
		if len(once) > 100 || !bytes.Equal(once, again) {
			t.Errorf("%d bytes are cut to %d, and those to %d", size, len(once), len(again))
		}
		kept, told, cut := strings.Cut(string(once), "… (")
		missing, _ := strconv.Atoi(strings.TrimSuffix(told, " more bytes)"))
		if len(kept)+missing != size || cut != (size > 100) {
			t.Errorf("of %d bytes %d are kept, and %q is told of the rest", size, len(kept), told)
		}
		text := machine.Text(strings.Repeat("ä", size))
		if len(text) > machine.MaxDetail || text != machine.Text(text) || !utf8.ValidString(text) {
			t.Errorf("%d umlauts are cut to %d bytes, and those to %d", size, len(text), len(machine.Text(text)))
		}
	}
}
