package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/fencerow/fencerow/machine"
)

// code is SQLite's primary result code, 0 where the error is not SQLite's.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// provesNotCommitted reports whether a commit's error proves that nothing was committed. After a failed write or sync
// the frames may be in the file all the same, and be found there after a crash.
func provesNotCommitted(err error) bool {
	switch code(err) {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_FULL, codes.SQLITE_CONSTRAINT, codes.SQLITE_NOMEM, codes.SQLITE_READONLY:
		return true
	}
	return false
}

var hints = map[int]string{
	codes.SQLITE_FULL:     "the database is full, nothing was written; make room on its disk, or raise its max_page_count",
	codes.SQLITE_READONLY: "the database takes no writes; check who may write the file and its folder",
	codes.SQLITE_CANTOPEN: "the file, or the -wal and -shm files beside it, cannot be opened; check who may write them and their folder",
	codes.SQLITE_NOTADB:   "the file is no SQLite database; name another one",
	codes.SQLITE_CORRUPT:  "the database is damaged; stop all processes that use it and restore a backup, which does not know what was sent after it was made: before anything is sent from it, cancel in it what the remote has already",
	codes.SQLITE_IOERR:    "the disk failed; look into the system's log",
}

// explained adds what to do about an error that proves that nothing was written.
func (s *Store) explained(ctx context.Context, err error) error {
	message := err.Error()
	switch c := code(err); {
	case ctx.Err() != nil:
		if errors.Is(err, ctx.Err()) {
			return fmt.Errorf("stopped, nothing was written: %w", err)
		}
		return fmt.Errorf("stopped, nothing was written: %w: %w", ctx.Err(), err)
	case errors.Is(err, errJudgeAnew):
		return fmt.Errorf("given up after %d tries, nothing was written; try again: %w", judgements, err)
	case c == codes.SQLITE_BUSY || c == codes.SQLITE_LOCKED:
		if s.tx != nil {
			return fmt.Errorf("the database is locked; begin the transaction immediate (_txlock=immediate), so that it waits: %w", err)
		}
		return fmt.Errorf("the database is locked by another process for longer than %s, nothing was written; end what holds it, or try again: %w", s.busy, err)
	case c == codes.SQLITE_CONSTRAINT:
		return refusedBy(err)
	case c == codes.SQLITE_ERROR && strings.Contains(message, "no such table"):
		return fmt.Errorf("the tables are not there; run the migrations, or set the prefix that they have: %w", err)
	case c == codes.SQLITE_ERROR && (strings.Contains(message, "no such column") || strings.Contains(message, "has no column")):
		return fmt.Errorf("the tables are of another version; run the migrations: %w", err)
	case hints[c] != "":
		return fmt.Errorf("%s: %w", hints[c], err)
	}
	return err
}

var (
	refusedCheck  = regexp.MustCompile(`CHECK constraint failed: (\w+)`)
	refusedColumn = regexp.MustCompile(`(?:UNIQUE|NOT NULL) constraint failed: .*\.(\w+)|value in \w+ column .*\.(\w+)`)
)

// refusedBy tells which column the tables did not take.
func refusedBy(err error) error {
	invalid := &machine.InvalidError{Text: "the table does not take the value"}
	if m := refusedCheck.FindStringSubmatch(err.Error()); m != nil {
		invalid.Field = strings.TrimSuffix(m[1], "_allowed")
	} else if m := refusedColumn.FindStringSubmatch(err.Error()); m != nil {
		invalid.Field = m[1] + m[2]
	}
	if invalid.Field == "redo_of" {
		invalid.Text = "the operation was redone before; redo its successor"
	}
	return &refused{invalid, err}
}

// refused is a value that the tables do not take, in the engine's words and with SQLite's error.
type refused struct {
	invalid *machine.InvalidError
	cause   error
}

func (e *refused) Error() string   { return fmt.Sprintf("%v: %v", e.invalid, e.cause) }
func (e *refused) Unwrap() []error { return []error{e.invalid, e.cause} }
