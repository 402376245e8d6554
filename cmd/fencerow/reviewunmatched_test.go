package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
)

// The lifecycle, "Evidence is never lost": what a remote told of a job that nobody here knows has a list of its own, from
// which a job drops out once an operation holds it or was told of it.
func TestWhatBelongsToNoOperationHasAList(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		c.contains(c.want(exitOK, "review", "unmatched").stdout, "no remote told of a job that nobody here knows")
		c.doubt(m, "no_response", "a", "b")
		for n := range 6 {
			c.unmatched(m, "video", fmt.Sprint("job-", n))
		}
		c.unmatched(m, "print", "sheet-1")
		c.want(exitOK, "review", "attach", "a", "--remote-job-id", "job-1", "--seen", "1.1", "--reviewer", "ada", "--reason", "found it")
		c.note(m, "b", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-2", Revision: 1})

		for _, want := range []struct {
			args []string
			jobs []string
		}{
			{nil, []string{"sheet-1", "job-5", "job-4", "job-3", "job-0"}},
			{[]string{"--provider", "video"}, []string{"job-5", "job-4", "job-3", "job-0"}},
			{[]string{"--account", "nobody"}, nil},
			{[]string{"--limit", "2"}, []string{"sheet-1", "job-5"}},
			{[]string{"--provider", "video", "--limit", "2"}, []string{"job-5", "job-4"}},
			{[]string{"--matched"}, []string{"sheet-1", "job-5", "job-4", "job-3", "job-2 told", "job-1 a", "job-0"}},
		} {
			if diff := cmp.Diff(want.jobs, c.listed(want.args...)); diff != "" {
				t.Errorf("%v: %s", want.args, diff)
			}
		}
		var paged []string
		for after := 0; ; {
			page := c.lines(c.want(exitOK, "review", "unmatched", "--json", "--limit", "2", "--after", fmt.Sprint(after)).stdout)
			for _, line := range page {
				paged = append(paged, line["remote_job_id"].(string))
				after = int(line["seq"].(float64))
			}
			if len(page) < 2 {
				break
			}
		}
		if diff := cmp.Diff([]string{"sheet-1", "job-5", "job-4", "job-3", "job-0"}, paged); diff != "" {
			t.Errorf("in pages: %s", diff)
		}
		text := c.want(exitOK, "review", "unmatched", "--matched")
		c.contains(text.stdout, "job-1", "a holds it", "an operation was told of it", "succeeded")
		c.contains(c.want(exitOK, "review", "unmatched", "--limit", "1").stderr, "There may be more: --after ")
	})
}

// Contract D3: who attaches a job is told whose it may be otherwise, and who holds it, before the attach is applied or
// denied.
func TestWhoAttachesAJobIsToldWhoElseHasToDoWithIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		c.doubt(m, "no_response", "a", "b", "c")
		attach := func(id string, more ...string) []string {
			return append([]string{"review", "attach", id, "--remote-job-id", "job-1", "--seen", "1.1", "--reviewer", "ada", "--reason", "found it"}, more...)
		}
		if r := c.want(exitOK, attach("a", "--dry-run")...); r.stderr != "" {
			t.Errorf("nobody has to do with it, and it says %s", r.stderr)
		}
		c.note(m, "c", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-1", Revision: 1})
		named := `the remote job job-1 is named by evidence of another: operation "c" (accepted, `
		c.contains(c.want(exitOK, attach("a", "--dry-run")...).stderr, named)
		c.contains(c.want(exitOK, attach("a")...).stderr, named)
		held := `operation "a" holds the remote job job-1: submitted`
		for _, dry := range [][]string{nil, {"--dry-run"}} {
			r := c.want(exitError, attach("b", dry...)...)
			c.contains(r.stderr, held, "remote_job_id_free: no other operation of the provider and account holds the given id")
		}
	})
}

func (c *cli) unmatched(m *machine.Machine, provider, job string) {
	c.Helper()
	n := machine.Notice{Who: machine.Who{Provider: provider, Account: "main"}, RemoteJobID: job, Says: machine.SaysSucceeded}
	if noticed, err := m.Notify(c.Context(), n); err != nil || noticed.Fate != machine.NoticeUnmatched {
		c.Fatalf("a notice of %s: %s, %v", job, noticed.Fate, err)
	}
}

// listed are the jobs of the list, with who holds each and whether somebody was told.
func (c *cli) listed(args ...string) []string {
	c.Helper()
	var jobs []string
	for _, line := range c.lines(c.want(exitOK, append([]string{"review", "unmatched", "--json"}, args...)...).stdout) {
		job := line["remote_job_id"].(string)
		if line["holder"] != nil {
			job += " " + line["holder"].(string)
		}
		if line["told"] == true {
			job += " told"
		}
		jobs = append(jobs, job)
	}
	return jobs
}

// Nobody buys twice by a tired click: that nothing was created is denied, one by one and in bulk, while the remote tells
// of a job that may be it, with the words that tell what to do.
func TestNothingWasCreatedIsNotSaidPastACandidate(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		c.doubt(m, "no_response", "a", "b")
		c.unmatched(m, "video", "job-1")
		c.tamper(`UPDATE fencerow_operations SET quarantine_until = submitted_at`)
		by := []string{"--reviewer", "ada", "--reason", "the log has none of them"}
		one := append([]string{"review", "not-created", "a", "--seen", "1.1"}, by...)
		many := append([]string{"review", "not-created", "--all", "--where-reason", "no_response", "--kind", "video"}, by...)
		c.contains(c.want(exitOK, "review", "list").stdout, "not-created refused (the remote has told of jobs that nobody here knows")
		for _, dry := range [][]string{nil, {"--dry-run"}} {
			c.contains(c.want(exitError, append(one, dry...)...).stderr, "no_candidate: the remote has told of no job that nobody here knows")
			c.contains(c.want(exitOK, append(many, dry...)...).stdout, " 0 denied, 2 left", "left alone: 2 by no_candidate: the remote has told of jobs")
		}
		c.contains(c.want(exitOK, append(one, "--despite-candidates")...).stdout, "a: prepared")
		c.contains(c.want(exitOK, append(many, "--despite-candidates")...).stdout, "1 decided, 0 denied, 0 left")
		c.contains(c.want(exitOK, "show", "b").stdout, "detail despite candidate job-1")
	})
}

// A decision about many tells of those that it does not look at, and of a selection that is empty.
func TestADecisionAboutManyTellsOfWhatItLeavesAlone(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		c.doubt(m, "no_response", "a", "b")
		for _, job := range []string{"job-1", "job-2"} {
			c.note(m, "a", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: job, Revision: 1})
		}
		abandon := func(kind string, more ...string) []string {
			return append([]string{"review", "abandon", "--all", "--where-reason", "no_response", "--kind", kind, "--reviewer", "ada", "--reason", "x"}, more...)
		}
		c.contains(c.want(exitOK, abandon("video", "--dry-run")...).stdout, "1 would be decided, 0 denied, 1 left", "left alone: 1 by no_mark: each is marked; look at them one by one")
		c.contains(c.want(exitOK, abandon("video")...).stdout, "1 decided, 0 denied, 1 left", "left alone: 1 by no_mark")
		c.contains(c.want(exitOK, abandon("vidoe")...).stdout, "0 decided, 0 denied, 0 left", "is its kind spelled as review list has it?")
	})
}
