package clause

// condition reads a condition that is a clause by itself: it is cut as a whole where it has no parts, and whole stands
// for that.
func (r *reader) condition(kind Kind, x span, whole edit) {
	if !r.operands(kind, x) {
		r.within(r.cut(kind, r.text(x.lo, x.hi), whole), func() { r.expression(x) })
	}
}

// operands cuts the operands of an AND or OR, and reads them. It reports whether there are any.
func (r *reader) operands(kind Kind, x span) bool {
	for _, word := range []string{"OR", "AND"} {
		parts := r.split(x.lo, x.hi, word)
		if len(parts) < 2 {
			continue
		}
		for i, part := range parts {
			r.within(r.cut(kind, r.text(part.lo, part.hi), r.entry(parts, i)), func() { r.expression(part) })
		}
		return true
	}
	return false
}

// expression reads an expression for what can be cut inside it.
func (r *reader) expression(x span) {
	if x.lo >= x.hi || r.operands(Part, x) {
		return
	}
	if parts := r.split(x.lo, x.hi, "||"); len(parts) > 1 {
		for i, part := range parts {
			r.within(r.cut(r.concatenated(part), r.text(part.lo, part.hi), r.entry(parts, i)), func() { r.inside(part) })
		}
		return
	}
	r.inside(x)
}

// concatenated tells what an operand of || is: SQLite's list of guards is made of them.
func (r *reader) concatenated(x span) Kind {
	if r.tokens[x.lo].is("CASE") {
		return Guard
	}
	return Joined
}

// inside reads the brackets and the cases of an expression.
func (r *reader) inside(x span) {
	for i := x.lo; i < x.hi; i = r.next(i) {
		switch t := r.tokens[i]; {
		case t.is("CASE"):
			i = r.choice(i, x.hi) - 1
		case t.is("[") && i > 0 && r.tokens[i-1].is("ARRAY"):
			r.list(span{i + 1, t.match})
		case t.is("(") && r.isQuery(i):
			r.query(i+1, t.match)
		case t.is("(") && i > 0 && (r.tokens[i-1].is("jsonb_build_object") || r.tokens[i-1].is("json_object")):
			r.pairs(span{i + 1, t.match})
		case t.is("(") && i > 0 && r.tokens[i-1].is("substr"):
			r.guards(span{i + 1, t.match})
		case t.is("("):
			for _, part := range r.split(i+1, t.match, ",") {
				r.expression(part)
			}
		}
	}
}

func (r *reader) isQuery(bracket int) bool {
	t := r.tokens[bracket+1]
	return t.is("SELECT") || t.is("WITH")
}

// choice reads a CASE and gives the place after its END.
func (r *reader) choice(at, hi int) int {
	begin, depth := at+1, 0
	for at++; at < hi; at = r.next(at) {
		switch word := r.tokens[at].text; {
		case word == "CASE":
			depth++
		case word == "END" && depth > 0:
			depth--
		case depth == 0 && (word == "WHEN" || word == "THEN" || word == "ELSE" || word == "END"):
			r.expression(span{begin, at})
			begin = at + 1
			if word == "END" {
				return at + 1
			}
		}
	}
	return hi
}

// list reads the entries of an array: PostgreSQL's list of guards.
func (r *reader) list(x span) {
	if x.lo >= x.hi {
		return
	}
	entries := r.split(x.lo, x.hi, ",")
	for i, e := range entries {
		id := r.under
		switch {
		case !r.tokens[e.lo].is("CASE"):
		case len(entries) > 1:
			id = r.cut(Guard, r.text(e.lo, e.hi), r.entry(entries, i))
		default:
			id = r.cut(Guard, r.text(e.lo, e.hi), r.out(e.lo, e.hi, "NULL"))
		}
		r.within(id, func() { r.expression(e) })
	}
}

// guards reads the arguments of substr: SQLite's list of guards, where there is only one.
func (r *reader) guards(x span) {
	args := r.split(x.lo, x.hi, ",")
	id := r.under
	if first := args[0]; r.tokens[first.lo].is("CASE") && len(r.split(first.lo, first.hi, "||")) == 1 {
		id = r.cut(Guard, r.text(first.lo, first.hi), r.out(first.lo, first.hi, "''"))
	}
	for _, a := range args {
		r.within(id, func() { r.expression(a) })
	}
}

// pairs reads the names and values of a JSON object: what history records.
func (r *reader) pairs(x span) {
	if x.lo >= x.hi {
		return
	}
	args := r.split(x.lo, x.hi, ",")
	var all []span
	for i := 0; i+1 < len(args); i += 2 {
		all = append(all, span{args[i].lo, args[i+1].hi})
	}
	for i, pair := range all {
		away := r.out(pair.lo, pair.hi, "")
		if len(all) > 1 {
			away = r.entry(all, i)
		}
		r.within(r.cut(Change, r.text(pair.lo, pair.hi), away), func() { r.expression(args[2*i+1]) })
	}
}
