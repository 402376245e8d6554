package persist

import (
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Copies is how very many operations that an event creates are stored (PostgreSQL): in one transaction, what each comes
// to is worked out beside the database, with transitions.Evaluator and the database's clock, and the rows are copied.
type Copies struct {
	Rule *transitions.Rule

	// Begin is the transaction's first statement. It bounds every wait for a lock, and by $1, such as "5000ms", every
	// wait for the client's next statement. It answers with the clock, and whether a trigger could make of a row what
	// nobody can know beforehand.
	Begin string

	Operations Copied // sent in the order of their ids, as every statement for several operations is
	History    Copied // of those whose event leaves an entry
}

// Copied is a table into which rows are copied, in the binary format.
type Copied struct {
	SQL     string
	Table   []string // schema and name, or the name alone
	Columns []CopiedColumn
}

// CopiedColumn is one column of a row that is copied.
type CopiedColumn struct {
	Name string

	// Value is what the column holds after an event that was applied at a time; nil for the changes of its entry, as jsonb.
	Value func(v *transitions.Verdict, at transitions.Value) transitions.Value
}

// Names lists the columns.
func (c Copied) Names() []string {
	names := make([]string, len(c.Columns))
	for i, column := range c.Columns {
		names[i] = column.Name
	}
	return names
}

// Copy finds how operations that an event creates are copied, nil where they cannot be.
func (s *Set) Copy(event string) *Copies {
	for i := range s.Copies {
		if s.Copies[i].Rule.Event == event {
			return &s.Copies[i]
		}
	}
	return nil
}

// pgCopies writes how the operations of a creating event are copied; false where it asks about other operations, which
// only the database can answer.
func (e *emitter) pgCopies(r *transitions.Rule) (Copies, bool) {
	if !r.New || r.Then != nil || asksOfOthers(r) {
		return Copies{}, false
	}
	names, _ := e.at(&placeholders{}, "", "").newRow(r)
	columns := make([]CopiedColumn, len(names))
	for i, name := range names {
		n := e.program.Column(name)
		columns[i] = CopiedColumn{name, func(v *transitions.Verdict, _ transitions.Value) transitions.Value { return v.Row[n] }}
	}
	return Copies{
		Rule: r,
		Begin: with([]cte{e.bounded(Many)},
			fmt.Sprintf(copiesBegin, textLiteral(e.names.operations()))),
		Operations: e.copied("operations", columns),
		History:    e.copied("history", copiedEntry(e.program.Column("operation_id"))),
	}, true
}

// copiesBegin looks for triggers before a row is inserted: those are the bits of tgtype. While the server reads what is
// copied neither statement_timeout nor a cancel request reaches it; where the network to the client is gone, the probes of
// TCP end the session within a minute, and with it the wait of others for the ids that it was creating.
const copiesBegin = `SELECT clock_timestamp(), EXISTS (
    SELECT FROM pg_catalog.pg_trigger
    WHERE tgrelid = %s::regclass AND NOT tgisinternal AND tgenabled <> 'D' AND tgtype & 7 = 7
  ), concat_ws(' ', set_config('idle_in_transaction_session_timeout', $1::text, true), set_config('tcp_keepalives_idle', '20', true),
    set_config('tcp_keepalives_interval', '10', true), set_config('tcp_keepalives_count', '4', true))
FROM bounded`

func (e *emitter) copied(table string, columns []CopiedColumn) Copied {
	c := Copied{Table: []string{e.names.prefix() + table}, Columns: columns}
	if e.names.Schema != "" {
		c.Table = append([]string{e.names.Schema}, c.Table...)
	}
	c.SQL = fmt.Sprintf("COPY %s (%s) FROM STDIN (FORMAT binary)", e.names.table(table), idents("", c.Names()))
	return c
}

// copiedEntry is the entry of an operation that was created, which comes from no phase.
func copiedEntry(id int) []CopiedColumn {
	values := map[string]func(v *transitions.Verdict, at transitions.Value) transitions.Value{
		"operation_id": func(v *transitions.Verdict, _ transitions.Value) transitions.Value { return v.Row[id] },
		"event": func(v *transitions.Verdict, _ transitions.Value) transitions.Value {
			return transitions.TextValue(v.Entry.Event)
		},
		"from_phase": func(*transitions.Verdict, transitions.Value) transitions.Value { return transitions.NullValue },
		"to_phase": func(v *transitions.Verdict, _ transitions.Value) transitions.Value {
			return transitions.TextValue(v.Entry.To)
		},
		"owner": func(v *transitions.Verdict, _ transitions.Value) transitions.Value { return v.Entry.Owner },
		"revision": func(v *transitions.Verdict, _ transitions.Value) transitions.Value {
			return transitions.IntValue(v.Entry.Revision)
		},
		"reason":   func(v *transitions.Verdict, _ transitions.Value) transitions.Value { return v.Entry.Reason },
		"reviewer": func(v *transitions.Verdict, _ transitions.Value) transitions.Value { return v.Entry.Reviewer },
		"detail":   func(v *transitions.Verdict, _ transitions.Value) transitions.Value { return v.Entry.Detail },
		"changes":  nil,
		"at":       func(_ *transitions.Verdict, at transitions.Value) transitions.Value { return at },
	}
	var columns []CopiedColumn
	for name := range strings.SplitSeq(historyColumns, ", ") {
		columns = append(columns, CopiedColumn{name, values[name]})
	}
	return columns
}

// asksOfOthers reports whether what a rule comes to depends on other operations.
func asksOfOthers(r *transitions.Rule) bool {
	asks := false
	look := func(x transitions.Expr) { asks = asks || x.Op == transitions.OpTaken }
	for _, g := range r.Guards {
		g.Expr.Walk(look)
	}
	for _, set := range r.Sets {
		set.Expr.Walk(look)
	}
	for _, x := range []transitions.Expr{r.Reason, r.Reviewer, r.Owner, r.Detail, r.Quiet} {
		x.Walk(look)
	}
	return asks
}
