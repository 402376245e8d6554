package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/sandbox"
)

// A database that was left out, lost or restored must not buy again what the folder of results says was bought.
func TestARunSendsNothingThatItsFolderSaysWasSentByAnotherDatabase(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		in := c.file("in.jsonl", request("a", "none")+request("b", sandbox.Accept500))
		c.want(exitUnfinished, c.runFile(in)...)
		before, files := c.read("out/results.jsonl"), entries(t, c.dir)
		in = c.file("in.jsonl", request("new", "none")+request("a", "none")+request("b", sandbox.Accept500))
		job := c.lines(before)[0]["remote_job_id"].(string)
		for _, other := range [][]string{
			{"--table-prefix", "other_"}, {"--db", "sqlite:" + filepath.Join(c.dir, "other.db")},
			{"--table-prefix", "other_", "--dry-run"}, {"--db", "sqlite:" + filepath.Join(c.dir, "other.db"), "--dry-run"},
		} {
			r := c.want(exitUsage, c.runFile(in, other...)...)
			c.contains(r.stderr, filepath.Join(c.dir, "out", "results.jsonl")+" says that 2 operations of "+in+" were sent before",
				"a: remote job "+job+", delivered to a.bin", "b: uncertain, unclear_answer: it may have been sent",
				"nothing was prepared and nothing was sent", "--db or $FENCEROW_DB", "name another folder than "+filepath.Join(c.dir, "out"))
		}
		if diff := cmp.Diff(before, c.read("out/results.jsonl")); diff != "" {
			t.Errorf("results.jsonl was overwritten: %s", diff)
		}
		if diff := cmp.Diff(files, entries(t, c.dir)); diff != "" {
			t.Errorf("files came or went: %s", diff)
		}
		if n := c.received(); n != 2 {
			t.Errorf("the remote received %d requests", n)
		}
		c.want(exitUnfinished, c.runFile(in)...) // with its own database it goes on
		c.want(exitOK, c.runFile(in, "--table-prefix", "other_", "--out", filepath.Join(c.dir, "again"))...)
		if n := c.received(); n != 6 {
			t.Errorf("with its own database and then on purpose the remote received %d requests in all", n)
		}
	})
}

// The records beside the results say it too: a run that was killed wrote no list.
func TestARunSendsNothingThatWasDeliveredForAnotherDatabase(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	in := c.file("in.jsonl", request("a", "none"))
	c.want(exitOK, c.runFile(in)...)
	if err := os.Remove(filepath.Join(c.dir, "out", "results.jsonl")); err != nil {
		t.Fatal(err)
	}
	r := c.want(exitUsage, c.runFile(in, "--db", "sqlite:"+filepath.Join(c.dir, "other.db"))...)
	c.contains(r.stderr, filepath.Join(c.dir, "out", ".fencerow", "a.bin.jsonl")+" says that 1 operations", "a: remote job ")
}

// A backup knows the operation, but not that it was sent since.
func TestARunSendsNothingThatARestoredBackupHoldsForUnsent(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	in := c.file("in.jsonl", request("a", "none"))
	c.want(exitOK, "prepare", in, "--provider", c.spec, "--db", "sqlite:"+filepath.Join(c.dir, "backup.db"))
	c.want(exitOK, c.runFile(in)...)
	r := c.want(exitUsage, c.runFile(in, "--db", "sqlite:"+filepath.Join(c.dir, "backup.db"))...)
	c.contains(r.stderr, "says that 1 operations", "backup.db does not know it", "a: remote job ")
	if n := c.received(); n != 1 {
		t.Errorf("the remote received %d requests", n)
	}
}

func TestAListOfResultsThatSaysNothingOfTheInputStopsNobody(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]struct{ list, said string }{
		"of another input": {`{"id":"z","outcome":"succeeded","remote_job_id":"job-1","file":"z.bin"}` + "\n", ""},
		"not sent":         {`{"id":"a","outcome":null,"remote_job_id":null,"reason":"still prepared"}` + "\n", ""},
		"rejected":         {`{"id":"a","outcome":"rejected","remote_job_id":null,"reason":"bad size"}` + "\n", ""},
		"empty":            {"", ""},
		"half written":     {`{"id":"z","outcome":"succeeded","remote_job_id":"job-1"}` + "\n" + `{"id":"a","outcome":"succ`, "1 lines were not understood, the first is line 2"},
		"damaged":          {"\x00\x01\n[1]\n{}\n" + strings.Repeat("x", 3<<20), "4 lines were not understood, the first is line 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCLI(t).withRemote(sandbox.Options{})
			if err := os.Mkdir(filepath.Join(c.dir, "out"), 0o755); err != nil {
				t.Fatal(err)
			}
			c.file("out/results.jsonl", w.list)
			r := c.want(exitOK, c.runFile(c.file("in.jsonl", request("a", "none")))...)
			c.contains(r.stderr, w.said)
			if strings.Contains(r.stderr, "not understood") != (w.said != "") {
				t.Errorf("it is said of a list that is whole:\n%s", r.stderr)
			}
		})
	}
}
