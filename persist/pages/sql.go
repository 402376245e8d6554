package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// forms says what a form of an event does.
var forms = map[transitions.Form]string{
	transitions.One:   "one operation, by its id",
	transitions.Batch: "a batch: those that are due, claimed together",
	transitions.Sweep: "a sweep: every operation whose guards hold, up to a limit",
}

// SQL writes every event's statements for one database as a page: exactly what the store executes where it is given
// neither a prefix nor a schema for its tables. The form persist.Many, by which a store joins calls of the form one, is
// left out.
func SQL(p *transitions.Program, d persist.Dialect) (string, error) {
	set, err := persist.Compile(p, d, persist.Names{})
	if err != nil {
		return "", fmt.Errorf("writing the statements of table %s for %s: %w", p.Name, titles[d], err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# The statements of the lifecycle `%s` for %s\n\n", p.Name, titles[d])
	b.WriteString("What the store executes when an event is fired. Statements that follow in the same transaction stand below.\n")
	for _, r := range slices.Concat(p.Rules, p.Joined) {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", r.Event, upper(r.Doc))
		for i := range set.Statements {
			if set.Statements[i].Event == r.Event {
				statement(&b, &set.Statements[i])
			}
		}
	}
	return b.String(), nil
}

func statement(b *strings.Builder, s *persist.Statement) {
	fmt.Fprintf(b, "\n%s:\n\n", upper(forms[s.Form]))
	block(b, s.SQL, s.Params)
	for _, step := range s.Then {
		fmt.Fprintf(b, "\nThen the %s:\n\n", step.What)
		block(b, step.SQL, step.Params)
	}
}

func block(b *strings.Builder, sql string, params []string) {
	b.WriteString("```sql\n")
	if len(params) > 0 {
		fmt.Fprintf(b, "-- parameters: %s\n", strings.Join(params, ", "))
	}
	fmt.Fprintf(b, "%s\n```\n", strings.TrimSpace(sql))
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
