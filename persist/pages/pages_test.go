package pages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pages"
	"github.com/fencerow/fencerow/transitions"
)

func standard() *transitions.Program { return transitions.MustCompile(transitions.Standard()) }

func TestPagesThatWereWrittenAreFresh(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := pages.Write(dir, "lifecycle", standard()); err != nil {
		t.Fatal(err)
	}
	if err := pages.Check(dir, "lifecycle", standard()); err != nil {
		t.Error(err)
	}
}

func TestEveryStalePageIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := pages.Write(dir, "lifecycle", standard()); err != nil {
		t.Fatal(err)
	}
	weaker, err := standard().Without("submit_begin", "lease_live")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "lifecycle.svg")); err != nil {
		t.Fatal(err)
	}
	err = pages.Check(dir, "lifecycle", weaker)
	if err == nil {
		t.Fatal("pages of another table pass for fresh")
	}
	for _, want := range []string{
		"lifecycle.svg is missing", "lifecycle.md does not say", "lifecycle-postgres.md does not say", "lifecycle-sqlite.md does not say", "run go generate",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "brief") {
		t.Errorf("%q names a picture that is what it was", err)
	}
}

// Every file that a page refers to is one of them.
func TestThePagesReferToEachOther(t *testing.T) {
	t.Parallel()
	files, err := pages.Of(standard(), "mine")
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, want := range []string{"](mine.svg)", "](mine-postgres.md)", "](mine-sqlite.md)"} {
		if !strings.Contains(string(files["mine.md"]), want) {
			missing = append(missing, want)
		}
		if name := want[2 : len(want)-1]; files[name] == nil {
			missing = append(missing, name)
		}
	}
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Errorf("the page lacks (-want +got):\n%s", diff)
	}
}

func TestThePageOfStatementsHasEveryStatementAsItIsExecuted(t *testing.T) {
	t.Parallel()
	for _, d := range []persist.Dialect{persist.PostgreSQL, persist.SQLite} {
		text, err := pages.SQL(standard(), d)
		if err != nil {
			t.Fatal(err)
		}
		set, err := persist.Compile(standard(), d, persist.Names{})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range set.Statements {
			_, section, found := strings.Cut(text, "\n## "+s.Event+"\n")
			section, _, _ = strings.Cut(section, "\n## ")
			if !found || !strings.Contains(section, strings.TrimSpace(s.SQL)+"\n```") {
				t.Errorf("%s: the section %s lacks the form %s", d, s.Event, s.Form)
			}
			for _, step := range s.Then {
				if !strings.Contains(section, strings.TrimSpace(step.SQL)+"\n```") {
					t.Errorf("%s: the section %s lacks the %s of the form %s", d, s.Event, step.What, s.Form)
				}
			}
		}
	}
}
