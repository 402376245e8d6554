package main

import (
	"context"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/sandbox"
)

// A mark waits for a person, whatever the end: a second job was perhaps paid for.
func TestARunWithAMarkedOperationIsNoGoodEnd(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		in := c.file("in.jsonl", request("a", "none")+request("b", "none"))
		if r := c.want(exitOK, c.runFile(in)...); strings.Contains(r.stdout, "marked") {
			t.Errorf("nothing is marked:\n%s", r.stdout)
		}
		c.want(exitOK, c.runFile(c.file("other.jsonl", request("z", "none")))...)
		m := c.engine()
		for _, id := range []string{"a", "z"} {
			if _, err := m.Note(context.Background(), id, machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "second-" + id}); err != nil {
				t.Fatal(err)
			}
		}
		r := c.want(exitUnfinished, c.runFile(in)...)
		if !matches("delivered +2 ", r.stdout) || !matches("of these marked +1 +fencerow review list; ", r.stdout) {
			t.Error(r.stdout)
		}
		if got := c.lines(c.want(exitUnfinished, c.runFile(in, "--json")...).stdout)[0]["marked"]; got != 1.0 {
			t.Errorf("as JSON %v are marked", got)
		}
		c.contains(c.want(exitOK, "stats").stdout, "2 are marked, a suspected duplicate or a contradicted outcome: fencerow review list")
		stats := c.lines(c.want(exitOK, "stats", "--json").stdout)
		if got := stats[len(stats)-1]["marked"]; got != 2.0 {
			t.Errorf("stats --json says that %v are marked", got)
		}
	})
}

// Whether a lost job is looked for is settled when an operation is prepared.
func TestARunSaysThatWhatWasPreparedWithoutItIsNotLookedFor(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	in := c.file("in.jsonl", request("lost", sandbox.Accept500))
	const said = "the remote jobs of 1 uncertain operations are not looked for"
	if r := c.want(exitUnfinished, c.runFile(in)...); strings.Contains(r.stderr, said) {
		t.Errorf("the file has no investigate section that somebody could rely on:\n%s", r.stderr)
	}
	c.investigating()
	c.contains(c.want(exitUnfinished, c.runFile(in)...).stderr, said, "fencerow review list")
	c.contains(c.want(exitOK, c.runFile(in, "--dry-run")...).stderr, said)
}
