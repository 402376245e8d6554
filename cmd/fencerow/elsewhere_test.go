package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/sandbox"
)

func TestAResultInTheFolderOfAnotherRunIsNoGoodEnd(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		in := c.file("in.jsonl", request("a", "none"))
		c.want(exitOK, c.runFile(in)...)

		other := c.runFile(in, "--out", filepath.Join(c.dir, "other"))
		r := c.want(exitUnfinished, other...)
		if !matches("delivered elsewhere +1 +fencerow list --delivery delivered; copy the files from the --out of the process", r.stdout) {
			t.Errorf("the table at the end does not say it:\n%s", r.stdout)
		}
		c.contains(r.stdout, "0 requests sent by this run")
		line := c.lines(c.read("other/results.jsonl"))[0]
		want := "delivered by another process to its own folder, or moved away since: there is no a.bin in the folder of this run"
		if diff := cmp.Diff([]any{"succeeded", nil, want}, []any{line["outcome"], line["file"], line["reason"]}); diff != "" {
			t.Errorf("outcome, file and reason in results.jsonl: %s", diff)
		}
		ends := c.lines(c.want(exitUnfinished, append(other, "--json")...).stdout)[0]["ends"].(map[string]any)
		if diff := cmp.Diff([]any{1.0, 0.0}, []any{ends["delivered elsewhere"], ends["delivered"]}); diff != "" {
			t.Errorf("elsewhere and delivered: %s", diff)
		}

		c.file("other/a.bin", c.read("out/a.bin"))
		c.want(exitOK, other...)
	})
}

func TestAResultThatWasLostIsFetchedAgainOnRequest(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		again := c.runFile(c.file("in.jsonl", request("a", "none")))
		c.want(exitOK, again...)
		whole := c.read("out/a.bin")
		if err := os.Remove(filepath.Join(c.dir, "out", "a.bin")); err != nil {
			t.Fatal(err)
		}
		if r := c.want(exitUnfinished, again...); !matches("delivered elsewhere +1 .* fetch each again with redeliver ID", r.stdout) {
			t.Errorf("the table at the end does not say how to fetch it again:\n%s", r.stdout)
		}
		c.contains(c.want(exitOK, "redeliver", "a", "--reviewer", "ada", "--reason", "the file is gone").stdout, "the next worker delivers its result")
		c.want(exitOK, again...)
		if diff := cmp.Diff(whole, c.read("out/a.bin")); diff != "" {
			t.Errorf("the file (-want +got):\n%s", diff)
		}
		if n := c.received(); n != 1 {
			t.Errorf("the remote received %d requests", n)
		}
	})
}

func TestAFileIsThereOnlyWithItsOwnNameAndSize(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.file("whole.bin", "four")
	if err := os.Mkdir(filepath.Join(c.dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	const other = "delivered by another process to its own folder, or moved away since: "
	for key, want := range map[string]string{
		"whole.bin":      "",
		"none.bin":       other + "there is no none.bin in the folder of this run",
		"none/none.bin":  other + "there is no none/none.bin in the folder of this run",
		"folder":         other + "folder in the folder of this run is no file",
		"../whole.bin":   other + "its name leads out of the folder of this run",
		"/etc/whole.bin": other + "its name leads out of the folder of this run",
	} {
		if diff := cmp.Diff(want, place{objectKey: key, objectBytes: 4}.notBelow(c.dir)); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	want := other + "whole.bin in the folder of this run has 4 bytes, and what was delivered has 5"
	if diff := cmp.Diff(want, place{objectKey: "whole.bin", objectBytes: 5}.notBelow(c.dir)); diff != "" {
		t.Error(diff)
	}
}
