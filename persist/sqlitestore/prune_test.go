package sqlitestore_test

import (
	"strings"
	"testing"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/sqlitestore"
)

// TestAPruneFindsItsRowsWithoutReadingTheRest looks at SQLite's plans, without statistics as in a fresh file: the page is
// a walk of the primary key, which alone has the ids, and what belongs to an operation is looked up by its id.
func TestAPruneFindsItsRowsWithoutReadingTheRest(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	set, err := persist.Compile(f.Program(), persist.SQLite, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	const byID, byHistory, byEvidence = "sqlite_autoindex_fencerow_operations_1 (operation_id", "fencerow_history_operation (operation_id=?", "fencerow_evidence_operation (operation_id=?"
	statements := map[string]persist.Statement{"prune": *set.Prune, "delete history": {SQL: set.Prune.Then[0].SQL, Params: set.Prune.Then[0].Params}, "delete evidence": {SQL: set.Prune.Then[1].SQL, Params: set.Prune.Then[1].Params}}
	for _, name := range []string{persist.ReadPrunePage, persist.ReadPrunable, persist.ReadHistories, persist.ReadTestimony} {
		statements[name] = persist.Statement{Event: name, SQL: set.Reader(name).SQL, Params: set.Reader(name).Params}
	}
	for name, want := range map[string][]string{
		persist.ReadPrunePage: {"SEARCH o USING COVERING INDEX " + byID + ">?)"},
		persist.ReadPrunable:  {"SEARCH o USING INDEX " + byID + ">? AND operation_id<?)", byHistory},
		persist.ReadHistories: {byHistory},
		persist.ReadTestimony: {byEvidence},
		"prune":               {"SEARCH o USING INDEX " + byID + "=?)", byHistory},
		"delete history":      {byHistory + " AND seq<?)"},
		"delete evidence":     {byEvidence},
	} {
		plan := f.plan(statements[name])
		for _, part := range want {
			if !strings.Contains(plan, part) {
				t.Errorf("%s: want %q in\n%s", name, part, plan)
			}
		}
		for line := range strings.Lines(plan) {
			// The page's own few rows, the list of ids and the clock are read from one end to the other.
			scanned, isScan := strings.CutPrefix(strings.TrimSpace(line), "SCAN ")
			if isScan && scanned != "p" && !strings.HasPrefix(scanned, "i ") && scanned != "CONSTANT ROW" && scanned != "clock" || strings.Contains(line, "TEMP B-TREE") {
				t.Errorf("%s reads or sorts what it need not:\n%s", name, plan)
			}
		}
	}
}
