package persist

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// PostgreSQL: one autocommit statement an event. It locks the row first and judges it afterwards, by a clock that was
// read after the lock was had: an UPDATE that judges in its own WHERE and waits for a lock whose holder rolls back
// writes although the lease ran out while it waited.

// cte is one named part of a statement.
type cte struct {
	name         string
	materialized bool // evaluated once, and before what reads it
	sql          string
}

func with(parts []cte, last string) string {
	texts := make([]string, len(parts))
	for i, p := range parts {
		how := " AS ("
		if p.materialized {
			how = " AS MATERIALIZED ("
		}
		texts[i] = p.name + how + "\n  " + p.sql + "\n)"
	}
	return "WITH " + strings.Join(texts, ", ") + "\n" + last
}

// gatheredLockTimeout is the longest wait for a lock of a statement for calls that came together by chance. It passes
// locked rows by, and still has to wait for who is just creating one of its operations, or just storing one of its remote
// job ids: meanwhile it holds the rows of all others. It is less than PostgreSQL's deadlock_timeout, so that no
// transaction of a caller's is the one that is ended where the two wait for each other.
const gatheredLockTimeout = 100 * time.Millisecond

// bounded sets the longest wait for a lock, for this transaction only. Who reads it before taking a lock is bound.
func (e *emitter) bounded(form transitions.Form) cte {
	longest := e.lockTimeout
	if form == Gathered {
		longest = min(longest, gatheredLockTimeout)
	}
	return cte{"bounded", true, fmt.Sprintf("SELECT set_config('lock_timeout', '%dms', true)", longest.Milliseconds())}
}

// clocked reads the clock once for every locked row, when it has the lock. OFFSET 0 keeps the planner from merging it
// into what reads it, where every mention of the clock would read it anew.
func clocked(from string) string {
	return "(SELECT s.*, clock_timestamp() AS judged_at FROM " + from + " AS s OFFSET 0) AS c"
}

// pgOne fires the event on one operation.
func (e *emitter) pgOne(r *transitions.Rule) Statement {
	s := e.at(&placeholders{}, "c", "c.judged_at")
	parts := []cte{e.bounded(transitions.One), {"seen", true, fmt.Sprintf(
		"SELECT o.*\n  FROM bounded, %s AS o\n  WHERE o.operation_id = %s\n  FOR UPDATE OF o", e.names.operations(), s.param("operation_id", transitions.Text))}}
	parts = append(parts, e.pgJudge(r, s, "seen")...)
	last := fmt.Sprintf("SELECT true AS applied, '{}'::text[] AS failed, %s\nFROM moved AS m\nUNION ALL\nSELECT false, j.failed, %s\nFROM judged AS j\nWHERE NOT EXISTS (SELECT FROM moved)",
		idents("m.", e.columns), idents("j.", e.columns))
	return Statement{Event: r.Event, Form: transitions.One, SQL: with(parts, last), Params: s.params.list(), Rule: r}
}

// pgMany fires the event on several operations, each judged on its own. They are locked in the order of their ids, so
// that two such statements cannot lock each other out. Locked says what becomes of a row that somebody has locked: "" is
// to wait for it.
func (e *emitter) pgMany(r *transitions.Rule, locked string) Statement {
	form := Many
	if locked != "" {
		form = Gathered
	}
	s := e.at(&placeholders{}, "c", "c.judged_at")
	input := s.inputTable(r)
	s.input = "i"
	if r.New {
		return e.pgPrepareMany(r, s, input, form)
	}
	parts := []cte{e.bounded(form), input, {"seen", true, fmt.Sprintf(
		"SELECT o.*\n  FROM bounded, %s AS o\n  WHERE o.operation_id = ANY($1::text[])\n  ORDER BY o.operation_id\n  FOR UPDATE OF o%s", e.names.operations(), locked)}}
	parts = append(parts, e.pgJudge(r, s, "seen")...)
	last := fmt.Sprintf("SELECT m.ordinal, true AS applied, '{}'::text[] AS failed, %s\nFROM moved AS m\nUNION ALL\nSELECT j.ordinal, false, j.failed, %s\nFROM judged AS j\nWHERE NOT EXISTS (SELECT FROM moved AS m WHERE m.operation_id = j.operation_id)",
		idents("m.", e.columns), idents("j.", e.columns))
	return Statement{Event: r.Event, Form: form, SQL: with(parts, last), Params: s.params.list(), Rule: r}
}

// inputTable turns the arrays into rows, numbered in the order in which the answers are wanted.
func (s site) inputTable(r *transitions.Rule) cte {
	arrays, names := make([]string, len(r.Params)), make([]string, len(r.Params))
	for i, d := range r.Params {
		arrays[i] = fmt.Sprintf("$%d::%s[]", s.params.number(d.Name), pgTypes[d.Kind])
		names[i] = d.Name
	}
	return cte{"input", true, fmt.Sprintf("SELECT i.*\n  FROM unnest(%s)\n    WITH ORDINALITY AS i(%s, ordinal)", strings.Join(arrays, ", "), idents("", names))}
}

// pgPick fires the event on the operations that it finds due. The pick is limited and locks, so it stands in a part
// that runs once: as a subselect of IN it was seen to claim more than its limit. All guards are in the pick, so that
// no ineligible row takes an eligible one's place; then every row is judged again, by the clock after the lock.
func (e *emitter) pgPick(r *transitions.Rule, form transitions.Form) Statement {
	s := e.at(&placeholders{}, "o", "clock_timestamp()")
	order := pickOrder(form)
	var parts []cte
	var due *Reader
	levels, byLevel := s.priorityLevels(r)
	if form == transitions.Batch && byLevel {
		parts = append(parts, levels, s.pickByLevel(r))
	} else if slices.ContainsFunc(r.Sets, func(set transitions.Set) bool { return set.Col == "remote_job_id" }) {
		// It passes locked rows by, and waits for who is just storing a remote job id that it is to store: meanwhile it holds
		// all others that it has found, and so no longer than calls that came together by chance.
		due = e.due(r, order)
		parts = append(parts, e.bounded(Gathered), cte{"picked", true, s.pick(r, "", "\n    AND (SELECT true FROM bounded)", order, "  ")})
	} else {
		parts = append(parts, cte{"picked", true, s.pick(r, "", "", order, "  ")})
	}
	s.row, s.now = "c", "c.judged_at"
	parts = append(parts, e.pgJudge(r, s, "picked")...)
	last := fmt.Sprintf("SELECT true AS applied, '{}'::text[] AS failed, %s\nFROM moved AS m\nJOIN judged AS j ON j.operation_id = m.operation_id\nORDER BY %s",
		idents("m.", e.columns), strings.ReplaceAll(order, "o.", "j."))
	sql := with(parts, last)
	if byLevel && form == transitions.Batch {
		sql = strings.Replace(sql, "WITH ", "WITH RECURSIVE ", 1)
	}
	return Statement{Event: r.Event, Form: form, SQL: sql, Params: s.params.list(), Rule: r, Due: due}
}

// due reads what a sweep finds, without taking it.
func (e *emitter) due(r *transitions.Rule, order string) *Reader {
	s := e.at(&placeholders{}, "o", "clock_timestamp()")
	sql := fmt.Sprintf("SELECT o.operation_id\nFROM %s AS o\nWHERE o.wake_at <= statement_timestamp()\n  AND %s\nORDER BY %s\nLIMIT %s",
		e.names.operations(), s.guards(r, "  "), order, s.param(Limit, transitions.Int))
	reader := e.reader("due "+r.Event, s, sql)
	return &reader
}

// pick finds and locks what is due. The index serves statement_timestamp(), which does not change within a statement;
// the guards judge by the clock.
func (s site) pick(r *transitions.Rule, first, last, order, indent string) string {
	lines := []string{
		"SELECT o.*", "FROM " + s.names.operations() + " AS o", "WHERE " + first + "o.wake_at <= statement_timestamp()",
		"  AND " + s.guards(r, indent+"  ") + last, "ORDER BY " + order, "LIMIT " + s.param(Limit, transitions.Int), "FOR UPDATE OF o SKIP LOCKED",
	}
	return strings.Join(lines, "\n"+indent)
}

// priorityLevels walks the priorities that there is work of, the highest first, one step of the index a priority: so
// that neither what is due of a lower priority nor what is not yet due of a higher one is read. It works for a rule
// whose guards fix the index's first columns.
func (s site) priorityLevels(r *transitions.Rule) (cte, bool) {
	fixed, ok := s.fixedByClaim(r)
	if !ok {
		return cte{}, false
	}
	where := strings.Join(append(fixed, "o.wake_at IS NOT NULL"), " AND ")
	from := "FROM " + s.names.operations() + " AS o"
	return cte{"levels", false, fmt.Sprintf("(SELECT o.priority\n    %s\n    WHERE %s\n    ORDER BY o.priority DESC\n    LIMIT 1)\n  UNION ALL\n  SELECT (SELECT o.priority\n    %s\n    WHERE %s AND o.priority < l.priority\n    ORDER BY o.priority DESC\n    LIMIT 1)\n  FROM levels AS l\n  WHERE l.priority IS NOT NULL",
		from, where, from, where)}, true
}

// pickByLevel picks from one priority after the other until there are enough.
func (s site) pickByLevel(r *transitions.Rule) cte {
	return cte{"picked", true, fmt.Sprintf("SELECT p.*\n  FROM levels AS l\n  CROSS JOIN LATERAL (\n    %s\n  ) AS p\n  LIMIT %s",
		s.pick(r, "o.priority = l.priority AND ", "", pickOrder(transitions.Sweep), "    "), s.param(Limit, transitions.Int))}
}

// pgJudge judges the locked rows of from, moves those whose guards all hold, and writes what they leave behind. Where the
// parameters are a table, each row takes its own with it: joined again by each later part, the whole lifecycle took the
// server a fifth longer (ARCHITECTURE.md, 18).
func (e *emitter) pgJudge(r *transitions.Rule, s site, from string) []cte {
	columns, from, returns := "c.*, ", clocked(from), "o.*"
	if s.input != "" {
		columns += "i.ordinal, " + givens(r)
		from += "\n  JOIN input AS i ON i.operation_id = c.operation_id"
		returns += ", j.ordinal"
	}
	parts := []cte{{"judged", true, "SELECT " + columns + s.failed(r) + " AS failed\n  FROM " + from}}
	s.row, s.now = "j", "j.judged_at"
	if s.input != "" {
		s.input, s.prefix = "j", along
	}
	if r.Then != nil {
		return append(parts, e.pgThen(r, s)...)
	}
	parts = append(parts, cte{"moved", false, fmt.Sprintf("UPDATE %s AS o\n  SET %s\n  FROM judged AS j\n  WHERE o.operation_id = j.operation_id AND j.failed = '{}'\n  RETURNING %s",
		e.names.operations(), s.sets(r), returns)})
	return append(parts, e.pgTraces(r, s, "moved AS m\n  JOIN judged AS j ON j.operation_id = m.operation_id")...)
}

// along stands before a parameter's name where it is a column beside those of the row.
const along = "given_"

// givens are a rule's parameters as columns, all but the one by which the row was found.
func givens(r *transitions.Rule) string {
	var columns strings.Builder
	for _, d := range r.Params {
		if d.Name != "operation_id" {
			fmt.Fprintf(&columns, "i.%s AS %s, ", ident(d.Name), ident(along+d.Name))
		}
	}
	return columns.String()
}

// failed lists the guards that do not hold.
func (s site) failed(r *transitions.Rule) string {
	if len(r.Guards) == 0 {
		return "'{}'::text[]"
	}
	parts := make([]string, len(r.Guards))
	for i, g := range r.Guards {
		parts[i] = "CASE WHEN " + s.cond(g.Expr) + " THEN NULL ELSE " + textLiteral(g.Name) + " END"
	}
	return "array_remove(ARRAY[\n      " + strings.Join(parts, ",\n      ") + "\n    ]::text[], NULL)"
}

// pgTraces writes history and evidence of what was moved. Neither has an ON CONFLICT: it would answer no row although
// the operation was moved.
func (e *emitter) pgTraces(r *transitions.Rule, s site, from string) []cte {
	var parts []cte
	if !silent(r) {
		where := ""
		if r.Quiet.IsSet() {
			where = "\n  WHERE (" + s.cond(r.Quiet) + ") IS NOT TRUE"
		}
		fromPhase := s.column("phase")
		if r.New {
			fromPhase = "NULL"
		}
		parts = append(parts, cte{"history", false, fmt.Sprintf("INSERT INTO %s (%s)\n  SELECT %s\n  FROM %s%s", e.names.history(), historyColumns, s.historyValues(r, fromPhase), from, where)})
	}
	if r.Evidence != nil && !r.New {
		parts = append(parts, cte{"evidence", false, fmt.Sprintf("INSERT INTO %s (%s)\n  SELECT %s\n  FROM %s\n  WHERE %s",
			e.names.evidence(), evidenceColumns, s.evidenceRow(r), from, s.cond(r.Evidence.When))})
	}
	return parts
}

// historyValues are an event's history row, of an operation that was moved.
func (s site) historyValues(r *transitions.Rule, fromPhase string) string {
	return strings.Join([]string{
		"m.operation_id", textLiteral(r.Event), fromPhase, "m.phase", s.assigned(r.Owner, transitions.Text), "m.revision",
		s.assigned(r.Reason, transitions.Text), s.assigned(r.Reviewer, transitions.Text), s.assigned(r.Detail, transitions.Text), s.pgChanges(r, "m."), s.now,
	}, ", ")
}

// pairsPerObject keeps a call below the hundred arguments that a function may have.
const pairsPerObject = 40

// pgChanges writes the recorded columns with their values after the event: times as Unix microseconds, bytes as hex.
func (e *emitter) pgChanges(r *transitions.Rule, alias string) string {
	var objects, pairs []string
	flush := func() {
		objects = append(objects, "jsonb_build_object("+strings.Join(pairs, ", ")+")")
		pairs = nil
	}
	for _, i := range r.Recorded {
		c := e.program.Columns[i]
		value := alias + ident(c.Name)
		switch c.Kind {
		case transitions.Time:
			value = "(extract(epoch FROM " + value + ") * 1000000)::bigint"
		case transitions.Bytes:
			value = "encode(" + value + ", 'hex')"
		}
		pairs = append(pairs, textLiteral(c.Name)+", "+value)
		if len(pairs) == pairsPerObject {
			flush()
		}
	}
	if len(pairs) > 0 || len(objects) == 0 {
		flush()
	}
	return strings.Join(objects, " || ")
}

// newExists is the guard that a creating event fails where the operation exists.
const newExists = "new"

// pgPrepare creates an operation, or answers with the one that exists. Where another transaction creates it at this
// moment there may be no answer at all: its row is not yet visible. Asking again does no harm.
func (e *emitter) pgPrepare(r *transitions.Rule) Statement {
	s := e.at(&placeholders{}, "", "c.judged_at")
	id := s.param("operation_id", transitions.Text)
	parts := []cte{e.bounded(transitions.One),
		{"clocked", true, "SELECT clock_timestamp() AS judged_at\n  FROM bounded"},
		{"judged", true, "SELECT c.*, " + s.failed(r) + " AS failed\n  FROM clocked AS c"}}
	s.now = "j.judged_at"
	parts = append(parts, e.pgInsert(r, s, "judged AS j", ""))
	parts = append(parts, e.pgTraces(r, s, "moved AS m, judged AS j")...)
	last := fmt.Sprintf("SELECT true AS applied, '{}'::text[] AS failed, %s\nFROM moved AS m\nUNION ALL\nSELECT false, ARRAY['%s'] || j.failed, %s\nFROM judged AS j, %s AS o\nWHERE o.operation_id = %s AND NOT EXISTS (SELECT FROM moved)",
		idents("m.", e.columns), newExists, idents("o.", e.columns), e.names.operations(), id)
	return Statement{Event: r.Event, Form: transitions.One, SQL: with(parts, last), Params: s.params.list(), Rule: r}
}

// pgPrepareMany creates several operations, in the order of their ids.
func (e *emitter) pgPrepareMany(r *transitions.Rule, s site, input cte, form transitions.Form) Statement {
	s.row, s.input, s.now = "", "c", "c.judged_at"
	parts := []cte{e.bounded(form), input,
		{"clocked", true, "SELECT i.*, clock_timestamp() AS judged_at\n  FROM bounded, input AS i"},
		{"judged", true, "SELECT c.*, " + s.failed(r) + " AS failed\n  FROM clocked AS c"}}
	s.input, s.now = "j", "j.judged_at"
	parts = append(parts, e.pgInsert(r, s, "judged AS j", "\n  ORDER BY j.operation_id"))
	parts = append(parts, e.pgTraces(r, s, "moved AS m\n  JOIN judged AS j ON j.operation_id = m.operation_id")...)
	last := fmt.Sprintf("SELECT j.ordinal, true AS applied, '{}'::text[] AS failed, %s\nFROM moved AS m\nJOIN judged AS j ON j.operation_id = m.operation_id\nUNION ALL\nSELECT j.ordinal, false, ARRAY['%s'] || j.failed, %s\nFROM judged AS j\nJOIN %s AS o ON o.operation_id = j.operation_id\nWHERE NOT EXISTS (SELECT FROM moved AS m WHERE m.operation_id = j.operation_id)",
		idents("m.", e.columns), newExists, idents("o.", e.columns), e.names.operations())
	return Statement{Event: r.Event, Form: form, SQL: with(parts, last), Params: s.params.list(), Rule: r}
}

func (e *emitter) pgInsert(r *transitions.Rule, s site, from, order string) cte {
	columns, values := s.newRow(r)
	return cte{"moved", false, fmt.Sprintf("INSERT INTO %s AS o (%s)\n  SELECT %s\n  FROM %s\n  WHERE j.failed = '{}'%s\n  ON CONFLICT (operation_id) DO NOTHING\n  RETURNING o.*",
		e.names.operations(), idents("", columns), strings.Join(values, ", "), from, order)}
}
