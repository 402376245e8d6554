package clause

import (
	"fmt"
	"slices"
	"strings"
)

// Kind says what a cut takes away.
type Kind string

// The kinds of cuts.
const (
	Where        Kind = "where"         // a condition of a WHERE, or a part of one
	On           Kind = "join"          // what a JOIN matches by, or a part of it
	Guard        Kind = "guard"         // an entry of the list of guards that failed
	Part         Kind = "part"          // an operand of AND or OR anywhere else
	Assign       Kind = "set"           // an assignment of an UPDATE
	Insert       Kind = "insert"        // a column of an INSERT and its value
	Change       Kind = "changes"       // a column that history records
	Order        Kind = "order"         // an ORDER BY, a key of it, or a DESC
	Limit        Kind = "limit"         //
	Lock         Kind = "for update"    //
	SkipLocked   Kind = "skip locked"   //
	Materialized Kind = "materialized"  //
	Arm          Kind = "union"         // one side of a UNION ALL
	Step         Kind = "statement"     // a whole part of a WITH that nothing else reads
	From         Kind = "from"          // an entry of a FROM that only has to be read
	Conflict     Kind = "on conflict"   //
	Returning    Kind = "returning"     //
	Index        Kind = "indexed by"    //
	Group        Kind = "group by"      //
	Joined       Kind = "concatenation" // an operand of ||
)

// Cut is one way to take a clause out of a statement.
type Cut struct {
	ID   string // of the statement's own cuts: the same for the same program whatever the tables are called
	Kind Kind
	In   string // the part of a WITH that it is in, "" outside of one
	Text string // what is taken away, on one line

	edits []edit
}

type edit struct {
	from, to int
	with     string
}

// Of lists every cut of a statement, in the order of the text.
func Of(sql string) ([]Cut, error) {
	all, err := tokens(sql)
	if err != nil {
		return nil, err
	}
	r := &reader{sql: sql, tokens: all, count: map[string]int{}}
	if r.query(0, len(all)); r.err != nil {
		return nil, r.err
	}
	for _, c := range r.cuts {
		if c.Apply(sql) == sql {
			return nil, fmt.Errorf("cut %s out of SQL: nothing changes", c.ID)
		}
	}
	return r.cuts, nil
}

// Find gives a statement's cut by its ID.
func Find(sql, id string) (Cut, error) {
	cuts, err := Of(sql)
	if err != nil {
		return Cut{}, err
	}
	if i := slices.IndexFunc(cuts, func(c Cut) bool { return c.ID == id }); i >= 0 {
		return cuts[i], nil
	}
	return Cut{}, fmt.Errorf("find cut %q: the statement has none of that name", id)
}

// Apply gives the statement without the clause. The text must be the one that the cut is of.
func (c Cut) Apply(sql string) string { return Apply(sql, c) }

// Apply gives the statement without several clauses, none of which is inside another.
func Apply(sql string, cuts ...Cut) string {
	var edits []edit
	for _, c := range cuts {
		edits = append(edits, c.edits...)
	}
	slices.SortFunc(edits, func(a, b edit) int { return b.from - a.from })
	for _, e := range edits {
		sql = sql[:e.from] + e.with + sql[e.to:]
	}
	return sql
}

// reader walks through a statement and notes what can be cut.
type reader struct {
	sql    string
	tokens []token
	in     string // the part of a WITH
	under  string // the cut inside of which it reads
	count  map[string]int
	cuts   []Cut
	err    error
}

// text is what stands in a range of tokens, on one line.
func (r *reader) text(lo, hi int) string {
	if lo >= hi {
		return ""
	}
	return strings.Join(strings.Fields(r.sql[r.tokens[lo].from:r.tokens[hi-1].to]), " ")
}

// fail keeps the first error.
func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("read SQL: "+format, args...)
	}
}

// cut notes a cut and gives its ID. What is cut inside of another cut is numbered below it: "where 2.1" is an operand of
// the second condition, "where 2.where 1" a condition of a query in it.
func (r *reader) cut(kind Kind, text string, edits ...edit) string {
	place := strings.TrimSpace(r.in+" "+string(kind)) + " "
	if r.under != "" {
		place = r.under + "."
		if kind != Part {
			place += string(kind) + " "
		}
	}
	r.count[place]++
	id := fmt.Sprintf("%s%d", place, r.count[place])
	r.cuts = append(r.cuts, Cut{ID: id, Kind: kind, In: r.in, Text: text, edits: edits})
	return id
}

// within reads what is inside of a cut.
func (r *reader) within(id string, read func()) {
	outer := r.under
	r.under = id
	read()
	r.under = outer
}

// out is the edit that takes a range of tokens away.
func (r *reader) out(lo, hi int, with string) edit {
	return edit{r.tokens[lo].from, r.tokens[hi-1].to, with}
}

// span is a range of tokens.
type span struct{ lo, hi int }

// entry is the edit that takes one entry of a list away, with the separator before it, or after it where it is the
// first.
func (r *reader) entry(list []span, i int) edit {
	if i > 0 {
		return edit{r.tokens[list[i-1].hi-1].to, r.tokens[list[i].hi-1].to, ""}
	}
	return edit{r.tokens[list[0].lo].from, r.tokens[list[1].lo].from, ""}
}

// next is the index after a token, or after the bracket that it opens.
func (r *reader) next(i int) int {
	if t := r.tokens[i]; t.is("(") || t.is("[") {
		return t.match + 1
	}
	return i + 1
}

// split divides a range at a separator that stands neither in brackets nor in a CASE.
func (r *reader) split(lo, hi int, separator string) []span {
	var parts []span
	start, cases, between := lo, 0, false
	for i := lo; i < hi; i = r.next(i) {
		switch t := r.tokens[i].text; {
		case t == "CASE":
			cases++
		case t == "END":
			cases--
		case t == "BETWEEN" && cases == 0:
			between = true
		case t == separator && cases == 0:
			if separator == "AND" && between {
				between = false
				continue
			}
			parts = append(parts, span{start, i})
			start = i + 1
		}
	}
	return append(parts, span{start, hi})
}
