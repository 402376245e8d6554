package moderated_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/examples/immediate"
	"github.com/fencerow/fencerow/examples/moderated"
	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/persist/pages"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/render"
)

// lines are a text's lines without what they begin and end with.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i, line := range all {
		all[i] = strings.TrimSpace(line)
	}
	return strings.Join(all, "\n")
}

// Whatever of the project knows of the phase, its tests and this page apart, is table.go, or was generated from it.
func TestOneFileIsWrittenByHand(t *testing.T) {
	t.Parallel()
	generated, err := pages.Of(program(t), "moderated")
	if err != nil {
		t.Fatal(err)
	}
	generated["every-pair.txt"], generated["README.md"] = []byte{}, []byte{} // there the caption is generated
	var byHand []string
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if filepath.ToSlash(path) == "../../bin" { // what make builds and reports there is no source
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".go", ".md", ".txt", ".svg", ".sql", ".pml"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		if strings.Contains(string(text), moderated.Moderating) && generated[name] == nil {
			byHand = append(byHand, filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"../../docs/own-tables.md", "../../examples/moderated/table.go", "../../examples/moderated/testdata/moderated.txt", "../../examples/moderated/testdata/usual.txt"}
	if diff := cmp.Diff(want, byHand); diff != "" {
		t.Errorf("what knows of the phase and was written by hand (-want +got):\n%s", diff)
	}
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
	page, source := read("../../docs/own-tables.md"), lines(read("table.go")+read("../immediate/table.go")+read("moderated_test.go")+read("../payout/mutants_test.go"))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) == 0 {
		t.Error("the page shows no code")
	}
	for _, block := range blocks {
		if !strings.Contains(source, lines(block[1])) {
			t.Errorf("the page shows code that is in no example:\n%s", block[1])
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

	for _, table := range []transitions.Table{moderated.Table(), immediate.Table(), payout.Table()} {
		picture := "![" + render.Caption(transitions.MustCompile(table)) + "](../examples/" + table.Name + "/" + table.Name + "-brief.svg)"
		if !strings.Contains(page, picture) {
			t.Errorf("the page lacks %s", picture)
		}
	}

	tests := read("moderated_test.go") + read("docs_test.go")
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page, -1) {
		if !strings.Contains(tests, "func "+name[1]+"(") {
			t.Errorf("the page names %s, which is nowhere", name[1])
		}
	}
}
