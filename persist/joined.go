package persist

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Two joined events in one statement: the first is judged on the locked row, the second on what the first makes of it, and
// the row is written once. Each leaves the history row that it leaves alone.

// firsts are what a joined statement remembers of the first event beside the row that it leaves, and whether the second
// is denied.
var firsts = []string{"first_phase", "first_owner", "first_reason", "first_reviewer", "first_detail", "then_failed"}

// pgThen fires the second of two joined events on those rows of judged to which the first applies, and writes what both
// leave behind.
func (e *emitter) pgThen(r *transitions.Rule, s site) []cte {
	left := make([]string, 0, len(e.columns)+len(firsts)+len(r.Params))
	for _, c := range e.program.Columns {
		left = append(left, s.typedAfter(r, c))
	}
	left = append(left, "j.phase AS first_phase", s.typed(r.Owner)+" AS first_owner", s.typed(r.Reason)+" AS first_reason",
		s.typed(r.Reviewer)+" AS first_reviewer", s.typed(r.Detail)+" AS first_detail", "j.judged_at")
	returns := "o.*"
	if s.input != "" {
		left = append(left, "j.ordinal")
		for _, d := range r.Params {
			if d.Name != "operation_id" {
				left = append(left, "j."+ident(along+d.Name))
			}
		}
		returns += ", n.ordinal"
		s.input = "n"
	}
	s.row, s.now = "n", "n.judged_at"
	return []cte{
		{"continued", true, fmt.Sprintf("SELECT n.*, %s AS then_failed\n  FROM (SELECT %s\n    FROM judged AS j WHERE j.failed = '{}' OFFSET 0) AS n", s.failed(r.Then), strings.Join(left, ", "))},
		{"moved", false, fmt.Sprintf("UPDATE %s AS o\n  SET %s\n  FROM continued AS n\n  WHERE o.operation_id = n.operation_id\n  RETURNING %s",
			e.names.operations(), s.setsOfBoth(r), returns)},
		{"history", false, e.pgHistoryOfBoth(r, s)},
	}
}

// typedAfter is a column with what it holds after a rule, and with its type where nothing else gives it one.
func (s site) typedAfter(r *transitions.Rule, c transitions.Column) string {
	i := slices.IndexFunc(r.Sets, func(set transitions.Set) bool { return set.Col == c.Name })
	if i < 0 {
		return s.column(c.Name)
	}
	return s.expr(r.Sets[i].Expr, c.Kind) + " AS " + ident(c.Name)
}

// typed writes an expression that gives a text.
func (s site) typed(x transitions.Expr) string { return s.expr(x, transitions.Text) }

// setsOfBoth writes each assignment of two joined events once: the second's where it is not denied, else what the first
// has left.
func (s site) setsOfBoth(r *transitions.Rule) string {
	var parts []string
	for _, c := range s.program.Columns {
		is := func(set transitions.Set) bool { return set.Col == c.Name }
		left := s.column(c.Name)
		switch i := slices.IndexFunc(r.Then.Sets, is); {
		case i >= 0:
			parts = append(parts, fmt.Sprintf("%s = CASE WHEN n.then_failed = '{}' THEN %s ELSE %s END", ident(c.Name), s.expr(r.Then.Sets[i].Expr, c.Kind), left))
		case slices.ContainsFunc(r.Sets, is):
			parts = append(parts, ident(c.Name)+" = "+left)
		}
	}
	return strings.Join(parts, ",\n      ")
}

// pgHistoryOfBoth writes the history rows in the order of the events: they are numbered as they come.
func (e *emitter) pgHistoryOfBoth(r *transitions.Rule, s site) string {
	first := strings.Join([]string{
		"n.operation_id", textLiteral(r.First.Event), "n.first_phase", "n.phase", "n.first_owner", "n.revision",
		"n.first_reason", "n.first_reviewer", "n.first_detail", e.pgChanges(r, "n."), "n.judged_at",
	}, ", ")
	return fmt.Sprintf("INSERT INTO %s (%s)\n  SELECT %s\n  FROM (\n    SELECT 1 AS nth, %s\n    FROM moved AS m\n    JOIN continued AS n ON n.operation_id = m.operation_id\n    UNION ALL\n    SELECT 2, %s\n    FROM moved AS m\n    JOIN continued AS n ON n.operation_id = m.operation_id\n    WHERE n.then_failed = '{}'\n  ) AS h (nth, %s)\n  ORDER BY h.nth",
		e.names.history(), historyColumns, "h."+strings.ReplaceAll(historyColumns, ", ", ", h."), first, s.historyValues(r.Then, "n.phase"), historyColumns)
}

// sqliteThen are the steps of the second of two joined events, which follow those of the first in its transaction. The
// parameters are numbered as those of the first.
func (e *emitter) sqliteThen(r *transitions.Rule) []Step {
	steps := e.sqliteSteps(r.Then, func(*transitions.Rule) *placeholders { return given(r) })
	for i := range steps {
		if steps[i].What == "history" {
			steps[i].SQL += "\n  AND changes() = 1" // the first event was applied
		}
		steps[i].What = "second " + steps[i].What
	}
	return steps
}
