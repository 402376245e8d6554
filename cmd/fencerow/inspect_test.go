package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/persist/pages"
	"github.com/fencerow/fencerow/provider/sandbox"
	"github.com/fencerow/fencerow/transitions/render"
)

// matches reports whether a line of text matches a pattern.
func matches(pattern, text string) bool {
	return regexp.MustCompile("(?m)^" + pattern).MatchString(text)
}

// uncertain leaves one operation that nobody can know about, and gives what is to be seen of it.
func (c *cli) uncertain(id string) string {
	c.Helper()
	c.want(exitUnfinished, c.runFile(c.file(id+".jsonl", request(id, sandbox.AcceptCut)))...)
	return c.seen(id)
}

func (c *cli) seen(id string) string {
	c.Helper()
	found := regexp.MustCompile(`(?m)^seen +(\d+\.\d+)`).FindStringSubmatch(c.want(exitOK, "show", id).stdout)
	if found == nil {
		c.Fatalf("show %s prints no seen", id)
	}
	return found[1]
}

func TestListPagesNewestFirstAndFilters(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		c.want(exitOK, "prepare", c.file("in.jsonl", request("a", "none")+request("b", "none")+request("c", "none")), "--provider", c.spec)
		var got []string
		after := []string{}
		for {
			r := c.want(exitOK, append([]string{"list", "--limit", "2"}, after...)...)
			lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
			for _, line := range lines[1:] {
				got = append(got, strings.Fields(line)[0])
			}
			next := regexp.MustCompile(`--after (\S+)`).FindStringSubmatch(r.stderr)
			if next == nil {
				break
			}
			after = []string{"--after", strings.Trim(next[1], "'")}
		}
		if diff := cmp.Diff([]string{"c", "b", "a"}, got); diff != "" {
			t.Error(diff)
		}
		for flags, want := range map[string]int{
			"--phase prepared": 3, "--phase uncertain": 0, "--kind video": 3, "--kind audio": 0, "--provider sandbox": 3,
			"--older-than 1h": 0, "--newer-than 1h": 3, "--marked": 0, "--outcome failed": 0,
		} {
			if got := len(c.lines(c.want(exitOK, append([]string{"list", "--json"}, strings.Fields(flags)...)...).stdout)); got != want {
				t.Errorf("list %s: want %d operations, got %d", flags, want, got)
			}
		}
	})
}

func TestShowTellsTheStoryOfAnOperation(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	seen := c.uncertain("a")
	r := c.want(exitOK, "show", "a")
	c.contains(r.stdout, "phase", "uncertain_reason", "no_response", "timeline", "prepare ", "dispatch_claim", "prepared → submitting", "submitting → uncertain",
		"fencerow review attach a --remote-job-id ID --seen "+seen, "fencerow review not-created a", "fencerow review abandon a")
	got := c.lines(c.want(exitOK, "show", "a", "--json").stdout)
	if len(got) != 1 || got[0]["operation_id"] != "a" || len(got[0]["history"].([]any)) < 4 {
		t.Errorf("got %v", got)
	}
	c.contains(c.want(exitError, "show", "b").stderr, `operation "b": no such operation`)
}

func TestEveryPrintedCommandWorksForAnIDThatLooksLikeAFlag(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"--json", "-i", "--"} {
		c := newCLI(t).withRemote(sandbox.Options{})
		c.want(exitUnfinished, c.runFile(c.file("in.jsonl", request(id, sandbox.AcceptCut)))...)
		show := c.want(exitOK, "show", "--", id).stdout
		var verbs []string
		for _, command := range regexp.MustCompile(`(?m)^ +fencerow (review .*)$`).FindAllStringSubmatch(show, -1) {
			args := strings.Fields(strings.NewReplacer("YOU", "ada", "WHY", "gone").Replace(command[1]))
			verbs = append(verbs, args[1])
			if args[1] == "abandon" {
				c.contains(c.want(exitOK, args...).stdout, id+": terminal, ", "outcome abandoned")
			}
			if diff := cmp.Diff([]string{"--", id}, args[len(args)-2:]); diff != "" {
				t.Errorf("%q does not end with the id: %s", command[1], diff)
			}
		}
		if diff := cmp.Diff([]string{"attach", "not-created", "abandon"}, verbs); diff != "" {
			t.Errorf("show prints other commands: %s", diff)
		}
		late := c.run("review", "abandon", "--seen", "1.1", "--reviewer", "ada", "--reason", "late", "--", id)
		c.contains(late.stderr, "Look again with fencerow show -- "+id+", and decide")
	}
}

// The three ways out of uncertain: report B12.
func TestAReviewerAttachesTheJobThatWasFound(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		seen := c.uncertain("a")
		if r := c.want(exitOK, "review", "list"); !matches(`a +uncertain, no_response +for \d+s +seen `+regexp.QuoteMeta(seen), r.stdout) {
			t.Errorf("review list prints\n%s", r.stdout)
		}
		id := c.remote.Counts()["a"].IDs[0]
		r := c.want(exitOK, "review", "attach", "a", "--remote-job-id", id, "--seen", seen, "--reviewer", "ada", "--reason", "found it")
		c.contains(r.stdout, "a: submitted", "the next worker observes")
		c.contains(r.stderr, "using the database")
		c.want(exitOK, c.runFile(c.dir+"/a.jsonl")...)
		if n := c.received(); n != 1 {
			t.Errorf("the remote received %d requests", n)
		}
	})
}

// Report B12.
func TestADecisionAboutARowThatHasMovedIsDeniedAndSaysWhatItIsNow(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	seen := c.uncertain("a")
	c.want(exitOK, "review", "abandon", "a", "--seen", seen, "--reviewer", "ada", "--reason", "never mind")
	r := c.want(exitError, "review", "abandon", "a", "--seen", seen, "--reviewer", "bob", "--reason", "never mind")
	c.contains(r.stderr, `review_abandon on operation "a" was denied; nothing was changed`, "phase: the phase is uncertain",
		"revision: the row has the revision that was bound or looked at", "The row is now: terminal", "outcome abandoned")
}

// Report B12.
func TestNotCreatedWaitsForTheQuarantineUnlessItIsOverridden(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	c.want(exitUnfinished, c.runFile(c.file("a.jsonl", request("a", sandbox.Error500)))...)
	decide := []string{"review", "not-created", "a", "--seen", c.seen("a"), "--reviewer", "ada", "--reason", "support says so"}
	c.contains(c.want(exitError, decide...).stderr, "quarantine_over", "--override-quarantine takes that risk")
	c.contains(c.want(exitOK, append(decide, "--override-quarantine")...).stdout, "a: prepared", "the next worker sends it")
	c.want(exitOK, c.runFile(c.dir+"/a.jsonl")...)
	if n := c.received(); n != 2 {
		t.Errorf("the remote received %d requests", n)
	}
}

func TestRedoPreparesTheSameRequestUnderAnotherID(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	c.want(exitUnfinished, c.runFile(c.file("a.jsonl", request("a", sandbox.FailedJob)))...)
	redo := []string{"redo", "a", "--as", "b", "--reviewer", "ada", "--reason", "the model works again"}
	c.contains(c.want(exitOK, redo...).stdout, "b repeats a: prepared")
	c.want(exitOK, redo...) // the same again is the same operation
	got := c.lines(c.want(exitOK, "show", "b", "--json").stdout)[0]
	if got["redo_of"] != "a" || got["request"] != `{"fault":"failed","op":"a"}` {
		t.Errorf("got %v", got)
	}
}

func TestCancelEndsWhatWasNotSent(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	in := c.file("in.jsonl", request("a", "none"))
	c.want(exitOK, "prepare", in, "--provider", c.spec)
	c.contains(c.want(exitOK, "cancel", "a", "--reviewer", "ada").stdout, "a: terminal", "outcome canceled", "nothing is left to do")
	c.contains(c.want(exitError, "cancel", "a").stderr, "cancel_request on operation \"a\" was denied")
	c.want(exitUnfinished, c.runFile(in)...)
	if n := c.received(); n != 0 {
		t.Errorf("the remote received %d requests", n)
	}
}

func TestStatsCountsAndReconcileFindsNothingToDo(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		c.want(exitOK, "prepare", c.file("in.jsonl", request("a", "none")+request("b", "none")), "--provider", c.spec)
		if r := c.want(exitOK, "stats"); !matches(`prepared +- +- +- +2 +0 +0 `, r.stdout) {
			t.Errorf("stats prints\n%s", r.stdout)
		}
		if got := c.lines(c.want(exitOK, "stats", "--json").stdout); len(got) != 1 || got[0]["count"] != 2.0 || got[0]["oldest_due"] == nil {
			t.Errorf("stats --json prints %v", got)
		}
		c.contains(c.want(exitOK, "reconcile", "--once").stdout, "nothing to settle")
	})
}

func TestMigrateMakesTheTablesOnceAndPrintsTheirSQL(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.contains(c.want(exitOK, "migrate", "up").stdout, "made 1 tables")
		c.contains(c.want(exitOK, "migrate", "up").stdout, "up to date")
		if got := c.lines(c.want(exitOK, "migrate", "status", "--json").stdout); len(got) == 0 || got[0]["version"] != 1.0 || got[0]["at"] == nil {
			t.Errorf("migrate status prints %v", got)
		}
		r := c.want(exitOK, "migrate", "print", "--table-prefix", "fr_")
		c.contains(r.stdout, `CREATE TABLE IF NOT EXISTS "fr_migrations"`, `CREATE TABLE "fr_operations"`, `INSERT INTO "fr_migrations" (version, name, at) VALUES (1, 'tables', `)
		c.want(exitOK, "list")
	})
}

func TestEveryStatementIsPrintedWithItsParameters(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, dialect := range []string{"postgres", "sqlite"} {
		forms := map[string]int{}
		for _, line := range c.lines(c.want(exitOK, "transitions", "sql", "--json", "--dialect", dialect, "--table-prefix", "fr_").stdout) {
			forms[line["form"].(string)]++
			then, isList := line["then"].([]any)
			if !isList || dialect == "postgres" && len(then) > 0 || !strings.Contains(line["sql"].(string), `"fr_operations"`) && line["event"] != "prepare" {
				t.Errorf("%s: %v", dialect, line)
			}
			if _, ok := line["params"].([]any); !ok {
				t.Errorf("%s: %s has no params", dialect, line["event"])
			}
		}
		if forms["one"] != len(program().Rules) || forms["joined"] != len(program().Joined) || forms["batch"] == 0 || forms["sweep"] == 0 {
			t.Errorf("%s: got the forms %v", dialect, forms)
		}
		c.contains(c.want(exitOK, "transitions", "sql", "--dialect", dialect).stdout, "-- dispatch_claim, form batch\n-- params: ")
	}
}

func TestTheTableIsPrintedAsDocumentDiagramAndJSON(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.contains(c.want(exitOK, "transitions", "docs").stdout, "# The lifecycle `standard`", "submit_not_created")
	c.contains(c.want(exitOK, "transitions", "mermaid").stdout, "stateDiagram-v2", "prepared --> submitting: submit_begin")
	c.contains(c.want(exitOK, "transitions", "dot").stdout, "digraph")
	if diff := cmp.Diff(render.SVG(program()), c.want(exitOK, "transitions", "svg").stdout); diff != "" {
		t.Errorf("the picture (-want +got):\n%s", diff)
	}
	var table struct{ Events []struct{ Name string } }
	if err := json.Unmarshal([]byte(c.want(exitOK, "transitions", "json").stdout), &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Events) != len(program().Rules) {
		t.Errorf("the JSON has %d events, the table %d", len(table.Events), len(program().Rules))
	}
}

// With --out the document lies in a folder, which is made, with whatever it refers to; a second time changes nothing.
func TestTheDocumentIsWrittenIntoAFolderWithWhatItRefersTo(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	folder := filepath.Join(c.dir, "pages", "of the table")
	for range 2 {
		if r := c.want(exitOK, "transitions", "docs", "--out", folder); r.stdout != "" {
			t.Errorf("with --out it prints %q", r.stdout)
		}
		if err := pages.Check(folder, "lifecycle", program()); err != nil {
			t.Error(err)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	want := []string{"lifecycle-brief.svg", "lifecycle-postgres.md", "lifecycle-sqlite.md", "lifecycle.md", "lifecycle.svg"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
	r := c.want(exitError, "transitions", "docs", "--out", filepath.Join(folder, "lifecycle.md"))
	c.contains(r.stderr, "lifecycle.md: not a directory")
}
