package sqlitestore

import (
	"fmt"
	"os"
)

// stillThere fails when the file at the store's path is no longer the one that was opened. Whoever deletes or replaces
// it leaves this process with a file that nobody can open again: what is written there is forgotten with the process,
// and another one would send everything anew. So nothing is begun any more.
func (s *Store) stillThere() error {
	now, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("the database file is gone from its place, nothing was written; put it back and start again: %w", err)
	}
	if !os.SameFile(s.opened, now) {
		return fmt.Errorf("another file was put in the place of the database %s, nothing was written; stop, and see which one is right", s.path)
	}
	return nil
}
