package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/provider/sandbox"
)

// ago is an SQL expression of the database's.
func (c *cli) ago(hours int) string {
	if strings.HasPrefix(c.db, "sqlite:") {
		return fmt.Sprintf("(unixepoch() - %d) * 1000", hours*3600)
	}
	return fmt.Sprintf("now() - interval '%d hours'", hours)
}

// ages lets all that is there have changed long ago.
func (c *cli) ages() {
	c.Helper()
	c.tamper("UPDATE fencerow_operations SET updated_at = " + c.ago(3))
}

// ended writes operations that ended long ago, with two rows of history each.
func (c *cli) ended(n int) {
	c.Helper()
	c.want(exitOK, "migrate", "up")
	numbers := fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", n)
	id := "'op-' || substr('0000' || n.i, length('0000' || n.i) - 4)"
	request := "'{}'::bytea"
	if strings.HasPrefix(c.db, "sqlite:") {
		request = "x'7b7d'"
	}
	c.tamper(numbers + "INSERT INTO fencerow_operations (operation_id, kind, provider, account, phase, request, outcome, revision, created_at, updated_at) SELECT " +
		id + ", 'clip', 'p', 'a', 'terminal', " + request + ", 'failed', 1, " + c.ago(3) + ", " + c.ago(3) + " FROM n")
	for _, event := range []string{"prepare", "observe_failed"} {
		c.tamper(numbers + "INSERT INTO fencerow_history (operation_id, event, to_phase, revision, reason, changes, at) SELECT " +
			id + ", '" + event + "', 'terminal', 1, 'it failed', '{}', " + c.ago(3) + " FROM n")
	}
}

// blocked keeps whoever wants to delete history waiting until it is called; reading goes on.
func (c *cli) blocked() (release func()) {
	c.Helper()
	ctx := context.Background()
	if path, ok := strings.CutPrefix(c.db, "sqlite:"); ok {
		store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
		if err != nil {
			c.Fatal(err)
		}
		tx, err := store.DB().BeginTx(ctx, nil) // which has the lock of the one writer
		if err != nil {
			c.Fatal(err)
		}
		return func() { _ = tx.Rollback(); _ = store.Close() }
	}
	conn, err := pgx.Connect(ctx, c.db)
	if err != nil {
		c.Fatal(err)
	}
	for _, statement := range []string{"BEGIN", "LOCK TABLE fencerow_history IN SHARE MODE"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			c.Fatal(err)
		}
	}
	return func() { _ = conn.Close(ctx) }
}

// cutOff ends the server's sessions, but for one that blocks: a statement that was sent would else land all the same.
func (c *cli) cutOff() {
	c.Helper()
	if strings.HasPrefix(c.db, "sqlite:") {
		return
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, c.db)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	const others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle in transaction'"
	c.until(func() bool {
		var left int
		if _, err := conn.Exec(ctx, "SELECT pg_terminate_backend(pid) "+others); err != nil {
			c.Fatal(err)
		}
		if err := conn.QueryRow(ctx, "SELECT count(*) "+others).Scan(&left); err != nil {
			c.Fatal(err)
		}
		return left == 0
	})
}

// archived waits until n operations are in the archive.
func (c *cli) archived(n int) {
	c.Helper()
	c.until(func() bool {
		text, err := os.ReadFile(filepath.Join(c.dir, "pruned.jsonl"))
		return err == nil && strings.Count(string(text), "\n") == n
	})
}

// but takes some fields away.
func but(object map[string]any, fields ...string) map[string]any {
	for _, f := range fields {
		delete(object, f)
	}
	return object
}

// What was pruned is known as before: the same file sends nothing and has the same results, and what is uncertain is as it
// was (report B89).
func TestAfterAPruneTheSameFileSendsNothingAndHasTheSameResults(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		in := c.file("in.jsonl", request("good", "none")+request("bad", sandbox.FailedJob)+request("no", sandbox.Reject422)+
			request("off", sandbox.CanceledJob)+request("lost", sandbox.Accept500))
		c.want(exitUnfinished, c.runFile(in)...)
		results, sent := c.read("out/results.jsonl"), c.received()
		c.contains(c.want(exitOK, "prune", "--older-than", "1h").stdout, "0 operations pruned")
		c.ages()
		shown := map[string]map[string]any{}
		for _, id := range []string{"good", "bad", "no", "off", "lost"} {
			shown[id] = c.lines(c.want(exitOK, "show", id, "--json").stdout)[0]
		}
		archive := filepath.Join(c.dir, "pruned.jsonl")
		c.contains(c.want(exitOK, "prune", "--older-than", "1h", "--dry-run", "--archive", archive).stdout, "4 operations would be pruned")
		if _, err := os.Stat(archive); err == nil {
			t.Error("a dry run made an archive")
		}
		c.contains(c.want(exitOK, "prune", "--older-than", "1h", "--archive", archive).stdout, "4 operations pruned")
		known := []string{"since", "age_ms", "because", "sent", "looked", "remote_job_ids", "candidates", "redone_as", "choices"}
		kept := c.lines(c.read("pruned.jsonl"))
		for _, line := range kept {
			want := but(shown[line["operation_id"].(string)], known...)
			if diff := cmp.Diff(want, line); diff != "" {
				t.Errorf("the archive and what was shown before (-want +got):\n%s", diff)
			}
		}
		if info, err := os.Stat(archive); len(kept) != 4 || err != nil || info.Mode() != 0o600 {
			t.Errorf("%d operations in the archive, %v, %v", len(kept), info.Mode(), err)
		}

		c.contains(c.want(exitOK, "audit").stdout, "5 operations, 0 findings")
		again := c.want(exitUnfinished, c.runFile(in)...)
		c.contains(again.stderr, "0 prepared, 5 known already")
		c.contains(again.stdout, "0 requests sent by this run")
		if n := c.received(); n != sent {
			t.Errorf("the remote received %d requests, and %d before the prune", n, sent)
		}
		if diff := cmp.Diff(results, c.read("out/results.jsonl")); diff != "" {
			t.Errorf("results.jsonl changed:\n%s", diff)
		}
		c.contains(c.want(exitOK, "show", "bad").stdout, "pruned", "reason the model ran out of memory")
		lost := c.lines(c.want(exitOK, "show", "lost", "--json").stdout)[0]
		if diff := cmp.Diff(shown["lost"]["history"], lost["history"]); diff != "" {
			t.Errorf("the history of what is uncertain (-want +got):\n%s", diff)
		}
		c.want(exitOK, "review", "abandon", "lost", "--reviewer", "r", "--reason", "nobody knows", "--seen", seenOf(lost))
		c.ages()
		c.contains(c.want(exitOK, "prune", "--older-than", "1h").stdout, "0 operations pruned")
	})
}

func seenOf(shown map[string]any) string {
	return fmt.Sprintf("%v.%v", shown["revision"], shown["evidence_seq"])
}

func TestAPruneGoesOnWhereItsLimitEndedIt(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.ended(1200)
		first := c.want(exitOK, "prune", "--older-than", "2h", "--limit", "700", "--json")
		if diff := cmp.Diff([]map[string]any{{"found": 700.0, "pruned": 700.0, "moved": 0.0, "after": "op-00700", "done": false, "dry_run": false}}, c.lines(first.stdout)); diff != "" {
			t.Errorf("the first part (-want +got):\n%s", diff)
		}
		c.contains(first.stderr, "--after=op-00700", "The limit of 700 was reached")
		c.contains(c.want(exitOK, "prune", "--older-than", "2h", "--dry-run", "--after", "op-01150").stdout, "50 operations would be pruned")
		c.contains(c.want(exitOK, "prune", "--older-than", "2h", "--dry-run", "--limit", "30").stdout, "30 operations would be pruned")
		for _, none := range [][]string{{"--outcome", "succeeded"}, {"--kind", "x"}, {"--provider", "x"}, {"--account", "x"}, {"--older-than", "4h"}} {
			args := append([]string{"prune", "--older-than", "2h", "--dry-run"}, none...)
			c.contains(c.want(exitOK, args...).stdout, "0 operations would be pruned")
		}
		rest := c.want(exitOK, "prune", "--older-than", "2h", "--outcome", "failed", "--kind", "clip", "--provider", "p", "--account", "a")
		c.contains(rest.stdout, "500 operations pruned")
		c.contains(c.want(exitOK, "audit").stdout, "1200 operations, 0 findings")
	})
}

func TestAnInterruptedPruneFinishesItsBatchAndSaysWhereItCame(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.ended(1200)
		archive := filepath.Join(c.dir, "pruned.jsonl")
		release := c.blocked()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan result)
		go func() { ended <- c.runIn(ctx, "prune", "--older-than", "2h", "--archive", archive) }()
		c.archived(200)
		cancel()
		release()
		r := <-ended
		if r.code != exitInterrupted {
			t.Errorf("want exit code 130, got %d\n%s", r.code, r.stderr)
		}
		c.contains(r.stdout, "200 operations pruned")
		c.contains(r.stderr, "--after=op-00200")
		c.contains(c.want(exitOK, "prune", "--older-than", "2h", "--archive", archive, "--after", "op-00200").stdout, "1000 operations pruned")
		if kept := c.lines(c.read("pruned.jsonl")); len(kept) != 1200 {
			t.Errorf("%d operations in the archive", len(kept))
		}
	})
}

// Killed when a batch is archived and not yet deleted, a prune has deleted nothing; the next one does all of it.
func TestAPruneThatIsKilledBeforeItDeletesHasOnlyArchived(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.ended(40)
		archive := filepath.Join(c.dir, "pruned.jsonl")
		release := c.blocked()
		cmd, stderr := c.process("prune", "--older-than", "2h", "--archive", archive)
		c.archived(40)
		_ = cmd.Process.Signal(syscall.SIGKILL)
		if _ = cmd.Wait(); cmd.ProcessState.Exited() {
			t.Fatalf("it ended by itself: %s\n%s", cmd.ProcessState, stderr)
		}
		c.cutOff()
		release()
		for _, id := range []string{"op-00001", "op-00040"} {
			history := c.lines(c.want(exitOK, "show", id, "--json").stdout)[0]["history"].([]any)
			if len(history) != 2 {
				t.Errorf("the history of %s has %d rows", id, len(history))
			}
		}
		whole := c.read("pruned.jsonl")
		c.file("pruned.jsonl", whole[:len(whole)-10]) // as a power cut may leave it
		c.contains(c.want(exitOK, "prune", "--older-than", "2h", "--archive", archive).stdout, "40 operations pruned")
		lines := strings.SplitAfter(c.read("pruned.jsonl"), "\n")
		if kept := c.lines(strings.Join(lines[40:], "")); len(kept) != 40 {
			t.Errorf("%d operations behind the line that was cut off", len(kept))
		}
		c.contains(c.want(exitOK, "audit").stdout, "40 operations, 0 findings")
	})
}

func TestAPruneWithoutAnArchiveThatCanBeWrittenDeletesNothing(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ended(3)
	for path, want := range map[string]string{
		filepath.Join(c.dir, "no", "folder"): "no such file or directory",
		c.dir:                                "is a directory",
		os.DevNull:                           "it is no file",
	} {
		r := c.want(exitError, "prune", "--older-than", "2h", "--archive", path)
		c.contains(r.stderr, want, "nothing was pruned")
	}
	c.contains(c.want(exitOK, "prune", "--older-than", "2h", "--dry-run").stdout, "3 operations would be pruned")
}

func TestAPruneThatIsNotMeantIsRefused(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.ended(3)
	for want, args := range map[string][]string{
		"--older-than is missing":                  nil,
		"--older-than 59m0s: want at least 1h0m0s": {"--older-than", "59m"},
		"never pruned":                             {"--older-than", "2h", "--outcome", "abandoned"},
		`--outcome "done": want one of succeeded`:  {"--older-than", "2h", "--outcome", "done"},
		"--limit 0: want at least 1":               {"--older-than", "2h", "--limit", "0"},
		"--archive is empty":                       {"--older-than", "2h", "--archive", ""},
		`unexpected argument "op-1"`:               {"op-1", "--older-than", "2h"},
	} {
		c.contains(c.want(exitUsage, append([]string{"prune"}, args...)...).stderr, want)
	}
	c.contains(c.want(exitOK, "prune", "--older-than", "2h", "--dry-run").stdout, "3 operations would be pruned")
}
