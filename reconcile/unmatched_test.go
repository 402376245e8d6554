package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/reconcile"
	"github.com/fencerow/fencerow/transitions"
)

var told = machine.Who{Provider: "video"}

// tell notes an end of a remote job that nobody holds yet.
func tell(t *testing.T, m *machine.Machine, id, says string) {
	t.Helper()
	done, err := m.Notify(t.Context(), machine.Notice{Who: told, RemoteJobID: id, Says: says, Snapshot: []byte(says)})
	if err != nil || done.Fate != machine.NoticeUnmatched {
		t.Fatalf("%s of %s: %v, %v; want it kept", says, id, done.Fate, err)
	}
}

// attach gives every lapsed operation the job of its name.
func attach(t *testing.T, m *machine.Machine) {
	t.Helper()
	lapsed, err := m.Sweep(t.Context(), "submit_lapsed", 2000)
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range lapsed {
		if _, err := m.ReviewAttach(t.Context(), op.OperationID, "job-"+op.OperationID, machine.Decision{Seen: op.Seen(), Reviewer: "ann", Reason: "found"}); err != nil {
			t.Fatal(err)
		}
	}
}

func reconciler(t *testing.T, m *machine.Machine) *reconcile.Reconciler {
	t.Helper()
	r, err := reconcile.New(m, reconcile.Options{Interval: time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What was told before the id landed is fired once, whoever stored the id and then died; what has no holder, is no end,
// or is the end already, moves nothing (B58).
func TestWhatWasToldEarlyIsMatchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{Store: machine.NewMemory(transitions.MustCompile(transitions.Standard()))}
		m := begun(t, store, "a", "b", "c", "d")
		for id, says := range map[string]string{"job-a": "succeeded", "job-b": "failed", "job-c": "pending", "job-nobodys": "succeeded"} {
			tell(t, m, id, says)
		}
		time.Sleep(11 * time.Second) // sleep: synthetic time, until the leases are over
		attach(t, m)
		r := reconciler(t, m)
		store.jobs = 0
		moved, err := r.Once(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, e := range moved {
			for _, op := range e.Operations {
				got[e.Event] = append(got[e.Event], op.OperationID)
			}
		}
		if diff := cmp.Diff(map[string][]string{"notified_succeeded": {"a"}, "notified_failed": {"b"}}, got); diff != "" {
			t.Errorf("moved (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]string{"a": "terminal", "b": "terminal", "c": "submitted", "d": "submitted"}, phases(t, m)); diff != "" {
			t.Errorf("phases (-want +got):\n%s", diff)
		}
		if moved, err := r.Once(t.Context()); err != nil || len(moved) != 0 {
			t.Errorf("the second time moved %v, %v; want nothing", moved, err)
		}
		if store.jobs != 2 {
			t.Errorf("%d jobs were looked into, want the two that wait", store.jobs)
		}
	})
}

// An end that contradicts the one that was told first is kept as evidence of the operation, also where the reconciler
// finds only the contradiction.
func TestAContradictionThatWasToldEarlyIsNotedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := begun(t, machine.NewMemory(transitions.MustCompile(transitions.Standard())), "a")
		tell(t, m, "job-a", "failed")
		time.Sleep(11 * time.Second) // sleep: synthetic time, until the lease is over
		attach(t, m)
		l, err := m.Claim(t.Context(), transitions.Observe, "a", told)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Observed(t.Context(), l, "succeeded", []byte("done"), ""); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := reconciler(t, m).Once(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		op, err := m.Get(t.Context(), "a")
		if err != nil || op.Outcome != "succeeded" || !op.OutcomeContradicted || op.EvidenceSeq != 1 {
			t.Errorf("outcome %s, contradicted %t, evidence %d, %v; want succeeded, marked, with one piece", op.Outcome, op.OutcomeContradicted, op.EvidenceSeq, err)
		}
	})
}

// Run comes by everything in time, however much no operation holds, and reads only a part at once.
func TestRunComesByAllThatWasToldEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := &counting{Store: machine.NewMemory(transitions.MustCompile(transitions.Standard()))}
		m := begun(t, memory, "a")
		for n := range 12_000 {
			if err := memory.NoteUnmatched(t.Context(), machine.EvidenceEntry{Provider: "video", Kind: "ended_failed", RemoteJobID: fmt.Sprintf("nobodys-%d", n)}); err != nil {
				t.Fatal(err)
			}
		}
		tell(t, m, "job-a", "succeeded")
		time.Sleep(11 * time.Second) // sleep: synthetic time, until the lease is over
		attach(t, m)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		go reconciler(t, m).Run(ctx)
		synctest.Wait()
		if memory.pages > 20 {
			t.Errorf("the first sweep read %d pages of evidence, want at most 20", memory.pages)
		}
		<-ctx.Done()
		synctest.Wait()
		if diff := cmp.Diff(map[string]string{"a": "terminal"}, phases(t, m)); diff != "" {
			t.Errorf("phases (-want +got):\n%s", diff)
		}
	})
}

// counting counts the pages of evidence that are read, and the jobs whose evidence is.
type counting struct {
	machine.Store
	pages, jobs int
	err         error
}

func (c *counting) EvidenceNaming(ctx context.Context, provider, account, id string) ([]machine.EvidenceEntry, error) {
	c.jobs++
	return c.Store.EvidenceNaming(ctx, provider, account, id)
}

func (c *counting) Unmatched(ctx context.Context, q machine.UnmatchedQuery) ([]machine.Unmatched, error) {
	c.pages++
	if c.err != nil {
		return nil, c.err
	}
	return c.Store.Unmatched(ctx, q)
}

// Evidence that cannot be read does not keep the sweeps from running, and is told.
func TestEvidenceThatCannotBeReadIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("the server refused the connection")
		m := begun(t, &counting{Store: machine.NewMemory(transitions.MustCompile(transitions.Standard())), err: away}, "a")
		time.Sleep(11 * time.Second) // sleep: synthetic time, until the lease is over
		moved, err := reconciler(t, m).Once(t.Context())
		if !errors.Is(err, away) || len(moved) != 1 {
			t.Errorf("moved %v, %v; want the lapsed submission, and the error", moved, err)
		}
	})
}
