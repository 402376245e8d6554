package persist

import (
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Evidence may belong to no operation yet: a remote that tells of its job before the job's id is stored here. It stands
// in the evidence table with a null operation_id, which is never filled in: the table is append-only. Which operation
// holds the id by now is found by joining.

// evidenceRead are the columns that a reader of evidence gives.
const evidenceRead = "v.seq, v.operation_id, v.provider, v.account, v.kind, v.revision, v.owner, v.remote_job_id, v.detail, v.at"

// noteUnmatched appends evidence of no operation, unless an equal one is there.
func (e *emitter) noteUnmatched() Step {
	now, is := "clock_timestamp()", "IS NOT DISTINCT FROM"
	if e.dialect == SQLite {
		now, is = sqliteNow, "IS"
	}
	s := e.at(&placeholders{}, "", now)
	param := func(name string, kind transitions.Kind) string { return s.param(name, kind) }
	provider, account := param("provider", transitions.Text), param("account", transitions.Text)
	kind, revision, owner := param("kind", transitions.Text), param("revision", transitions.Int), param("owner", transitions.Text)
	job, detail := param("remote_job_id", transitions.Text), param("detail", transitions.Bytes)
	values := strings.Join([]string{"NULL", provider, account, kind, revision, owner, job, detail, now}, ", ")
	sql := fmt.Sprintf("INSERT INTO %s (%s)\nSELECT %s\nWHERE NOT EXISTS (\n  SELECT 1 FROM %s AS v\n  WHERE v.provider = %s AND v.account = %s AND v.remote_job_id = %s\n    AND v.operation_id IS NULL AND v.kind = %s AND v.detail %s %s\n)",
		e.names.evidence(), evidenceColumns, values, e.names.evidence(), provider, account, job, kind, is, detail)
	return Step{What: "evidence", SQL: sql, Params: s.params.list()}
}

func (e *emitter) readNaming() Reader {
	s := e.at(&placeholders{}, "v", e.clock())
	return e.reader(ReadNaming, s, fmt.Sprintf("SELECT %s\nFROM %s AS v\nWHERE v.provider = %s AND v.account = %s AND v.remote_job_id = %s\nORDER BY v.seq",
		evidenceRead, e.names.evidence(), s.param("provider", transitions.Text), s.param("account", transitions.Text), s.param("remote_job_id", transitions.Text)))
}

// readUnmatched pages through the evidence of no operation, in one of two directions. The page is cut first, by the index
// of an operation's evidence (which is why the null operation_id is part of the order), and what its rows are joined
// with is looked up afterwards: a plan that filters before it cuts was seen to read all there is for one page.
func (e *emitter) readUnmatched(name, direction, beyond string) Reader {
	s := e.at(&placeholders{}, "v", e.clock())
	page := fmt.Sprintf("SELECT v.seq, v.provider, v.account, v.kind, v.remote_job_id, v.at\n  FROM %s AS v\n  WHERE v.operation_id IS NULL AND v.seq %s %s\n  ORDER BY v.operation_id %s, v.seq %s\n  LIMIT %s",
		e.names.evidence(), beyond, s.param("after", transitions.Int), direction, direction, s.param(Limit, transitions.Int))
	outcome := e.dialect.literal(transitions.NullValue, transitions.Text)
	if e.has("outcome") {
		outcome = "o.outcome"
	}
	told := fmt.Sprintf("EXISTS (\n    SELECT 1 FROM %s AS k\n    WHERE k.provider = p.provider AND k.account = p.account AND k.remote_job_id = p.remote_job_id\n      AND k.operation_id IS NOT NULL AND k.kind = 'accepted')", e.names.evidence())
	return e.reader(name, s, fmt.Sprintf("WITH page AS MATERIALIZED (\n  %s\n)\nSELECT p.seq, p.provider, p.account, p.kind, p.remote_job_id, p.at, o.operation_id AS holder, %s AS outcome, %s AS told\n"+
		"FROM page AS p\nLEFT JOIN %s AS o ON o.provider = p.provider AND o.account = p.account AND o.remote_job_id = p.remote_job_id\nORDER BY p.seq %s",
		page, outcome, told, e.names.operations(), direction))
}
