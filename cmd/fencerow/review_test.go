package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// engine is the machine on the database of a cli.
func (c *cli) engine() *machine.Machine {
	c.Helper()
	a := &app{stdout: io.Discard, stderr: &console{out: io.Discard}, lookup: c.lookup}
	s, err := a.open(context.Background(), creating, machine.Config{Label: "host"})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(s.close)
	return s.machine
}

// doubt leaves operations uncertain for a reason, each with its submission in history.
func (c *cli) doubt(m *machine.Machine, reason string, ids ...string) {
	c.Helper()
	c.doubtKind(m, "video", reason, ids...)
}

func (c *cli) doubtKind(m *machine.Machine, kind, reason string, ids ...string) {
	c.Helper()
	ctx := context.Background()
	for chunk := range slices.Chunk(ids, 100) {
		var requests []machine.Request
		for _, id := range chunk {
			requests = append(requests, machine.Request{OperationID: id, Kind: kind, Account: "main", Request: []byte(`{"op":1}`)})
		}
		if _, err := m.PrepareMany(ctx, requests); err != nil {
			c.Fatal(err)
		}
		leases, err := m.ClaimMany(ctx, transitions.Dispatch, machine.Who{Provider: kind, Account: "main"}, len(chunk))
		if err != nil || len(leases) != len(chunk) {
			c.Fatalf("claimed %d of %d: %v", len(leases), len(chunk), err)
		}
		var begin, ended, unknown []transitions.Params
		for _, l := range leases {
			held := transitions.Params{
				"operation_id": transitions.TextValue(l.Operation.OperationID), "owner": transitions.TextValue(l.Owner), "revision": transitions.IntValue(l.Revision),
			}
			begin = append(begin, held)
			piece := maps.Clone(held)
			piece["kind"] = transitions.TextValue(machine.EvidenceError)
			piece["raw"] = transitions.BytesValue([]byte("class unknown, reason " + reason + ", 412 bytes of the request handed to the connection, 0 bytes received: " + because[reason]))
			ended = append(ended, piece)
			known := maps.Clone(held)
			known["reason"], known["detail"] = transitions.TextValue(reason), transitions.TextValue(because[reason])
			unknown = append(unknown, known)
		}
		c.applied(m, "submit_begin", begin)
		c.applied(m, "evidence_noted", ended)
		c.applied(m, "submit_unknown", unknown)
	}
}

// because is what a sender says of how a request ended.
var because = map[string]string{
	"no_response": "connection reset after 18 s", "shutdown": "shut down while the request was in flight",
	"unclear_answer": "POST https://api.example.com/v1/generations: 502 Bad Gateway",
}

// applied fires an event on many operations at once.
func (c *cli) applied(m *machine.Machine, event string, params []transitions.Params) {
	c.Helper()
	answers, err := m.Store().ApplyMany(context.Background(), event, params)
	if err != nil {
		c.Fatal(err)
	}
	for i, a := range answers {
		if !a.Applied {
			c.Fatalf("%s on %s: %v", event, params[i]["operation_id"].Text(), a.Failed)
		}
	}
}

func (c *cli) op(m *machine.Machine, id string) machine.Operation {
	c.Helper()
	op, err := m.Get(context.Background(), id)
	if err != nil {
		c.Fatal(err)
	}
	return op
}

// decisions are the events of an operation's history that have a reviewer.
func (c *cli) decisions(m *machine.Machine, id string) []string {
	c.Helper()
	history, err := m.Store().History(context.Background(), id)
	if err != nil {
		c.Fatal(err)
	}
	all := []string{}
	for _, h := range history {
		if h.Reviewer != "" {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s by %s: %s %s", h.Event, h.Reviewer, h.Reason, h.Detail)))
		}
	}
	return all
}

// Contract D3: of two reviewers at once one decides, and the other is told by whom and since when.
func TestOfTwoReviewersAtOnceOneDecides(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		for round := range 5 {
			id := fmt.Sprint("a", round)
			c.doubt(m, "no_response", id)
			got := make([]result, 2)
			var both sync.WaitGroup
			for i, args := range [][]string{
				{"review", "abandon", id, "--seen", "1.1", "--reviewer", "ada", "--reason", "never mind"},
				{"review", "attach", id, "--remote-job-id", "job-" + id, "--seen", "1.1", "--reviewer", "bob", "--reason", "found it"},
			} {
				both.Go(func() { got[i] = c.run(args...) })
			}
			both.Wait()
			won, lost, by := 0, 1, "review_abandon by ada"
			if got[1].code == exitOK {
				won, lost, by = 1, 0, "review_attach by bob"
			}
			if got[won].code != exitOK || got[lost].code != exitError {
				t.Fatalf("exit codes %d and %d", got[0].code, got[1].code)
			}
			c.contains(got[lost].stderr, "was denied; nothing was changed", "revision: the row has the revision that was bound or looked at",
				"What happened since 1.1: "+by)
			if n := len(c.decisions(m, id)); n != 1 {
				t.Errorf("%d decisions are on record", n)
			}
		}
	})
}

// A decision that is sent twice is applied once.
func TestADoubleClickDecidesOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		c.doubt(m, "no_response", "a", "b")
		c.mark(m, "b")
		for _, args := range [][]string{
			{"review", "not-created", "a", "--override-quarantine", "--seen", "1.1"},
			{"review", "acknowledge", "b", "--seen", c.op(m, "b").Seen().String()},
		} {
			args = append(args, "--reviewer", "ada", "--reason", "support says so")
			codes := make([]int, 4)
			var all sync.WaitGroup
			for i := range codes {
				all.Go(func() { codes[i] = c.run(args...).code })
			}
			all.Wait()
			slices.Sort(codes)
			if diff := cmp.Diff([]int{exitOK, exitError, exitError, exitError}, codes); diff != "" {
				t.Errorf("review %s: exit codes (-want +got):\n%s", args[1], diff)
			}
			if n := len(c.decisions(m, args[2])); n != 1 {
				t.Errorf("review %s: %d decisions are on record", args[1], n)
			}
		}
	})
}

// mark notes two jobs of one operation.
func (c *cli) mark(m *machine.Machine, id string) {
	c.Helper()
	for _, job := range []string{"job-1", "job-2"} {
		if _, err := m.Note(context.Background(), id, machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: job, Owner: "host/old", Revision: 1}); err != nil {
			c.Fatal(err)
		}
	}
}

// Contract D3, B5: evidence that comes while somebody decides is kept; the decision is denied, or came before it.
func TestADecisionWhileEvidenceArrives(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		for round := range 5 {
			id := fmt.Sprint("a", round)
			c.doubt(m, "no_response", id)
			var got result
			var both sync.WaitGroup
			both.Go(func() {
				got = c.run("review", "not-created", id, "--override-quarantine", "--seen", "1.1", "--reviewer", "ada", "--reason", "support says so")
			})
			both.Go(func() {
				if _, err := m.Note(context.Background(), id, machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "late-" + id, Owner: "host/late", Revision: 1}); err != nil {
					t.Error(err)
				}
			})
			both.Wait()
			op := c.op(m, id)
			if op.LateRemoteJobID != "late-"+id || op.EvidenceSeq != 2 {
				t.Errorf("%s: the late id is %q, the evidence number %d", id, op.LateRemoteJobID, op.EvidenceSeq)
			}
			if got.code == exitError {
				c.contains(got.stderr, "evidence_seq: the evidence is what was looked at", "no_late_remote_job_id", "What happened since 1.1: evidence_noted by host/late")
			} else if got.code != exitOK || op.Phase != transitions.Prepared {
				t.Errorf("%s: exit code %d, it is %s", id, got.code, op.Phase)
			}
			// Either way nobody sends it: it is the reconciler's, and then its own job's.
			if _, err := m.Claim(context.Background(), transitions.Dispatch, id, machine.Who{Provider: "video", Account: "main"}); err == nil {
				t.Errorf("%s was claimed to be sent again", id)
			}
		}
	})
}

// Contract D3: what a decision needs, and the exact answer where it has not got it.
func TestADecisionThatLacksSomethingIsRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		c.doubt(m, "no_response", "a")
		c.note(m, "a", machine.Evidence{Kind: "answer", Raw: []byte("502 Bad Gateway"), Owner: "host/late"})
		before := fmt.Sprint(c.op(m, "a").Row())
		by := func(reviewer, reason string, rest ...string) []string {
			return append(rest, "--reviewer", reviewer, "--reason", reason)
		}
		for name, r := range map[string]struct {
			code int
			args []string
			want []string
		}{
			"an old revision":  {exitError, by("ada", "x", "abandon", "a", "--seen", "0.1"), []string{"revision: the row has", "What happened since 0.1: dispatch_claim by host/", "decide with --seen 1.2"}},
			"old evidence":     {exitError, by("ada", "x", "abandon", "a", "--seen", "1.1"), []string{"evidence_seq: the evidence is", "What happened since 1.1: evidence_noted by host/late"}},
			"a blank reviewer": {exitUsage, by("\u200b", "x", "abandon", "a", "--seen", "1.2"), []string{"--reviewer is missing"}},
			"a blank reason":   {exitUsage, by("ada", " ", "not-created", "a", "--seen", "1.2"), []string{"--reason is missing"}},
			"a blank id":       {exitUsage, by("ada", "x", "attach", "a", "--seen", "1.2", "--remote-job-id", " "), []string{"--remote-job-id"}},
			"a value unnamed":  {exitUsage, by("ada", "x", "attach", "a", "--seen", "1.2", "--remote-job-id", "j", "--keep", "v"), []string{"--keep \"v\": want NAME=VALUE"}},
			"no mark":          {exitError, by("ada", "x", "acknowledge", "a", "--seen", "1.2"), []string{"marked: a mark waits for a reviewer"}},
			"nobody's":         {exitError, by("ada", "x", "abandon", "b", "--seen", "1.1"), []string{`operation "b": no such operation`}},
		} {
			got := c.run(append([]string{"review"}, r.args...)...)
			if got.code != r.code {
				t.Errorf("%s: want exit code %d, got %d\n%s", name, r.code, got.code, got.stderr)
			}
			c.contains(got.stderr, r.want...)
		}
		if after := fmt.Sprint(c.op(m, "a").Row()); after != before {
			t.Errorf("something was changed: %s", cmp.Diff(before, after))
		}
	})
}

func (c *cli) note(m *machine.Machine, id string, e machine.Evidence) {
	c.Helper()
	if _, err := m.Note(context.Background(), id, e); err != nil {
		c.Fatal(err)
	}
}

// Report B12: within the quarantine it says until when, and what was overridden is on record.
func TestTheQuarantineIsShownWithItsEndAndAnOverrideIsRecorded(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		c.doubt(m, "no_response", "a", "b")
		ends := c.op(m, "a").QuarantineUntil.UTC()
		want := regexp.MustCompile(`not-created refused \(quarantine until (\d{4}-\d\d-\d\d )?` + ends.Format("15:04:05Z") + `, in (10m\d+s|\d+m\d+s)\)`)
		for _, args := range [][]string{{"review", "list"}, {"show", "a"}} {
			if out := c.want(exitOK, args...).stdout; !want.MatchString(strings.ReplaceAll(out, "that it is sent again; now ", "not-created ")) {
				t.Errorf("%v does not say until when the quarantine lasts:\n%s", args, out)
			}
		}
		decide := []string{"review", "not-created", "a", "--seen", "1.1", "--reviewer", "ada", "--reason", "support says so"}
		c.contains(c.want(exitError, decide...).stderr, "quarantine_over: an old sender can send no longer", "in quarantine until "+stamp(ends), "--override-quarantine takes that risk")
		c.contains(c.want(exitError, append(decide, "--dry-run")...).stderr, "would be denied: refused (quarantine until ")
		if got := c.decisions(m, "a"); len(got) != 0 {
			t.Errorf("on record: %v", got)
		}
		c.contains(c.want(exitOK, append(decide, "--override-quarantine")...).stdout, "a: prepared", "the next worker sends it")
		if diff := cmp.Diff([]string{"review_not_created by ada: support says so quarantine overridden"}, c.decisions(m, "a")); diff != "" {
			t.Errorf("on record (-want +got):\n%s", diff)
		}
	})
}

// A dry run shows the row before and after, and leaves it, its history and its evidence as they were.
func TestADryRunShowsTheEffectAndChangesNothing(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		m := c.engine()
		c.doubt(m, "no_response", "a", "b")
		c.mark(m, "b")
		before := c.shown("a")
		for verb, want := range map[string][]string{
			"attach --remote-job-id job-9 --keep status_url=https://r/9": {"phase", "uncertain", "→ submitted", "remote_job_id", "→ job-9", "keep", `→ {"status_url":"https://r/9"}`, "then: submitted"},
			"not-created --override-quarantine":                          {"→ prepared", "next_action", "→ dispatch", "the next worker sends it"},
			"abandon":                                                    {"→ terminal", "outcome", "→ abandoned", "nothing is left to do"},
		} {
			args := append([]string{"review"}, strings.Fields(verb)...)
			args = append(args, "a", "--seen", "1.1", "--reviewer", "ada", "--reason", "x", "--dry-run")
			r := c.want(exitOK, args...)
			c.contains(r.stdout, append(want, "on operation a would be applied; nothing was changed:")...)
			if strings.Contains(r.stderr, "using the database") {
				t.Errorf("a dry run says that it writes: %s", r.stderr)
			}
			shown := c.lines(c.want(exitOK, append(args, "--json")...).stdout)[0]
			if shown["would_be_applied"] != true || shown["before"].(map[string]any)["phase"] != "uncertain" {
				t.Errorf("--json: %v", shown)
			}
		}
		seen := c.op(m, "b").Seen().String()
		c.contains(c.want(exitOK, "review", "acknowledge", "b", "--seen", seen, "--reviewer", "ada", "--reason", "x", "--dry-run").stdout, "duplicate_suspected", "true", "→ false")
		denied := c.want(exitError, "review", "attach", "a", "--remote-job-id", "j", "--seen", "0.0", "--reviewer", "ada", "--reason", "x", "--dry-run", "--json")
		if got := c.lines(denied.stdout)[0]; got["would_be_applied"] != false || fmt.Sprint(got["failed"]) != "[revision evidence_seq]" {
			t.Errorf("a denied one: %v", got)
		}
		if diff := cmp.Diff(before, c.shown("a")); diff != "" {
			t.Errorf("something was changed:\n%s", diff)
		}
	})
}

// shown is what show tells of an operation, but for what passes by itself: its age, and what the quarantine refuses.
func (c *cli) shown(id string) map[string]any {
	c.Helper()
	shown := c.lines(c.want(exitOK, "show", id, "--json").stdout)[0]
	delete(shown, "age_ms")
	delete(shown, "choices")
	return shown
}
