package e2e

import (
	"regexp"
	"syscall"
	"testing"
	"time"
)

// shutdown is the step at which the program is told to end, with what is uncertain then settled in one way.
func shutdown(review string) step { return step{name: stepSent, sent: 1, review: review} }

// drains are ways in which a program ends that is told to while its request is in flight, beside those of the table of
// steps: there it is answered in time.
var drains = []struct {
	name   string
	lease  string
	flags  []string
	review string
	end    func(*ordeal) (want string)
}{
	{"it is never answered", "30s", []string{"--drain", "1s"}, attach, func(o *ordeal) string {
		o.tellToEnd()
		o.hasEnded("uncertain shutdown")
		return "uncertain shutdown"
	}},
	{"its database goes away and comes back before it must leave", "30s", nil, "", func(o *ordeal) string {
		o.tellToEnd()
		o.place.cut()
		o.gate.open()
		o.awaitTrouble()
		o.place.heal()
		o.hasEnded(onItsWay)
		o.again()
		return home
	}},
	{"its database goes away, and the answer comes", "3s", []string{"--drain", "1s"}, attach, func(o *ordeal) string {
		o.tellToEnd()
		o.place.cut()
		o.gate.open()
		o.leavesWithoutADatabase()
		if id := o.loggedJob(); id != o.remote.Counts()[only].IDs[0] {
			o.Errorf("the line about the answer names the remote job %q, want %q:\n%s", id, o.remote.Counts()[only].IDs[0], tail(o.first.output()))
		}
		return noAnswer
	}},
	{"its database goes away, and no answer comes", "3s", []string{"--drain", "1s"}, abandon, func(o *ordeal) string {
		o.tellToEnd()
		o.place.cut()
		o.leavesWithoutADatabase()
		return noAnswer
	}},
	{"it sleeps, another has taken over, and the answer comes", "3s", nil, "", func(o *ordeal) string {
		o.freeze(o.first)
		o.again()
		o.isNow(noAnswer)
		_ = o.first.Process.Signal(syscall.SIGTERM)
		o.gate.open()
		_ = o.first.Process.Signal(syscall.SIGCONT)
		o.hasEnded(onItsWay) // attached by itself: nobody else has to come by
		o.again()
		return home
	}},
}

// A program that is told to end gives its request the drain budget: what is answered is stored, what is not is
// uncertain because of the shutdown, what cannot be stored is in the log, and the operation is nowhere lost (contract
// E1, B5, B9; reports B52, B53).
func TestAProgramThatIsToldToEndKnowsWhatBecameOfItsRequest(t *testing.T) {
	t.Parallel()
	together(t, func(run func(string, func(*testing.T))) {
		for i, p := range places {
			for j, d := range drains {
				if !long() && j%len(places) != i {
					continue
				}
				run(p.name+"/"+d.name, func(t *testing.T) {
					o := ordealAt(t, p.make, shutdown(d.review), d.lease, d.flags...)
					o.isNow(d.end(o))
					o.review()
					o.soundNow()
				})
			}
		}
	})
}

// leavesWithoutADatabase waits until the program has given up, and then has another find what it left.
func (o *ordeal) leavesWithoutADatabase() {
	o.Helper()
	began := time.Now()
	o.ends(o.first, 1)
	if took := time.Since(began); took > 40*time.Second {
		o.Errorf("it left %s after it was told to, with 1s to drain", took)
	}
	o.place.heal()
	o.again()
}

// loggedJob is the remote job in the line about the answer that could not be stored.
func (o *ordeal) loggedJob() string {
	line := regexp.MustCompile(`level=ERROR .*operation=` + only + ` revision=1 remote_job_id=(\S+)`).FindStringSubmatch(o.first.output())
	if line == nil {
		return ""
	}
	return line[1]
}

// What is not begun when the program is told to end is not begun (contract E1).
func TestAProgramThatIsToldToEndSendsNothingMore(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases[0].url(t, t.TempDir()), quick)
	s.gate = gateAt(stepSent)
	s.provider()
	ids := s.requests(20)
	p := s.start("run", "requests.jsonl", "--provider", "api.yaml", "--out", "out", "--workers", "1", "--poll", "50ms")
	s.awaitGate(p)
	_ = p.Process.Signal(syscall.SIGTERM)
	awaitLine(t, p, "stopping", time.Minute)
	s.gate.open()
	if status := s.wait(p, time.Minute); status != 130 {
		t.Errorf("run ended with %d, want 130\n%s", status, tail(p.output()))
	}
	prepared := 0
	for _, op := range s.list() {
		if op.Phase == "prepared" {
			prepared++
		}
	}
	if n := len(s.remote.Counts()); n != 1 || prepared != len(ids)-1 {
		t.Errorf("%d requests were sent and %d of %d operations are prepared, want 1 and all others", n, prepared, len(ids))
	}
}
