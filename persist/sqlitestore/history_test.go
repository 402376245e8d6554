package sqlitestore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

// I9: where the history of an event was not written, the operation does not move: the one is the condition of the other.
// Here a trigger keeps history from being written, and does not say so.
func TestNothingMovesWhoseHistoryIsNotWritten(t *testing.T) {
	t.Parallel()
	all := open(t, file(t), sqlitestore.Options{})
	// Entries under any number, so that what looks for the last one finds one.
	all.exec(`INSERT INTO fencerow_history (operation_id, event, to_phase, revision, changes, at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT 'another', 'prepare', 'prepared', 0, '{}', 0 FROM n`)
	all.exec(`CREATE TRIGGER swallow BEFORE INSERT ON fencerow_history BEGIN SELECT RAISE(IGNORE); END`)
	set, err := persist.Compile(all.Program(), persist.SQLite, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range set.Statements {
		if s.Rule.Quiet.IsSet() {
			continue // may leave no history
		}
		t.Run(s.Event+" "+string(s.Form), func(t *testing.T) {
			f := &fixture{t, all.Store, all.ctx}
			f.exec("DELETE FROM fencerow_operations")
			before, given := f.example(s.Event, "a")
			if s.Form == transitions.One {
				answer, err := f.Apply(f.ctx, s.Event, given)
				if err == nil && answer.Applied {
					t.Errorf("%s was applied", s.Event)
				}
			} else if taken, err := f.Take(f.ctx, s.Event, with(given, "limit", transitions.IntValue(1))); err == nil && len(taken) > 0 {
				t.Errorf("%s took %d rows", s.Event, len(taken))
			}
			rows, err := f.Get(f.ctx, "a")
			if err != nil {
				t.Fatal(err)
			}
			var after transitions.Row
			if len(rows) == 1 {
				after = rows[0]
			}
			if diff := cmp.Diff(fmt.Sprint(before), fmt.Sprint(after)); diff != "" {
				t.Errorf("the row moved without its history (-before +after):\n%s", diff)
			}
		})
	}
}

func (f *fixture) exec(text string, args ...any) {
	f.Helper()
	if _, err := f.DB().ExecContext(f.ctx, text, args...); err != nil {
		f.Fatalf("%s: %v", text, err)
	}
}

// example puts a row that an event is applied to, due, and gives what it is fired with.
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
	if row == nil {
		return nil, params
	}
	if due := f.Program().Column("due_at"); len(f.Program().Rule(event).Forms) > 1 {
		row[due] = transitions.TimeValue(now.Truncate(time.Second).Add(-time.Hour))
	}
	if err := f.put(f.ctx, row); err != nil {
		f.Fatal(err)
	}
	return row, params
}

// with is parameters and one more.
func with(p transitions.Params, name string, v transitions.Value) transitions.Params {
	out := transitions.Params{name: v}
	for n, old := range p {
		out[n] = old
	}
	return out
}
