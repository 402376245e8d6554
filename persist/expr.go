package persist

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// site is a place in a statement where expressions are written: it knows what the row, the parameters and the clock
// are called there.
type site struct {
	*emitter
	params *placeholders
	row    string // alias of the row before the event; "" where there is none yet, and the defaults stand for it
	bare   bool   // columns have no alias: in a table's own definition
	input  string // alias of a table of parameters; "" where they are placeholders
	prefix string // what stands before a parameter's name in input
	now    string
}

// placeholders numbers the parameters of a statement in the order of their first use, or in an order that it is given.
type placeholders struct {
	names []string
	used  int // the greatest number that the statement speaks of
}

func (p *placeholders) number(name string) int {
	i := slices.Index(p.names, name)
	if i < 0 {
		i, p.names = len(p.names), append(p.names, name)
	}
	p.used = max(p.used, i+1)
	return i + 1
}

// list names the parameters up to the last one that is used: what is bound to ?1, ?2 and so on.
func (p *placeholders) list() []string { return p.names[:p.used] }

// The binding strengths of what is written, weakest first. What binds less than its place needs is put in parentheses.
const (
	bindsOr = iota
	bindsAnd
	bindsNot
	bindsCompare
	bindsPlus
	bindsAll
)

// expr writes an expression. Its value is that of transitions.Eval in SQL's three-valued logic; a guard that is null
// does not hold, which is how WHERE and CASE WHEN see it too.
func (s site) expr(x transitions.Expr, want transitions.Kind) string {
	text, _ := s.write(x, want)
	return text
}

// assigned writes an expression for a place that gives it its type: a null needs none there.
func (s site) assigned(x transitions.Expr, to transitions.Kind) string {
	if x.Op == transitions.OpLit && x.Value.IsNull() {
		return "NULL"
	}
	return s.expr(x, to)
}

// cond writes a condition.
func (s site) cond(x transitions.Expr) string { return s.expr(x, transitions.Bool) }

// operand writes an expression for a place that needs it to bind at least so strongly.
func (s site) operand(x transitions.Expr, want transitions.Kind, needs int) string {
	text, binds := s.write(x, want)
	if binds < needs {
		return "(" + text + ")"
	}
	return text
}

func (s site) operands(args []transitions.Expr, want transitions.Kind, needs int) []string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = s.operand(a, want, needs)
	}
	return parts
}

func (s site) write(x transitions.Expr, want transitions.Kind) (text string, binds int) {
	a := x.Args
	if want == transitions.NoKind {
		want = s.kindOf(x)
	}
	switch x.Op {
	case transitions.OpCol:
		return s.column(x.Name), bindsAll
	case transitions.OpParam:
		return s.param(x.Name, x.Kind), bindsAll
	case transitions.OpNow:
		return s.now, bindsAll
	case transitions.OpLit:
		return s.dialect.literal(x.Value, want), bindsAll
	case transitions.OpAnd:
		return s.chain(a, "AND", bindsAnd)
	case transitions.OpOr:
		return s.chain(a, "OR", bindsOr)
	case transitions.OpNot:
		if a[0].Op == transitions.OpIsNull {
			return s.operand(a[0].Args[0], 0, bindsPlus) + " IS NOT NULL", bindsCompare
		}
		return "NOT " + s.operand(a[0], transitions.Bool, bindsAll), bindsNot
	case transitions.OpIsNull:
		return s.operand(a[0], 0, bindsPlus) + " IS NULL", bindsCompare
	case transitions.OpIn:
		return s.operand(a[0], transitions.Text, bindsPlus) + " IN (" + strings.Join(s.operands(a[1:], transitions.Text, bindsOr), ", ") + ")", bindsCompare
	case transitions.OpPlus:
		return strings.Join(s.operands(a, transitions.Int, bindsPlus), " + "), bindsPlus
	case transitions.OpIf:
		return "CASE WHEN " + s.cond(a[0]) + " THEN " + s.expr(a[1], want) + " ELSE " + s.expr(a[2], want) + " END", bindsAll
	case transitions.OpCoalesce:
		if len(a) == 1 {
			return s.write(a[0], want) // SQLite's coalesce() takes two or more
		}
		return "coalesce(" + strings.Join(s.operands(a, want, bindsOr), ", ") + ")", bindsAll
	case transitions.OpAfter:
		return s.after(a[0], a[1]), bindsPlus
	case transitions.OpGreatest, transitions.OpLeast:
		if len(a) == 1 {
			return s.write(a[0], want) // with one argument SQLite's max() is an aggregate
		}
		return s.extreme(x, want), bindsAll
	case transitions.OpUsable:
		return s.dialect.usable(s.operand(a[0], transitions.Text, bindsAll)), bindsAll
	case transitions.OpBlank:
		return s.dialect.blank(s.expr(a[0], transitions.Text)), bindsCompare
	case transitions.OpTaken:
		return s.taken(a[0]), bindsAll
	default:
		return s.compare(x), bindsCompare
	}
}

func (s site) column(name string) string {
	if s.bare {
		return ident(name)
	}
	if s.row == "" {
		c := s.program.Columns[s.program.Column(name)]
		return s.dialect.literal(c.Default, c.Kind)
	}
	return s.row + "." + ident(name)
}

func (s site) param(name string, kind transitions.Kind) string {
	switch {
	case s.input != "" && name != "operation_id":
		return s.input + "." + ident(s.prefix+name)
	case s.input != "":
		return s.input + "." + name
	}
	if s.dialect == PostgreSQL {
		return fmt.Sprintf("$%d::%s", s.params.number(name), pgTypes[kind])
	}
	return fmt.Sprintf("?%d", s.params.number(name))
}

// chain joins conditions. An empty one is the connective's neutral element, as in Eval.
func (s site) chain(args []transitions.Expr, word string, binds int) (string, int) {
	switch len(args) {
	case 0:
		return s.dialect.literal(transitions.BoolValue(word == "AND"), 0), bindsAll
	case 1:
		return s.write(args[0], transitions.Bool)
	}
	return strings.Join(s.operands(args, transitions.Bool, binds+1), " "+word+" "), binds
}

func (s site) compare(x transitions.Expr) string {
	signs := map[transitions.Op]string{
		transitions.OpEq: " = ", transitions.OpNe: " <> ", transitions.OpLe: " <= ", transitions.OpLt: " < ",
		transitions.OpSame: " IS ",
	}
	sign := signs[x.Op]
	if x.Op == transitions.OpSame && s.dialect == PostgreSQL {
		sign = " IS NOT DISTINCT FROM "
	}
	kind := s.kindOf(x.Args[0])
	if kind == transitions.NoKind {
		kind = s.kindOf(x.Args[1])
	}
	text := strings.Join(s.operands(x.Args, kind, bindsPlus), sign)
	if s.dialect == PostgreSQL && kind == transitions.Text && (x.Op == transitions.OpLe || x.Op == transitions.OpLt) {
		// Texts are ordered by their bytes, whatever the database's language.
		text += ` COLLATE "C"`
	}
	return text
}

// after adds milliseconds to a time.
func (s site) after(t, ms transitions.Expr) string {
	text := s.operand(t, transitions.Time, bindsPlus) + " + " + s.operand(ms, transitions.Int, bindsAll)
	if s.dialect == PostgreSQL {
		text += " * interval '1 millisecond'"
	}
	return text
}

// extreme is the greatest or least operand that is not null. PostgreSQL's greatest() passes over nulls; SQLite's max()
// is null with any null, so every operand that may be null gives way to one that is not.
func (s site) extreme(x transitions.Expr, want transitions.Kind) string {
	parts := s.operands(x.Args, want, bindsOr)
	if s.dialect == PostgreSQL {
		return map[bool]string{true: "greatest(", false: "least("}[x.Op == transitions.OpGreatest] + strings.Join(parts, ", ") + ")"
	}
	sure := slices.IndexFunc(x.Args, s.neverNull)
	given := make([]string, len(parts))
	for i := range parts {
		switch {
		case s.neverNull(x.Args[i]):
			given[i] = parts[i]
		case sure >= 0:
			given[i] = "coalesce(" + parts[i] + ", " + parts[sure] + ")"
		default:
			given[i] = "coalesce(" + strings.Join(append(append([]string{}, parts[i:]...), parts[:i]...), ", ") + ")"
		}
	}
	return map[bool]string{true: "max(", false: "min("}[x.Op == transitions.OpGreatest] + strings.Join(given, ", ") + ")"
}

func (s site) neverNull(x transitions.Expr) bool {
	return x.Op == transitions.OpNow || x.Op == transitions.OpLit && !x.Value.IsNull()
}

// taken looks for another operation of the row's provider and account that holds the id.
func (s site) taken(id transitions.Expr) string {
	return fmt.Sprintf("EXISTS (SELECT 1 FROM %s AS t WHERE t.provider = %s AND t.account = %s AND t.remote_job_id = %s AND t.operation_id <> %s)",
		s.names.operations(), s.column("provider"), s.column("account"), s.operand(id, transitions.Text, bindsPlus), s.column("operation_id"))
}

// kindOf is an expression's kind, NoKind for a null constant.
func (s site) kindOf(x transitions.Expr) transitions.Kind {
	switch x.Op {
	case transitions.OpCol:
		return s.program.Columns[s.program.Column(x.Name)].Kind
	case transitions.OpParam:
		return x.Kind
	case transitions.OpLit:
		return x.Value.Kind()
	case transitions.OpNow, transitions.OpAfter:
		return transitions.Time
	case transitions.OpPlus:
		return transitions.Int
	case transitions.OpIf:
		return s.firstKind(x.Args[1:])
	case transitions.OpCoalesce, transitions.OpGreatest, transitions.OpLeast:
		return s.firstKind(x.Args)
	default:
		return transitions.Bool
	}
}

func (s site) firstKind(args []transitions.Expr) transitions.Kind {
	for _, a := range args {
		if k := s.kindOf(a); k != transitions.NoKind {
			return k
		}
	}
	return transitions.NoKind
}

// usable tells whether a text can be a remote job id. PostgreSQL's regular expressions count to 255 only, and SQLite's
// GLOB ends at a NUL: so the length is counted in bytes, and a NUL is looked for by itself.
func (d Dialect) usable(x string) string {
	return "(" + x + " IS NOT NULL AND " + d.usableText(x) + ")"
}

// usableText is usable for a text that is not null; it is null for one that is.
func (d Dialect) usableText(x string) string {
	if d == PostgreSQL {
		return fmt.Sprintf(`octet_length(%s) <= %d AND %s COLLATE "C" ~ '^[!-~]+$'`, x, transitions.MaxRemoteJobID, x)
	}
	return fmt.Sprintf(`length(CAST(%s AS BLOB)) BETWEEN 1 AND %d AND instr(CAST(%s AS BLOB), x'00') = 0 AND %s NOT GLOB '*[^!-~]*'`,
		x, transitions.MaxRemoteJobID, x, x)
}

// blank tells whether a text is null or shows nothing.
func (d Dialect) blank(x string) string {
	if d == PostgreSQL {
		return "coalesce(btrim(" + x + ", " + pgBlankCharacters + "), '') = ''"
	}
	return "coalesce(trim(" + x + ", " + sqliteBlankCharacters + "), '') = ''"
}

// The characters that show nothing, written in ASCII so that the statements can be read.
var pgBlankCharacters, sqliteBlankCharacters = blankCharacters()

func blankCharacters() (pg, sqlite string) {
	var escaped, numbers strings.Builder
	for _, c := range transitions.BlankCharacters {
		fmt.Fprintf(&escaped, `\u%04x`, c)
		if numbers.Len() > 0 {
			numbers.WriteString(",")
		}
		fmt.Fprintf(&numbers, "%d", c)
	}
	return "E'" + escaped.String() + "'", "char(" + numbers.String() + ")"
}
