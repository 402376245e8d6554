package sqlitestore_test

import (
	"strings"
	"testing"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/sqlitestore"
)

// TestTheReviewListIsFoundWithoutReadingTheRest looks at SQLite's plans, without statistics as in a fresh file: the page
// is a walk of its own index from its cursor on, and what is known of its operations is looked up by their ids.
func TestTheReviewListIsFoundWithoutReadingTheRest(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	set, err := persist.Compile(f.Program(), persist.SQLite, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		persist.ReadReview:      "SEARCH o USING INDEX fencerow_operations_review ((review_rank,created_at,operation_id)>(?,?,?))",
		persist.ReadReviewCount: "SEARCH o USING INDEX fencerow_operations_review (review_rank>?)",
		persist.ReadRecent:      "SEARCH h USING INTEGER PRIMARY KEY (rowid=?)",
		persist.ReadTraces:      "SEARCH v USING INTEGER PRIMARY KEY (rowid=?)",
		persist.ReadRedone:      "SEARCH o USING INDEX fencerow_operations_redo_of (redo_of=?)",
	} {
		reader := set.Reader(name)
		plan := f.plan(persist.Statement{Event: name, SQL: reader.SQL, Params: reader.Params})
		if !strings.Contains(plan, want) {
			t.Errorf("%s: want %q in\n%s", name, want, plan)
		}
		for line := range strings.Lines(plan) {
			// The list of ids, and the few rows that were picked by them, are read from one end to the other.
			if strings.HasPrefix(line, "SCAN") && !strings.HasPrefix(line, "SCAN i ") && !strings.HasPrefix(line, "SCAN l") {
				t.Errorf("%s reads what it need not:\n%s", name, plan)
			}
		}
		if name == persist.ReadReview && strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("the page is sorted, not walked:\n%s", plan)
		}
	}
}
