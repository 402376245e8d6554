package sqlitestore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/sqlitestore"
)

// A database file that is deleted or replaced under a running process takes its memory with it: nothing is written any
// more, so that nothing is sent that will be forgotten (contract B1, E2).
func TestNothingIsWrittenIntoAFileThatIsGoneOrReplaced(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(path string) error{
		"it was deleted":  os.Remove,
		"it was replaced": func(path string) error { return os.Rename(path+".other", path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "f.db")
			store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			if _, err := store.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			m, err := machine.New(store, machine.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+".other", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := lose(path); err != nil {
				t.Fatal(err)
			}
			_, err = m.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "video", Request: []byte("{}")})
			if err == nil || machine.IsUnknown(err) || !strings.Contains(err.Error(), "nothing was written") {
				t.Errorf("prepare says %v, want that nothing was written", err)
			}
		})
	}
}
