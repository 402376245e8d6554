package main

import (
	"testing"
	"time"

	"github.com/fencerow/fencerow/provider/sandbox"
)

// Contract D4: a run looks for the remote jobs of uncertain operations, attaches what is found, and does not end before
// it has looked.
func TestARunFindsTheJobsOfLostAnswersAndDeliversTheirResults(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{}).investigating()
		in := c.file("in.jsonl", request("cut", sandbox.AcceptCut)+request("html", sandbox.HTML)+request("nameless", sandbox.NoID))
		r := c.want(exitOK, c.runFile(in)...)
		if !matches("delivered +3 ", r.stdout) || c.received() != 3 {
			t.Errorf("the remote received %d requests\n%s", c.received(), r.stdout)
		}
		c.contains(c.want(exitOK, "show", "cut").stdout, "submit_unknown", "investigate_claim", "investigation", `matched by /op = "cut"`)
	})
}

// Contract D4: that nothing was found is recorded and told, sends nothing, and ends the run with what is uncertain.
func TestARunThatFindsNoJobEndsAndLeavesTheOperationUncertain(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{}).investigating()
	in := c.file("in.jsonl", request("none", sandbox.Error500)+request("good", "none"))
	for range 2 {
		r := c.want(exitUnfinished, c.runFile(in)...)
		if !matches("uncertain: unclear_answer +1 +fencerow review list", r.stdout) || c.received() != 2 {
			t.Errorf("the remote received %d requests\n%s", c.received(), r.stdout)
		}
	}
	shown := c.want(exitOK, "show", "none").stdout
	c.contains(shown, "investigate_inconclusive", "nothing was found; that is no proof that nothing was created", `{"data":[]}`)
	if !matches("next_action +investigate", shown) {
		t.Errorf("the next look is not planned:\n%s", shown)
	}
	c.contains(c.want(exitOK, "review", "list").stdout, "none", "unclear_answer")
}

// Contract D4: a provider file that says nothing of looking leaves what is uncertain to a reviewer, also what was
// prepared under one that did.
func TestWhatNobodyCanLookForIsLeftToAReviewer(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	mute := c.spec
	in := c.file("in.jsonl", request("cut", sandbox.AcceptCut))
	c.want(exitUnfinished, c.runFile(in)...)
	if shown := c.want(exitOK, "show", "cut").stdout; !matches("next_action +review", shown) {
		t.Error(shown)
	}
	c = newCLI(t).withRemote(sandbox.Options{})
	text := c.read("provider.yaml")
	in = c.file("in.jsonl", request("cut", sandbox.AcceptCut))
	c.want(exitOK, "prepare", in, "--provider", c.investigating().spec)
	c.spec = c.file("mute.yaml", text)
	c.want(exitUnfinished, c.runFile(in)...)
	shown := c.want(exitOK, "show", "cut").stdout
	if !matches("next_action +review", shown) {
		t.Errorf("%s prepared, then %s:\n%s", mute, c.spec, shown)
	}
	c.contains(shown, "nobody here can look", "has no investigate section")
}

// What was sent is marked, also while the answer is on its way; then the remote is asked to cancel, and its status decides.
func TestCancelHasTheRemoteAskedAboutWhatWasSent(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]string{"accepted": "none", "being sent": sandbox.Slow} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t).withRemote(sandbox.Options{SlowFor: 300 * time.Millisecond, Running: time.Hour})
			ended := make(chan result, 1)
			in := c.file("in.jsonl", request("a", fault))
			go func() { ended <- c.run(c.runFile(in)...) }()
			c.until(func() bool { return c.received() == 1 })
			canceled := c.want(exitOK, "cancel", "a", "--reviewer", "ada").stdout
			c.contains(canceled, "marked as to be canceled; the next worker asks the remote")
			if r := <-ended; r.code != exitUnfinished || !matches("canceled +1 ", r.stdout) || c.received() != 1 {
				t.Errorf("exit code %d, and the remote received %d requests\n%s%s", r.code, c.received(), r.stdout, r.stderr)
			}
			c.contains(c.want(exitOK, "show", "a").stdout, "observe_canceled", "cancel", "outcome",
				"asked the remote to cancel, 1 of at most 5 times: POST "+c.server.URL+" answered 200 OK")
		})
	}
}
