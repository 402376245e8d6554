package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/sandbox"
)

// A folder that is not there is more likely a typing mistake than the wish for a new memory.
func TestAMissingFolderOfADatabaseIsSaidFirst(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	folder := filepath.Join(c.dir, "none")
	in := c.file("in.jsonl", request("a", "none"))
	before := entries(t, c.dir)
	for _, args := range [][]string{c.runFile(in), c.runFile(in, "--dry-run"), {"prepare", in, "--provider", c.spec}, {"migrate", "up"}} {
		r := c.want(exitError, append(args, "--db", "sqlite:"+filepath.Join(folder, "x.db"))...)
		c.contains(r.stderr, "the folder "+folder+" does not exist: make it first")
		if strings.Contains(r.stderr, "new database") || strings.Contains(r.stderr, "it is tried for") {
			t.Errorf("%s: it speaks of a new database, or waits:\n%s", args[0], r.stderr)
		}
	}
	if diff := cmp.Diff(before, entries(t, c.dir)); diff != "" {
		t.Error(diff)
	}
}

func TestADamagedDatabaseIsSaidWithWhatABackupDoesNotKnow(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	c.want(exitOK, c.runFile(c.file("in.jsonl", request("a", "none")))...)
	path := filepath.Join(c.dir, "fencerow.db")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096 // the first one has the schema and stays
	c.file("fencerow.db", string(text[:page])+string(bytes.Repeat([]byte{0xff}, len(text)-page)))
	r := c.want(exitError, "list")
	c.contains(r.stderr, "the database is damaged", "restore a backup, which does not know what was sent after it was made",
		"before anything is sent from it, cancel in it what the remote has already")
}
