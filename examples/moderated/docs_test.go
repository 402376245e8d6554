package moderated_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/examples/moderated"
	"github.com/fencerow/fencerow/transitions"
)

// lines are a text's lines without what they begin and end with.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i, line := range all {
		all[i] = strings.TrimSpace(line)
	}
	return strings.Join(all, "\n")
}

// The page shows what the examples do, and what the compiler says.
func TestWhatTheDocumentationSaysIsSo(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page, source := read("../../docs/own-tables.md"), lines(read("table.go")+read("../immediate/table.go"))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) == 0 {
		t.Error("the page shows no code")
	}
	for _, block := range blocks {
		if !strings.Contains(source, lines(block[1])) {
			t.Errorf("the page shows code that is in neither example:\n%s", block[1])
		}
	}

	bare := transitions.Standard()
	bare.AddPhase(transitions.Observing, transitions.Phase{Name: moderated.Moderating, Action: moderated.Moderate, Restless: true})
	bare.Actions = append(bare.Actions, transitions.Action{Name: moderated.Moderate})
	kept := moderated.Table()
	e := kept.Event("observe_succeeded")
	e.Replace("moderate due", transitions.EndsWithResult())
	released := moderated.Table()
	released.Event("moderate_overdue").Replace(transitions.ClearLease().Name, transitions.ReleaseLease())

	said := regexp.MustCompile(`(?m)^FR\d+ .*$`).FindAllString(page, -1)
	var found []string
	for _, table := range []transitions.Table{bare, kept, released} {
		for _, f := range transitions.Check(table) {
			found = append(found, f.String())
		}
	}
	if strings.Join(said, "\n") != strings.Join(found, "\n") {
		t.Errorf("the findings on the page:\n%s\nthe findings:\n%s", strings.Join(said, "\n"), strings.Join(found, "\n"))
	}

	tests := read("moderated_test.go") + read("docs_test.go")
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(tests, "func "+name[1]+"(") {
			t.Errorf("the page names %s, which is nowhere", name[1])
		}
	}
}
