package main

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/provider/sandbox"
)

// tamper changes the database past every event.
func (c *cli) tamper(statement string) {
	c.Helper()
	ctx := context.Background()
	if path, ok := strings.CutPrefix(c.db, "sqlite:"); ok {
		store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
		if err != nil {
			c.Fatal(err)
		}
		defer store.Close()
		if _, err := store.DB().ExecContext(ctx, statement); err != nil {
			c.Fatal(err)
		}
		return
	}
	conn, err := pgx.Connect(ctx, c.db)
	if err != nil {
		c.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		c.Fatal(err)
	}
}

// A history that was folded explains its row (invariant 9); a row or a history that somebody changed by hand is found.
func TestAuditFindsWhatHistoryDoesNotExplain(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, c *cli) {
		c.withRemote(sandbox.Options{})
		input := ""
		for _, id := range []string{"a", "b", "c", "d"} {
			input += request(id, "none")
		}
		c.want(exitOK, c.runFile(c.file("in.jsonl", input))...)
		c.contains(c.want(exitOK, "audit").stdout, "4 operations, 0 findings")

		c.tamper(`UPDATE fencerow_operations SET outcome = 'failed' WHERE operation_id = 'a'`)
		c.tamper(`UPDATE fencerow_operations SET revision = 7 WHERE operation_id = 'b'`)
		c.tamper(`DELETE FROM fencerow_history WHERE operation_id = 'c' AND event = 'submit_begin'`)
		out := c.want(exitError, "audit").stdout
		c.contains(out, `operation "a": outcome is "failed"; its history folds to "succeeded"`,
			`submit_accepted left "submitting", and the event before it led to "prepared"`)
		if !matches(`operation "b": revision is 7; its history folds to \d`, out) {
			t.Errorf("the revision that was set by hand is not found:\n%s", out)
		}
		if matches(`operation "d"`, out) {
			t.Errorf("an operation that nobody touched has findings:\n%s", out)
		}
		if lines := c.lines(c.want(exitError, "audit", "a", "--json").stdout); len(lines) != 1 || lines[0]["operation_id"] != "a" {
			t.Errorf("audit a --json gave %v, want the one finding of a", lines)
		}
	})
}
