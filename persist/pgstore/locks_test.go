package pgstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// The tests of this file go through every statement: what the suites hold of one session alone, these hold of two.

// eachStatement runs a test for every event that finds its row, fired on one operation and on several.
func eachStatement(t *testing.T, test func(t *testing.T, rule *transitions.Rule, form transitions.Form)) {
	p := transitions.MustCompile(transitions.Standard())
	for _, rule := range slices.Concat(p.Rules, p.Joined) {
		for _, form := range []transitions.Form{transitions.One, persist.Many} {
			if !rule.New {
				t.Run(fmt.Sprintf("%s %s", rule.Event, form), func(t *testing.T) { test(t, rule, form) })
			}
		}
	}
}

// eachPick runs a test for every claim and sweep that finds its rows itself.
func eachPick(t *testing.T, test func(t *testing.T, rule *transitions.Rule)) {
	for _, rule := range transitions.MustCompile(transitions.Standard()).Rules {
		if len(rule.Forms) > 1 {
			t.Run(rule.Event, func(t *testing.T) { test(t, rule) })
		}
	}
}

// example puts a row that an event is applied to, and gives what it is fired with.
func (f *fixture) example(event, id string) (transitions.Row, transitions.Params) {
	f.Helper()
	now, err := f.Now(f.ctx)
	if err != nil {
		f.Fatal(err)
	}
	row, params, ok := machinetest.Example(f.Program(), event, id, now.Truncate(time.Second))
	if !ok {
		f.Fatalf("there is no row that %s is applied to", event)
	}
	if err := f.put(f.ctx, row); err != nil {
		f.Fatal(err)
	}
	return row, params
}

// fired fires an event on another goroutine, on one operation or on it and one that there is not.
func (f *fixture) fired(ctx context.Context, event string, form transitions.Form, params transitions.Params) <-chan result {
	answered := make(chan result, 1)
	go func() {
		if form == transitions.One {
			answer, err := f.Apply(ctx, event, params)
			answered <- result{answer, err}
			return
		}
		nobody := transitions.Params{"operation_id": transitions.TextValue("nobody")}
		answers, err := f.ApplyMany(ctx, event, []transitions.Params{nobody, params})
		if err != nil {
			answers = make([]machine.Answer, 2)
		}
		answered <- result{answers[1], err}
	}()
	return answered
}

type result struct {
	machine.Answer
	err error
}

// overtaking changes whatever an event could be judged by, or counts from.
const overtaking = `UPDATE fencerow_operations SET revision = revision + 10, evidence_seq = evidence_seq + 10, priority = 77,
	lease_owner = 'another', lease_until = '9999-01-01T00:00:00Z', remote_job_id = 'another-job',
	cancel_requested_at = '2026-01-01T00:00:00Z', next_action = 'review'`

// overtaken is a row after that.
func (f *fixture) overtaken(row transitions.Row) transitions.Row {
	row = append(transitions.Row(nil), row...)
	at := func(column string) *transitions.Value { return &row[f.Program().Column(column)] }
	for _, counter := range []string{"revision", "evidence_seq"} {
		*at(counter) = transitions.IntValue(at(counter).Int() + 10)
	}
	*at("priority") = transitions.IntValue(77)
	*at("lease_owner"), *at("remote_job_id"), *at("next_action") = transitions.TextValue("another"), transitions.TextValue("another-job"), transitions.TextValue("review")
	*at("lease_until") = transitions.TimeValue(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	*at("cancel_requested_at") = transitions.TimeValue(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	return row
}

// A4, I4: whoever waited for the row judges it as it is then, and counts from there, not from what it was.
func TestEveryStatementJudgesTheRowAsItsLockLeftIt(t *testing.T) {
	t.Parallel()
	all := open(t, patient)
	other, watcher := all.connect(), all.connect()
	eachStatement(t, func(t *testing.T, rule *transitions.Rule, form transitions.Form) {
		f := &fixture{T: t, Store: all.Store, ctx: all.ctx, url: all.url, byHand: all.byHand}
		f.exec(watcher, "DELETE FROM fencerow_operations")
		row, params := f.example(rule.Event, "a")
		f.exec(other, "BEGIN")
		f.exec(other, overtaking)
		answered := f.fired(f.ctx, rule.Event, form, params)
		f.until("the statement waits", func() bool { return f.waiters(watcher) > 0 })
		f.exec(other, "COMMIT")
		got := <-answered
		if got.err != nil {
			t.Fatal(got.err)
		}
		want := f.Program().Eval(rule.Event, f.overtaken(row), params, transitions.World{Now: time.Now().UnixMicro()})
		if diff := cmp.Diff(fmt.Sprint(want.Applied, want.Failed), fmt.Sprint(got.Applied, got.Failed)); diff != "" {
			t.Fatalf("applied and failed, of the row as the other left it (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(f.still(want.Row), f.still(got.Row)); diff != "" {
			t.Errorf("the row that it was judged by (-want +got):\n%s", diff)
		}
	})
}

// still writes a row but for what the clock has to do with.
func (f *fixture) still(row transitions.Row) map[string]string {
	out := map[string]string{}
	for i, c := range f.Program().Columns {
		if c.Kind != transitions.Time && !row[i].IsNull() {
			out[c.Name] = row[i].String()
		}
	}
	return out
}

// A9: the wait for a locked row is bounded in every statement by itself, behind a pooler too.
func TestEveryStatementWaitsForALockNoLongerThanItsBound(t *testing.T) {
	t.Parallel()
	all := open(t, pgstore.Options{LockTimeout: 50 * time.Millisecond, StatementTimeout: 20 * time.Second})
	other, watcher := all.connect(), all.connect()
	eachStatement(t, func(t *testing.T, rule *transitions.Rule, form transitions.Form) {
		f := &fixture{T: t, Store: all.Store, ctx: all.ctx, url: all.url, byHand: all.byHand}
		f.exec(watcher, "DELETE FROM fencerow_operations")
		_, params := f.example(rule.Event, "a")
		f.exec(other, "BEGIN; "+lockRow)
		defer f.exec(other, "ROLLBACK")
		ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
		defer cancel()
		got := <-f.fired(ctx, rule.Event, form, params)
		if got.err == nil || machine.IsUnknown(got.err) || !strings.Contains(got.err.Error(), "lock wait") {
			t.Errorf("got %v, want an error that says lock wait", got.err)
		}
	})
}

// A9: so is that of an event that creates its row, for one who creates the same.
func TestAPrepareWaitsForAnotherNoLongerThanItsBound(t *testing.T) {
	t.Parallel()
	for _, form := range []transitions.Form{transitions.One, persist.Many} {
		t.Run("prepare "+string(form), func(t *testing.T) {
			f := open(t, pgstore.Options{LockTimeout: 50 * time.Millisecond, StatementTimeout: 20 * time.Second})
			tx, err := f.connect().Begin(f.ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(f.ctx) }()
			_, given, ok := machinetest.Example(f.Program(), "prepare", "a", time.Now())
			if !ok {
				t.Fatal("there is no example of a prepare")
			}
			if first, err := f.InTx(tx).Apply(f.ctx, "prepare", given); err != nil || !first.Applied {
				t.Fatalf("the first prepare: %+v, %v", first, err)
			}
			if form == persist.Many {
				_, err = f.ApplyMany(f.ctx, "prepare", []transitions.Params{params(given), params(given, text("operation_id", "b"))})
			} else {
				_, err = f.Apply(f.ctx, "prepare", given)
			}
			if err == nil || machine.IsUnknown(err) || !strings.Contains(err.Error(), "lock wait") {
				t.Errorf("got %v, want an error that says lock wait", err)
			}
		})
	}
}

// A9: a sweep passes locked rows by, and waits for who is just storing the remote job id that it is to store: so long and
// no longer.
func TestASweepWaitsForARemoteJobIDNoLongerThanItsBound(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{LockTimeout: 50 * time.Millisecond, StatementTimeout: 20 * time.Second})
	other := f.connect()
	f.example("evidence_attach", "late")
	f.example("evidence_attach", "other")
	f.exec(other, "UPDATE fencerow_operations SET due_at = statement_timestamp() - interval '1 hour', lease_until = NULL, lease_owner = NULL")
	f.exec(other, "BEGIN; UPDATE fencerow_operations SET remote_job_id = (SELECT late_remote_job_id FROM fencerow_operations WHERE operation_id = 'late') WHERE operation_id = 'other'")
	defer f.exec(other, "ROLLBACK")
	ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
	defer cancel()
	rows, err := f.Take(ctx, "evidence_attach", params(num("limit", 10)))
	if err == nil || machine.IsUnknown(err) || !strings.Contains(err.Error(), "lock wait") {
		t.Errorf("got %d rows and %v, want an error that says lock wait", len(rows), err)
	}
}

// A3, D1: a claim or a sweep takes what is free and waits for nobody.
func TestEveryClaimAndSweepPassesByWhatIsLocked(t *testing.T) {
	t.Parallel()
	all := open(t, patient)
	other, watcher := all.connect(), all.connect()
	eachPick(t, func(t *testing.T, rule *transitions.Rule) {
		f := &fixture{T: t, Store: all.Store, ctx: all.ctx, url: all.url, byHand: all.byHand}
		f.exec(watcher, "DELETE FROM fencerow_operations")
		row, given := f.example(rule.Event, "b")
		// The same, but the first to be served.
		first := append(transitions.Row(nil), row...)
		first[f.Program().Column("operation_id")] = transitions.TextValue("a")
		for _, column := range []string{"remote_job_id", "redo_of", "late_remote_job_id"} {
			if i := f.Program().Column(column); !first[i].IsNull() {
				first[i] = transitions.TextValue(first[i].Text() + "-of-a")
			}
		}
		if err := f.put(f.ctx, first); err != nil {
			t.Fatal(err)
		}
		f.exec(watcher, "UPDATE fencerow_operations SET due_at = statement_timestamp() - interval '1 hour', lease_until = NULL, lease_owner = NULL")
		f.exec(other, "BEGIN; "+lockRow)
		defer f.exec(other, "ROLLBACK")
		ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
		defer cancel()
		taken, err := f.Take(ctx, rule.Event, params(given, num("limit", 1)))
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, row := range taken {
			ids = append(ids, row[f.Program().Column("operation_id")].Text())
		}
		if diff := cmp.Diff([]string{"b"}, ids); diff != "" {
			t.Errorf("taken while the first is locked (-want +got):\n%s", diff)
		}
	})
}

// A statement about several locks those and no other: whoever holds one that is not named is not waited for.
func TestEveryStatementAboutSeveralLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	all := open(t, patient)
	other, watcher := all.connect(), all.connect()
	eachStatement(t, func(t *testing.T, rule *transitions.Rule, form transitions.Form) {
		if form != persist.Many {
			return // the statement is about one
		}
		f := &fixture{T: t, Store: all.Store, ctx: all.ctx, url: all.url, byHand: all.byHand}
		f.exec(watcher, "DELETE FROM fencerow_operations")
		f.example(rule.Event, "c")
		_, first := f.example(rule.Event, "a")
		_, last := f.example(rule.Event, "b")
		f.exec(other, "BEGIN; SELECT FROM fencerow_operations WHERE operation_id = 'c' FOR UPDATE")
		defer f.exec(other, "ROLLBACK")
		ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
		defer cancel()
		if _, err := f.ApplyMany(ctx, rule.Event, []transitions.Params{first, last}); err != nil {
			t.Errorf("about a and b, while somebody holds c: %v", err)
		}
	})
}

// B82: a statement about several locks them in the order of their ids, whatever the order in which they are named and
// lie in the table, so that no two can wait for each other.
func TestEveryStatementAboutSeveralLocksThemInOneOrder(t *testing.T) {
	t.Parallel()
	all := open(t, patient)
	unordered, err := pgstore.Open(all.ctx, all.url+"&enable_indexscan=off&enable_bitmapscan=off", patient)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unordered.Close() })
	other, watcher := all.connect(), all.connect()
	eachStatement(t, func(t *testing.T, rule *transitions.Rule, form transitions.Form) {
		if form != persist.Many {
			return // locks one
		}
		f := &fixture{T: t, Store: unordered, ctx: all.ctx, url: all.url, byHand: all.byHand}
		f.exec(watcher, "DELETE FROM fencerow_operations")
		_, last := f.example(rule.Event, "b")
		_, first := f.example(rule.Event, "a")
		f.exec(other, "BEGIN; SELECT FROM fencerow_operations WHERE operation_id = 'b' FOR UPDATE")
		done := make(chan error, 1)
		go func() {
			_, err := f.ApplyMany(f.ctx, rule.Event, []transitions.Params{last, first})
			done <- err
		}()
		f.until("the statement waits for b", func() bool { return f.waiters(watcher) > 0 })
		var free int
		err := watcher.QueryRow(f.ctx, "SELECT count(*) FROM (SELECT FROM fencerow_operations WHERE operation_id = 'a' FOR UPDATE SKIP LOCKED) AS f").Scan(&free)
		if err != nil {
			t.Fatal(err)
		}
		if free > 0 {
			t.Error("the statement waits for b and has not locked a")
		}
		f.exec(other, "ROLLBACK")
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
