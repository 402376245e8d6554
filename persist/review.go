package persist

import (
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// The reading statements of a review: what waits for a person, and what is known about it.
const (
	ReadReview      = "review"       // a page of what waits for a reviewer
	ReadReviewCount = "review_count" // how many wait
	ReadRecent      = "recent"       // the last history of several operations, and what led to a review
	ReadTraces      = "traces"       // the last evidence of several operations
	ReadRedone      = "redone"       // the operations that repeat one of several
)

// DetailBytes is the parameter of ReadTraces: how much of an evidence's detail is read.
const DetailBytes = "detail_bytes"

// reviewRank is the place of a row in the review list: null where nothing waits. It is a column, so that one index has
// the whole list in its order, whatever else is in the table (contract D2). "" where the table knows nothing to review.
func (e *emitter) reviewRank() string {
	var cases []string
	for i, mark := range []string{"duplicate_suspected", "outcome_contradicted"} {
		if e.has(mark) {
			cases = append(cases, fmt.Sprintf("WHEN %s THEN %d", ident(mark), i))
		}
	}
	if e.uncertain() {
		cases = append(cases, "WHEN phase = "+textLiteral(transitions.Uncertain)+" THEN 2")
	}
	if len(cases) == 0 {
		return ""
	}
	return "CASE " + strings.Join(cases, " ") + " END"
}

func (e *emitter) uncertain() bool {
	for _, p := range e.program.Phases {
		if p.Name == transitions.Uncertain {
			return true
		}
	}
	return false
}

func (e *emitter) reviewReaders() []Reader {
	var readers []Reader
	if e.reviewRank() != "" {
		readers = append(readers, e.readReview(), e.readReviewCount())
	}
	if e.has("redo_of") {
		readers = append(readers, e.readRedone())
	}
	return append(readers, e.readRecent(), e.readTraces())
}

// readReview takes the place of the last row of the page before; before the first page it is before every row. So the
// cursor is always a bound of the index.
func (e *emitter) readReview() Reader {
	s := e.at(&placeholders{}, "o", e.clock())
	where := append([]string{"o.review_rank IS NOT NULL", fmt.Sprintf("(o.review_rank, o.created_at, o.operation_id) > (%s, %s, %s)",
		s.param("after_rank", transitions.Int), s.param("after_created_at", transitions.Time), s.param("after_operation_id", transitions.Text))},
		e.reviewFilters(s)...)
	return e.reader(ReadReview, s, fmt.Sprintf("SELECT %s\nFROM %s AS o\nWHERE %s\nORDER BY o.review_rank, o.created_at, o.operation_id\nLIMIT %s",
		idents("o.", e.columns), e.names.operations(), strings.Join(where, "\n  AND "), s.param(Limit, transitions.Int)))
}

func (e *emitter) readReviewCount() Reader {
	s := e.at(&placeholders{}, "o", e.clock())
	where := append([]string{"o.review_rank >= " + s.param("after_rank", transitions.Int)}, e.reviewFilters(s)...)
	return e.reader(ReadReviewCount, s, fmt.Sprintf("SELECT count(*)\nFROM %s AS o\nWHERE %s", e.names.operations(), strings.Join(where, "\n  AND ")))
}

// reviewFilters leave out what is null among the parameters.
func (e *emitter) reviewFilters(s site) []string {
	var where []string
	for _, f := range []struct{ param, column string }{
		{"reason", "uncertain_reason"}, {"kind", "kind"}, {"provider", "provider"}, {"account", "account"},
	} {
		where = append(where, e.unless(s, f.param, transitions.Text, f.column))
	}
	for _, f := range []struct{ param, sign string }{{"min_age_ms", "<="}, {"max_age_ms", ">="}} {
		where = append(where, e.aged(s, f.param, f.sign))
	}
	return where
}

// readRecent gives the last history rows of each operation, the last one that began a send, and the last one that led to
// uncertain, however long ago they are. What they changed, which may be long, is left out.
func (e *emitter) readRecent() Reader {
	s := e.at(&placeholders{}, "h", e.clock())
	ids := e.idList(s)
	last := func(cond, limit string) string {
		return fmt.Sprintf("SELECT seq FROM (SELECT e.seq FROM %s AS e WHERE e.operation_id = i.value%s ORDER BY e.seq DESC LIMIT %s) AS l", e.names.history(), cond, limit)
	}
	picks := []string{last("", s.param(Limit, transitions.Int))}
	var effecting []string
	for _, p := range e.program.Phases {
		if p.Effecting {
			effecting = append(effecting, p.Name)
		}
	}
	if len(effecting) > 0 {
		picks = append(picks, last(" AND e.from_phase <> e.to_phase AND e.to_phase IN ("+wordList(effecting)+")", "1"))
	}
	if e.uncertain() {
		picks = append(picks, last(" AND e.from_phase <> e.to_phase AND e.to_phase = "+textLiteral(transitions.Uncertain), "1"))
	}
	return e.reader(ReadRecent, s, fmt.Sprintf("SELECT %s\n%s\nORDER BY h.operation_id, h.seq",
		historyRow("''"), e.lastOfEach(ids, e.names.history(), "h", strings.Join(picks, "\n  UNION\n  "))))
}

func (e *emitter) readTraces() Reader {
	s := e.at(&placeholders{}, "v", e.clock())
	ids := e.idList(s)
	pick := fmt.Sprintf("SELECT seq FROM (SELECT e.seq FROM %s AS e WHERE e.operation_id = i.value ORDER BY e.seq DESC LIMIT %s) AS l", e.names.evidence(), s.param(Limit, transitions.Int))
	length, part := "length(v.detail)", "substr(v.detail, 1, %s)"
	if e.dialect == PostgreSQL {
		length, part = "octet_length(v.detail)", "substring(v.detail FROM 1 FOR %s::int)"
	}
	part = fmt.Sprintf(part, s.param(DetailBytes, transitions.Int))
	return e.reader(ReadTraces, s, fmt.Sprintf("SELECT v.seq, v.operation_id, v.provider, v.account, v.kind, v.revision, v.owner, v.remote_job_id, %s AS detail, v.at, coalesce(%s, 0) AS detail_length\n%s\nORDER BY v.operation_id, v.seq",
		part, length, e.lastOfEach(ids, e.names.evidence(), "v", pick)))
}

// idList is the relation i of the ids asked for: an array, or a JSON list of texts.
func (e *emitter) idList(s site) string {
	place := s.param("operation_ids", transitions.Text)
	if e.dialect == SQLite {
		return "json_each(" + place + ") AS i"
	}
	return "unnest($1::text[]) AS i(value)"
}

// lastOfEach joins a table with those of its rows that pick names for each id.
func (e *emitter) lastOfEach(ids, table, alias, pick string) string {
	if e.dialect == SQLite {
		// SQLite keeps to the order of a cross join: the ids come first.
		return fmt.Sprintf("FROM %s\nCROSS JOIN %s AS %s ON %s.seq IN (\n  %s\n)", ids, table, alias, alias, pick)
	}
	// OFFSET 0 keeps PostgreSQL from reading the whole table to join it, which it does without statistics.
	return fmt.Sprintf("FROM %s\nCROSS JOIN LATERAL (\n  %s\n) AS p\nCROSS JOIN LATERAL (\n  SELECT r.* FROM %s AS r WHERE r.operation_id = i.value AND r.seq = p.seq OFFSET 0\n) AS %s", ids, pick, table, alias)
}

func (e *emitter) readRedone() Reader {
	s := e.at(&placeholders{}, "o", e.clock())
	among := "IN (SELECT i.value FROM json_each(" + s.param("operation_ids", transitions.Text) + ") AS i)"
	if e.dialect == PostgreSQL {
		among = "= ANY($1::text[])"
	}
	return e.reader(ReadRedone, s, fmt.Sprintf("SELECT %s\nFROM %s AS o\nWHERE o.redo_of %s\nORDER BY o.operation_id",
		idents("o.", e.columns), e.names.operations(), among))
}
