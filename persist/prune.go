package persist

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Pruning takes the history and the evidence of finished operations away and leaves their rows. It is no event: the row
// does not change. What is about to be pruned is found by reading the primary key page by page, and judged again on the
// locked row, since it may have moved in between.

// The reading statements of pruning.
const (
	ReadPrunePage = "prune_page" // the id that ends a page of ids, and how many are on it
	ReadPrunable  = "prunable"   // the operations of such a page that may be pruned
	ReadHistories = "histories"  // of several operations, by operation and oldest first
	ReadTestimony = "testimony"  // the evidence of several operations, by operation and oldest first
)

// pruned is the history row that stands for a pruned history.
const pruned = transitions.Pruned

// prunable reports whether the table tells by the standard columns and words which operations are finished, and to a known
// end, and has no event that is called as what is left of a pruned history.
func (e *emitter) prunable() bool {
	return e.program.Rule(pruned) == nil && slices.Contains(e.program.Outcomes, "abandoned") && !slices.ContainsFunc(transitions.PrunableColumns,
		func(column string) bool { return !e.has(column) })
}

// finished are the conditions under which an operation may be pruned. An abandoned one was sent, and nobody knows to
// what end; a delivery that failed may be tried again.
func (s site) finished() []string {
	earlier := s.now + " - " + s.param("older_than_ms", transitions.Int)
	if s.dialect == PostgreSQL {
		earlier += " * interval '1 millisecond'"
	}
	return []string{
		s.column("next_action") + " IS NULL",
		s.column("outcome") + " <> 'abandoned'", // nor null
		"NOT " + s.column("duplicate_suspected"),
		"NOT " + s.column("outcome_contradicted"),
		s.column("late_remote_job_id") + " IS NULL",
		s.column("lease_owner") + " IS NULL",
		"coalesce(" + s.column("delivery") + ", 'delivered') = 'delivered'",
		s.column("updated_at") + " < " + earlier,
		fmt.Sprintf("EXISTS (SELECT 1 FROM %s AS h WHERE h.operation_id = %s AND h.event <> '%s')", s.names.history(), s.column("operation_id"), pruned),
	}
}

// readPrunePage counts the ids of a page and gives the last of them. It reads the primary key's index and nothing else.
func (e *emitter) readPrunePage() Reader {
	s := e.at(&placeholders{}, "o", e.clock())
	return e.reader(ReadPrunePage, s, fmt.Sprintf("SELECT max(p.operation_id) AS until, count(*) AS ids\nFROM (\n  SELECT o.operation_id\n  FROM %s AS o\n  WHERE o.operation_id > %s\n  ORDER BY o.operation_id\n  LIMIT %s\n) AS p",
		e.names.operations(), s.param("after", transitions.Text), s.param("page", transitions.Int)))
}

func (e *emitter) readPrunable() Reader {
	s := e.at(&placeholders{}, "o", e.clock())
	where := []string{"o.operation_id > " + s.param("after", transitions.Text), "o.operation_id <= " + s.param("until", transitions.Text)}
	where = append(where, s.finished()...)
	for _, column := range []string{"outcome", "kind", "provider", "account"} {
		where = append(where, e.unless(s, column, transitions.Text, column))
	}
	return e.reader(ReadPrunable, s, fmt.Sprintf("SELECT o.operation_id, o.revision, o.evidence_seq\nFROM %s AS o\nWHERE %s\nORDER BY o.operation_id\nLIMIT %s",
		e.names.operations(), strings.Join(where, "\n  AND "), s.param(Limit, transitions.Int)))
}

// ofSeveral is a condition that selects by a list of ids.
func (e *emitter) ofSeveral(s site, column string) string {
	place := s.param("operation_ids", transitions.Text)
	if e.dialect == SQLite {
		return column + " IN (SELECT i.value FROM json_each(" + place + ") AS i)"
	}
	return column + " = ANY($1::text[])"
}

func (e *emitter) readHistories() Reader {
	s := e.at(&placeholders{}, "h", e.clock())
	changes := "h.changes"
	if e.dialect == PostgreSQL {
		changes = "h.changes::text"
	}
	return e.reader(ReadHistories, s, fmt.Sprintf("SELECT %s\nFROM %s AS h\nWHERE %s\nORDER BY h.operation_id, h.seq",
		historyRow(changes), e.names.history(), e.ofSeveral(s, "h.operation_id")))
}

func (e *emitter) readTestimony() Reader {
	s := e.at(&placeholders{}, "v", e.clock())
	return e.reader(ReadTestimony, s, fmt.Sprintf("SELECT %s\nFROM %s AS v\nWHERE %s\nORDER BY v.operation_id, v.seq",
		evidenceRead, e.names.evidence(), e.ofSeveral(s, "v.operation_id")))
}

// prune takes away what belongs to operations that were found: the statement of PostgreSQL about all of them, of SQLite
// about one. nil where the table's operations cannot be pruned.
func (e *emitter) prune() *Statement {
	switch {
	case !e.prunable():
		return nil
	case e.dialect == SQLite:
		return e.sqlitePrune()
	default:
		return e.pgPrune()
	}
}

// pgPrune passes by what somebody has locked. Two that prune at once may find the same history, since each sees the
// tables as they were when it began; so what is written for a pruned one is made of what the statement itself deleted,
// and the second of them, which deletes nothing, writes nothing.
func (e *emitter) pgPrune() *Statement {
	s := e.at(&placeholders{}, "c", "c.judged_at")
	s.params.names = []string{"operation_id", "revision", "evidence_seq"}
	s.params.used = 3
	input := "SELECT i.*\n  FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS i(operation_id, revision, evidence_seq)"
	seen := fmt.Sprintf("SELECT o.*\n  FROM %s AS o\n  WHERE o.operation_id = ANY($1::text[])\n  ORDER BY o.operation_id\n  FOR UPDATE OF o SKIP LOCKED", e.names.operations())
	judged := "SELECT c.*\n  FROM " + clocked("seen") + "\n  JOIN input AS i ON i.operation_id = c.operation_id AND i.revision = c.revision AND i.evidence_seq = c.evidence_seq\n  WHERE " + strings.Join(s.finished(), "\n    AND ")
	const ids = "ANY(ARRAY(SELECT j.operation_id FROM judged AS j))"
	history := fmt.Sprintf("DELETE FROM %s AS h\n  WHERE h.operation_id = %s\n  RETURNING h.operation_id, h.seq, h.reason, h.detail", e.names.history(), ids)
	evidence := fmt.Sprintf("DELETE FROM %s AS v\n  USING judged AS j\n  WHERE v.operation_id = %s AND v.operation_id = j.operation_id\n    AND (v.remote_job_id IS NULL OR v.remote_job_id = j.remote_job_id)", e.names.evidence(), ids)
	last := "SELECT DISTINCT ON (g.operation_id) g.*\n  FROM gone AS g\n  ORDER BY g.operation_id, g.seq DESC"
	insert := fmt.Sprintf("INSERT INTO %s (%s)\n  SELECT m.operation_id, '%s', NULL, m.phase, NULL, m.revision, l.reason, NULL, l.detail, %s, m.judged_at\n  FROM judged AS m\n  JOIN last AS l ON l.operation_id = m.operation_id\n  RETURNING operation_id",
		e.names.history(), historyColumns, pruned, e.pgDiffering())
	sql := with([]cte{
		{"input", true, input}, {"seen", true, seen}, {"judged", true, judged},
		{"gone", false, history}, {"evidence", false, evidence}, {"last", true, last}, {"pruned", false, insert},
	}, "SELECT p.operation_id\nFROM pruned AS p\nORDER BY p.operation_id")
	return &Statement{Event: pruned, Form: Many, SQL: sql, Params: s.params.list()}
}

// kept are the columns whose values history tells, by number.
func (e *emitter) kept() []int {
	var columns []int
	for i, c := range e.program.Columns {
		if !c.Quiet {
			columns = append(columns, i)
		}
	}
	return columns
}

// pgDiffering writes the columns that differ from their defaults, as the changes of an event are written.
func (e *emitter) pgDiffering() string {
	same := make([]string, 0, len(e.program.Columns))
	for _, i := range e.kept() {
		c := e.program.Columns[i]
		test := "m." + ident(c.Name) + " IS NULL"
		if !c.Default.IsNull() {
			test = "m." + ident(c.Name) + " IS NOT DISTINCT FROM " + e.dialect.literal(c.Default, c.Kind)
		}
		same = append(same, "CASE WHEN "+test+" THEN "+textLiteral(c.Name)+" END")
	}
	return fmt.Sprintf("(%s) - array_remove(ARRAY[\n    %s\n  ]::text[], NULL)", e.pgChanges(&transitions.Rule{Recorded: e.kept()}, "m."), strings.Join(same, ",\n    "))
}

// sqlitePrune writes what stands for the history first: if it was written, the rest follows.
func (e *emitter) sqlitePrune() *Statement {
	numbered := func() *placeholders {
		return &placeholders{names: []string{"operation_id", "revision", "evidence_seq", "older_than_ms"}}
	}
	s := e.at(numbered(), "o", "clock.now")
	id := s.param("operation_id", transitions.Text)
	last := func(column string) string {
		return fmt.Sprintf("(SELECT l.%s FROM %s AS l WHERE l.operation_id = o.operation_id ORDER BY l.seq DESC LIMIT 1)", column, e.names.history())
	}
	where := append([]string{"o.revision = " + s.param("revision", transitions.Int), "o.evidence_seq = " + s.param("evidence_seq", transitions.Int)}, s.finished()...)
	insert := fmt.Sprintf("INSERT INTO %s (%s)\nSELECT o.operation_id, '%s', NULL, o.phase, NULL, o.revision, %s, NULL, %s, %s, clock.now\nFROM %s\nJOIN %s AS o ON o.operation_id = %s\nWHERE %s",
		e.names.history(), historyColumns, pruned, last("reason"), last("detail"), s.sqliteDiffering(), sqliteClock, e.names.operations(), id, strings.Join(where, "\n  AND "))
	steps := []Step{
		{What: "history", SQL: fmt.Sprintf("DELETE FROM %s\nWHERE operation_id = ?1 AND seq < last_insert_rowid()", e.names.history()), Params: []string{"operation_id"}},
		{What: "evidence", SQL: fmt.Sprintf("DELETE FROM %s\nWHERE operation_id = ?1\n  AND (remote_job_id IS NULL OR remote_job_id = (SELECT o.remote_job_id FROM %s AS o WHERE o.operation_id = ?1))",
			e.names.evidence(), e.names.operations()), Params: []string{"operation_id"}},
	}
	return &Statement{Event: pruned, Form: transitions.One, SQL: insert, Params: s.params.list(), Then: steps}
}

// sqliteDiffering is pgDiffering. A path that leads nowhere removes nothing: an object has no first element.
func (s site) sqliteDiffering() string {
	paths := make([]string, 0, len(s.program.Columns))
	for _, i := range s.kept() {
		c := s.program.Columns[i]
		path := textLiteral(`$."` + c.Name + `"`)
		paths = append(paths, "iif("+s.column(c.Name)+" IS "+s.dialect.literal(c.Default, c.Kind)+", "+path+", '$[0]')")
	}
	return "json_remove(" + s.sqliteChanges(&transitions.Rule{Recorded: s.kept()}) + ",\n  " + strings.Join(paths, ",\n  ") + ")"
}
