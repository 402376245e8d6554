package reports_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/transitions"
)

// B10: the provider file is changed to another address while jobs run at the first one. Nothing of theirs is read at
// the second one, which would say that it knows no such job: they wait for a worker of their own provider and account,
// and where none comes they are overdue, which is a reviewer's, and not failed (guards provider and account of the
// claims; B8).
func TestB10AJobIsReadWhereItWasOrdered(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		first := newShop(t, &shop{tell: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"status":"running"}`)) }})
		second := newShop(t, &shop{tell: func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/job-c") {
				_, _ = w.Write([]byte(`{"status":"succeeded"}`))
				return
			}
			http.NotFound(w, r)
		}})
		before, after := fromFile(t, first.URL), fromFile(t, second.URL)
		s.prepare(at(before, "a"), at(before, "b"))
		w := s.workingFor(before)
		w.config.Every, w.config.MaxEvery = 10*time.Millisecond, 10*time.Millisecond
		stop := w.start()
		await(t, "both run", func() bool { return len(s.op("a").Snapshot) > 0 && len(s.op("b").Snapshot) > 0 })
		stop()
		revision := s.op("a").Revision
		s.prepare(at(after, "c"))
		stop = s.workingFor(after).start()
		s.await(transitions.Terminal, "c")
		stop()
		for _, path := range second.told() {
			if !strings.HasSuffix(path, "/job-c") {
				t.Errorf("the second provider was asked for %s", path)
			}
		}
		if n := s.op("a").Revision; n != revision {
			t.Errorf("a worker of the second provider took a: revision %d after %d", n, revision)
		}
		s.fromNow("b", "observe_deadline", -time.Second)
		if _, err := s.reconciler(10).Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := s.op("b")
		if diff := cmp.Diff([]string{transitions.Uncertain, "overdue", transitions.Review}, []string{b.Phase, b.UncertainReason, b.NextAction}); diff != "" {
			t.Errorf("phase, reason and next action of b (-want +got):\n%s", diff)
		}
		known := len(first.told())
		s.workingFor(before).start()
		await(t, "a is read at the first provider again", func() bool { return len(first.told()) > known })
		first.soldOnce(t, "a", "b")
		second.soldOnce(t, "c")
	})
}

// at is an order as the program prepares it: with the provider and account of the file.
func at(h *httpjob.Handler, id string) machine.Request {
	r := order(id)
	r.Provider, r.Account = h.Spec().Name, h.Spec().Account
	return r
}

// workingFor is a worker for the provider and account of a file, as the program starts it.
func (s *stand) workingFor(h *httpjob.Handler) *team {
	w := s.working(s.machine, h)
	w.config.Who = machine.Who{Provider: h.Spec().Name, Account: h.Spec().Account}
	return w
}

// B12: an uncertain operation has three ways out: its job is found, nothing was created, or it is given up. Each needs
// who decides and why, is denied where the row has moved since it was looked at, and is on record; only the second one
// leads to a request, and that only after the quarantine or over it by name (guards reviewer, reason, the fence seen,
// quarantine_over). The program's verbs for them are tested in cmd/fencerow.
func TestB12AnUncertainOperationHasThreeWaysOut(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		remote := newShop(t, &shop{sell: cutOff})
		ids := []string{"found", "not created", "given up"}
		for _, id := range ids {
			s.prepare(order(id))
		}
		stop := s.working(s.machine, fromFile(t, remote.URL)).start()
		s.await(transitions.Uncertain, ids...)
		stop()
		for id, decide := range s.waysOut() {
			s.refusesToDecide(id, decide)
		}
		if err := moved(s.machine.ReviewNotCreated(t.Context(), "not created", s.decided("not created"), false)); !only(err, "quarantine_over") {
			t.Errorf("within the quarantine it says %v, want that it is not over", err)
		}
		for id, decide := range s.waysOut() {
			if err := decide(s.decided(id)); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			if e := s.last(id); e.Reviewer != "ada" || e.Reason != "looked at the remote" {
				t.Errorf("%s: history says that %q decided because of %q", id, e.Reviewer, e.Reason)
			}
		}
		got := []string{s.op("found").Phase, s.op("not created").Phase, s.op("given up").Outcome}
		if diff := cmp.Diff([]string{transitions.Submitted, transitions.Prepared, "abandoned"}, got); diff != "" {
			t.Errorf("where they lead (-want +got):\n%s", diff)
		}
		s.working(s.machine, fromFile(t, remote.URL)).start()
		s.await(transitions.Uncertain, "not created")
		s.await(transitions.Terminal, "found")
		for id, want := range map[string]int{"found": 1, "not created": 2, "given up": 1} {
			if n := remote.sold(id); n != want {
				t.Errorf("%s: %d requests arrived, want %d", id, n, want)
			}
		}
		s.sound(ids...)
	})
}

// waysOut are the decisions about what is uncertain.
func (s *stand) waysOut() map[string]func(machine.Decision) error {
	ctx := context.Background()
	return map[string]func(machine.Decision) error{
		"found":       func(d machine.Decision) error { return moved(s.machine.ReviewAttach(ctx, "found", "job-7", d)) },
		"not created": func(d machine.Decision) error { return moved(s.machine.ReviewNotCreated(ctx, "not created", d, true)) },
		"given up":    func(d machine.Decision) error { return moved(s.machine.ReviewAbandon(ctx, "given up", d)) },
	}
}

// refusesToDecide checks what a decision needs.
func (s *stand) refusesToDecide(id string, decide func(machine.Decision) error) {
	s.Helper()
	right := s.decided(id)
	for guard, change := range map[string]func(*machine.Decision){
		"reviewer":     func(d *machine.Decision) { d.Reviewer = " " },
		"reason":       func(d *machine.Decision) { d.Reason = "" },
		"revision":     func(d *machine.Decision) { d.Seen.Revision-- },
		"evidence_seq": func(d *machine.Decision) { d.Seen.EvidenceSeq++ },
	} {
		d := right
		change(&d)
		if err := decide(d); !only(err, guard) {
			s.Errorf("%s with a wrong %s says %v, want that alone", id, guard, err)
		}
	}
}

// B12: in the whole table one event leads from uncertain back to where a request is sent, and it is a person's
// (invariant 6).
func TestB12OnlyAPersonsDecisionLeadsBackToASend(t *testing.T) {
	t.Parallel()
	back := []string{}
	for _, rule := range transitions.MustCompile(transitions.Standard()).Rules {
		sendable := rule.To == transitions.Prepared || rule.To == transitions.Submitting
		if sendable && (rule.Any || slices.Contains(rule.From, transitions.Uncertain)) {
			back = append(back, rule.Event)
		}
	}
	if diff := cmp.Diff([]string{"review_not_created"}, back); diff != "" {
		t.Errorf("events that lead back (-want +got):\n%s", diff)
	}
}
