package lostjobs_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/sandbox"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

func delivered(op machine.Operation) bool { return op.Delivery == "delivered" }

func forReview(op machine.Operation) bool {
	return op.Phase == transitions.Uncertain && op.NextAction == transitions.Review
}

func looksLater(op machine.Operation) bool {
	return op.Phase == transitions.Uncertain && op.NextAction == transitions.Investigate && op.LeaseOwner == "" && op.DueAt.After(op.UpdatedAt)
}

// Contract D4: a job whose answer was lost is found by the operation that it names, attached, observed and delivered,
// whatever the answer looked like; the request is not sent again.
func TestALostJobIsFoundAndItsResultComesHome(t *testing.T) {
	t.Parallel()
	onStores(t, sandbox.Options{}, func(t *testing.T, w *world) {
		faults := []string{sandbox.AcceptCut, sandbox.Accept500, sandbox.NoID, sandbox.BlankID, sandbox.HalfAnswer, sandbox.HTML}
		for _, fault := range faults {
			w.prepare(fault, fault)
		}
		stop := w.start()
		for _, id := range faults {
			op := w.await(id, "the lost job is delivered", delivered)
			if ids := w.remote.Counts()[id].IDs; len(ids) != 1 || op.RemoteJobID != ids[0] {
				t.Errorf("%s holds %q, the remote created %q", id, op.RemoteJobID, ids)
			}
			if diff := cmp.Diff([]string{fmt.Sprintf("matched by /op = %q", id)}, w.told(id, "investigate_found")); diff != "" {
				t.Error(diff)
			}
			if kept := w.evidence(id, machine.EvidenceInvestigation); len(kept) != 1 || !strings.Contains(string(kept[0].Detail), op.RemoteJobID) {
				t.Errorf("%s: what the remote answered is kept as %+v", id, kept)
			}
		}
		stop()
		w.sentOnce(faults...)
	})
}

// Contract D4: that nothing is found is recorded each time, with growing pauses that a new process goes on with, and in
// the end a reviewer is asked. It sends nothing, and no row says that it proves anything.
func TestNothingFoundIsRecordedUntilAReviewerIsAsked(t *testing.T) {
	t.Parallel()
	onStores(t, sandbox.Options{}, func(t *testing.T, w *world) {
		w.config.LookAgain = []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}
		w.prepare(sandbox.Error500, "a")
		for n := 1; n < 5; n++ { // each look is another process's
			w.work("a", "it is looked for", func(machine.Operation) bool { return len(w.told("a", "investigate_inconclusive")) >= n })
		}
		op := w.work("a", "a reviewer is asked", forReview)
		if diff := cmp.Diff([]any{"unclear_answer", "", "", time.Time{}, false}, []any{op.UncertainReason, op.RemoteJobID, op.LateRemoteJobID, op.DueAt, op.Marked()}); diff != "" {
			t.Error(diff)
		}
		const nothing = "nothing was found; nothing was found; that is no proof that nothing was created"
		if diff := cmp.Diff([]string{nothing, nothing, nothing, nothing, nothing}, w.told("a", "investigate_inconclusive")); diff != "" {
			t.Error(diff)
		}
		if kept := w.evidence("a", machine.EvidenceInvestigation); len(kept) != 5 || !strings.Contains(string(kept[0].Detail), `{"data":[]}`) {
			t.Errorf("what the remote answered is kept as %+v", kept)
		}
		if n := w.count("list"); n != 5 {
			t.Errorf("the remote was asked for its list %d times, want 5", n)
		}
		w.sentOnce("a")
	})
}

// Contract D4: the default pauses as the row has them: the due time lies 1m, 5m, 30m and 2h after each look.
func TestTheDefaultScheduleIsInTheRow(t *testing.T) {
	t.Parallel()
	onStores(t, sandbox.Options{}, func(t *testing.T, w *world) {
		w.prepare(sandbox.Error500, "a")
		op := w.work("a", "it is looked for", looksLater)
		if got := op.DueAt.Sub(op.UpdatedAt); got != time.Minute {
			t.Errorf("the next look is due after %s, want 1m", got)
		}
		w.sentOnce("a")
	})
}

// Contract D4: several jobs that name the operation are evidence, mark it, and stand before a reviewer at once; nobody
// may say of it any more that nothing was created.
func TestSeveralJobsOfOneOperationMarkIt(t *testing.T) {
	t.Parallel()
	onStores(t, sandbox.Options{}, func(t *testing.T, w *world) {
		w.answers(http.MethodGet, "/v1/generations", 200, func() string {
			return `{"data":[{"id":"job-1","op":"a"},{"id":"job-0","op":"b"},{"id":"job-2","op":"a"}]}`
		})
		w.prepare(sandbox.Error500, "a")
		op := w.work("a", "a reviewer is asked", forReview)
		if diff := cmp.Diff([]any{true, "", "job-1"}, []any{op.DuplicateSuspected, op.RemoteJobID, op.LateRemoteJobID}); diff != "" {
			t.Error(diff)
		}
		var ids []string
		for _, e := range w.evidence("a", machine.EvidenceAccepted) {
			ids = append(ids, e.RemoteJobID)
		}
		if diff := cmp.Diff([]string{"job-1", "job-2"}, ids); diff != "" {
			t.Error(diff)
		}
		_, err := w.machine.ReviewNotCreated(context.Background(), "a", machine.Decision{Seen: op.Seen(), Reviewer: "ann", Reason: "sure"}, true)
		if denied, ok := machine.IsDenied(err); !ok || !denied.Only("no_late_remote_job_id") {
			t.Errorf("sending again was not denied: %v", err)
		}
		w.sentOnce("a")
	})
}

// Contract D4: what is no whole list of jobs is an error and inconclusive, whatever the remote does; a list of 5 MB is
// read whole, and what is kept of it is bounded.
func TestWhatIsNoListIsInconclusiveAndALongOneIsReadWhole(t *testing.T) {
	t.Parallel()
	onStores(t, sandbox.Options{}, func(t *testing.T, w *world) {
		others := strings.Repeat(fmt.Sprintf(`{"id":%q,"op":"b"},`, strings.Repeat("x", 1000)), 5000)
		w.config.LookAgain = []time.Duration{10 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond}
		turn := 0
		w.answers(http.MethodGet, "/v1/generations", 200, func() string {
			turn++
			return []string{"<html>", `{"data":null}`, `{"data":[{"op":"a"}]}`, `{"data":[` + others + `{"id":"job-1","op":"a","urls":{}}]}`}[min(turn, 4)-1]
		})
		w.prepare(sandbox.Error500, "a")
		op := w.work("a", "the job is attached", func(op machine.Operation) bool { return op.RemoteJobID != "" })
		if op.RemoteJobID != "job-1" {
			t.Errorf("the operation holds %q", op.RemoteJobID)
		}
		told := w.told("a", "investigate_inconclusive")
		for i, want := range []string{"the body is not exactly one JSON value", "is no list", "its id cannot be read"} {
			if len(told) != 3 || !strings.Contains(told[i], want) || !strings.HasPrefix(told[i], "the look failed; ") {
				t.Fatalf("look %d: want %q in %q", i+1, want, told)
			}
		}
		for _, e := range w.evidence("a", machine.EvidenceInvestigation) {
			if len(e.Detail) > 65<<10 {
				t.Errorf("%d bytes are kept", len(e.Detail))
			}
		}
		w.sentOnce("a")
	})
}

// Contract D4, B8: a job that names another operation is not this one's, and one that another operation holds is not
// attached a second time but kept as evidence.
func TestAnotherOperationsJobIsNotAttached(t *testing.T) {
	t.Parallel()
	onStores(t, sandbox.Options{}, func(t *testing.T, w *world) {
		w.prepare(sandbox.AcceptCut, "a")
		held := w.work("a", "the first is delivered", delivered).RemoteJobID
		w.answers(http.MethodGet, "/v1/generations", 200, func() string {
			return fmt.Sprintf(`{"data":[{"id":"job-9","op":"c"},{"id":%q,"op":"b"}]}`, held)
		})
		w.prepare(sandbox.Error500, "b")
		op := w.work("b", "it is left to a reviewer", func(op machine.Operation) bool {
			return op.Phase == transitions.Uncertain && op.NextAction == transitions.Review
		})
		if op.RemoteJobID != "" || op.LateRemoteJobID != held || op.Marked() {
			t.Errorf("the second holds %q and %q, marked %t; want the first's as a late one, past which nothing is sent", op.RemoteJobID, op.LateRemoteJobID, op.Marked())
		}
		told := w.told("b", "investigate_inconclusive")
		if len(told) != 2 || !strings.HasPrefix(told[0], "another operation holds the find; ") || !strings.HasPrefix(told[1], "an id came to light; ") {
			t.Errorf("told: %q", told)
		}
		looked, named := w.evidence("b", machine.EvidenceInvestigation), w.evidence("b", machine.EvidenceAccepted)
		if len(looked) != 1 || len(named) != 1 || named[0].RemoteJobID != held {
			t.Errorf("kept: %+v and %+v", looked, named)
		}
		w.sentOnce("a", "b")
	})
}

// Contract D4, A6, E2: an investigator that died holds the operation no longer than its lease; whoever takes it over
// looks, and what the dead one says after all changes nothing.
func TestADeadInvestigatorIsTakenOver(t *testing.T) {
	t.Parallel()
	onStores(t, sandbox.Options{}, func(t *testing.T, w *world) {
		ctx := context.Background()
		lister := w.config.Handlers
		w.config.Handlers = map[string]worker.Handler{"video": mute{w.handler}}
		w.prepare(sandbox.AcceptCut, "a")
		w.work("a", "it is uncertain", func(op machine.Operation) bool { return op.Phase == transitions.Uncertain })
		dead, err := w.engine(machine.Config{TTL: time.Second}).Claim(ctx, transitions.Investigate, "a", w.config.Who)
		if err != nil {
			t.Fatal(err)
		}
		w.config.Handlers = lister
		op := w.work("a", "another finds the job", delivered)
		if claims := w.told("a", "investigate_claim"); len(claims) != 2 || op.Revision <= dead.Revision {
			t.Errorf("%d claims to look, revision %d after %d", len(claims), op.Revision, dead.Revision)
		}
		for name, late := range map[string]func() (machine.Operation, error){
			"found":        func() (machine.Operation, error) { return w.machine.Found(ctx, dead, "job-late", nil, "a guess") },
			"inconclusive": func() (machine.Operation, error) { return w.machine.Inconclusive(ctx, dead, time.Minute, "late", "") },
		} {
			if _, err := late(); err == nil {
				t.Errorf("%s was stored under a lease that was gone", name)
			} else if _, denied := machine.IsDenied(err); !denied {
				t.Error(err)
			}
		}
		if now := w.op("a"); now.RemoteJobID != op.RemoteJobID || now.Delivery != "delivered" {
			t.Errorf("it is now %s with %q", now.Phase, now.RemoteJobID)
		}
		w.sentOnce("a")
	})
}
