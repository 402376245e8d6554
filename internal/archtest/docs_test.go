package archtest

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestEveryPackageHasExactlyOnePackageComment(t *testing.T) {
	t.Parallel()

	documented := map[string][]string{}
	for _, f := range goFiles(t) {
		if f.isTest() || testdata(f.folder) {
			continue
		}
		files := documented[f.folder] // known with no comment, too
		if f.syntax.Doc != nil {
			files = append(files, f.name)
		}
		documented[f.folder] = files
	}

	for folder, files := range documented {
		if len(files) != 1 {
			t.Errorf("the package %s has %d package comments %v, want exactly one, in the file a reader opens first",
				folder, len(files), files)
		}
	}
}

// foreign are traces of one machine or of how the text came about. They are
// put together here so that this file does not hold them.
var foreign = []string{
	"/wor" + "k/",
	"../" + "shared",
	"/ro" + "ot/",
	"before" + "-stop",
	"proxy.golang" + ".org",
	"repo1.maven" + ".org",
	"sub" + "agent",
}

func TestTheProjectNamesNoPathOfOneMachine(t *testing.T) {
	t.Parallel()

	err := walk(func(name string, source []byte) error {
		report(t, traces(name, source))

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func traces(name string, source []byte) []string {
	var findings []string
	for _, trace := range foreign {
		if before, _, found := bytes.Cut(source, []byte(trace)); found {
			findings = append(findings, fmt.Sprintf("%s:%d names %s, which means nothing to somebody else",
				name, bytes.Count(before, []byte("\n"))+1, trace))
		}
	}

	return findings
}

func TestATraceOfAMachineIsFoundWithItsLine(t *testing.T) {
	t.Parallel()
	got := traces("a.md", []byte("one\nsee "+foreign[0]+"x\n"))
	if len(got) != 1 || !strings.HasPrefix(got[0], "a.md:2 ") {
		t.Errorf("want one finding on line 2, got %q", got)
	}
}

// guide is where the reason for each dependency is written down.
const guide = "../../CONTRIBUTING.md"

func TestEveryDependencyGivesItsReasonInTheGuide(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	known := listed(string(text))

	for _, f := range goFiles(t) {
		for _, imported := range f.imports() {
			if standard(imported) || within(imported, module) {
				continue
			}
			if !slices.ContainsFunc(known, func(m string) bool { return within(imported, m) }) {
				t.Errorf("%s imports %s, which has no line in the table of dependencies of CONTRIBUTING.md; say there why it is worth it",
					f.path(), imported)
			}
		}
	}
}

// listed are the names in the first column of the guide's tables.
func listed(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			if name, _, ok := strings.Cut(rest, "`"); ok {
				names = append(names, name)
			}
		}
	}

	return names
}
