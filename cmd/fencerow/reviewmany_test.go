package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/sandbox"
	"github.com/fencerow/fencerow/transitions"
)

func names(prefix string, n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s-%04d", prefix, i))
	}
	return ids
}

// A thousand uncertain operations are listed page by page, each once, and quickly.
func TestAThousandUncertainOperationsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		ids := names("clip", 1000)
		c.doubt(m, "no_response", ids...)
		for chunk := range slices.Chunk(ids, 100) {
			var params []transitions.Params
			for _, id := range chunk {
				params = append(params, transitions.Params{
					"operation_id": transitions.TextValue(id), "kind": transitions.TextValue("answer"),
					"raw": transitions.BytesValue([]byte(strings.Repeat("<p>502 Bad Gateway</p>\n", 200))),
				})
			}
			c.applied(m, "evidence_noted", params)
		}
		c.mark(m, ids[500])
		seen := map[string]int{}
		order := []string{}
		var slowest time.Duration
		for after := ""; ; {
			args := []string{"review", "list", "--json", "--limit", "100"}
			if after != "" {
				args = append(args, "--after", after)
			}
			began := time.Now()
			page := c.lines(c.want(exitOK, args...).stdout)
			slowest = max(slowest, time.Since(began))
			for _, op := range page {
				id := op["operation_id"].(string)
				seen[id]++
				order = append(order, id)
				if sent, _ := op["sent"].(map[string]any); sent["revision"] != 1.0 || !strings.HasPrefix(fmt.Sprint(sent["owner"]), "host/") || len(op["evidence"].([]any)) == 0 {
					t.Fatalf("%s: sent %v, %d pieces of evidence", id, op["sent"], len(op["evidence"].([]any)))
				}
				after = op["cursor"].(string)
			}
			if len(page) < 100 {
				break
			}
		}
		if len(seen) != 1000 || len(order) != 1000 || order[0] != ids[500] {
			t.Errorf("%d operations on %d lines, the first is %s; want 1000, each once, and the marked one first", len(seen), len(order), order[0])
		}
		t.Logf("the slowest page of 100 of 1000, with opening the database, took %s", slowest)
		if slowest > 10*time.Second { // hundreds of times what it takes; a page that asks once an operation takes longer
			t.Errorf("a page took %s", slowest)
		}
		text := c.want(exitOK, "review", "list", "--limit", "10")
		c.contains(text.stdout, ids[500]+"  DUPLICATE SUSPECTED: uncertain, no_response", "remote jobs  job-1 and job-2")
		c.contains(text.stderr, "10 of the 1000 that wait. The next page, if there is one: --after 2/")
	})
}

// After an outage: one command, one decision and one history row an operation, as far as the limit, and again.
func TestADecisionAboutManyGoesOnWhereItEnded(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		ids := names("clip", 30)
		c.doubt(m, "no_response", ids...)
		c.doubt(m, "shutdown", "other")
		c.note(m, ids[7], machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "job-7"})
		all := []string{"review", "abandon", "--all", "--where-reason", "no_response", "--kind", "video", "--provider", "video", "--limit", "20", "--reviewer", "ada", "--reason", "the provider was down"}
		c.contains(c.want(exitOK, append(all, "--dry-run")...).stdout, "review abandon: 20 would be decided, 0 denied, 10 left")
		r := c.want(exitOK, all...)
		c.contains(r.stdout, "review abandon: 20 decided, 0 denied, 10 left", "left alone: 1 by no_late_remote_job_id: a remote job came to light of each")
		c.contains(r.stderr, "Run the same command again to go on.")
		got := c.lines(c.want(exitOK, append(all, "--json")...).stdout)[0]
		want := map[string]any{
			"event": "review_abandon", "dry_run": false, "decided": 9.0, "denied": []any{}, "left": 1.0,
			"left_alone": map[string]any{"no_late_remote_job_id": 1.0}, "first_quarantine_until": nil,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the second run (-want +got):\n%s", diff)
		}
		c.contains(c.want(exitOK, all...).stdout, "review abandon: 0 decided, 0 denied, 1 left")
		for i, id := range ids {
			want := []string{"review_abandon by ada: the provider was down"}
			if i == 7 {
				want = []string{}
			}
			if diff := cmp.Diff(want, c.decisions(m, id)); diff != "" {
				t.Errorf("%s: on record (-want +got):\n%s", id, diff)
			}
		}
		if op := c.op(m, "other"); op.Phase != transitions.Uncertain {
			t.Errorf("what was not selected is %s", op.Phase)
		}
	})
}

// Two people clear up after an outage at once: each operation is decided once, and what one lost is denied.
func TestTwoDecisionsAboutManyAtOnceDecideEachOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		ids := names("clip", 40)
		c.doubt(m, "no_response", ids...)
		got := make([]result, 2)
		var both sync.WaitGroup
		for i, who := range []string{"ada", "bob"} {
			both.Go(func() {
				got[i] = c.run("review", "abandon", "--all", "--where-reason", "no_response", "--kind", "video", "--json", "--reviewer", who, "--reason", "the provider was down")
			})
		}
		both.Wait()
		decided := 0.0
		for i, r := range got {
			sum := c.lines(r.stdout)[0]
			decided += sum["decided"].(float64)
			denied := sum["denied"].([]any)
			if (r.code == exitError) != (len(denied) > 0) {
				t.Errorf("exit code %d with %d denied", r.code, len(denied))
			}
			for _, d := range denied {
				by := map[int]string{0: "bob", 1: "ada"}[i]
				if changed := d.(map[string]any)["changed"]; changed != "since 1.1: review_abandon by "+by {
					t.Errorf("a denial says %q", changed)
				}
			}
		}
		if decided != 40 {
			t.Errorf("%v were decided, want 40", decided)
		}
		for _, id := range ids {
			if n := len(c.decisions(m, id)); n != 1 {
				t.Errorf("%s has %d decisions", id, n)
			}
		}
	})
}

// In bulk nothing is sent again that an old sender might still send, and no quarantine is overridden.
func TestADecisionAboutManyWaitsForTheQuarantine(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	var in strings.Builder
	for _, id := range names("a", 3) {
		in.WriteString(request(id, sandbox.Error500))
	}
	c.want(exitUnfinished, c.runFile(c.file("in.jsonl", in.String()))...)
	all := []string{"review", "not-created", "--all", "--where-reason", "unclear_answer", "--kind", "video", "--reviewer", "ada", "--reason", "support says so"}
	out := c.want(exitOK, all...).stdout
	if !regexp.MustCompile(`not-created: 0 decided, 0 denied, 3 left\n +left alone: 3 by quarantine_over: .* until 20`).MatchString(out) {
		t.Errorf("it says\n%s", out)
	}
	for flags, want := range map[string]string{
		"not-created --all --override-quarantine --where-reason no_response --kind video": "with --all those in quarantine are left alone",
		"not-created --all --where-reason no_response":                                    "--kind is missing",
		"abandon --all --kind video":                                                      "--where-reason is missing",
		"abandon --all --kind video --where-reason nothing":                               `--where-reason "nothing": want one of no_response`,
		"abandon --all --kind video --where-reason shutdown --seen 1.0":                   "--seen is about one operation",
		"abandon --all --kind video --where-reason shutdown --limit 0":                    "--limit 0",
		"abandon a-0000 --all --kind video --where-reason shutdown":                       `--all decides about a selection: leave "a-0000" out`,
		"abandon a-0000 --kind video --seen 1.0":                                          "select for --all, which is not given",
		"attach --all":                                                                    "a remote job belongs to one operation",
	} {
		r := c.want(exitUsage, append(append([]string{"review"}, strings.Fields(flags)...), "--reviewer", "ada", "--reason", "x")...)
		c.contains(r.stderr, want)
	}
	c.contains(c.want(exitUsage, "review", "abandon", "--all", "--where-reason", "shutdown", "--kind", "video", "--reviewer", "ada").stderr, "--reason is missing")
	if n := c.received(); n != 3 {
		t.Errorf("the remote received %d requests", n)
	}
}
