package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/sandbox"
)

func TestARunSendsEveryRequestOnceAndBringsTheResultsHome(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		in := c.file("in.jsonl", request("b", "none")+"\n"+request("a", "none")+request("c", "none"))
		r := c.want(exitOK, c.runFile(in)...)
		c.contains(r.stderr, "using the database", "knows of nothing that was sent before", "3 prepared, 0 known already")
		c.contains(r.stdout, "delivered", "3 requests sent by this run")
		var order []string
		for _, line := range c.lines(c.read("out/results.jsonl")) {
			id := line["id"].(string)
			order = append(order, id)
			if line["outcome"] != "succeeded" || line["file"] != id+".bin" || line["reason"] != nil || line["remote_job_id"] == nil {
				t.Errorf("results.jsonl says %v", line)
			}
			want := sandbox.Result([]byte(fmt.Sprintf(`{"fault":"none","op":%q}`, id)))
			if diff := cmp.Diff(string(want), c.read("out/"+id+".bin")); diff != "" {
				t.Errorf("the result of %s is not the remote's: %s", id, diff)
			}
		}
		if diff := cmp.Diff([]string{"b", "a", "c"}, order); diff != "" {
			t.Errorf("the results are not in the input's order: %s", diff)
		}

		again := c.want(exitOK, c.runFile(in)...)
		c.contains(again.stderr, "0 prepared, 3 known already", "nothing is sent")
		c.contains(again.stdout, "delivered", "0 requests sent by this run")
		if n := c.received(); n != 3 {
			t.Errorf("the remote received %d requests", n)
		}
	})
}

func (c *cli) read(name string) string {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.Fatal(err)
	}
	return string(text)
}

func TestARunWithOtherEndsExitsWithThreeAndNamesTheCommandsThatShowThem(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	in := c.file("in.jsonl", request("good", "none")+request("bad", sandbox.FailedJob)+request("no", sandbox.Reject422)+
		request("lost", sandbox.Accept500)+request("off", sandbox.CanceledJob)+request("late", sandbox.Refuse429))
	r := c.want(exitUnfinished, c.runFile(in)...)
	for _, line := range []string{
		"delivered +2 +fencerow list --delivery delivered", "failed +1 +fencerow list --outcome failed",
		"rejected +1 +fencerow list --outcome rejected", "canceled +1 +fencerow list --outcome canceled",
		"uncertain: unclear_answer +1 +fencerow review list", "all +6 +7 requests sent by this run",
	} {
		if !matches(line, r.stdout) {
			t.Errorf("want a line like %q in:\n%s", line, r.stdout)
		}
	}
	reasons := map[string]any{}
	for _, line := range c.lines(c.read("out/results.jsonl")) {
		reasons[line["id"].(string)] = line["reason"]
	}
	if reasons["bad"] != "the model ran out of memory" || reasons["lost"] != "unclear_answer" || reasons["good"] != nil {
		t.Errorf("results.jsonl gives the reasons %v", reasons)
	}
}

func TestAChangedRequestIsAnErrorBeforeAnythingIsPrepared(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		c.want(exitOK, "prepare", c.file("in.jsonl", request("a", "none")), "--provider", c.spec)
		changed := c.file("changed.jsonl", request("new", "none")+request("a", "slow"))
		for _, args := range [][]string{c.runFile(changed), {"prepare", changed, "--provider", c.spec}, c.runFile(changed, "--dry-run")} {
			r := c.want(exitUsage, args...)
			c.contains(r.stderr, `changed.jsonl:2: operation "a" was prepared before with another request`, "nothing was prepared")
		}
		if got := c.lines(c.want(exitOK, "list", "--json").stdout); len(got) != 1 {
			t.Errorf("want one operation, got %v", got)
		}
	})
}

func TestADryRunChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	in := c.file("in.jsonl", request("a", "none")+request("b", "none"))
	before := entries(t, c.dir)
	r := c.want(exitOK, c.runFile(in, "--dry-run", "--max-sends", "1")...)
	c.contains(r.stdout, "would create the database", "would prepare 2 operations", "at most 1 sends")
	if diff := cmp.Diff(before, entries(t, c.dir)); diff != "" {
		t.Error(diff)
	}
	c.want(exitOK, "prepare", c.file("one.jsonl", request("a", "none")), "--provider", c.spec)
	r = c.want(exitOK, c.runFile(in, "--dry-run")...)
	c.contains(r.stdout, "would use the database", "would prepare 1 operations", "1 are known already, 1 of them not settled")
	if n := c.received(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// A process takes whatever is prepared for its provider and account, so a careful first run has to know of it.
func TestADryRunTellsWhatElseTheRunWouldSend(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		in := c.file("in.jsonl", request("a", "none"))
		c.want(exitOK, "prepare", in, "--provider", c.spec)
		if r := c.want(exitOK, c.runFile(in, "--dry-run")...); strings.Contains(r.stdout, "would send ") {
			t.Errorf("there is nothing else:\n%s", r.stdout)
		}
		var more strings.Builder
		for i := range 2 * defaultPage {
			more.WriteString(request(fmt.Sprint("z", i), "none"))
		}
		c.want(exitOK, "prepare", c.file("more.jsonl", more.String()), "--provider", c.spec)
		account := c.file("account.yaml", strings.Replace(c.read("provider.yaml"), "account: sandbox", "account: other", 1))
		c.want(exitOK, "prepare", c.file("other.jsonl", request("other", "none")), "--provider", account)
		r := c.want(exitOK, c.runFile(in, "--dry-run")...)
		c.contains(r.stdout, "would send 200 operations more that others prepared for this provider and account: fencerow list --phase prepared --provider sandbox --account sandbox")
	})
}

func TestMaxSendsEndsARunWithTheRestStillPrepared(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	in := c.file("in.jsonl", request("a", "none")+request("b", "none")+request("c", "none"))
	r := c.want(exitUnfinished, c.runFile(in, "--max-sends", "2")...)
	if !matches("still prepared +1 +fencerow list --phase prepared", r.stdout) || c.received() != 2 {
		t.Errorf("%d requests were sent\n%s", c.received(), r.stdout)
	}
	c.want(exitOK, c.runFile(in)...)
	if n := c.received(); n != 3 {
		t.Errorf("after the second run the remote has received %d requests", n)
	}
}

func TestARunGivesUpWhatIsRefusedForTooLong(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	in := c.file("in.jsonl", request("a", sandbox.NoCredit)+request("b", "none"))
	r := c.want(exitUnfinished, c.runFile(in, "--give-up", "1s")...)
	if !matches("still prepared +1 ", r.stdout) || !matches("delivered +1 ", r.stdout) {
		t.Error(r.stdout)
	}
	c.contains(c.lines(c.read("out/results.jsonl"))[0]["reason"].(string), "still prepared: ", "402", "no credit")
}

func TestTheBrakeSaysWhyAndHowToGoOn(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	var in strings.Builder
	for i := range 20 {
		in.WriteString(request(fmt.Sprint("n", i), sandbox.NoCredit))
	}
	r := c.want(exitUnfinished, c.runFile(c.file("in.jsonl", in.String()), "--give-up", "1s", "--brake", "3", "--workers", "1")...)
	c.contains(r.stderr, "the brake is on: 3 submissions in a row ended the same way", "no credit", "What to do")
	if n := c.received(); n > 5 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestAnInputWithBadLinesSendsNothingAndNamesThem(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	c.stdin = request("a", "none") + request("a", "none") + `{"id":"x\u001b[31m","request":1,"colour":2}`
	r := c.want(exitUsage, c.runFile("-")...)
	c.contains(r.stderr, `standard input:2: id "a" is on line 1 already`, `standard input:3: unknown field "colour"`, "nothing was prepared")
	if n := c.received(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestAnInterruptedRunDrainsExitsWith130AndCanBeRunAgain(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{SlowFor: 300 * time.Millisecond})
	in := c.file("in.jsonl", request("a", sandbox.Slow)+request("b", sandbox.Slow))
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	ended := make(chan result, 1)
	go func() { ended <- c.runIn(ctx, c.runFile(in, "--workers", "1")...) }()
	c.until(func() bool { return c.received() > 0 })
	interrupt()
	r := <-ended
	if r.code != exitInterrupted {
		t.Errorf("want exit code 130, got %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	c.contains(r.stderr, "stopping: what is in flight is finished first")
	c.contains(r.stdout, "in flight", "still prepared")
	c.want(exitOK, c.runFile(in)...)
	if n := c.received(); n != 2 {
		t.Errorf("the remote received %d requests", n)
	}
}

func TestJSONEndsARunWithOneObject(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	r := c.want(exitOK, c.runFile(c.file("in.jsonl", request("a", "none")), "--json")...)
	got := c.lines(r.stdout)
	if len(got) != 1 || got[0]["total"] != 1.0 || got[0]["sends"] != 1.0 || got[0]["ends"].(map[string]any)["delivered"] != 1.0 {
		t.Errorf("got %v", got)
	}
}

func TestADatabaseThatIsDownAtTheStartIsSaid(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	r := c.want(exitError, c.runFile(c.file("in.jsonl", request("a", "none")), "--db", "postgres://u:pw@127.0.0.1:1/d")...)
	c.contains(r.stderr, "does not answer", "opening the database postgres://u:xxxxx@127.0.0.1:1/d", "check that the server runs")
}
