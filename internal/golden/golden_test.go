package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// verdict is a testing.TB that keeps what it is told.
type verdict struct {
	testing.TB
	said string
}

func (v *verdict) Helper()                           {}
func (v *verdict) Logf(string, ...any)               {}
func (v *verdict) Errorf(format string, args ...any) { v.said += fmt.Sprintf(format, args...) }
func (v *verdict) Fatal(args ...any)                 { v.said += fmt.Sprint(args...) }

func compare(path, got string) string {
	v := &verdict{}
	Compare(v, path, []byte(got))

	return v.said
}

// These tests set the package's flag, so none of them is parallel.

func TestAGoldenFileThatHoldsTheSameBytesPasses(t *testing.T) {
	asIs(t)
	if said := compare(file(t, "same\n"), "same\n"); said != "" {
		t.Error(said)
	}
}

func TestADifferenceShowsADiffAndTheCommandThatAcceptsIt(t *testing.T) {
	asIs(t)
	said := compare(file(t, "one\ntwo\n"), "one\n2\n")
	for _, part := range []string{"two", "2", "\tmake golden"} {
		if !strings.Contains(said, part) {
			t.Errorf("the failure does not show %q:\n%s", part, said)
		}
	}
}

func TestAMissingGoldenFileFailsAndNamesTheCommand(t *testing.T) {
	asIs(t)
	path := filepath.Join(t.TempDir(), "none")
	if said := compare(path, ""); !strings.Contains(said, path) || !strings.Contains(said, accept) {
		t.Errorf("the failure does not say what is missing and what to do:\n%s", said)
	}
}

func TestUpdateWritesTheFileAndItsFolder(t *testing.T) {
	set(t, true)
	path := filepath.Join(t.TempDir(), "a", "b.golden")
	for _, want := range []string{"new\n", "changed\n"} {
		if said := compare(path, want); said != "" {
			t.Error(said)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("the golden file (-want +got):\n%s", diff)
		}
	}
}

// asIs turns -update off for tests that are about comparing, so that they say
// the same in a run that rewrites the goldens of others.
func asIs(t *testing.T) {
	t.Helper()
	set(t, false)
}

func set(t *testing.T, value bool) {
	t.Helper()
	old := *update
	*update = value
	t.Cleanup(func() { *update = old })
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "golden")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}

	return path
}
