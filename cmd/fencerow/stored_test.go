package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/sandbox"
)

// without gives a provider file that lacks a section.
func (c *cli) without(section, next string) string {
	c.Helper()
	text := c.read("provider.yaml")
	before, rest, ok := strings.Cut(text, "\n"+section+":\n")
	_, after, found := strings.Cut(rest, "\n"+next+":")
	if !ok || !found {
		c.Fatalf("the provider file has no %s section with %s behind it:\n%s", section, next, text)
	}
	return c.file("without-"+section+".yaml", before+"\n"+next+":"+after)
}

// Whether a result is fetched is settled when an operation is prepared, so it is said before it is sent.
func TestARunSaysBeforeItSendsThatResultsAreNotFetched(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	whole := c.spec
	in := c.file("in.jsonl", request("a", "none")+request("b", "none"))
	c.spec = c.without("deliver", "cancel")
	const said = "the results of 2 operations are not fetched, and cannot be fetched later for these: "
	c.contains(c.want(exitOK, c.runFile(in, "--dry-run")...).stderr, said+c.spec+" has no deliver section")
	c.contains(c.want(exitOK, "prepare", in, "--provider", c.spec).stderr, said+c.spec+" has no deliver section")
	r := c.want(exitOK, c.runFile(in)...)
	c.contains(r.stderr, said+"they were prepared with a provider file that had no deliver section")
	if !matches("succeeded without delivery +2 .*; not fetched: prepared with a provider file without a deliver section", r.stdout) {
		t.Errorf("the table at the end does not say it:\n%s", r.stdout)
	}
	c.spec = whole
	r = c.want(exitUnfinished, c.runFile(in)...)
	c.contains(r.stderr, said+"they were prepared with a provider file that had no deliver section")
	r = c.want(exitOK, c.runFile(c.file("other.jsonl", request("c", "none")))...)
	if strings.Contains(r.stderr, "not fetched") {
		t.Errorf("it is said where results are fetched:\n%s", r.stderr)
	}
}

func TestAnotherRequestOfAKnownIDIsToldWithWhatBecameOfTheFirst(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		c.want(exitUnfinished, c.runFile(c.file("in.jsonl", request("a", "none")+request("lost", sandbox.Accept500)))...)
		c.want(exitOK, "prepare", c.file("more.jsonl", request("later", "none")), "--provider", c.spec)
		changed := c.file("changed.jsonl", strings.ReplaceAll(request("a", "none"), ",", " , ")+request("lost", "none")+request("later", "slow"))
		for _, args := range [][]string{c.runFile(changed), c.runFile(changed, "--dry-run")} {
			r := c.want(exitUsage, args...)
			c.contains(r.stderr,
				`changed.jsonl:1: operation "a" was prepared before with another request (only its white space differs); it was sent and delivered`,
				`changed.jsonl:2: operation "lost" was prepared before with another request; it was sent, and it is uncertain what came of it (unclear_answer)`,
				`changed.jsonl:3: operation "later" was prepared before with another request; it was not sent yet`,
				"3 operations of "+changed+" were prepared before with another request, provider, account or kind; 2 of them were sent",
				"put back the request or the provider file", "A new id is a new purchase")
			if strings.Index(r.stderr, "put back") > strings.Index(r.stderr, "new id") {
				t.Errorf("the advice that costs money comes first:\n%s", r.stderr)
			}
		}
		file := c.file("account.yaml", strings.Replace(c.read("provider.yaml"), "account: sandbox", "account: other", 1))
		r := c.want(exitUsage, "run", c.file("in.jsonl", request("a", "none")), "--provider", file)
		c.contains(r.stderr, `with another account ("sandbox" then, "other" now); it was sent and delivered`)
	})
}

func TestAnInputWithoutARequestIsAWrongInput(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	empty, blank := c.file("empty.jsonl", ""), c.file("blank.jsonl", "\n \r\n\t\n")
	before := entries(t, c.dir)
	for _, in := range []string{empty, blank} {
		for _, args := range [][]string{c.runFile(in), c.runFile(in, "--dry-run"), {"prepare", in, "--provider", c.spec}} {
			c.contains(c.want(exitUsage, args...).stderr, in+" has no request in it", "no database was made")
		}
	}
	c.stdin = ""
	c.contains(c.want(exitUsage, c.runFile("-")...).stderr, "standard input has no request in it")
	if diff := cmp.Diff(before, entries(t, c.dir)); diff != "" {
		t.Errorf("files were made: %s", diff)
	}
}
