package reports_test

import (
	"strings"
	"testing"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// B89: a sweep that deleted old data took the evidence of what was under review with it. Nothing of the engine deletes:
// no statement of any form, dialect or step does (rule: operations, history and evidence are only ever added to or
// changed by the table's events). A prune that comes has to change this test, and to leave what is uncertain, unfinished
// or sent without a known end alone.
func TestB89NoStatementDeletesAnything(t *testing.T) {
	program := transitions.MustCompile(transitions.Standard())
	for _, dialect := range []persist.Dialect{persist.PostgreSQL, persist.SQLite} {
		set, err := persist.Compile(program, dialect, persist.Names{})
		if err != nil {
			t.Fatal(err)
		}
		statements := append(append([]persist.Statement(nil), set.Statements...), set.Many...)
		if len(statements) < len(program.Rules) {
			t.Fatalf("%s: %d statements for %d events", dialect, len(statements), len(program.Rules))
		}
		for _, s := range statements {
			texts := []string{s.SQL}
			for _, step := range s.Then {
				texts = append(texts, step.SQL)
			}
			for _, text := range texts {
				for _, word := range []string{"DELETE", "TRUNCATE", "DROP"} {
					if strings.Contains(strings.ToUpper(text), word+" ") {
						t.Errorf("%s: %s, form %s: %s:\n%s", dialect, s.Event, s.Form, word, text)
					}
				}
			}
		}
	}
}
