package sqlitestore_test

import (
	"slices"
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
		t.Run(s.Event+" "+string(s.Form), func(t *testing.T) {
			f := &fixture{t, f.Store, f.ctx}
			plan := f.plan(s)
			for _, want := range searches[s.Form] {
				if !strings.Contains(plan, want) {
					t.Errorf("it does not %s:\n%s", want, plan)
				}
			}
			if s.Form == transitions.Sweep && strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("it sorts what its index has in order:\n%s", plan)
			}
			for _, then := range s.Then {
				plan += "\n" + f.plan(persist.Statement{Event: s.Event, SQL: then.SQL, Params: then.Params})
			}
			for line := range strings.Lines(plan) {
				if _, scanned, ok := strings.Cut(strings.TrimSpace(line), "SCAN "); ok && !slices.Contains(scans, scanned) {
					t.Errorf("it reads all of %s:\n%s", scanned, plan)
				}
			}
		})
	}
}

// searches are what the plan of a statement that finds its operations has to have: the levels are walked, and the due
// ones of a level, by all that a claim fixes; a sweep has an index of its own.
var searches = map[transitions.Form][]string{
	transitions.One: {"USING INDEX sqlite_autoindex_fencerow_operations_1 (operation_id=?)"},
	transitions.Batch: {
		"USING INDEX fencerow_operations_due (next_action=? AND provider=? AND account=?)\n",
		"USING INDEX fencerow_operations_due (next_action=? AND provider=? AND account=? AND priority<?)\n",
		"USING INDEX fencerow_operations_due (next_action=? AND provider=? AND account=? AND priority=? AND wake_at<?)",
	},
	transitions.Sweep: {"SEARCH o USING INDEX fencerow_sweep_"},
}

// scans are what a statement may read all of: the clock, which is one row, and the levels.
var scans = []string{"CONSTANT ROW", "clock", "l"}

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
