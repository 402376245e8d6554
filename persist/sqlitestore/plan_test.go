package sqlitestore_test

import (
	"strings"
	"testing"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

// TestWhatIsDueIsFoundWithoutReadingABacklog looks at SQLite's plans, without statistics as in a fresh file: a walk
// through all operations would happen under the lock that every writer waits for (contract A3; B84).
func TestWhatIsDueIsFoundWithoutReadingABacklog(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	set, err := persist.Compile(f.Program(), persist.SQLite, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range set.Statements {
		plan := f.plan(s)
		switch s.Form {
		case transitions.Batch:
			const want = "USING INDEX fencerow_operations_due (next_action=? AND provider=? AND account=? AND priority=? AND wake_at<?)"
			if !strings.Contains(plan, want) || strings.Contains(plan, "SCAN o") || strings.Contains(plan, "SCAN p") {
				t.Errorf("%s does not walk the due ones only:\n%s", s.Event, plan)
			}
		case transitions.Sweep:
			if !strings.Contains(plan, "USING INDEX fencerow_sweep_") || strings.Contains(plan, "SCAN o") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s does not walk its own index:\n%s", s.Event, plan)
			}
		default:
			if strings.Contains(plan, "SCAN o") {
				t.Errorf("%s looks for one operation by reading all:\n%s", s.Event, plan)
			}
		}
	}
}

func (f *fixture) plan(s persist.Statement) string {
	f.Helper()
	rows, err := f.DB().QueryContext(f.ctx, "EXPLAIN QUERY PLAN "+s.SQL, make([]any, len(s.Params))...)
	if err != nil {
		f.Fatalf("explain %s: %v", s.Event, err)
	}
	defer func() { _ = rows.Close() }()
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			f.Fatal(err)
		}
		lines = append(lines, detail)
	}
	if err := rows.Err(); err != nil {
		f.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// What no operation is known to hold is found by its job and paged through by an index, whatever else there is.
func TestEvidenceOfNoOperationIsFoundWithoutReadingTheRest(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	set, err := persist.Compile(f.Program(), persist.SQLite, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]persist.Statement{"note_unmatched": {SQL: set.NoteUnmatched.SQL, Params: set.NoteUnmatched.Params}}
	for _, name := range []string{persist.ReadNaming, persist.ReadUnmatched, persist.ReadNewest} {
		r := set.Reader(name)
		texts[name] = persist.Statement{Event: name, SQL: r.SQL, Params: r.Params}
	}
	for name, s := range texts {
		plan := f.plan(s)
		for line := range strings.Lines(plan) {
			if strings.HasPrefix(line, "SCAN") && !strings.HasPrefix(line, "SCAN p") && !strings.HasPrefix(line, "SCAN CONSTANT ROW") ||
				strings.HasPrefix(line, "USE TEMP B-TREE") && name == persist.ReadNaming {
				t.Errorf("%s reads what it need not:\n%s", name, plan)
			}
		}
	}
}

func TestAStoreWithAPrefixFindsItsOwnIndexes(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{Names: persist.Names{Prefix: "other \"x\"_"}})
	f.applied("prepare", request("a"))
	p := claim("a", "w")
	p[persist.Limit] = transitions.IntValue(5)
	for _, r := range f.Program().Rules {
		if len(r.Forms) < 2 {
			continue
		}
		rows, err := f.Take(f.ctx, r.Event, p)
		if err != nil || (len(rows) == 1) != (r.Event == "dispatch_claim") {
			t.Errorf("take by %s: %d rows, %v", r.Event, len(rows), err)
		}
	}
}
