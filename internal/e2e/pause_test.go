package e2e

import (
	"syscall"
	"testing"
	"time"
)

// A dispatcher is stopped after the remote has counted its request, another process takes over, the answer comes, and
// the first wakes up: the remote counts one request, and in the end the remote's own job is attached and its result
// comes home (contract B5, B6; acceptance 5; report B40).
func TestAPausedDispatchersLateAnswerIsAttached(t *testing.T) {
	for _, db := range databases {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, db.url(t, t.TempDir()), quick)
			s.gate = gateAt(stepSent)
			s.uninvestigated("timeout: 5s", "timeout: 2s")
			ids := s.requests(1)
			flags := []string{"--provider", "api.yaml", "--out", "out", "--poll", "100ms"}
			if status, output := s.run(time.Minute, "prepare", "requests.jsonl", "--provider", "api.yaml"); status != 0 {
				t.Fatalf("prepare ended with %d\n%s", status, output)
			}
			paused := s.start(append([]string{"work", "--lease", "3s"}, flags...)...)
			s.awaitGate(paused)
			s.freeze(paused)
			s.start(append([]string{"work", "--lease", "10s"}, flags...)...)
			s.until("the submission has lapsed", func(op operation) bool { return op.Phase == "uncertain" })
			s.gate.open()
			_ = paused.Process.Signal(syscall.SIGCONT)
			s.until("the late answer is attached and delivered", func(op operation) bool { return op.Delivery == "delivered" })
			s.check(ids)
			if n := s.remote.Counts()[ids[0]].Received; n != 1 {
				t.Errorf("the remote received %d requests, want 1", n)
			}
		})
	}
}

// until waits until the first operation is as a test wants it.
func (s *site) until(what string, done func(operation) bool) {
	s.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		op := s.list()["op-00000"]
		if done(op) {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s: not within a minute; the operation is %+v\n%s", what, op, s.stdout("show", "op-00000"))
		}
		<-time.After(100 * time.Millisecond)
	}
}
