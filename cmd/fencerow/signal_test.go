package main

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

func TestSignalsThatComeTogetherAreOneAndDrain(t *testing.T) {
	t.Parallel()
	// Two of different kinds are never merged on their way into one, two of the same may be.
	for _, second := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		c := newCLI(t).withRemote(sandbox.Options{SlowFor: time.Second})
		cmd, stderr := c.process(c.runFile(c.file("in.jsonl", request("a", sandbox.Slow)))...)
		c.until(func() bool { return c.received() == 1 })
		for _, signal := range []os.Signal{syscall.SIGTERM, second} {
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
		_ = cmd.Wait()
		if diff := cmp.Diff(exitInterrupted, cmd.ProcessState.ExitCode()); diff != "" {
			t.Errorf("SIGTERM and %s together: %s\n%s", second, diff, stderr)
		}
		if got := c.lines(c.want(exitOK, "list", "--json").stdout); got[0]["remote_job_id"] == nil {
			t.Errorf("SIGTERM and %s together: the answer that was on its way was not stored: %v", second, got)
		}
	}
}

func TestASignalAfterTheFirstOnesEndsTheProgramAtOnce(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	cmd, stderr := c.process(c.runFile(c.file("in.jsonl", request("a", sandbox.Stall)))...)
	c.until(func() bool { return c.received() == 1 })
	began := time.Now()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Process.Signal(os.Interrupt)
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case _ = <-ended:
			took := time.Since(began)
			if code := cmd.ProcessState.ExitCode(); code != exitError || took < oneSignal || took > 4*time.Second {
				t.Errorf("want exit code 1 after %s and before the request's own timeout, got %d after %s\n%s", oneSignal, code, took, stderr)
			}
			c.contains(stderr.String(), "ended at once")
			return
		case <-again.C:
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
	}
}
