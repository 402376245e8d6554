package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow/provider/sandbox"
)

// A wrong key on a file of a thousand requests sends few, rejects none, says what to do, and the file goes on when the
// key is right (contract B10).
func TestAWrongKeySendsFewAndRejectsNone(t *testing.T) {
	t.Parallel()
	o := quick
	o.APIKey = "the-right-key"
	s := newSite(t, databases[0].url(t, t.TempDir()), o)
	s.provider()
	ids := s.requests(1000)
	s.key = "a-wrong-key"
	args := []string{"run", "requests.jsonl", "--provider", "api.yaml", "--out", "out", "--workers", "16"}
	p := s.start(args...)
	awaitLine(t, p, "401", 30*time.Second)
	awaitLine(t, p, "in a row", 30*time.Second)
	_ = p.Process.Signal(syscall.SIGTERM)
	if status := s.wait(p, time.Minute); status != 130 {
		t.Errorf("run ended with %d after SIGTERM, want 130\n%s", status, tail(p.output()))
	}
	received := 0
	for _, c := range s.remote.Counts() {
		received += c.Received
	}
	if limit := 5 + 16; received == 0 || received > limit {
		t.Errorf("the remote received %d requests with a wrong key, want 1 to %d", received, limit)
	}
	for id, op := range s.list() {
		if op.Phase != "prepared" {
			t.Fatalf("%s is %s %s, want prepared: a wrong key rejects nothing", id, op.Phase, op.Outcome)
		}
	}
	if strings.Contains(p.output(), "a-wrong-key") {
		t.Error("the key stands in the output")
	}
	s.key = "the-right-key"
	if status, output := s.run(3*time.Minute, args...); status != 0 {
		t.Errorf("run ended with %d with the right key, want 0\n%s", status, tail(output))
	}
	s.check(ids)
}

// A remote that accepts and cuts every connection leaves few uncertain.
func TestARemoteThatCutsEveryConnectionLeavesFewUncertain(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases[0].url(t, t.TempDir()), quick)
	s.uninvestigated()
	ids := s.requests(1000, sandbox.AcceptCut)
	p := s.start("run", "requests.jsonl", "--provider", "api.yaml", "--out", "out", "--workers", "16")
	awaitLine(t, p, "in a row", 30*time.Second)
	_ = p.Process.Signal(syscall.SIGTERM)
	status := s.wait(p, time.Minute)
	uncertain := 0
	for _, op := range s.list() {
		if op.Phase == "uncertain" {
			uncertain++
		}
	}
	if limit := 5 + 16; uncertain == 0 || uncertain > limit {
		t.Errorf("%d operations are uncertain, want 1 to %d\n%s", uncertain, limit, tail(p.output()))
	}
	if status != 130 {
		t.Errorf("run ended with %d after SIGTERM, want 130\n%s", status, tail(p.output()))
	}
	counts := s.remote.Counts()
	for _, id := range ids {
		if c := counts[id]; c.Accepted > 1 {
			t.Errorf("%s: the remote accepted %d requests", id, c.Accepted)
		}
	}
}
