package promela

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// A translator writes expressions in Promela. A value is a small number, and 255 is null (see doc.go). A condition has
// three values in SQL and two in Promela, so each is written twice: holds says when it is true, fails when it is
// false, and where neither holds it is null.
type translator struct {
	program  *transitions.Program
	words    map[string]int
	moving   map[string]bool // the columns that some event after the first assigns; the others are constants
	asked    map[string]bool // the parameters that are constants of the run
	creating bool            // whether the rule at hand creates the row: its parameters are then all constants
}

// firstWord is the number of the first word: remote job ids are numbered below it.
const (
	firstWord = 20
	mostValue = 254 // the greatest number that is not null
)

// word is the name under which the model knows a text; it is declared on first use.
func (tr *translator) word(text string) string {
	if transitions.IsBlank(text) {
		return "blank"
	}
	if _, ok := tr.words[text]; !ok {
		tr.words[text] = firstWord + len(tr.words)
	}
	return "w_" + text
}

// unfit is thrown where an expression says something that the model's small numbers cannot; Model returns it.
type unfit string

func refuse(format string, args ...any) { panic(unfit(fmt.Sprintf(format, args...))) }

// joined writes a connective; of no operand it is alone.
func joined(args []transitions.Expr, sep, alone string, write func(transitions.Expr) string) string {
	if len(args) == 0 {
		return alone
	}
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = write(a)
	}
	return "(" + strings.Join(parts, sep) + ")"
}

// holds is a Promela condition for: x is true.
func (tr *translator) holds(x transitions.Expr) string {
	switch x.Op {
	case transitions.OpAnd:
		return joined(x.Args, " && ", "true", tr.holds)
	case transitions.OpOr:
		return joined(x.Args, " || ", "false", tr.holds)
	case transitions.OpNot:
		return tr.fails(x.Args[0])
	case transitions.OpIsNull:
		return tr.null(x.Args[0])
	case transitions.OpIf:
		return fmt.Sprintf("(%s -> %s : %s)", tr.holds(x.Args[0]), tr.holds(x.Args[1]), tr.holds(x.Args[2]))
	case transitions.OpCol, transitions.OpParam, transitions.OpLit, transitions.OpCoalesce:
		return "(" + tr.value(x) + " == 1)"
	default:
		return tr.compared(x, true)
	}
}

// fails is a Promela condition for: x is false.
func (tr *translator) fails(x transitions.Expr) string {
	switch x.Op {
	case transitions.OpAnd:
		return joined(x.Args, " || ", "false", tr.fails)
	case transitions.OpOr:
		return joined(x.Args, " && ", "true", tr.fails)
	case transitions.OpNot:
		return tr.holds(x.Args[0])
	case transitions.OpIsNull:
		return tr.known(x.Args[0])
	case transitions.OpIf:
		return fmt.Sprintf("(%s -> %s : %s)", tr.holds(x.Args[0]), tr.fails(x.Args[1]), tr.fails(x.Args[2]))
	case transitions.OpCol, transitions.OpParam, transitions.OpLit, transitions.OpCoalesce:
		return "(" + tr.value(x) + " == 0)"
	default:
		return tr.compared(x, false)
	}
}

var (
	signs    = map[transitions.Op]string{transitions.OpEq: "==", transitions.OpNe: "!=", transitions.OpLe: "<=", transitions.OpLt: "<"}
	opposite = map[transitions.Op]string{transitions.OpEq: "!=", transitions.OpNe: "==", transitions.OpLe: ">", transitions.OpLt: ">="}
)

// compared writes the conditions that look at values: true where x is to hold, false where it is to fail.
func (tr *translator) compared(x transitions.Expr, hold bool) string {
	a := tr.value(x.Args[0])
	is := func(yes, no string) string {
		if hold {
			return yes
		}
		return no
	}
	switch x.Op {
	case transitions.OpUsable: // never null
		return is(fmt.Sprintf("(%s != null && %s != blank)", a, a), fmt.Sprintf("(%s == null || %s == blank)", a, a))
	case transitions.OpBlank: // never null
		return is(fmt.Sprintf("(%s == null || %s == blank)", a, a), fmt.Sprintf("(%s != null && %s != blank)", a, a))
	case transitions.OpTaken: // never null
		return is(fmt.Sprintf("(%s != null && %s == elsewhere)", a, a), fmt.Sprintf("(%s == null || %s != elsewhere)", a, a))
	case transitions.OpSame: // never null, and null has a number like every value
		tr.mustCompare(x)
		return fmt.Sprintf("(%s %s %s)", a, is("==", "!="), tr.value(x.Args[1]))
	case transitions.OpIn:
		var parts []string
		for _, w := range x.Args[1:] {
			parts = append(parts, fmt.Sprintf("%s %s %s", a, is("==", "!="), tr.value(w)))
		}
		all := strings.Join(parts, is(" || ", " && "))
		if hold || !tr.nullable(x.Args[0]) {
			return "(" + all + ")"
		}
		return fmt.Sprintf("(%s && %s)", tr.known(x.Args[0]), all)
	}
	sign, ok := signs[x.Op]
	if !ok {
		refuse("operator %d of %s is no condition that the model knows", x.Op, x)
	}
	tr.mustCompare(x)
	if !hold {
		sign = opposite[x.Op]
	}
	test := fmt.Sprintf("%s %s %s", a, sign, tr.value(x.Args[1]))
	for _, arg := range x.Args {
		if tr.nullable(arg) {
			test = tr.known(arg) + " && " + test
		}
	}
	return "(" + test + ")"
}

// mustCompare refuses to compare two times of which neither is now: what has passed is 0, so that two times in the
// past look the same.
func (tr *translator) mustCompare(x transitions.Expr) {
	if tr.kind(x.Args[0]) == transitions.Time && tr.kind(x.Args[1]) == transitions.Time &&
		x.Args[0].Op != transitions.OpNow && x.Args[1].Op != transitions.OpNow {
		refuse("%s compares two times; the model knows a time only against now", x)
	}
}

// null is a Promela condition for: x is null. The opposite is known.
func (tr *translator) null(x transitions.Expr) string {
	return tr.nullness(x, " == null", " || ", "false")
}
func (tr *translator) known(x transitions.Expr) string {
	return tr.nullness(x, " != null", " && ", "true")
}

func (tr *translator) nullness(x transitions.Expr, is, also, never string) string {
	if !tr.nullable(x) {
		return never
	}
	if x.Op != transitions.OpPlus && x.Op != transitions.OpAfter {
		return "(" + tr.value(x) + is + ")"
	}
	var parts []string
	for _, a := range x.Args {
		if tr.nullable(a) {
			parts = append(parts, tr.nullness(a, is, also, never))
		}
	}
	return "(" + strings.Join(parts, also) + ")"
}

// value writes an expression as a number.
func (tr *translator) value(x transitions.Expr) string {
	switch x.Op {
	case transitions.OpCol:
		if !tr.moving[x.Name] {
			return "fixed_" + x.Name
		}
		return "row." + x.Name
	case transitions.OpParam:
		return tr.parameter(x.Name)
	case transitions.OpNow:
		return "now"
	case transitions.OpLit:
		return tr.literal(x.Value)
	case transitions.OpPlus, transitions.OpAfter:
		sum := fmt.Sprintf("%s + %s", tr.value(x.Args[0]), tr.value(x.Args[1]))
		if tr.nullable(x) {
			return fmt.Sprintf("(%s -> null : %s)", tr.null(x), sum)
		}
		return "(" + sum + ")"
	case transitions.OpIf:
		return fmt.Sprintf("(%s -> %s : %s)", tr.holds(x.Args[0]), tr.value(x.Args[1]), tr.value(x.Args[2]))
	case transitions.OpCoalesce:
		written := tr.value(x.Args[len(x.Args)-1])
		for i := len(x.Args) - 2; i >= 0; i-- {
			if v := tr.value(x.Args[i]); tr.nullable(x.Args[i]) {
				written = fmt.Sprintf("(%s != null -> %s : %s)", v, v, written)
			} else {
				written = v
			}
		}
		return written
	case transitions.OpGreatest:
		return tr.extreme(x.Args, ">")
	case transitions.OpLeast:
		return tr.extreme(x.Args, "<")
	default: // a condition
		if !tr.nullable(x) {
			return fmt.Sprintf("(%s -> 1 : 0)", tr.holds(x))
		}
		return fmt.Sprintf("(%s -> 1 : (%s -> 0 : null))", tr.holds(x), tr.fails(x))
	}
}

func (tr *translator) parameter(name string) string {
	if !tr.creating && slices.Contains(varying, name) {
		return "given." + name
	}
	tr.asked[name] = true
	return "asked_" + name
}

// extreme is the greatest or the least of the operands that are not null.
func (tr *translator) extreme(args []transitions.Expr, sign string) string {
	if len(args) == 1 {
		return tr.value(args[0])
	}
	rest := transitions.Expr{Op: transitions.OpGreatest, Args: args[1:]}
	a, b := tr.value(args[0]), tr.extreme(args[1:], sign)
	if tr.nullable(rest) {
		b2 := fmt.Sprintf("(%s == null || %s %s %s -> %s : %s)", b, a, sign, b, a, b)
		if !tr.nullable(args[0]) {
			return b2
		}
		return fmt.Sprintf("(%s == null -> %s : %s)", a, b, b2)
	}
	pick := fmt.Sprintf("(%s %s %s -> %s : %s)", a, sign, b, a, b)
	if tr.nullable(args[0]) {
		return fmt.Sprintf("(%s == null -> %s : %s)", a, b, pick)
	}
	return pick
}

func (tr *translator) literal(v transitions.Value) string {
	switch v.Kind() {
	case transitions.NoKind:
		return "null"
	case transitions.Text:
		return tr.word(v.Text())
	case transitions.Int, transitions.Bool:
		return strconv.FormatInt(min(v.Int(), mostValue), 10) // what is longer than the model lives is as good as for ever
	default:
		refuse("the model has no number for the constant %s", v)
		return ""
	}
}

// nullable reports whether the expression can be null at all.
func (tr *translator) nullable(x transitions.Expr) bool {
	anyArg := func(args []transitions.Expr) bool {
		for _, a := range args {
			if tr.nullable(a) {
				return true
			}
		}
		return false
	}
	switch x.Op {
	case transitions.OpCol:
		return !tr.program.Columns[tr.program.Column(x.Name)].NotNull
	case transitions.OpParam:
		return true
	case transitions.OpLit:
		return x.Value.IsNull()
	case transitions.OpNow, transitions.OpSame, transitions.OpIsNull, transitions.OpUsable, transitions.OpBlank, transitions.OpTaken:
		return false
	case transitions.OpIn:
		return tr.nullable(x.Args[0])
	case transitions.OpIf:
		return anyArg(x.Args[1:])
	case transitions.OpGreatest, transitions.OpLeast, transitions.OpCoalesce:
		for _, a := range x.Args {
			if !tr.nullable(a) {
				return false
			}
		}
		return true
	default:
		return anyArg(x.Args)
	}
}

// kind is the kind of an expression's value, NoKind where it is a condition or null.
func (tr *translator) kind(x transitions.Expr) transitions.Kind {
	switch x.Op {
	case transitions.OpCol:
		return tr.program.Columns[tr.program.Column(x.Name)].Kind
	case transitions.OpParam:
		return x.Kind
	case transitions.OpNow, transitions.OpAfter:
		return transitions.Time
	case transitions.OpLit:
		return x.Value.Kind()
	case transitions.OpPlus:
		return transitions.Int
	case transitions.OpGreatest, transitions.OpLeast, transitions.OpCoalesce:
		return tr.kind(x.Args[0])
	case transitions.OpIf:
		if k := tr.kind(x.Args[1]); k != transitions.NoKind {
			return k
		}
		return tr.kind(x.Args[2])
	default:
		return transitions.NoKind
	}
}
