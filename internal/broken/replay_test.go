package broken_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/internal/broken"
	"github.com/fencerow/fencerow/internal/storetest"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/transitions"
)

var right = transitions.MustCompile(transitions.Standard())

// suiteOf is the counterexample of a fault as a suite file, filled in by what the standard table does.
func suiteOf(t *testing.T, f broken.Fault) string {
	t.Helper()
	r := reportOf(t, f)
	if r.Broken == nil {
		t.Fatalf("the checker finds nothing: %s", r)
	}
	folder := t.TempDir()
	name := filepath.Join(folder, "story.txt")
	if err := os.WriteFile(name, []byte(r.Broken.Suite(f.Name, right)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := machinetest.RewriteSuite(folder, right); err != nil {
		t.Fatalf("%v\n%s", err, r.Broken.Suite(f.Name, right))
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// play plays a suite and tells what did not come as it says.
func play(t *testing.T, subject machinetest.Subject, files fstest.MapFS) (int, string) {
	t.Helper()
	ran, faults, err := machinetest.PlaySuite(t.Context(), subject, files, right, nil)
	if err != nil {
		t.Fatal(err)
	}
	told := []string{}
	for _, fault := range faults {
		told = append(told, fault.String())
	}
	return ran, strings.Join(told, "\n")
}

// What a worker, a person or a network does wrong leaves rows as the standard table has them: the fault is told in the
// suite's comments. What the table does wrong shows.
func TestEveryCounterexampleReplaysOnEveryStore(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	all := fstest.MapFS{}
	for i, f := range broken.Faults {
		if f.Want != "" {
			texts[f.Name] = suiteOf(t, f)
			all[fmt.Sprintf("story-%02d.txt", i)] = &fstest.MapFile{Data: []byte(texts[f.Name])}
		}
	}
	for kind := range storetest.Each(right) {
		open := func(t *testing.T, p *transitions.Program) machinetest.Subject { return storetest.Each(p)[kind](t) }
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			t.Run("of the standard table passes them all", func(t *testing.T) {
				t.Parallel()
				ran, told := play(t, open(t, right), all)
				if diff := cmp.Diff("", told); diff != "" || ran != len(texts) {
					t.Errorf("of %d suites %d ran (-want +got):\n%s", len(texts), ran, diff)
				}
			})
			for _, f := range broken.Faults {
				if f.Want != "" && f.InTable() {
					t.Run("of a table with the fault shows "+f.Name, func(t *testing.T) {
						t.Parallel()
						p, err := f.Program()
						if err != nil {
							t.Fatal(err)
						}
						_, told := play(t, open(t, p), fstest.MapFS{"story.txt": {Data: []byte(texts[f.Name])}})
						if shown, want := told != "", f.Stopped == ""; shown != want {
							t.Errorf("the fault shows: %t, want %t\n%s", shown, want, texts[f.Name])
						}
					})
				}
			}
		})
	}
}
