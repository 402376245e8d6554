package clause

import "slices"

// section is a clause of a query: its first word, and the tokens of all of it.
type section struct {
	word string
	span
}

// begins lists the words with which the clauses of a query begin.
var begins = []string{"WITH", "INSERT", "UPDATE", "SELECT", "SET", "FROM", "WHERE", "GROUP", "ORDER", "LIMIT", "FOR", "UNION", "ON", "RETURNING"}

// query reads a statement, or a query in brackets.
func (r *reader) query(lo, hi int) {
	if r.tokens[lo].is("WITH") {
		if lo = r.with(lo, hi); r.err != nil {
			return
		}
	}
	arms := r.split(lo, hi, "UNION")
	for i, arm := range arms {
		if i > 0 && r.tokens[arm.lo].is("ALL") {
			arms[i].lo++
		}
	}
	for i, arm := range arms {
		if len(arms) > 1 {
			// The last ORDER BY would be of the whole; no statement has one there.
			r.cut(Arm, r.text(arm.lo, arm.hi), r.entry(arms, i))
		}
		r.single(arm.lo, arm.hi)
	}
}

// with reads the parts of a WITH, and gives the place where the statement goes on.
func (r *reader) with(lo, hi int) int {
	at := lo + 1
	if r.tokens[at].is("RECURSIVE") {
		at++
	}
	outer := r.in
	defer func() { r.in = outer }()
	for first := true; ; first = false {
		begin, name := at, r.tokens[at].text
		if at+2 >= hi || !r.tokens[at+1].is("AS") {
			r.fail("%s is no part of a WITH", r.text(at, min(at+3, hi)))
			return hi
		}
		r.in = name
		at += 2
		if r.tokens[at].is("MATERIALIZED") {
			r.cut(Materialized, "MATERIALIZED", edit{r.tokens[at-1].to, r.tokens[at].to, ""})
			at++
		}
		body := at
		at = r.next(at)
		if !first && !r.read(name, begin) {
			r.cut(Step, r.text(begin, at), edit{r.tokens[begin-1].from, r.tokens[at-1].to, ""})
		}
		r.query(body+1, at-1)
		if at >= hi || !r.tokens[at].is(",") {
			return at
		}
		at++
	}
}

// read reports whether a part of a WITH is spoken of anywhere but where it begins.
func (r *reader) read(name string, begin int) bool {
	for i, t := range r.tokens {
		if i != begin && t.is(name) && (i == 0 || !r.tokens[i-1].is(".")) {
			return true
		}
	}
	return false
}

// single reads one SELECT, INSERT or UPDATE.
func (r *reader) single(lo, hi int) {
	if r.tokens[lo].is("(") && r.next(lo) == hi {
		r.query(lo+1, hi-1)
		return
	}
	var columns []span
	for _, s := range r.sections(lo, hi) {
		body := span{s.lo + 1, s.hi}
		switch s.word {
		case "SELECT":
			r.selected(body, columns)
		case "INSERT":
			open := s.hi - 1
			if !r.tokens[open].is(")") {
				r.fail("%s names no columns", r.text(s.lo, s.hi))
				return
			}
			columns = r.split(r.tokens[open].match+1, open, ",")
		case "UPDATE":
		case "SET":
			r.assignments(body)
		case "FROM":
			r.from(s.span, body)
		case "WHERE":
			if !r.isTrue(body) {
				r.condition(Where, body, r.out(s.lo, s.hi, ""))
			}
		case "GROUP":
			r.cut(Group, r.text(s.lo, s.hi), r.out(s.lo, s.hi, ""))
		case "ORDER":
			r.order(s.span)
		case "LIMIT":
			r.cut(Limit, r.text(s.lo, s.hi), r.out(s.lo, s.hi, ""))
		case "FOR":
			r.lock(s.span)
		case "ON":
			r.cut(Conflict, r.text(s.lo, s.hi), r.out(s.lo, s.hi, ""))
		case "RETURNING":
			r.cut(Returning, r.text(s.lo, s.hi), r.out(s.lo, s.hi, ""))
		default:
			r.fail("%q begins no clause that is known", s.word)
		}
	}
}

// sections divides one SELECT, INSERT or UPDATE into its clauses.
func (r *reader) sections(lo, hi int) []section {
	var all []section
	inFrom := false
	for i := lo; i < hi; i = r.next(i) {
		word := r.tokens[i].text
		switch {
		case !slices.Contains(begins, word),
			word == "FROM" && i > lo && r.tokens[i-1].is("DISTINCT"),
			word == "UPDATE" && i > lo,
			word == "WITH" && i > lo, // ORDINALITY
			word == "ON" && inFrom && !r.tokens[i+1].is("CONFLICT"):
			continue
		}
		inFrom = word == "FROM"
		if len(all) > 0 {
			all[len(all)-1].hi = i
		}
		all = append(all, section{word, span{i, hi}})
	}
	if len(all) == 0 || all[0].lo != lo {
		return []section{{r.tokens[lo].text, span{lo, hi}}} // told by whoever reads it
	}
	return all
}

// selected reads the list of a SELECT. What it gives is the answer or the next part's row, and is not cut; where it
// feeds an INSERT, each column is.
func (r *reader) selected(body span, columns []span) {
	items := r.split(body.lo, body.hi, ",")
	for i, item := range items {
		id := r.under
		if len(columns) == len(items) && len(items) > 1 && !r.isNull(item) {
			id = r.cut(Insert, r.text(columns[i].lo, columns[i].hi)+" = "+r.text(item.lo, item.hi), r.entry(columns, i), r.entry(items, i))
		}
		r.within(id, func() { r.expression(item) })
	}
}

// isNull reports whether a value is NULL: an insert without its column does the same, and is not another statement.
func (r *reader) isNull(x span) bool {
	return r.tokens[x.lo].is("NULL") && (x.hi == x.lo+1 || r.tokens[x.lo+1].is("::"))
}

func (r *reader) assignments(body span) {
	items := r.split(body.lo, body.hi, ",")
	for i, item := range items {
		id := r.under
		if len(items) > 1 {
			id = r.cut(Assign, r.text(item.lo, item.hi), r.entry(items, i))
		}
		r.within(id, func() { r.expression(span{item.lo + 2, item.hi}) })
	}
}

// from reads what rows come from: entries with commas between them, and joins.
func (r *reader) from(whole, body span) {
	items := r.split(body.lo, body.hi, ",")
	for i, item := range items {
		bare := item.hi == item.lo+1
		switch {
		case bare && len(items) > 1:
			r.cut(From, r.text(item.lo, item.hi), r.entry(items, i))
		case bare:
			r.cut(From, r.text(whole.lo, whole.hi), r.out(whole.lo, whole.hi, ""))
		}
		for at := item.lo; at < item.hi; at = r.next(at) {
			switch {
			case r.tokens[at].is("(") && r.isQuery(at):
				r.query(at+1, r.tokens[at].match)
			case r.tokens[at].is("INDEXED"):
				r.cut(Index, r.text(at, at+3), edit{r.tokens[at-1].to, r.tokens[at+2].to, ""})
			case r.tokens[at].is("ON"):
				end := at + 1
				for end < item.hi && !slices.Contains([]string{"JOIN", "CROSS", "LEFT"}, r.tokens[end].text) {
					end = r.next(end)
				}
				r.condition(On, span{at + 1, end}, r.out(at+1, end, "1 = 1"))
				at = end - 1
			}
		}
	}
}

// isTrue reports whether a condition is always true: the statement of an event without guards has such a one.
func (r *reader) isTrue(x span) bool {
	return x.hi == x.lo+1 && (r.tokens[x.lo].is("true") || r.tokens[x.lo].is("1"))
}

func (r *reader) order(s span) {
	r.cut(Order, r.text(s.lo, s.hi), r.out(s.lo, s.hi, ""))
	keys := r.split(s.lo+2, s.hi, ",")
	for i, key := range keys {
		if len(keys) > 1 {
			r.cut(Order, r.text(key.lo, key.hi), r.entry(keys, i))
		}
		if r.tokens[key.hi-1].is("DESC") {
			r.cut(Order, r.text(key.lo, key.hi)+": DESC", r.out(key.hi-1, key.hi, ""))
		}
	}
}

func (r *reader) lock(s span) {
	r.cut(Lock, r.text(s.lo, s.hi), r.out(s.lo, s.hi, ""))
	if n := s.hi - 2; r.tokens[n].is("SKIP") {
		r.cut(SkipLocked, "SKIP LOCKED", r.out(n, s.hi, ""))
	}
}
