package persist_test

import (
	"strings"
	"testing"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

func TestNamesThatTheStatementsNeedThemselvesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"limit", "ordinal", "failed", "judged_at"} {
		table := transitions.Standard()
		table.Events[1].Guards = append(table.Events[1].Guards,
			transitions.Guard{Name: "odd", Expr: transitions.Lt(transitions.Col("priority"), transitions.Param(name, transitions.Int))})
		refused(t, table, name)
	}
	table := transitions.Standard()
	table.Columns = append(table.Columns, transitions.Column{Name: "Wake_At", Kind: transitions.Time})
	refused(t, table, "Wake_At")
}

func refused(t *testing.T, table transitions.Table, name string) {
	t.Helper()
	p, err := transitions.Compile(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, dialect := range []persist.Dialect{persist.PostgreSQL, persist.SQLite} {
		if _, err := persist.Compile(p, dialect, persist.Names{}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: a table with %s of its own: got %v, want an error that names it", dialect, name, err)
		}
	}
}

func TestTwoSweepsOfLongNamesHaveAnIndexEach(t *testing.T) {
	t.Parallel()
	table := transitions.Standard()
	for _, name := range []string{"lapsed_with_a_very_long_name_1", "lapsed_with_a_very_long_name_2", "lapsed_with_a_very_long_name_3"} {
		e := table.Events[7]
		e.Name = name
		table.Events = append(table.Events, e)
	}
	p, err := transitions.Compile(table)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := persist.Schema(p, persist.PostgreSQL, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(steps[0].SQL) {
		if name, ok := strings.CutPrefix(line, "CREATE INDEX "); ok {
			if seen[name] {
				t.Errorf("two indexes are called %s", name)
			}
			seen[name] = true
		}
	}
}
