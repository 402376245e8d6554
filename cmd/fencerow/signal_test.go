package main

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow/provider/sandbox"
)

// process starts the program as a process of its own.
func (c *cli) process(args ...string) (*exec.Cmd, *bytes.Buffer) {
	c.Helper()
	self, err := os.Executable()
	if err != nil {
		c.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "FENCEROW_DB="+c.db)
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, &stderr
}

func (c *cli) until(done func() bool) {
	c.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); {
		if time.Now().After(end) {
			c.Fatal("what was waited for did not come")
		}
		time.Sleep(5 * time.Millisecond) // sleep: another process is looked at
	}
}

func TestTheFirstSignalDrainsAndExitsWith130(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		c := newCLI(t).withRemote(sandbox.Options{SlowFor: 300 * time.Millisecond})
		cmd, stderr := c.process(c.runFile(c.file("in.jsonl", request("a", sandbox.Slow)))...)
		c.until(func() bool { return c.received() == 1 })
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("%s: want exit code 130, got %d\n%s", signal, code, stderr)
		}
		if got := c.lines(c.want(exitOK, "list", "--json").stdout); got[0]["remote_job_id"] == nil {
			t.Errorf("%s: the answer that was on its way was not stored: %v", signal, got)
		}
	}
}

func TestASecondSignalEndsTheProgramAtOnce(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	cmd, stderr := c.process(c.runFile(c.file("in.jsonl", request("a", sandbox.Stall)))...)
	c.until(func() bool { return c.received() == 1 })
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	for {
		select {
		case _ = <-ended:
			if code := cmd.ProcessState.ExitCode(); code != exitError || time.Since(began) > 4*time.Second {
				t.Errorf("want exit code 1 before the request's own timeout, got %d after %s\n%s", code, time.Since(began), stderr)
			}
			c.contains(stderr.String(), "ended at once")
			return
		case <-time.After(200 * time.Millisecond):
			_ = cmd.Process.Signal(syscall.SIGTERM) // the first one must have been heard before the second
		}
	}
}
