package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/sandbox"
	"github.com/fencerow/fencerow/transitions"
)

// A job whose status stands at an address of its own is attached with that address, or not at all.
func TestAJobIsAttachedWithTheValuesThatItIsFoundBy(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		text := c.read("provider.yaml")
		at := text[strings.Index(text, "observe:\n  url: ")+len("observe:\n  url: "):]
		at = at[:strings.IndexByte(at, '\n')]
		c.spec = c.file("provider.yaml", strings.Replace(text, "observe:\n  url: "+at, `observe:`+"\n"+`  url: "{status_url}"`, 1))
		c.uncertain("a")
		job := c.remote.Counts()["a"].IDs[0]
		attach := func(more ...string) []string {
			return append([]string{"review", "attach", "a", "--remote-job-id", job, "--seen", "1.1", "--reviewer", "ada", "--reason", "found it", "--provider", c.spec}, more...)
		}
		for want, flags := range map[string][]string{
			"observe.url is built from the kept value {status_url}, which is not known of remote job " + job + ": without it the job could never be observed": nil,
			`keeps no value called "statusurl": it keeps status_url`:    {"--keep", "statusurl=https://r/1"},
			"observe.url: the address":                                  {"--keep", "status_url=ftp://r/1"},
			"--keep status_url is given twice":                          {"--keep", "status_url=https://r/1", "--keep", "status_url=https://r/2"},
			"describes kind video, provider other, account elsewhere; ": {"--provider", c.file("other.yaml", strings.Replace(strings.Replace(c.read("provider.yaml"), "name: sandbox", "name: other", 1), "account: sandbox", "account: elsewhere", 1))},
		} {
			r := c.want(exitUsage, attach(flags...)...)
			c.contains(r.stderr, want)
		}
		if got := c.lines(c.want(exitOK, "show", "a", "--json").stdout)[0]["phase"]; got != transitions.Uncertain {
			t.Fatalf("it is %s", got)
		}
		c.want(exitOK, attach("--keep", "status_url="+strings.Replace(at, "{remote_job_id}", job, 1))...)
		c.want(exitOK, c.runFile(c.dir+"/a.jsonl")...)
		if n := c.received(); n != 1 {
			t.Errorf("the remote received %d requests", n)
		}
		shown := c.lines(c.want(exitOK, "show", "a", "--json").stdout)[0]
		if diff := cmp.Diff([]any{"succeeded", "delivered", job}, []any{shown["outcome"], shown["delivery"], shown["remote_job_id"]}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The lifecycle, "Evidence is never lost": the truth comes after the decision. It is kept and marks, the outcome stays,
// and the list shows it first with both ids.
func TestTheListShowsFirstWhatADecisionWasWrongAbout(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		c.doubt(m, "no_response", "given-up", "sent-again", "still-open")
		by := []string{"--seen", "1.1", "--reviewer", "ada", "--reason", "the log has no such request"}
		c.want(exitOK, append([]string{"review", "abandon", "given-up"}, by...)...)
		c.want(exitOK, append([]string{"review", "not-created", "sent-again", "--override-quarantine"}, by...)...)
		who := machine.Who{Provider: "video", Account: "main"}
		l, err := m.Claim(t.Context(), transitions.Dispatch, "sent-again", who)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Begin(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Accepted(t.Context(), l, "job-2", nil, 0); err != nil {
			t.Fatal(err)
		}
		c.note(m, "sent-again", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-1", Owner: "host/old", Revision: 1})
		c.note(m, "given-up", machine.Evidence{Kind: "ended_succeeded", RemoteJobID: "job-0", Raw: []byte(`{"status":"succeeded"}`)})

		out := c.want(exitOK, "review", "list").stdout
		first, second, third := strings.Index(out, "sent-again  DUPLICATE SUSPECTED: submitted"), strings.Index(out, "given-up  OUTCOME CONTRADICTED: terminal, outcome abandoned"), strings.Index(out, "still-open  uncertain, no_response")
		if first != 0 || second < first || third < second {
			t.Errorf("the list has them at %d, %d and %d:\n%s", first, second, third, out)
		}
		c.contains(out, "remote jobs  job-2 and job-1", "choices      acknowledge allowed", "evidence     ended_succeeded job-0")
		shown := c.lines(c.want(exitOK, "review", "list", "--json", "--limit", "1").stdout)[0]
		if diff := cmp.Diff([]any{"job-2", "job-1"}, shown["remote_job_ids"]); diff != "" {
			t.Errorf("both ids (-want +got):\n%s", diff)
		}
		for _, id := range []string{"sent-again", "given-up"} {
			r := c.want(exitError, "review", "acknowledge", id, "--seen", c.op(m, id).Seen().String()[:1]+".0", "--reviewer", "ada", "--reason", "seen")
			c.contains(r.stderr, "evidence_seq: the evidence is what was looked at", "evidence_noted")
			c.want(exitOK, "review", "acknowledge", id, "--seen", c.op(m, id).Seen().String(), "--reviewer", "ada", "--reason", "canceled at the remote")
		}
		if op := c.op(m, "given-up"); op.Outcome != "abandoned" || op.Marked() {
			t.Errorf("given-up: outcome %s, marked %t", op.Outcome, op.Marked())
		}
		if waiting := c.lines(c.want(exitOK, "review", "list", "--json").stdout); len(waiting) != 1 {
			t.Errorf("%d wait still, want one", len(waiting))
		}
	})
}

// A redo whose original turns out to exist: both show the other, the new one is marked, and is not sent.
func TestARedoAndItsOriginalShowEachOther(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		c.doubt(m, "no_response", "a")
		by := []string{"--reviewer", "ada", "--reason", "the customer wants it after all"}
		c.want(exitOK, append([]string{"review", "abandon", "a", "--seen", "1.1"}, by...)...)
		c.contains(c.want(exitError, append([]string{"redo", "a", "--as", "b"}, by...)...).stderr, "redo_proof: an abandoned one has no remote job and its quarantine is over")
		c.contains(c.want(exitOK, append([]string{"redo", "a", "--as", "b", "--override-quarantine"}, by...)...).stdout, "b repeats a: prepared", "the next worker sends it")
		c.contains(c.want(exitOK, "show", "a").stdout, "repeated by b, which is prepared")
		c.contains(c.want(exitOK, "show", "b").stdout, "repeats a, which is terminal, abandoned")

		c.note(m, "a", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-a", Owner: "host/old", Revision: 1})
		if _, err := m.Claim(t.Context(), transitions.Dispatch, "b", machine.Who{Provider: "video", Account: "main"}); err == nil {
			t.Error("b was claimed to be sent")
		}
		c.contains(c.want(exitOK, "show", "a").stdout, "repeated by b, which is prepared, duplicate_suspected: BOTH MAY BE PAID FOR")
		out := c.want(exitOK, "review", "list").stdout
		c.contains(out, "b  DUPLICATE SUSPECTED: prepared", "redo         repeats a, which is terminal, abandoned, outcome_contradicted: IT HAS A REMOTE JOB AFTER ALL",
			"a  OUTCOME CONTRADICTED: terminal, outcome abandoned", "redo         repeated by b, which is prepared, duplicate_suspected: BOTH MAY BE PAID FOR")
		shown := c.lines(c.want(exitOK, "review", "list", "--json").stdout)
		if len(shown) != 2 || shown[0]["redo_of"] != "a" || shown[1]["redone_as"] != "b" {
			t.Errorf("--json: %v", shown)
		}
		refused := c.want(exitError, append([]string{"redo", "a", "--as", "c", "--override-quarantine"}, by...)...).stderr
		c.contains(refused, "no_mark", "no_late_remote_job_id")
		if refused = c.want(exitError, append([]string{"redo", "a", "--as", "c"}, by...)...).stderr; strings.Contains(refused, "--override-quarantine") {
			c.Errorf("the quarantine is blamed, which is not why: %s", refused)
		}

		// The job is given to the one that is still to be sent.
		c.contains(c.want(exitOK, "reconcile", "--once").stdout, "evidence_recalled  b: uncertain")
		c.want(exitOK, append([]string{"review", "attach", "b", "--remote-job-id", "job-a", "--seen", c.op(m, "b").Seen().String()}, by...)...)
		if op := c.op(m, "b"); op.Phase != transitions.Submitted || op.Attempts != 0 {
			t.Errorf("b is %s after %d sends", op.Phase, op.Attempts)
		}
	})
}
