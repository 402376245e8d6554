package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow/provider/sandbox"
)

// A dispatcher is stopped after the remote has counted its request, another process takes over, and the first wakes up:
// the remote counts one request, and in the end the remote's own job is attached and its result comes home (contract
// B5, B6; acceptance 5; report B40).
func TestAPausedDispatchersLateAnswerIsAttached(t *testing.T) {
	for _, db := range databases {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			o := quick
			o.SlowFor = 300 * time.Millisecond
			s := newSite(t, db.url(t, t.TempDir()), o)
			s.provider("timeout: 5s", "timeout: 1s")
			ids := s.requests(1, sandbox.Slow)
			flags := []string{"--provider", "api.yaml", "--out", "out", "--lease", "1500ms", "--poll", "100ms"}
			if status, output := s.run(time.Minute, "prepare", "requests.jsonl", "--provider", "api.yaml"); status != 0 {
				t.Fatalf("prepare ended with %d\n%s", status, output)
			}
			paused := s.start(append([]string{"work"}, flags...)...)
			for s.remote.Counts()[ids[0]].Accepted == 0 {
				<-time.After(5 * time.Millisecond)
			}
			_ = paused.Process.Signal(syscall.SIGSTOP)
			s.start(append([]string{"work"}, flags...)...)
			s.until("the submission has lapsed", func(op operation) bool { return op.Phase == "uncertain" })
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
	deadline := time.Now().Add(30 * time.Second)
	for {
		op := s.list()["op-00000"]
		if done(op) {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s: not within 30s; the operation is %+v\n%s", what, op, s.stdout("show", "op-00000"))
		}
		<-time.After(100 * time.Millisecond)
	}
}
