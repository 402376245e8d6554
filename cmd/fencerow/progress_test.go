package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/sandbox"
)

func TestOnATerminalProgressIsOneLiveLineAPhase(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{SlowFor: 400 * time.Millisecond})
	in := c.file("in.jsonl", request("a", "none")+request("b", sandbox.Slow))
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := pty.Setsize(terminal, &pty.Winsize{Rows: 30, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	shown := make(chan string)
	go func() {
		var screen bytes.Buffer
		_, _ = io.Copy(&screen, master) // ends with an error when the terminal is closed
		shown <- screen.String()
	}()
	var stdout bytes.Buffer
	code := run(context.Background(), c.runFile(in), nil, &stdout, terminal, c.lookup)
	_ = terminal.Close()
	screen := <-shown
	if code != exitOK {
		t.Errorf("exit code %d\n%s%s", code, stdout.String(), screen)
	}
	c.contains(screen, "\x1b[", "prepared          2 of 2", "done              2 of 2", "submitting", "submitted", "delivering", "uncertain",
		"2 prepared, 0 known already")
	c.contains(stdout.String(), "delivered")
	if strings.Contains(stdout.String(), "\x1b") {
		t.Errorf("the table that goes into a pipe moves a cursor: %q", stdout.String())
	}
}

func TestInAPipeProgressIsAPlainLineOnlyWhenSomethingChanged(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	r := c.want(exitOK, c.runFile(c.file("in.jsonl", request("a", "none")))...)
	c.contains(r.stderr, "done 1  uncertain 0  of 1\n")
	if strings.Contains(r.stderr, "\x1b") || strings.Contains(r.stderr, "\r") {
		t.Errorf("it moves a cursor: %q", r.stderr)
	}
}

func TestPlainLinesComeAtMostOnceASecond(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	p := &plain{out: &out, now: func() time.Time { return now }}
	for i := range 30 {
		p.show(counts{prepared: 30 - i/2, done: i / 2, total: 30})
		now = now.Add(100 * time.Millisecond)
	}
	p.close()
	p.close()
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Fields(line)[9])
	}
	if diff := cmp.Diff([]string{"0", "5", "10", "14"}, got); diff != "" {
		t.Errorf("the lines say done: %s", diff)
	}
}

func TestAFileAndADumbTerminalAreNotWatched(t *testing.T) {
	t.Parallel()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer terminal.Close()
	kind := func(name string) func(string) (string, bool) {
		return func(string) (string, bool) { return name, true }
	}
	if watched(file, kind("xterm")) || watched(terminal, kind("dumb")) || !watched(terminal, kind("xterm")) {
		t.Error("want a file and a dumb terminal not watched, a terminal watched")
	}
}
