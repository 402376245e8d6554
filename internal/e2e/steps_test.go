package e2e

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/worker"
)

// Where an operation is once everybody has done what they can without a person.
const (
	home     = "delivered"
	noAnswer = "uncertain no_response"
	notSent  = "prepared"
	// The loops of the program go on while one of them is held, and may have gone further by the time of its end.
	onItsWay = "submitted or further"
)

// further are the places of an operation whose remote job id is stored.
var further = []string{"submitted", "observing", "terminal pending", "delivering pending", home}

// step is a moment of an operation's way from its claim to its result, and what becomes of the operation when the
// program that is at it …
type step struct {
	name       string
	sent       int    // requests that the remote has counted by then
	killed     string // … is killed, and started again
	stopped    string // … is stopped, another takes over and is done, and it goes on
	terminated string // … is told to end, and does
	review     string // how a person settles what is uncertain then
}

var steps = []step{
	{name: worker.StepTaken, sent: 0, killed: home, stopped: home, terminated: notSent},
	{name: worker.StepClaimed, sent: 0, killed: home, stopped: home, terminated: notSent},
	{name: worker.StepBegun, sent: 0, killed: noAnswer, stopped: noAnswer, terminated: onItsWay, review: notCreated},
	{name: stepSent, sent: 1, killed: noAnswer, stopped: home, terminated: onItsWay, review: attach},
	{name: worker.StepAnswered, sent: 1, killed: noAnswer, stopped: home, terminated: onItsWay, review: abandon},
	{name: worker.StepStored, sent: 1, killed: home, stopped: home, terminated: onItsWay},
	{name: worker.StepRead, sent: 1, killed: home, stopped: home, terminated: onItsWay},
	{name: worker.StepObserved, sent: 1, killed: home, stopped: home, terminated: onItsWay},
	{name: stepFetching, sent: 1, killed: home, stopped: home, terminated: onItsWay},
	{name: worker.StepWritten, sent: 1, killed: home, stopped: home, terminated: home},
	{name: worker.StepDelivered, sent: 1, killed: home, stopped: home, terminated: home},
}

// mishaps are what happens to the program at a step. Each returns where the operation then is to be.
var mishaps = []struct {
	name   string
	lease  string // of the program that it happens to: short only where it has to end by that program's own clock
	happen func(*ordeal) (want string)
}{
	{"killed", "30s", (*ordeal).killed},
	{"stopped", "5s", (*ordeal).stopped},
	{"terminated", "30s", (*ordeal).terminated},
	{"cut off from its database", "30s", (*ordeal).cutOff},
}

// ordeal is one operation that meets one mishap at one step.
type ordeal struct {
	*site
	step  step
	place *place
	first *process // the program that comes to the step
}

const only = "op-00000"

// Whatever happens to the program at whatever step of an operation's way, the remote counts one request, the operation
// is delivered, or uncertain where nobody can know, and a person's decision brings that to its end (contract E1, E2,
// B2, B3, B5, B6, B9, C1; lifecycle invariants 1 and 7). Each on one of the databases, and on both with
// FENCEROW_TEST_LONG=1.
func TestWhateverHappensAtAnyStepTheRemoteCountsOneRequest(t *testing.T) {
	t.Parallel()
	together(t, func(run func(name string, test func(*testing.T))) {
		for i, p := range places {
			for j, m := range mishaps {
				for k, st := range steps {
					if !long() && (j+k)%len(places) != i {
						continue
					}
					if m.name == "terminated" && st.name == worker.StepDelivered {
						continue // everything is done there: the program ends by itself, and may before it is told to
					}
					run(fmt.Sprintf("%s/%s/%s", p.name, m.name, st.name), func(t *testing.T) {
						o := ordealAt(t, p.make, st, m.lease)
						o.isNow(m.happen(o))
						o.review()
						o.soundNow()
					})
				}
			}
		}
	})
}

// long reports whether what is run on one of the databases is to be run on each.
func long() bool { return os.Getenv("FENCEROW_TEST_LONG") == "1" }

// together runs subtests beside each other, more of them than there are processors: most of the time each waits for a
// lease to lapse.
func together(t *testing.T, all func(run func(name string, test func(*testing.T)))) {
	var running sync.WaitGroup
	atOnce := make(chan struct{}, 12)
	all(func(name string, test func(*testing.T)) {
		running.Go(func() {
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			t.Run(name, test)
		})
	})
	running.Wait()
}

// newOrdeal starts the program and returns when it is at the step; nil if its lease was over before.
func newOrdeal(t testing.TB, p *place, st step, lease string, flags ...string) *ordeal {
	t.Helper()
	s := newSite(t, p.url, quick)
	s.gate = gateAt(st.name)
	s.uninvestigated("timeout: 5s", "timeout: 2s", "every: 200ms", "every: 50ms")
	s.requests(1)
	o := &ordeal{site: s, step: st, place: p}
	o.first = o.armed(o.args(lease, flags...)...)
	if s.came(o.first) {
		return o
	}
	// On a busy machine a short lease may be over before the step: that is another ordeal, and no fault.
	if now := o.now(); !strings.HasPrefix(now, "uncertain") || s.remote.Counts()[only].Received > 1 {
		t.Fatalf("the program ended with %d before the step %q; the operation is %s\n%s", o.first.status, st.name, now, tail(o.first.output()))
	}
	t.Logf("the lease of %s was over before the step %q; once more", lease, st.name)
	return nil
}

// ordealAt is newOrdeal, as often as it takes to get to the step.
func ordealAt(t testing.TB, at func(testing.TB) *place, st step, lease string, flags ...string) *ordeal {
	t.Helper()
	for range 5 {
		if o := newOrdeal(t, at(t), st, lease, flags...); o != nil {
			return o
		}
	}
	t.Fatalf("five times the lease of %s was over before the step %q", lease, st.name)
	return nil
}

func (o *ordeal) args(lease string, flags ...string) []string {
	return append([]string{
		"run", "requests.jsonl", "--provider", "api.yaml", "--out", "out", "--lease", lease, "--poll", "100ms",
		"--workers", "2", "--drain", "20s",
	}, flags...)
}

// uninvestigated writes the provider file without its way of looking for a lost job: what it would settle is to be
// seen here.
func (s *site) uninvestigated(replace ...string) {
	s.Helper()
	s.provider(replace...)
	text, err := os.ReadFile(s.path("api.yaml"))
	if err != nil {
		s.Fatal(err)
	}
	s.write("api.yaml", regexp.MustCompile(`(?m)^investigate:.*\n(^[ #].*\n)*`).ReplaceAll(text, nil))
}

// armed starts the program that asks at each step whether it may take it, on the way to the database that can be cut.
func (o *ordeal) armed(args ...string) *process {
	o.Helper()
	path, err := armed()
	if err != nil {
		o.Fatal(err)
	}
	return o.startProgram(path, []string{"FENCEROW_DB=" + o.place.cutURL, variable + "=" + o.url + stepPath}, args...)
}

// again runs the program to its end, as a person does who finds that it is gone.
func (o *ordeal) again() {
	o.Helper()
	p := o.start(o.args("10s")...)
	o.ends(p, map[bool]int{true: 0, false: 3}[o.awaitEnd(p) == home])
}

func (o *ordeal) awaitEnd(p *process) string {
	o.Helper()
	o.wait(p, time.Minute)
	return o.now()
}

func (o *ordeal) ends(p *process, want int) {
	o.Helper()
	if got := o.wait(p, time.Minute); got != want {
		o.Errorf("the program ended with %d, want %d; the operation is %s\n%s", got, want, o.now(), tail(p.output()))
	}
}

// killed ends the dead program's leases by hand, which is as good as waiting for them: it has no clock any more.
func (o *ordeal) killed() string {
	o.first.kill9()
	if err := o.exec("UPDATE fencerow_operations SET lease_until = updated_at WHERE lease_until IS NOT NULL"); err != nil {
		o.Fatal(err)
	}
	o.again()
	return o.step.killed
}

// stopped has another program do what it can, lets what the remote holds come, and then lets the first one go on.
func (o *ordeal) stopped() string {
	o.freeze(o.first)
	o.again()
	o.gate.open()
	_ = o.first.Process.Signal(syscall.SIGCONT)
	o.ends(o.first, map[bool]int{true: 0, false: 3}[o.step.stopped == home])
	return o.step.stopped
}

func (o *ordeal) terminated() string {
	o.tellToEnd()
	o.gate.open()
	o.hasEnded(o.step.terminated)
	o.again()
	return home
}

func (o *ordeal) tellToEnd() {
	o.Helper()
	_ = o.first.Process.Signal(syscall.SIGTERM)
	awaitLine(o.TB, o.first, "stopping", time.Minute)
}

// hasEnded waits until the program has drained, and checks where it left the operation: nothing is held any more.
func (o *ordeal) hasEnded(want string) {
	o.Helper()
	status := o.wait(o.first, time.Minute)
	o.isNow(want)
	clean := 130
	switch now := o.now(); {
	case now == home:
		clean = 0
	case strings.HasPrefix(now, "uncertain"):
		clean = 3
	}
	if status != clean {
		o.Errorf("the program ended with %d, want %d; the operation is %s\n%s", status, clean, o.now(), tail(o.first.output()))
	}
	op := o.operation()
	if diff := cmp.Diff([]any{"", op.Delivery == "delivered"}, []any{op.LeaseOwner, op.DeliveryAttempts > 0}); diff != "" {
		o.Errorf("who holds it, and whether attempts to deliver are used up (-want +got):\n%s", diff)
	}
}

// cutOff has the database away until the program has noticed. Its lease lives on, so that it loses nothing.
func (o *ordeal) cutOff() string {
	o.place.cut()
	o.gate.open()
	o.awaitTrouble()
	o.place.heal()
	o.ends(o.first, 0)
	return home
}

// awaitTrouble waits until the program says that its database does not answer or does not do its work, or has ended.
func (o *ordeal) awaitTrouble() {
	o.Helper()
	for deadline := time.After(time.Minute); !strings.Contains(o.first.output(), "does not"); {
		select {
		case <-o.first.lines:
		case <-o.first.ended:
			return
		case <-deadline:
			o.Fatalf("the program does not say that its database is away:\n%s", tail(o.first.output()))
		}
	}
}

// isNow checks where the operation is, and that the remote counted no more than it had.
func (o *ordeal) isNow(want string) {
	o.Helper()
	now := o.now()
	if want == onItsWay && slices.Contains(further, now) {
		now = onItsWay
	}
	if diff := cmp.Diff(want, now); diff != "" {
		o.Errorf("where the operation is (-want +got):\n%s%s\n%s", diff, o.stdout("show", only), tail(o.first.output()))
	}
	count := o.remote.Counts()[only].Received
	if most := max(o.step.sent, map[bool]int{true: 0, false: 1}[want == notSent || want == noAnswer]); count > most {
		o.Errorf("the remote counts %d requests, want at most %d", count, most)
	}
}

// now says where the operation is, in the words of the table.
func (o *ordeal) now() string {
	o.Helper()
	op := o.operation()
	switch {
	case op.Delivery == "delivered":
		return home
	case op.Outcome != "" && op.Outcome != "succeeded":
		return op.Outcome
	}
	return strings.TrimSpace(op.Phase + " " + op.UncertainReason + op.Delivery)
}

func (o *ordeal) operation() machine.Operation {
	o.Helper()
	store := o.open()
	rows, err := store.Get(context.Background(), only)
	if err != nil || len(rows) != 1 {
		o.Fatalf("reading the operation: %d rows, %v", len(rows), err)
	}
	return machine.OperationOf(store.Program(), rows[0])
}

// soundNow checks the operation at its end: against the remote, its history, and its file.
func (o *ordeal) soundNow() {
	o.Helper()
	m, err := machine.New(o.open(), machine.Config{})
	if err != nil {
		o.Fatal(err)
	}
	findings, err := m.Audit(context.Background(), only)
	if err != nil || len(findings) > 0 {
		o.Errorf("audit says %v, %v", findings, err)
	}
	op := o.operation()
	o.checkAgainstTheRemote([]string{only}, map[string]operation{only: {
		ID: only, Phase: op.Phase, Outcome: op.Outcome, Delivery: op.Delivery, RemoteJobID: op.RemoteJobID,
		UncertainReason: op.UncertainReason, Attempts: int(op.Attempts), ObjectKey: op.ObjectKey,
	}})
}
