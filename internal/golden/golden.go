// Package golden compares what a test made with a file that somebody looked at
// and committed.
//
// A golden file is there to be read: whoever accepts a change of it reads the
// diff first.
package golden

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// accept is the command that accepts whatever the tests make now.
const accept = "make golden"

// Updating tells whether the run rewrites golden files, for a test that keeps
// some by other means.
func Updating() bool { return *update }

// Compare fails the test unless the file at path holds exactly got. Under
// -update it writes the file instead.
func Compare(t testing.TB, path string, got []byte) {
	t.Helper()

	if *update {
		write(t, path, got)

		return
	}

	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is no golden file %s; look at what the test makes, and accept it with\n\t%s", path, accept)

		return
	}
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s does not hold what the test makes (-want +got):\n%s\nif the change is meant, accept it with\n\t%s",
			path, diff, accept)
	}
}

func write(t testing.TB, path string, got []byte) {
	t.Helper()

	// An untouched file keeps its time: build tools and editors watch it.
	if old, err := os.ReadFile(path); err == nil && string(old) == string(got) {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, got, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("wrote %s", path)
}
