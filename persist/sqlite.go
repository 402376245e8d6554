package persist

import (
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// SQLite: the steps of an event, in one BEGIN IMMEDIATE transaction, and a judge, which says what is to be answered where
// they change nothing. SQLite has no data-modifying CTE. Each of them judges for itself: a lease may end between two
// statements, and where one finds the guards otherwise than another the store rolls back and begins anew.

// sqliteNow is the wall clock in Unix milliseconds, the same in every place of one statement.
const sqliteNow = "CAST(ROUND((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)"

// sqliteClock gives a statement one name for the clock.
const sqliteClock = "(SELECT " + sqliteNow + " AS now) AS clock"

func (e *emitter) sqliteOne(r *transitions.Rule) Statement {
	if r.New {
		return e.sqlitePrepare(r)
	}
	s := e.at(given(r), "o", "clock.now")
	id := s.param("operation_id", transitions.Text)
	sql := fmt.Sprintf("SELECT j.failed = '' AS applied, j.failed, %s\nFROM (\n  SELECT o.*, %s AS failed\n  FROM %s\n  JOIN %s AS o ON o.operation_id = %s\n) AS j",
		idents("j.", e.columns), s.failedText(r), sqliteClock, e.names.operations(), id)
	return Statement{Event: r.Event, Form: transitions.One, SQL: sql, Params: s.params.list(), Then: e.sqliteSteps(r, given), Rule: r}
}

// sqlitePick finds the operations that are due; the steps are fired on each.
func (e *emitter) sqlitePick(r *transitions.Rule, form transitions.Form) Statement {
	s := e.at(givenToPick(r), "o", sqliteNow)
	sql, byLevel := "", false
	if form == transitions.Batch {
		sql, byLevel = s.sqlitePickByLevel(r)
	}
	if !byLevel {
		sql = fmt.Sprintf("SELECT o.operation_id\nFROM %s AS o\nWHERE o.wake_at <= %s\n  AND %s\nORDER BY %s\nLIMIT %s",
			e.names.operations(), sqliteNow, s.guards(r, "  "), pickOrder(form), s.param(Limit, transitions.Int))
	}
	return Statement{Event: r.Event, Form: form, SQL: sql, Params: s.params.list(), Then: e.sqliteSteps(r, givenToPick), Rule: r}
}

// sqlitePickByLevel walks the priorities as PostgreSQL's claim does, and takes up to the limit of each. The index is
// named, because without statistics SQLite takes any that a guard fits: it was seen to walk through every operation
// that has a remote job.
func (s site) sqlitePickByLevel(r *transitions.Rule) (string, bool) {
	fixed, ok := s.fixedByClaim(r)
	if !ok {
		return "", false
	}
	from := fmt.Sprintf("FROM %s AS o INDEXED BY %s", s.names.operations(), quoted(s.names.prefix()+"operations_due"))
	highest := "SELECT max(o.priority) AS priority " + from + " WHERE o.wake_at IS NOT NULL AND " + strings.Join(fixed, " AND ")
	limit := s.param(Limit, transitions.Int)
	due := fmt.Sprintf("SELECT o.operation_id\n  %s\n  WHERE o.priority = l.priority AND o.wake_at <= %s\n    AND %s\n  ORDER BY %s\n  LIMIT %s",
		from, s.now, s.guards(r, "    "), pickOrder(transitions.Sweep), limit)
	return fmt.Sprintf("WITH RECURSIVE levels AS (\n  %s\n  UNION ALL\n  SELECT (%s AND o.priority < l.priority)\n  FROM levels AS l\n  WHERE l.priority IS NOT NULL\n)\n"+
		"SELECT p.operation_id\nFROM levels AS l\nCROSS JOIN %s AS p ON p.operation_id IN (\n  %s\n)\nORDER BY %s\nLIMIT %s",
		highest, highest, s.names.operations(), due, strings.ReplaceAll(pickOrder(transitions.Batch), "o.", "p."), limit), true
}

// failedText lists the guards that do not hold, with commas between them.
func (s site) failedText(r *transitions.Rule) string {
	if len(r.Guards) == 0 {
		return "''"
	}
	parts := make([]string, len(r.Guards))
	for i, g := range r.Guards {
		parts[i] = "CASE WHEN " + s.cond(g.Expr) + " THEN '' ELSE " + textLiteral(","+g.Name) + " END"
	}
	return "substr(\n    " + strings.Join(parts, " ||\n    ") + "\n  , 2)"
}

// sqliteSteps writes the steps. Numbered makes each one's parameters.
func (e *emitter) sqliteSteps(r *transitions.Rule, numbered func(*transitions.Rule) *placeholders) []Step {
	if r.Then != nil {
		return append(e.sqliteSteps(r.First, func(*transitions.Rule) *placeholders { return numbered(r) }), e.sqliteThen(r)...)
	}
	at := func() site { return e.at(numbered(r), "o", "clock.now") }
	var steps []Step
	if r.Evidence != nil {
		steps = append(steps, e.sqliteEvidence(r, at()))
	}
	if silent(r) {
		return append(steps, e.sqliteUpdate(r, at(), true))
	}
	return append(steps, e.sqliteHistory(r, at()), e.sqliteUpdate(r, at(), r.Quiet.IsSet()))
}

func (e *emitter) sqliteEvidence(r *transitions.Rule, s site) Step {
	id := s.param("operation_id", transitions.Text)
	sql := fmt.Sprintf("INSERT INTO %s (%s)\nSELECT %s\nFROM %s\nJOIN %s AS o ON o.operation_id = %s\nWHERE %s\n  AND %s",
		e.names.evidence(), evidenceColumns, s.evidenceRow(r), sqliteClock, e.names.operations(), id,
		s.guards(r, "  "), s.operand(r.Evidence.When, transitions.Bool, bindsAnd))
	return Step{What: "evidence", SQL: sql, Params: s.params.list()}
}

// sqliteHistory comes before the update, because the row before the event is what everything is computed from. The
// update takes its clock from the row that is written here.
func (e *emitter) sqliteHistory(r *transitions.Rule, s site) Step {
	id := s.param("operation_id", transitions.Text)
	from := fmt.Sprintf("%s\nJOIN %s AS o ON o.operation_id = %s", sqliteClock, e.names.operations(), id)
	fromPhase, where := s.column("phase"), s.guards(r, "  ")
	if r.New {
		s.row, fromPhase = "", "NULL"
		from = sqliteClock
		where = fmt.Sprintf("NOT EXISTS (SELECT 1 FROM %s AS t WHERE t.operation_id = %s)\n  AND %s", e.names.operations(), id, s.guards(r, "  "))
	}
	if r.Quiet.IsSet() {
		where += "\n  AND NOT coalesce(" + s.cond(r.Quiet) + ", 0)"
	}
	values := strings.Join([]string{
		s.afterRule(r, "operation_id"), textLiteral(r.Event), fromPhase, s.afterRule(r, "phase"), s.assigned(r.Owner, transitions.Text), s.afterRule(r, "revision"),
		s.assigned(r.Reason, transitions.Text), s.assigned(r.Reviewer, transitions.Text), s.assigned(r.Detail, transitions.Text), s.sqliteChanges(r), s.now,
	}, ", ")
	sql := fmt.Sprintf("INSERT INTO %s (%s)\nSELECT %s\nFROM %s\nWHERE %s", e.names.history(), historyColumns, values, from, where)
	return Step{What: "history", SQL: sql, Params: s.params.list()}
}

// sqliteUpdate moves the row. Where history was written just before, that it was is the guard, and its time is the
// clock: so the row and its history tell the same time. Where there may be none the guards are judged here.
func (e *emitter) sqliteUpdate(r *transitions.Rule, s site, judge bool) Step {
	id := s.param("operation_id", transitions.Text)
	clock, guards := e.historyClock(), "changes() = 1"
	if judge {
		clock, guards = sqliteClock, s.guards(r, "  ")
	}
	sql := fmt.Sprintf("UPDATE %s AS o\n  SET %s\nFROM %s\nWHERE o.operation_id = %s\n  AND %s\nRETURNING %s",
		e.names.operations(), s.sets(r), clock, id, guards, idents("", e.columns))
	return Step{What: "update", SQL: sql, Params: s.params.list()}
}

func (e *emitter) historyClock() string {
	return fmt.Sprintf("(SELECT h.at AS now FROM %s AS h WHERE h.seq = last_insert_rowid()) AS clock", e.names.history())
}

// sqliteChanges writes the recorded columns with the values that they are about to get.
func (s site) sqliteChanges(r *transitions.Rule) string {
	pairs := make([]string, len(r.Recorded))
	for n, i := range r.Recorded {
		c := s.program.Columns[i]
		value := s.afterRule(r, c.Name)
		switch c.Kind {
		case transitions.Time:
			value = "(" + value + ") * 1000"
		case transitions.Bytes:
			value = "CASE WHEN " + value + " IS NULL THEN NULL ELSE lower(hex(" + value + ")) END"
		case transitions.Bool:
			value = "json(CASE " + value + " WHEN 1 THEN 'true' WHEN 0 THEN 'false' ELSE 'null' END)"
		}
		pairs[n] = textLiteral(c.Name) + ", " + value
	}
	return "json_object(" + strings.Join(pairs, ", ") + ")"
}

// sqlitePrepare answers with the operation that exists; where none does the judge answers no row, and the steps
// create it. Where they change nothing either, the rule's guards do not hold: they are about the parameters only.
func (e *emitter) sqlitePrepare(r *transitions.Rule) Statement {
	s := e.at(given(r), "", "clock.now")
	sql := fmt.Sprintf("SELECT 0 AS applied, '%s' AS failed, %s\nFROM %s AS o\nWHERE o.operation_id = %s",
		newExists, idents("o.", e.columns), e.names.operations(), s.param("operation_id", transitions.Text))
	insert := e.at(given(r), "", "clock.now")
	columns, values := insert.newRow(r)
	step := Step{What: "update", SQL: fmt.Sprintf("INSERT INTO %s (%s)\nSELECT %s\nFROM %s\nWHERE changes() = 1\nRETURNING %s",
		e.names.operations(), idents("", columns), strings.Join(values, ", "), e.historyClock(), idents("", e.columns)),
		Params: insert.params.list()}
	return Statement{Event: r.Event, Form: transitions.One, SQL: sql, Params: s.params.list(), Then: []Step{e.sqliteHistory(r, e.at(given(r), "", "clock.now")), step}, Rule: r}
}
