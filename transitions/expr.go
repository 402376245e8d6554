package transitions

import "strings"

// Op is the operator of an Expr.
type Op uint8

// The operators. Comparisons and the like are null where an operand is null, as in SQL; a guard that is null does not
// hold.
const (
	OpCol      Op = iota // the row's column Name, as seen before the event
	OpParam              // the event's parameter Name, of kind Value.Kind
	OpNow                // the database's wall clock, read once the row is locked
	OpLit                // Value
	OpEq                 // a = b
	OpNe                 // a <> b
	OpLe                 // a <= b
	OpLt                 // a < b
	OpSame               // a and b are equal or both null; never null itself
	OpIn                 // the first operand is one of the others
	OpAnd                // all hold
	OpOr                 // one holds
	OpNot                // the operand does not hold; null stays null
	OpIsNull             // never null itself
	OpPlus               // integer sum
	OpAfter              // the time a, b milliseconds later
	OpGreatest           // the greatest of those that are not null
	OpLeast              // the least of those that are not null
	OpCoalesce           // the first that is not null
	OpIf                 // a ? b : c; a null condition counts as false
	OpUsable             // the text can be a remote job id; never null itself
	OpBlank              // the text is null or has nothing that can be seen; never null itself
	OpTaken              // another operation of the row's provider and account holds this remote job id
)

// Expr is an expression over a row, an event's parameters and the clock: plain data, which Eval interprets and persist
// writes as SQL. Build one with the functions below.
type Expr struct {
	Op    Op
	Name  string
	Value Value
	Kind  Kind // of a parameter
	Args  []Expr
}

// Col is the value of a column before the event.
func Col(name string) Expr { return Expr{Op: OpCol, Name: name} }

// Param is an event's parameter.
func Param(name string, kind Kind) Expr { return Expr{Op: OpParam, Name: name, Kind: kind} }

// Now is the database's wall clock, evaluated after the row was locked.
func Now() Expr { return Expr{Op: OpNow} }

// Str, Num, Yes, No and Null are constants.
func Str(s string) Expr { return Expr{Op: OpLit, Value: TextValue(s)} }

// Num is an integer constant.
func Num(n int64) Expr { return Expr{Op: OpLit, Value: IntValue(n)} }

// Yes is the constant true.
func Yes() Expr { return Expr{Op: OpLit, Value: BoolValue(true)} }

// No is the constant false.
func No() Expr { return Expr{Op: OpLit, Value: BoolValue(false)} }

// Null is the constant null.
func Null() Expr { return Expr{Op: OpLit} }

// Eq holds when both operands are known and equal.
func Eq(a, b Expr) Expr { return Expr{Op: OpEq, Args: []Expr{a, b}} }

// Ne holds when both operands are known and differ.
func Ne(a, b Expr) Expr { return Expr{Op: OpNe, Args: []Expr{a, b}} }

// Le holds when both operands are known and a is not after or above b.
func Le(a, b Expr) Expr { return Expr{Op: OpLe, Args: []Expr{a, b}} }

// Lt holds when both operands are known and a is before or below b.
func Lt(a, b Expr) Expr { return Expr{Op: OpLt, Args: []Expr{a, b}} }

// Same holds when both operands are equal or both null.
func Same(a, b Expr) Expr { return Expr{Op: OpSame, Args: []Expr{a, b}} }

// In holds when a is known and one of the texts.
func In(a Expr, texts ...string) Expr {
	args := []Expr{a}
	for _, t := range texts {
		args = append(args, Str(t))
	}
	return Expr{Op: OpIn, Args: args}
}

// And holds when all operands hold.
func And(a ...Expr) Expr { return Expr{Op: OpAnd, Args: a} }

// Or holds when one operand holds.
func Or(a ...Expr) Expr { return Expr{Op: OpOr, Args: a} }

// Not holds when a is known not to hold.
func Not(a Expr) Expr { return Expr{Op: OpNot, Args: []Expr{a}} }

// IsNull holds when a is null.
func IsNull(a Expr) Expr { return Expr{Op: OpIsNull, Args: []Expr{a}} }

// NotNull holds when a is not null.
func NotNull(a Expr) Expr { return Not(IsNull(a)) }

// Plus is an integer sum.
func Plus(a, b Expr) Expr { return Expr{Op: OpPlus, Args: []Expr{a, b}} }

// After is the time t, ms milliseconds later; null where either is null.
func After(t, ms Expr) Expr { return Expr{Op: OpAfter, Args: []Expr{t, ms}} }

// Greatest is the greatest operand that is not null.
func Greatest(a ...Expr) Expr { return Expr{Op: OpGreatest, Args: a} }

// Least is the least operand that is not null.
func Least(a ...Expr) Expr { return Expr{Op: OpLeast, Args: a} }

// Coalesce is the first operand that is not null.
func Coalesce(a ...Expr) Expr { return Expr{Op: OpCoalesce, Args: a} }

// If is b where a holds, else c.
func If(a, b, c Expr) Expr { return Expr{Op: OpIf, Args: []Expr{a, b, c}} }

// Usable holds when the text can be a remote job id: 1 to 1,024 characters from '!' to '~'.
func Usable(a Expr) Expr { return Expr{Op: OpUsable, Args: []Expr{a}} }

// Blank holds when the text is null or has nothing but white space and invisible characters.
func Blank(a Expr) Expr { return Expr{Op: OpBlank, Args: []Expr{a}} }

// Taken holds when another operation of the row's provider and account holds the remote job id a.
func Taken(a Expr) Expr { return Expr{Op: OpTaken, Args: []Expr{a}} }

// BlankCharacters are the characters that Blank looks through: white space of every kind and characters that show
// nothing (zero width, soft hyphen, direction marks, fillers).
const BlankCharacters = "\t\n\v\f\r \u0085\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180e" +
	"\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200b\u200c\u200d\u200e\u200f" +
	"\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u202f\u205f\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069" +
	"\u2800\u3000\u3164\ufeff\uffa0"

// MaxRemoteJobID is the length of the longest usable remote job id.
const MaxRemoteJobID = 1024

// UsableRemoteJobID reports whether s can be stored as a remote job id: 1 to 1,024 characters, each printable ASCII
// and none a space (lifecycle, "Events"). Anything else is called blank and kept only as evidence.
func UsableRemoteJobID(s string) bool {
	if len(s) == 0 || len(s) > MaxRemoteJobID {
		return false
	}
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return false
		}
	}
	return true
}

// IsBlank reports whether s has nothing that a reader could see.
func IsBlank(s string) bool { return strings.Trim(s, BlankCharacters) == "" }

var infix = map[Op]string{OpEq: "=", OpNe: "<>", OpLe: "<=", OpLt: "<", OpAnd: "and", OpOr: "or", OpPlus: "+"}

var called = map[Op]string{
	OpNot: "not", OpGreatest: "greatest", OpLeast: "least", OpCoalesce: "coalesce",
	OpUsable: "usable", OpBlank: "blank", OpTaken: "taken", OpAfter: "after", OpSame: "same",
}

// String writes the expression as it is shown in documents and in the canonical dump of a Program.
func (e Expr) String() string {
	switch e.Op {
	case OpCol:
		return e.Name
	case OpParam:
		return ":" + e.Name
	case OpNow:
		return "now"
	case OpLit:
		return e.Value.String()
	case OpIsNull:
		return e.Args[0].String() + " is null"
	case OpIf:
		return "if(" + joined(e.Args, ", ") + ")"
	case OpIn:
		return e.Args[0].String() + " in (" + joined(e.Args[1:], ", ") + ")"
	case OpNot:
		if e.Args[0].Op == OpIsNull {
			return e.Args[0].Args[0].String() + " is not null"
		}
	}
	if sign, ok := infix[e.Op]; ok {
		return "(" + joined(e.Args, " "+sign+" ") + ")"
	}
	return called[e.Op] + "(" + joined(e.Args, ", ") + ")"
}

func joined(args []Expr, sep string) string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = a.String()
	}
	return strings.Join(parts, sep)
}

// Walk calls visit for e and every expression inside it.
func (e Expr) Walk(visit func(Expr)) {
	visit(e)
	for _, a := range e.Args {
		a.Walk(visit)
	}
}
