package reports_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// lapse waits until an operation's lease is over by the database's clock.
func (s *stand) lapse(id string) {
	s.Helper()
	await(s, "the lease is over", func() bool { return s.now().After(s.op(id).LeaseUntil) })
}

// B40: a process that is stopped between its claim and the intent to send, and wakes up when another holds the
// operation, sends nothing, also where its own watch does not know yet that its lease is over. The one request is the
// other's (fence of submit_begin: owner and revision; B1).
func TestB40AProcessThatWakesUpUnderAnothersLeaseSendsNothing(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		k := newTill(t)
		s.prepare(requestOf("a"))
		sleeper := s.spawn("work", k.URL, "sleeper", worker.StepClaimed)
		sleeper.awaitOneOf("at " + worker.StepClaimed)
		sleeper.freeze(s)
		s.expire("a")
		other := s.spawn("work", k.URL, "other", worker.StepClaimed)
		other.awaitOneOf("at " + worker.StepClaimed)
		sleeper.proceed(1)
		sleeper.signal(syscall.SIGCONT)
		sleeper.awaitOneOf("was not begun", "was not released")
		sleeper.end()
		if diff := cmp.Diff([]string{}, k.received()); diff != "" {
			t.Errorf("what the remote received from the process that slept (-want +got):\n%s", diff)
		}
		other.proceed(20) // also where it was so slow that it claimed more than once
		await(t, "the answer is stored", func() bool { return s.op("a").RemoteJobID != "" })
		other.end()
		if diff := cmp.Diff([]string{"a by other"}, k.received()); diff != "" {
			t.Errorf("what the remote received (-want +got):\n%s", diff)
		}
		s.sound("a")
	})
}

// B40, the gap that is left: a process that is stopped between the durable intent and the first byte finds its own
// deadline passed when it wakes up, and sends nothing although its handler would; the operation was given to a
// reviewer meanwhile, and what the process knows is kept as evidence (rule: the look at the lease immediately before
// the handler is called, B1; submit_lapsed, B3; evidence, B5).
func TestB40AProcessThatSleptAfterItsIntentSendsNothing(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		k := newTill(t)
		s.prepare(requestOf("a"))
		sleeper := s.spawn("work", k.URL, "sleeper", worker.StepBegun)
		sleeper.awaitOneOf("at " + worker.StepBegun)
		sleeper.freeze(s)
		s.lapse("a")
		if _, err := s.reconciler(10).Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		sleeper.proceed(1)
		sleeper.signal(syscall.SIGCONT)
		await(t, "what the process knows is kept", func() bool { return s.op("a").EvidenceSeq > 0 })
		sleeper.end()
		if diff := cmp.Diff([]string{}, k.received()); diff != "" {
			t.Errorf("what the remote received (-want +got):\n%s", diff)
		}
		evidence, err := s.store.Evidence(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		op := s.op("a")
		got := []string{op.Phase, op.UncertainReason, evidence[0].Kind}
		if diff := cmp.Diff([]string{transitions.Uncertain, "no_response", "late_not_sent"}, got); diff != "" {
			t.Errorf("phase, reason and evidence (-want +got):\n%s", diff)
		}
		s.sound("a")
	})
}

// B39: a process that is killed in the middle of a submission and one that is started in its place under the same name
// have different tokens: the new one neither renews nor finishes nor sends what the dead one held, and what that was is
// uncertain once the lease is over and not before (rules: a token is fresh for every claim; guard lease_vacant of
// submit_lapsed and the schedule, each by itself; B3).
func TestB39AProcessOfTheSameNameIsAnother(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		k := newTill(t)
		s.prepare(requestOf("a"))
		first := s.spawn("work", k.URL, "host:1", worker.StepAnswered)
		first.awaitOneOf("at " + worker.StepAnswered)
		until := s.op("a").LeaseUntil
		first.signal(syscall.SIGKILL)
		<-first.ended
		s.sweeping(s.engine(machine.Config{Label: "host:1"}), longLease.TTL/20)
		second := s.spawn("work", k.URL, "host:1", "")
		s.prepare(requestOf("b"))
		await(t, "the second process sends what is new", func() bool { return s.op("b").RemoteJobID != "" })
		await(t, "the dead one's work is given to a reviewer", func() bool { return s.op("a").Phase == transitions.Uncertain })
		second.end()
		if diff := cmp.Diff([]string{"a by host:1", "b by host:1"}, k.received()); diff != "" {
			t.Errorf("what the remote received (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"prepare", "dispatch_claim", "submit_begin", "submit_lapsed"}, s.events("a")); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		a, b := s.history("a"), s.history("b")
		if at := a[3].At; at.Before(until) {
			t.Errorf("it was given up at %s, before the lease was over at %s", at, until)
		}
		if one, two := a[1].Owner, b[1].Owner; one == two || !strings.HasPrefix(one, "host:1/") || !strings.HasPrefix(two, "host:1/") {
			t.Errorf("the tokens are %q and %q, want two of one name", one, two)
		}
		s.sound("a", "b")
	})
}
