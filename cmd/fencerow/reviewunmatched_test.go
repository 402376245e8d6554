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
