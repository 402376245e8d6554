package persist

import (
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// The names of the reading statements.
const (
	ReadGet       = "get"              // operations by id: PostgreSQL an array, SQLite one
	ReadFind      = "find"             // the operation of a provider, account and remote job id
	ReadList      = "list"             // a page of operations, newest first
	ReadHistory   = "history"          // of one operation, oldest first
	ReadEvidence  = "evidence"         // of one operation, oldest first
	ReadNaming    = "naming"           // the evidence that names a remote job id, oldest first
	ReadUnmatched = "unmatched"        // a page of the evidence of no operation, oldest first
	ReadNewest    = "unmatched_newest" // the same, newest first
	ReadStats     = "stats"            // counts
)

func (e *emitter) readers() []Reader {
	readers := []Reader{e.readGet(), e.readList(), e.readHistory(), e.readEvidence(), e.readStats()}
	if e.has("remote_job_id") {
		readers = append(readers, e.readFind(), e.readNaming(),
			e.readUnmatched(ReadUnmatched, "ASC", ">"), e.readUnmatched(ReadNewest, "DESC", "<"))
	}
	if e.prunable() {
		readers = append(readers, e.readPrunePage(), e.readPrunable(), e.readHistories(), e.readTestimony())
	}
	return append(readers, e.reviewReaders()...)
}

// clock is the wall clock of a statement that changes nothing.
func (e *emitter) clock() string {
	if e.dialect == PostgreSQL {
		return "statement_timestamp()"
	}
	return sqliteNow
}

func (e *emitter) reader(name string, s site, sql string) Reader {
	return Reader{Name: name, SQL: sql, Params: s.params.list()}
}

func (e *emitter) readGet() Reader {
	s := e.at(&placeholders{}, "o", e.clock())
	match := "= " + s.param("operation_id", transitions.Text)
	if e.dialect == PostgreSQL {
		match = "= ANY($1::text[])"
	}
	return e.reader(ReadGet, s, fmt.Sprintf("SELECT %s\nFROM %s AS o\nWHERE o.operation_id %s", idents("o.", e.columns), e.names.operations(), match))
}

func (e *emitter) readFind() Reader {
	s := e.at(&placeholders{}, "o", e.clock())
	return e.reader(ReadFind, s, fmt.Sprintf("SELECT %s\nFROM %s AS o\nWHERE o.provider = %s AND o.account = %s AND o.remote_job_id = %s",
		idents("o.", e.columns), e.names.operations(), s.param("provider", transitions.Text), s.param("account", transitions.Text), s.param("remote_job_id", transitions.Text)))
}

// readList leaves out what is null among its parameters.
func (e *emitter) readList() Reader {
	s := e.at(&placeholders{}, "o", e.clock())
	var where []string
	for _, f := range []struct{ param, column string }{
		{"phase", "phase"}, {"outcome", "outcome"}, {"reason", "uncertain_reason"}, {"kind", "kind"},
		{"provider", "provider"}, {"account", "account"}, {"delivery", "delivery"},
	} {
		where = append(where, e.unless(s, f.param, transitions.Text, f.column))
	}
	where = append(where, orNull(s, "marked", transitions.Bool, "("+e.marked()+") = "+s.param("marked", transitions.Bool)),
		e.aged(s, "min_age_ms", "<="), e.aged(s, "max_age_ms", ">="),
		orNull(s, "after_created_at", transitions.Time, fmt.Sprintf("(o.created_at, o.operation_id) < (%s, %s)",
			s.param("after_created_at", transitions.Time), s.param("after_operation_id", transitions.Text))))
	return e.reader(ReadList, s, fmt.Sprintf("SELECT %s\nFROM %s AS o\nWHERE %s\nORDER BY o.created_at DESC, o.operation_id DESC\nLIMIT %s",
		idents("o.", e.columns), e.names.operations(), strings.Join(where, "\n  AND "), s.param(Limit, transitions.Int)))
}

// orNull is a condition that holds where its parameter was not given.
func orNull(s site, param string, kind transitions.Kind, cond string) string {
	return fmt.Sprintf("(%s IS NULL OR %s)", s.param(param, kind), cond)
}

// unless selects by a column where the parameter was given. Nothing has what the table does not know.
func (e *emitter) unless(s site, param string, kind transitions.Kind, column string) string {
	if !e.has(column) {
		return orNull(s, param, kind, "false")
	}
	return orNull(s, param, kind, s.column(column)+" = "+s.param(param, kind))
}

// aged selects by how long ago a row was created.
func (e *emitter) aged(s site, param, sign string) string {
	earlier := s.now + " - " + s.expr(transitions.Param(param, transitions.Int), transitions.Int)
	if e.dialect == PostgreSQL {
		earlier += " * interval '1 millisecond'"
	}
	return orNull(s, param, transitions.Int, "o.created_at "+sign+" "+earlier)
}

// marked tells whether a row has a mark, as far as the table knows marks.
func (e *emitter) marked() string {
	var marks []string
	for _, c := range []string{"duplicate_suspected", "outcome_contradicted"} {
		if e.has(c) {
			marks = append(marks, "o."+ident(c))
		}
	}
	if len(marks) == 0 {
		return e.dialect.literal(transitions.BoolValue(false), transitions.Bool)
	}
	return strings.Join(marks, " OR ")
}

func (e *emitter) readHistory() Reader {
	s := e.at(&placeholders{}, "h", e.clock())
	changes := "h.changes"
	if e.dialect == PostgreSQL {
		changes = "h.changes::text"
	}
	return e.reader(ReadHistory, s, fmt.Sprintf("SELECT %s\nFROM %s AS h\nWHERE h.operation_id = %s\nORDER BY h.seq",
		historyRow(changes), e.names.history(), s.param("operation_id", transitions.Text)))
}

func historyRow(changes string) string {
	return "h.seq, h.operation_id, h.event, h.from_phase, h.to_phase, h.owner, h.revision, h.reason, h.reviewer, h.detail, " + changes + " AS changes, h.at"
}

func (e *emitter) readEvidence() Reader {
	s := e.at(&placeholders{}, "v", e.clock())
	return e.reader(ReadEvidence, s, fmt.Sprintf("SELECT %s\nFROM %s AS v\nWHERE v.operation_id = %s\nORDER BY v.seq",
		evidenceRead, e.names.evidence(), s.param("operation_id", transitions.Text)))
}

func (e *emitter) readStats() Reader {
	s := e.at(&placeholders{}, "o", e.clock())
	groups := make([]string, 0, 4)
	for _, c := range []string{"phase", "outcome", "delivery", "uncertain_reason"} {
		column := e.dialect.literal(transitions.NullValue, transitions.Text)
		if e.has(c) {
			column = "o." + ident(c)
		}
		groups = append(groups, column+" AS "+c)
	}
	count := func(cond string) string { return "count(CASE WHEN " + cond + " THEN 1 END)" }
	return e.reader(ReadStats, s, fmt.Sprintf("SELECT %s,\n  count(*) AS operations,\n  min(CASE WHEN o.due_at <= %s THEN o.due_at END) AS oldest_due,\n  %s AS leased,\n  %s AS lapsed\nFROM %s AS o\nGROUP BY 1, 2, 3, 4\nORDER BY 1, 2, 3, 4",
		strings.Join(groups, ", "), s.now, count("o.lease_until > "+s.now), count("o.lease_until <= "+s.now), e.names.operations()))
}
