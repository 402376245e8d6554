package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/golden"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

const runbook = "../../docs/review.md"

// The runbook's commands are run, one after the other, on the night that it tells of: what it prints is what they print,
// but for times and tokens. With -update all of its output is written anew where any of it is not right.
func TestTheRunbookShowsWhatTheProgramPrints(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.night()
	text, err := os.ReadFile(runbook)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```console\n(.*?)```\n")
	ran, right := 0, true
	written := block.ReplaceAllStringFunc(string(text), func(found string) string {
		var out strings.Builder
		body := strings.TrimSuffix(strings.TrimPrefix(found, "```console\n"), "```\n")
		for _, entry := range strings.Split("\n"+body, "\n$ ")[1:] {
			command, old := cutCommand(entry)
			ran++
			printed := c.printed(command)
			if timeless(printed) != timeless(old) {
				right = false
			} else if !golden.Updating() {
				printed = old
			}
			out.WriteString("$ " + command + "\n" + printed)
		}
		return "```console\n" + out.String() + "```\n"
	})
	if ran < 10 {
		t.Errorf("the runbook has %d commands; are its blocks still called console?", ran)
	}
	if right {
		written = string(text)
	}
	golden.Compare(t, runbook, []byte(written))
}

// cutCommand parts a command, which may go on after a backslash, from what it printed.
func cutCommand(entry string) (command, output string) {
	lines := strings.SplitAfter(strings.TrimSuffix(entry, "\n")+"\n", "\n")
	n := 0
	for strings.HasSuffix(strings.TrimSpace(lines[n]), `\`) {
		n++
	}
	return strings.TrimSuffix(strings.Join(lines[:n+1], ""), "\n"), strings.Join(lines[n+1:], "")
}

// printed runs a command of the page and gives what a terminal would show.
func (c *cli) printed(command string) string {
	c.Helper()
	args := shellWords(strings.ReplaceAll(command, "\\\n", " "))
	if len(args) == 0 || args[0] != "fencerow" {
		c.Fatalf("the runbook runs %q, which is not the program", command)
	}
	var terminal bytes.Buffer
	run(context.Background(), args[1:], strings.NewReader(""), &terminal, &terminal, c.lookup)
	// How far a decision about many is after a second is another at every run.
	text := regexp.MustCompile(`(?m)^fencerow: \d+ decided, \d+ denied so far\n`).ReplaceAllString(terminal.String(), "")
	return strings.ReplaceAll(text, c.dir, "/srv/video")
}

// shellWords splits a command as a shell does, as far as the page needs it.
func shellWords(command string) []string {
	var words []string
	for _, found := range regexp.MustCompile(`"([^"]*)"|'([^']*)'|(\S+)`).FindAllStringSubmatch(command, -1) {
		words = append(words, found[1]+found[2]+found[3])
	}
	return words
}

// timeless leaves out what is another at every run.
func timeless(text string) string {
	for _, passing := range []string{
		`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z`, `\d\d:\d\d:\d\dZ`, `\b(\d+[dhms])+\b`, `worker-7:4711/[A-Z0-9]+`,
	} {
		text = regexp.MustCompile(passing).ReplaceAllString(text, "·")
	}
	text = regexp.MustCompile(`(?m) +`).ReplaceAllString(text, " ")
	// An event and its evidence are two statements, and may be a millisecond apart: which is shown first is no matter.
	return regexp.MustCompile(`(?m)^( · evidence_noted .*\n)( · evidence .*\n)`).ReplaceAllString(text, "$2$1")
}

// night makes the database of the page: what is left after a gateway was down, with what came to light since.
func (c *cli) night() {
	c.Helper()
	m := c.sender("worker-7:4711")
	c.doubt(m, "no_response", "clip-001", "clip-004", "clip-005")
	c.doubt(m, "unclear_answer", "clip-002")
	c.note(m, "clip-002", machine.Evidence{Kind: machine.EvidenceAnswer, Raw: []byte("<html><h1>502 Bad Gateway</h1></html>"), Owner: "worker-7:4711", Revision: 1})
	var stills []string
	for n := range 30 {
		stills = append(stills, fmt.Sprintf("still-%03d", n))
	}
	c.doubtKind(m, "print", "no_response", stills...)
	c.backdate(3 * time.Hour)
	c.settled(m)
	c.backdate(time.Hour)
	c.doubt(m, "no_response", "clip-003")
}

// sender is the machine of a worker of some name.
func (c *cli) sender(label string) *machine.Machine {
	c.Helper()
	m, err := machine.New(c.engine().Store(), machine.Config{Label: label})
	if err != nil {
		c.Fatal(err)
	}
	return m
}

// settled is what was decided yesterday, wrongly.
func (c *cli) settled(m *machine.Machine) {
	c.Helper()
	ctx := context.Background()
	by := machine.Decision{Seen: machine.Seen{Revision: 1, EvidenceSeq: 1}, Reviewer: "bob", Reason: "the provider's log has no such request"}
	if _, err := m.ReviewAbandon(ctx, "clip-004", by); err != nil {
		c.Fatal(err)
	}
	if _, err := m.Redo(ctx, "clip-004", "clip-004-b", by, machine.Risks{}); err != nil {
		c.Fatal(err)
	}
	if _, err := m.ReviewNotCreated(ctx, "clip-005", by, false); err != nil {
		c.Fatal(err)
	}
	l, err := m.Claim(ctx, transitions.Dispatch, "clip-005", machine.Who{Provider: "video", Account: "main"})
	if err == nil {
		_, err = m.Begin(ctx, l)
	}
	if err == nil {
		_, err = m.Accepted(ctx, l, "gen-77", nil, 0)
	}
	if err != nil {
		c.Fatal(err)
	}
	c.note(m, "clip-004", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "gen-41", Owner: "worker-7:4711", Revision: 1})
	c.note(m, "clip-005", machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "gen-42", Owner: "worker-7:4711", Revision: 1})
}

// backdate moves everything that is there into the past, as if so much time had passed.
func (c *cli) backdate(d time.Duration) {
	c.Helper()
	db := c.engine().Store().(lite).DB()
	for _, sql := range []string{
		"UPDATE fencerow_operations SET created_at = created_at - ?1, updated_at = updated_at - ?1, submitted_at = submitted_at - ?1, quarantine_until = quarantine_until - ?1",
		"UPDATE fencerow_history SET at = at - ?1", "UPDATE fencerow_evidence SET at = at - ?1",
	} {
		if _, err := db.ExecContext(context.Background(), sql, d.Milliseconds()); err != nil {
			c.Fatal(err)
		}
	}
}
