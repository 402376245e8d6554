package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine/machinetest"
)

// F5: the table that is right, within a bound that takes a second.
func TestTheCheckSaysItsBoundAndThatNothingIsBroken(t *testing.T) {
	t.Parallel()
	r := newCLI(t).want(0, "transitions", "check", "--json", "--begins", "1", "--statements", "0", "--mistakes", "0")
	for _, line := range strings.Split(strings.TrimSpace(r.stdout), "\n") {
		var got checkReport
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if !got.Complete || got.Broken != "" || got.States < 1000 || !strings.Contains(got.Bound, "2 workers, a reconciler, a reviewer") {
			t.Errorf("the report is %+v", got)
		}
	}
	if n := strings.Count(r.stdout, "\n"); n != 2 {
		t.Errorf("%d reports, want one with owner strings distinct and one with the same", n)
	}
}

// F2, F5: a table that breaks a rule ends with 1, and shows the code, the row, the fix and the story, which replays.
func TestTheCheckOfABrokenTableShowsTheRuleAndTheStory(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	suite := filepath.Join(c.dir, "story.txt")
	r := c.want(exitError, "transitions", "check", "--without", "review_not_created.quarantine_over", "--suite", suite)
	_, findings, err := without([]string{"review_not_created.quarantine_over"})
	if err != nil || len(findings) != 1 || findings[0].Code != "FR030" || findings[0].Row != "review_not_created" || findings[0].Fix == "" {
		t.Fatalf("the safety rules say %v, %v; want FR030 of review_not_created", findings, err)
	}
	for _, want := range []string{findings[0].String() + "\nwhat each code means, and an example that breaks it: docs/codes.md\n", "; " + findings[0].Fix, "I1a is broken: ", "  1. prepare: ", "The reviewer fires review_not_created", "creates job-2"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the report says nothing of %q:\n%s", want, r.stdout)
		}
	}
	if diff := cmp.Diff("fencerow: the table does not hold\n", r.stderr); diff != "" {
		t.Errorf("stderr (-want +got):\n%s", diff)
	}
	if err := machinetest.RewriteSuite(c.dir, program()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(suite)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "then denied quarantine_over") {
		t.Errorf("on the table that is right the story does not end at the guard:\n%s", text)
	}
}

// As JSON a finding names the section of the page of codes, and there is one.
func TestAFindingNamesTheSectionOfItsCode(t *testing.T) {
	t.Parallel()
	r := newCLI(t).want(exitError, "transitions", "check", "--json", "--without", "submit_not_created.proof", "--begins", "2", "--statements", "0")
	line, rest, _ := strings.Cut(r.stdout, "\n")
	var got map[string]string
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if got["code"] != "FR028" || got["row"] != "submit_not_created" || got["finding"] == "" || got["fix"] == "" {
		t.Errorf("the finding is %v, want FR028 of submit_not_created with its fix", got)
	}
	page, section, _ := strings.Cut(got["page"], "#")
	text, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	if section != "fr028" || !strings.Contains(string(text), "\n## FR028\n") {
		t.Errorf("the finding names %q, which has no such section", got["page"])
	}
	var report checkReport
	if err := json.NewDecoder(strings.NewReader(rest)).Decode(&report); err != nil {
		t.Fatal(err)
	}
	if report.Broken == "" || len(report.Story) == 0 {
		t.Errorf("the checker tells no story of it: %+v", report)
	}
}

func TestTheCheckRefusesAGuardThatIsNotThere(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for args, want := range map[string]string{
		"--without submit_begin":           "want EVENT.GUARD of the table",
		"--without fly.owner":              "want EVENT.GUARD of the table",
		"--without submit_begin.quarantin": `quarantin`,
		"--workers 9":                      "9 workers, want 1 to 3",
	} {
		r := c.run(append([]string{"transitions", "check"}, strings.Fields(args)...)...)
		if r.code != exitUsage || !strings.Contains(r.stderr, want) || r.stdout != "" {
			t.Errorf("%s: want exit code 2 and %q, got %d, %q and %q", args, want, r.code, r.stderr, r.stdout)
		}
	}
}
