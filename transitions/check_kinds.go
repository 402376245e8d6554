package transitions

import "fmt"

func checkKinds(s *survey, found report) {
	for _, c := range s.Columns {
		if fault := c.fault(); fault != "" {
			found(c.Name, fault, "declare what the column can hold")
		}
	}
	for _, d := range s.deeds {
		fix := "compare and assign values of one kind"
		want := func(what string, e Expr, kind Kind) {
			got, fault := s.kindOf(e)
			switch {
			case fault != "":
				found(d.Name, fmt.Sprintf("%s: %s", what, fault), fix)
			case got != NoKind && kind != NoKind && got != kind:
				found(d.Name, fmt.Sprintf("%s is %s, not %s", what, got, kind), fix)
			}
		}
		for _, g := range d.guards {
			want("guard "+g.Name, g.Expr, Bool)
		}
		for _, x := range d.sets {
			want("the value of "+x.Col, x.Expr, s.column[x.Col].Kind)
		}
		for _, n := range d.Notes.parts() {
			want(n.what, n.expr, n.kind)
		}
		params := map[string]Kind{"operation_id": Text, "detail": Text}
		s.expressions(d, func(e Expr) {
			if e.Op != OpParam {
				return
			}
			if k, ok := params[e.Name]; ok && k != e.Kind {
				found(d.Name, fmt.Sprintf("the parameter %s is used as %s and as %s", e.Name, k, e.Kind), "use one kind, or two names")
			}
			params[e.Name] = e.Kind
		})
	}
}

// fault tells what a column's declaration says against itself, "" if nothing.
func (c *Column) fault() string {
	wants := map[string]Kind{"usable": Text, "natural": Int}[c.Check]
	if c.Words != "" {
		wants = Text
	}
	d := c.Default
	switch {
	case c.Kind == NoKind:
		return "the column has no kind"
	case wants != NoKind && wants != c.Kind:
		return fmt.Sprintf("the column is %s, and what it may hold is said of %s", c.Kind, wants)
	case d.IsNull():
		return ""
	case d.Kind() != c.Kind:
		return fmt.Sprintf("the column is %s, its default %s is %s", c.Kind, d, d.Kind())
	case c.Check == "usable" && !UsableRemoteJobID(d.Text()), c.Check == "natural" && d.Int() < 0:
		return fmt.Sprintf("its own check refuses the default %s", d)
	}
	return ""
}

// signature is what an operator takes. Where same is set, all its operands from that number on are of one kind, which
// is the result's too if result is NoKind.
type signature struct {
	least, most int // operands; most 0: no bound
	each        []Kind
	same        bool
	result      Kind
}

var signatures = map[Op]signature{
	OpEq: {least: 2, most: 2, same: true, result: Bool}, OpNe: {least: 2, most: 2, same: true, result: Bool},
	OpLe: {least: 2, most: 2, same: true, result: Bool}, OpLt: {least: 2, most: 2, same: true, result: Bool},
	OpSame: {least: 2, most: 2, same: true, result: Bool}, OpIn: {least: 2, same: true, result: Bool},
	OpAnd: {least: 1, each: []Kind{Bool}, same: true, result: Bool}, OpOr: {least: 1, each: []Kind{Bool}, same: true, result: Bool},
	OpNot: {least: 1, most: 1, each: []Kind{Bool}, result: Bool}, OpIsNull: {least: 1, most: 1, result: Bool},
	OpPlus:     {least: 2, most: 2, each: []Kind{Int}, same: true, result: Int},
	OpAfter:    {least: 2, most: 2, each: []Kind{Time, Int}, result: Time},
	OpGreatest: {least: 1, same: true}, OpLeast: {least: 1, same: true}, OpCoalesce: {least: 1, same: true},
	OpUsable: {least: 1, most: 1, each: []Kind{Text}, result: Bool}, OpBlank: {least: 1, most: 1, each: []Kind{Text}, result: Bool},
	OpTaken: {least: 1, most: 1, each: []Kind{Text}, result: Bool},
}

// kindOf gives the kind of an expression, NoKind for null and for what another rule reports; or what is wrong in it.
func (s *survey) kindOf(e Expr) (kind Kind, fault string) {
	switch e.Op {
	case OpCol:
		if c := s.column[e.Name]; c != nil {
			return c.Kind, ""
		}
		return NoKind, ""
	case OpParam:
		if e.Kind == NoKind {
			return NoKind, fmt.Sprintf("the parameter %s has no kind", e.Name)
		}
		return e.Kind, ""
	case OpNow:
		return Time, ""
	case OpLit:
		return e.Value.Kind(), ""
	case OpIf:
		return s.kindOfChoice(e)
	}
	sig, ok := signatures[e.Op]
	if !ok {
		return NoKind, fmt.Sprintf("there is no operator %d", e.Op)
	}
	if len(e.Args) < sig.least || sig.most > 0 && len(e.Args) > sig.most {
		return NoKind, fmt.Sprintf("operator %d has %d operands", e.Op, len(e.Args))
	}
	return s.kindOfOperands(e, sig)
}

func (s *survey) kindOfOperands(e Expr, sig signature) (Kind, string) {
	common := NoKind
	for i, a := range e.Args {
		kind, fault := s.kindOf(a)
		if fault != "" {
			return NoKind, fault
		}
		if i < len(sig.each) && kind != NoKind && kind != sig.each[i] {
			return NoKind, fmt.Sprintf("%s is %s, not %s", a, kind, sig.each[i])
		}
		if e.Op == OpIn && i > 0 && a.Op != OpLit {
			return NoKind, fmt.Sprintf("%s is no constant", a)
		}
		if sig.same && kind != NoKind && common != NoKind && kind != common {
			return NoKind, fmt.Sprintf("%s mixes %s and %s", e, common, kind)
		}
		if kind != NoKind {
			common = kind
		}
	}
	if sig.result == NoKind {
		return common, ""
	}
	return sig.result, ""
}

func (s *survey) kindOfChoice(e Expr) (Kind, string) {
	if len(e.Args) != 3 {
		return NoKind, fmt.Sprintf("if() has %d operands", len(e.Args))
	}
	cond, fault := s.kindOf(e.Args[0])
	if fault != "" {
		return NoKind, fault
	}
	if cond != NoKind && cond != Bool {
		return NoKind, fmt.Sprintf("%s is %s, not bool", e.Args[0], cond)
	}
	return s.kindOfOperands(Expr{Op: OpCoalesce, Args: e.Args[1:]}, signatures[OpCoalesce])
}
