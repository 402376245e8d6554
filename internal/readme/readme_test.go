package readme

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/examples/immediate"
	"github.com/fencerow/fencerow/examples/moderated"
	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/internal/golden"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/render"
)

const path = "../../README.md"

func TestTheREADMEIsWrittenFromTheSource(t *testing.T) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	written := string(text)
	program := transitions.MustCompile(transitions.Standard())
	for name, section := range map[string]string{
		"lifecycle": "![" + render.Caption(program) + "](docs/lifecycle-brief.svg)",
		"tables":    tables(),
		"example":   "```go\n" + example(t) + "\n```",
	} {
		written = replaced(t, written, name, section)
	}
	golden.Compare(t, path, []byte(written))
}

// tables shows the tables of the examples beside each other.
func tables() string {
	var names, lines, pictures []string
	for _, table := range []transitions.Table{moderated.Table(), immediate.Table(), payout.Table()} {
		at := "examples/" + table.Name + "/" + table.Name
		names, lines = append(names, fmt.Sprintf("[`%s`](%s.md)", table.Name, at)), append(lines, "---")
		pictures = append(pictures, fmt.Sprintf("![%s](%s-brief.svg)", render.Caption(transitions.MustCompile(table)), at))
	}
	row := func(cells []string) string { return "| " + strings.Join(cells, " | ") + " |" }
	return strings.Join([]string{row(names), row(lines), row(pictures)}, "\n")
}

// example is what stands between the marks of the example that the tests run.
func example(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/embed/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "// [example]\n")
	body, _, ended := strings.Cut(after, "// [end]")
	if !found || !ended {
		t.Fatal("examples/embed/example_test.go has lost its marks // [example] and // [end]")
	}
	return strings.TrimSpace(body)
}

// replaced puts a section between its marks.
func replaced(t *testing.T, text, name, section string) string {
	t.Helper()
	begin, end := fmt.Sprintf("<!-- generated: %s -->\n", name), "<!-- end generated -->"
	before, rest, found := strings.Cut(text, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("README.md has lost the marks of its section %s", name)
	}
	return before + begin + section + "\n" + end + after
}
