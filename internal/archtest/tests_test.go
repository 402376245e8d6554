package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

func TestNoTestSleepsWithoutSayingWhy(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		report(t, sleeps(f))
	}
}

func TestNoTestSkipsItself(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		report(t, skips(f))
	}
}

// sleeps finds time.Sleep in tests: it is either too short for a busy machine
// or too long for everybody. Wait for the event instead.
func sleeps(f file) []string {
	if !f.isTest() {
		return nil
	}

	excused := map[int]bool{}
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			if reason, ok := strings.CutPrefix(comment.Text, "// sleep: "); ok && strings.TrimSpace(reason) != "" {
				excused[f.line(comment.Pos())] = true
			}
		}
	}

	var findings []string
	for _, call := range calls(f) {
		if call.on == "time" && call.name == "Sleep" && !excused[f.line(call.pos)] {
			findings = append(findings, fmt.Sprintf("%s: a test sleeps; wait for what it waits for, or end the line with `// sleep: <why>`",
				f.at(call.pos)))
		}
	}

	return findings
}

// skips finds tests that leave quietly. What a test needs it has to bring
// about, or to fail and say what is missing.
func skips(f file) []string {
	var findings []string
	for _, call := range calls(f) {
		switch call.name {
		case "Skip", "Skipf", "SkipNow":
		default:
			continue
		}
		if f.isTest() || call.on == "t" || call.on == "tb" || call.on == "b" {
			findings = append(findings, fmt.Sprintf("%s: a test skips itself with %s; let it fail and say what is missing",
				f.at(call.pos), call.name))
		}
	}

	return findings
}

// call is one x.f(…); on is empty where x is more than a name.
type call struct {
	on, name string
	pos      token.Pos
}

func calls(f file) []call {
	var all []call
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		c := call{name: selector.Sel.Name, pos: selector.Pos()}
		if x, ok := selector.X.(*ast.Ident); ok {
			c.on = x.Name
		}
		all = append(all, c)

		return true
	})

	return all
}

func TestASleepIsExcusedOnlyByAReasonOnItsLine(t *testing.T) {
	t.Parallel()

	for line, want := range map[string]int{
		"time.Sleep(1)": 1,
		"time.Sleep(1) // sleep: the clock has to pass": 0,
		"time.Sleep(1) // sleep: ":                      1,
		"time.Sleep(1) // because":                      1,
		"time.After(1)":                                 0,
	} {
		f := sample(t, "p", "p_test.go", "package p\nfunc f() {\n"+line+"\n}\n")
		if got := sleeps(f); len(got) != want {
			t.Errorf("%s: want %d findings, got %q", line, want, got)
		}
	}
}

func TestASkipIsFoundWhateverItsName(t *testing.T) {
	t.Parallel()

	for _, line := range []string{"t.Skip()", `t.Skipf("no database")`, "s.t.SkipNow()", "b.Skip()"} {
		f := sample(t, "p", "p_test.go", "package p\nfunc f() {\n"+line+"\n}\n")
		if got := skips(f); len(got) != 1 {
			t.Errorf("%s: want 1 finding, got %q", line, got)
		}
	}
}
