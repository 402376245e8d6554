package main

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/sandbox"
	"github.com/fencerow/fencerow/transitions"
)

// unreachable has the provider file name an address where nobody listens.
func (c *cli) unreachable() {
	c.Helper()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.Fatal(err)
	}
	_ = closed.Close()
	c.spec = c.file("unreachable.yaml", strings.ReplaceAll(c.read("provider.yaml"), c.server.URL, "http://"+closed.Addr().String()))
}

func TestAttemptsThatDidNotLeaveAreNoRequestsThatWereSent(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	whole := c.spec
	c.unreachable()
	in := c.file("in.jsonl", request("a", "none")+request("b", "none"))
	r := c.want(exitUnfinished, c.runFile(in, "--give-up", "500ms")...)
	if !matches(`all +2 +0 requests sent by this run; [2-9] attempts did not leave`, r.stdout) {
		t.Error(r.stdout)
	}
	last := c.lines(c.want(exitUnfinished, c.runFile(in, "--give-up", "500ms", "--json")...).stdout)[0]
	if last["sends"] != 0.0 || last["not_left"] == 0.0 {
		t.Errorf("as JSON: %v", last)
	}
	c.spec = whole
	if r = c.want(exitOK, c.runFile(in)...); !strings.Contains(r.stdout, "2 requests sent by this run\n") {
		t.Errorf("what left is not counted:\n%s", r.stdout)
	}
}

func TestARunThatGivesUpSaysSoAndWhy(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	in := c.file("in.jsonl", request("a", sandbox.NoCredit)+request("b", "none"))
	r := c.want(exitUnfinished, c.runFile(in, "--give-up", "1s")...)
	c.contains(r.stderr, "gave up, since no send went through for 1s after one was refused or could not leave (--give-up): 1 operations are still prepared",
		"the last that is known of a: ", "no credit")
	r = c.want(exitUnfinished, c.runFile(c.file("more.jsonl", request("c", "none")+request("d", "none")), "--max-sends", "1")...)
	c.contains(r.stderr, "ended by --max-sends 1: ")
	if strings.Contains(r.stderr, "gave up") {
		t.Errorf("it did not give up:\n%s", r.stderr)
	}
}

// What a killed process held is waited for until its leases end; without a word the run would look hung.
func TestARunSaysOnceWhoseLeasesItWaitsFor(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		in := c.file("in.jsonl", request("a", "none")+request("b", "none"))
		c.want(exitOK, "prepare", in, "--provider", c.spec)
		died, err := machine.New(c.engine().Store(), machine.Config{TTL: 6 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		lease, err := died.Claim(ctx, transitions.Dispatch, "a", machine.Who{Provider: "sandbox", Account: "sandbox"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := died.Begin(ctx, lease); err != nil {
			t.Fatal(err)
		}
		r := c.want(exitUnfinished, c.runFile(in)...)
		if n := strings.Count(r.stderr, "waiting for 1 operations that another process holds"); n != 1 {
			t.Errorf("it is said %d times:\n%s", n, r.stderr)
		}
		if !matches("uncertain: no_response +1 ", r.stdout) || !matches("delivered +1 ", r.stdout) {
			t.Error(r.stdout)
		}
		if r = c.want(exitUnfinished, c.runFile(in)...); strings.Contains(r.stderr, "waiting for") {
			t.Errorf("nobody holds anything:\n%s", r.stderr)
		}
	})
}
