package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/worker"
	"github.com/google/go-cmp/cmp"
)

// looker is a remote whose every submission ends unknown and that can be looked at.
type looker struct {
	*remote
	investigate func(ctx context.Context, i worker.Investigation) (worker.Findings, error)

	mu    sync.Mutex
	looks []worker.Investigation
	at    []time.Time
}

func (r *looker) Investigate(ctx context.Context, i worker.Investigation) (worker.Findings, error) {
	r.mu.Lock()
	r.looks, r.at = append(r.looks, i), append(r.at, time.Now())
	r.mu.Unlock()
	return r.investigate(ctx, i)
}

// gaps are the pauses between the looks, to the minute: a look comes up to a poll later than it is due.
func (r *looker) gaps() []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(r.at); i++ {
		gaps = append(gaps, r.at[i].Sub(r.at[i-1]).Truncate(time.Minute))
	}
	return gaps
}

func finds(found ...worker.Find) func(context.Context, worker.Investigation) (worker.Findings, error) {
	return func(context.Context, worker.Investigation) (worker.Findings, error) {
		return worker.Findings{Found: found, Raw: []byte("the list")}, nil
	}
}

func cannot(err error) func(context.Context, worker.Investigation) (worker.Findings, error) {
	return func(context.Context, worker.Investigation) (worker.Findings, error) { return worker.Findings{}, err }
}

func panics(context.Context, worker.Investigation) (worker.Findings, error) { panic("boom") }

func newLooker(t *testing.T, investigate func(context.Context, worker.Investigation) (worker.Findings, error)) (*bench, *looker) {
	lost := worker.Unknown(errors.New("cut"), worker.ReasonNoResponse)
	r := &looker{remote: &remote{submit: fails(lost)}, investigate: investigate}
	b := newBench(t, r.remote)
	b.config.Handlers["video"] = r
	return b, r
}

// lost prepares an operation whose job is to be looked for.
func (b *bench) lost(ids ...string) {
	b.Helper()
	for _, id := range ids {
		_, err := b.m.Prepare(b.Context(), machine.Request{OperationID: id, Kind: "video", Request: []byte("{}"), CanInvestigate: true})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// events are what history has of one event, "reason: detail".
func (b *bench) events(id, event string) []string {
	b.Helper()
	entries, err := b.m.Store().History(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.Event == event {
			got = append(got, strings.TrimSuffix(e.Reason+": "+e.Detail, ": "))
		}
	}
	return got
}

// evidence is what was noted, "kind id text", but for how the request ended that is looked for.
func (b *bench) evidence(id string) []string {
	b.Helper()
	entries, err := b.m.Store().Evidence(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	got := []string{}
	for _, e := range entries {
		if e.Kind != machine.EvidenceError {
			got = append(got, fmt.Sprintf("%s %s %s", e.Kind, e.RemoteJobID, e.Detail))
		}
	}
	return got
}

// Contract D4: exactly one find that names the operation and says how it was matched is attached; everything else is
// inconclusive, is kept as evidence, and sends nothing.
func TestOnlyOneUnambiguousFindIsAttached(t *testing.T) {
	t.Parallel()
	find := func(id, op, how string) worker.Find { return worker.Find{RemoteJobID: id, OperationID: op, How: how} }
	good := find("job-1", "a", "/op = a")
	good.Keep = map[string]string{"poll": "/jobs/1"}
	for _, c := range []struct {
		name        string
		investigate func(context.Context, worker.Investigation) (worker.Findings, error)
		phase, next string
		told        string // the reason and detail of the first look's event
		evidence    []string
		marked      bool
	}{
		{name: "one", investigate: finds(good), phase: "terminal", told: "matched by /op = a", evidence: []string{"investigation  the list"}},
		{name: "the same one twice", investigate: finds(good, good), phase: "terminal", told: "matched by /op = a", evidence: []string{"investigation  the list"}},
		{name: "none", investigate: finds(), phase: "uncertain", next: "investigate",
			told: "nothing was found: nothing was found; that is no proof that nothing was created", evidence: []string{"investigation  the list"}},
		{name: "two", investigate: finds(good, find("job-2", "a", "/op = a")), phase: "uncertain", next: "review", marked: true,
			told:     "several were found: 2 remote jobs say that they are this operation's: job-1, job-2",
			evidence: []string{"investigation  the list", `accepted job-1 names operation "a", matched by /op = a`, `accepted job-2 names operation "a", matched by /op = a`}},
		{name: "an error", investigate: cannot(errors.New("503")), phase: "uncertain", next: "investigate", told: "the look failed: 503", evidence: []string{}},
		{name: "a panic", investigate: panics, phase: "uncertain", next: "investigate", told: "the look failed: panic: boom", evidence: []string{}},
		{name: "another operation's", investigate: finds(find("job-1", "b", "/op = b")), phase: "uncertain", next: "investigate",
			told:     `a find is not fit: the job "job-1" names the operation "b"`,
			evidence: []string{"investigation  the list", `investigation job-1 names operation "b", matched by /op = b`}},
		{name: "one, and one of another operation", investigate: finds(good, find("job-2", "b", "/op = b")), phase: "uncertain", next: "investigate",
			told: `a find is not fit: the job "job-2" names the operation "b"`,
			evidence: []string{"investigation  the list", `found job-1 names operation "a", matched by /op = a`,
				`investigation job-2 names operation "b", matched by /op = b`}},
		{name: "one that names no operation", investigate: finds(find("job-1", "", "a guess")), phase: "uncertain", next: "investigate",
			told:     `a find is not fit: the job "job-1" names the operation ""`,
			evidence: []string{"investigation  the list", `investigation job-1 names operation "", matched by a guess`}},
		{name: "one that does not say how", investigate: finds(find("job-1", "a", " ")), phase: "uncertain", next: "investigate",
			told:     `a find is not fit: the find of job "job-1" does not say how it was matched`,
			evidence: []string{"investigation  the list", `found job-1 names operation "a", matched by  `}},
		{name: "a blank id", investigate: finds(find(" \u200b", "a", "/op = a")), phase: "uncertain", next: "investigate",
			told:     `a find is not fit: a job was found whose id cannot be one: " \u200b"`,
			evidence: []string{"investigation  the list", `found  id " \u200b", names operation "a", matched by /op = a`}},
		{name: "no means to look", investigate: cannot(fmt.Errorf("no list: %w", errors.ErrUnsupported)), phase: "uncertain", next: "review",
			told: "nobody here can look: no list: unsupported operation", evidence: []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, r := newLooker(t, c.investigate)
				b.lost("a")
				b.run(30 * time.Second)
				op := b.get("a")
				if diff := cmp.Diff([]any{c.phase, c.next, c.marked}, []any{op.Phase, op.NextAction, op.DuplicateSuspected}); diff != "" {
					t.Error(diff)
				}
				event := "investigate_inconclusive"
				if c.phase == "terminal" {
					event = "investigate_found"
					if op.Outcome != "succeeded" || op.RemoteJobID != "job-1" || op.Keep != `{"poll":"/jobs/1"}` {
						t.Errorf("outcome %q, remote job %q, kept %s", op.Outcome, op.RemoteJobID, op.Keep)
					}
				}
				if diff := cmp.Diff([]string{c.told}, b.events("a", event)); diff != "" {
					t.Error(diff)
				}
				if diff := cmp.Diff(c.evidence, b.evidence("a")); diff != "" {
					t.Error(diff)
				}
				if n := b.remote.count("a"); n != 1 || len(r.looks) != 1 {
					t.Errorf("%d requests and %d looks, want one each", n, len(r.looks))
				}
			})
		})
	}
}

// Contract D4: several finds stand before the reviewer, and nobody may say any more that nothing was created.
func TestSeveralFindsForbidSendingAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := newLooker(t, finds(worker.Find{RemoteJobID: "job-1", OperationID: "a", How: "x"}, worker.Find{RemoteJobID: "job-2", OperationID: "a", How: "x"}))
		b.lost("a")
		b.run(time.Minute)
		time.Sleep(time.Hour) // sleep: synthetic; the quarantine is over
		decision := machine.Decision{Seen: b.get("a").Seen(), Reviewer: "ann", Reason: "nothing there"}
		_, err := b.m.ReviewNotCreated(t.Context(), "a", decision, true)
		if denied, ok := machine.IsDenied(err); !ok || !denied.Only("no_late_remote_job_id") {
			t.Errorf("sending again: %v", err)
		}
	})
}

// Contract D4: the pauses grow, 1m, 5m, 30m, 2h by default; then a reviewer is left with it. The number of looks comes
// from history, so a new worker goes on where the last one was.
func TestTheScheduleOfLooksGrowsAndEndsWithAReviewer(t *testing.T) {
	t.Parallel()
	h, m := time.Hour, time.Minute
	for _, c := range []struct {
		name        string
		pauses      []time.Duration
		investigate func(context.Context, worker.Investigation) (worker.Findings, error)
		want        []time.Duration
	}{
		{"by default", nil, finds(), []time.Duration{m, 5 * m, 30 * m, 2 * h}},
		{"after errors", nil, cannot(errors.New("503")), []time.Duration{m, 5 * m, 30 * m, 2 * h}},
		{"as configured", []time.Duration{h, 2 * h}, finds(), []time.Duration{h, 2 * h}},
		{"one look", []time.Duration{}, finds(), nil},
		{"no sooner than the remote wishes", []time.Duration{m, h}, cannot(worker.Later(errors.New("429"), 10*m)), []time.Duration{10 * m, h}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, r := newLooker(t, c.investigate)
				b.config.LookAgain, b.config.Poll = c.pauses, 10*time.Second
				b.lost("a")
				for range 40 { // each is another worker
					b.run(10 * time.Minute)
				}
				if diff := cmp.Diff(c.want, r.gaps()); diff != "" {
					t.Error(diff)
				}
				for i, look := range r.looks {
					if look.Looked != i || look.OperationID != "a" || look.Attempts != 1 || string(look.Request) != "{}" || look.SubmittedAt.IsZero() {
						t.Errorf("look %d was asked as %+v", i, look)
					}
				}
				op := b.get("a")
				if diff := cmp.Diff([]any{"uncertain", "review", time.Time{}, 1}, []any{op.Phase, op.NextAction, op.DueAt, b.remote.count("a")}); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// An operation that becomes uncertain again is looked for from the first pause on.
func TestTheScheduleBeginsAnewWhenAnOperationBecomesUncertainAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, r := newLooker(t, finds())
		b.config.LookAgain = []time.Duration{time.Minute}
		b.lost("a")
		b.run(10 * time.Minute)
		decision := machine.Decision{Seen: b.get("a").Seen(), Reviewer: "ann", Reason: "support says so"}
		if _, err := b.m.ReviewNotCreated(t.Context(), "a", decision, true); err != nil {
			t.Fatal(err)
		}
		b.run(10 * time.Minute)
		if diff := cmp.Diff(4, len(r.looks)); diff != "" {
			t.Errorf("looks: %s", diff)
		}
		if n := b.remote.count("a"); n != 2 {
			t.Errorf("%d requests, want 2: one, and one more on the reviewer's word", n)
		}
	})
}

// Contract D4, B8: an id that another operation holds is not attached twice; it is evidence, past which nothing is sent,
// and a reviewer looks at both.
func TestAFindThatAnotherOperationHoldsIsInconclusive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := newLooker(t, func(_ context.Context, i worker.Investigation) (worker.Findings, error) {
			return worker.Findings{Found: []worker.Find{{RemoteJobID: "same", OperationID: i.OperationID, How: "/op"}}}, nil
		})
		b.lost("a")
		b.run(30 * time.Second)
		b.lost("b")
		b.run(30 * time.Second)
		op := b.get("b")
		if diff := cmp.Diff([]any{"same", "uncertain", "review", "", "same"}, []any{b.get("a").RemoteJobID, op.Phase, op.NextAction, op.RemoteJobID, op.LateRemoteJobID}); diff != "" {
			t.Error(diff)
		}
		told := `another operation holds the find: another operation of this provider and account holds the job "same" that was found; matched by /op`
		again := `an id came to light: the remote job id "same" came to light before this look`
		if diff := cmp.Diff([]string{told, again}, b.events("b", "investigate_inconclusive")); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{`accepted same names operation "b", matched by /op`}, b.evidence("b")); diff != "" {
			t.Error(diff)
		}
		_, err := b.m.ReviewNotCreated(t.Context(), "b", machine.Decision{Seen: op.Seen(), Reviewer: "ann", Reason: "tired"}, true)
		if denied, ok := machine.IsDenied(err); !ok || !denied.Only("no_late_remote_job_id") {
			t.Errorf("not created, though a job names it: got %v, want a denial", err)
		}
	})
}

// An overdue job that the remote still lists is nothing new: attached, it would be observed for ever (contract C3).
func TestAFindOfTheJobThatIsHeldAlreadyIsNothingNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, r := newLooker(t, finds(worker.Find{RemoteJobID: "job-a", OperationID: "a", How: "/op"}))
		r.submit = nil
		r.observe = func(context.Context, worker.Observation) (worker.Status, error) {
			return worker.Status{State: worker.Pending, Snapshot: []byte("running")}, nil
		}
		b.config.LookAgain = []time.Duration{time.Minute}
		if _, err := b.m.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "video", Request: []byte("{}"), CanInvestigate: true, ObserveDeadline: time.Minute}); err != nil {
			t.Fatal(err)
		}
		b.run(10 * time.Minute)
		op := b.get("a")
		if diff := cmp.Diff([]string{"uncertain", "overdue", "review", "job-a"}, []string{op.Phase, op.UncertainReason, op.NextAction, op.RemoteJobID}); diff != "" {
			t.Error(diff)
		}
		if len(r.looks) != 2 || r.looks[0].RemoteJobID != "job-a" {
			t.Errorf("looks: %+v", r.looks)
		}
	})
}

// A job that came to light meanwhile needs no look: the reconciler attaches it. Looks on a row that is due for the
// reconciler do not follow each other without a pause.
func TestALateIDEndsTheLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		b, r := newLooker(t, func(ctx context.Context, i worker.Investigation) (worker.Findings, error) {
			_, err := b.m.Note(ctx, i.OperationID, machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "late"})
			return worker.Findings{}, err
		})
		b.lost("a")
		b.run(time.Hour)
		op := b.get("a")
		if diff := cmp.Diff([]any{"uncertain", "review", "late", 1}, []any{op.Phase, op.NextAction, op.LateRemoteJobID, len(r.looks)}); diff != "" {
			t.Error(diff)
		}
		if moved, err := b.m.Sweep(t.Context(), "evidence_attach", 10); err != nil || len(moved) != 1 {
			t.Errorf("the reconciler attached %d, %v", len(moved), err)
		}
	})
}

// A look may take longer than a lease, under one revision; one that never ends is inconclusive (contract A7, D4).
func TestALookThatNeverEndsIsInconclusive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, r := newLooker(t, func(ctx context.Context, _ worker.Investigation) (worker.Findings, error) {
			<-ctx.Done()
			return worker.Findings{}, ctx.Err()
		})
		b.config.LookAgain = []time.Duration{time.Minute}
		b.lost("a")
		b.run(time.Hour)
		if diff := cmp.Diff([]time.Duration{worker.DefaultHold + time.Minute}, r.gaps()); diff != "" {
			t.Error(diff)
		}
		if op := b.get("a"); op.NextAction != "review" || op.Revision != 3 {
			t.Errorf("%s at revision %d; want one claim to send and two to look, and then a reviewer", op.NextAction, op.Revision)
		}
	})
}

// Shutdown cuts a look off and gives it back: it counts for nothing, and the next worker looks at once (contract E1).
func TestShutdownGivesALookBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, r := newLooker(t, func(ctx context.Context, _ worker.Investigation) (worker.Findings, error) {
			<-ctx.Done()
			return worker.Findings{}, ctx.Err()
		})
		b.lost("a")
		for range 3 {
			b.run(20 * time.Second)
		}
		op := b.get("a")
		if diff := cmp.Diff([]any{3, "uncertain", "investigate", ""}, []any{len(r.looks), op.Phase, op.NextAction, op.LeaseOwner}); diff != "" {
			t.Error(diff)
		}
		if told := b.events("a", "investigate_inconclusive"); len(told) != 0 {
			t.Errorf("inconclusive: %q", told)
		}
	})
}

// A find whose lease is gone is kept like a late answer: what a reviewer has released for sending meanwhile is not sent
// (contract B5, I1).
func TestAFindThatComesTooLateForItsLeaseStopsTheSend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b *bench
		slow := sync.OnceValue(func() []worker.Find {
			time.Sleep(time.Hour) // sleep: synthetic; a handler that does not heed its context
			op := b.get("a")
			if _, err := b.m.ReviewNotCreated(context.Background(), "a", machine.Decision{Seen: op.Seen(), Reviewer: "ann", Reason: "sure"}, false); err != nil {
				b.Error(err)
			}
			return []worker.Find{{RemoteJobID: "job-1", OperationID: "a", How: "/op"}}
		})
		var looks atomic.Int64
		b, r := newLooker(t, func(_ context.Context, i worker.Investigation) (worker.Findings, error) {
			if looks.Add(1) > 1 {
				return worker.Findings{}, nil
			}
			return worker.Findings{Found: slow()}, nil
		})
		b.lost("a")
		b.config.Hold, b.config.LookAgain = time.Minute, []time.Duration{}
		b.config.Poll = 10 * time.Second
		b.config.Machine = b.m.In(struct{ machine.Store }{b.m.Store()}) // who reviews is another process, which the worker does not hear
		b.run(2 * time.Hour)
		op := b.get("a")
		if diff := cmp.Diff([]any{"prepared", "job-1", int64(2), 1}, []any{op.Phase, op.LateRemoteJobID, looks.Load(), r.count("a")}); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"accepted job-1 matched by /op"}, b.evidence("a")); diff != "" {
			t.Error(diff)
		}
	})
}

// What a kind without an investigator leaves uncertain stays for those who have one; nobody else hands it on.
func TestAWorkerThatCannotLookLeavesItToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{submit: fails(errors.New("cut"))})
		b.lost("a")
		b.run(time.Hour)
		before := b.get("a")
		other, r := newLooker(t, finds())
		b.config.Handlers["audio"] = other.config.Handlers["video"]
		b.run(time.Hour)
		after := b.get("a")
		if diff := cmp.Diff([]string{"investigate", "investigate"}, []string{before.NextAction, after.NextAction}); diff != "" || len(r.looks) > 0 {
			t.Error(len(r.looks), diff)
		}
	})
}

// Whatever a handler hands over is bounded and stored (lifecycle: evidence is never lost).
func TestALargeFindIsStoredBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		huge := strings.Repeat("x", 5<<20)
		b, _ := newLooker(t, func(context.Context, worker.Investigation) (worker.Findings, error) {
			found := worker.Findings{Raw: []byte(huge)}
			for i := range 50 {
				found.Found = append(found.Found, worker.Find{RemoteJobID: fmt.Sprint("job-", i), OperationID: "a", How: huge})
			}
			return found, nil
		})
		b.lost("a")
		b.run(30 * time.Second)
		total := 0
		for _, e := range b.evidence("a") {
			if total += len(e); len(e) > 65<<10 {
				t.Errorf("%d bytes of evidence", len(e))
			}
		}
		if told := b.events("a", "investigate_inconclusive"); len(told) != 1 || !strings.Contains(told[0], "50 remote jobs") || !strings.HasSuffix(told[0], "job-9 and 40 more") {
			t.Errorf("%.300q", told)
		}
		if len(b.evidence("a")) != 11 || !b.get("a").DuplicateSuspected {
			t.Errorf("%d pieces of evidence", len(b.evidence("a")))
		}
	})
}
