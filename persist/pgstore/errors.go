package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
)

// The server's error codes that are told apart.
const (
	uniqueViolation     = "23505"
	checkViolation      = "23514"
	notNullViolation    = "23502"
	lockNotAvailable    = "55P03"
	queryCanceled       = "57014"
	serializationFailed = "40001"
	deadlockDetected    = "40P01"
	completionUnknown   = "40003"
	readOnlyTransaction = "25006"
	abortedTransaction  = "25P02"
	diskFull            = "53100"
	undefinedTable      = "42P01"
	undefinedColumn     = "42703"
)

func serverError(err error) *pgconn.PgError {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// provesNotRun reports whether the error of a statement that was sent proves that it changed nothing. Only the
// server's own word does, and only where it ends the statement and not the session: an ERROR rolls the statement back,
// also when it comes at its commit; after a FATAL or PANIC, or with no word at all, it may have been committed. What
// pgconn.SafeToRetry says is no proof: it was seen to be true of a statement that was committed.
func provesNotRun(err error) bool {
	e := serverError(err)
	if e == nil || e.SeverityUnlocalized != "ERROR" {
		return false
	}
	return !strings.HasPrefix(e.Code, "08") && !strings.HasPrefix(e.Code, "57P0") && e.Code != completionUnknown
}

var hints = map[string]string{
	lockNotAvailable:    "the lock wait reached its bound: somebody holds the row, or is just storing the same id; try again",
	serializationFailed: "the transaction runs at a stricter level than READ COMMITTED and met another writer; try it again from its start",
	deadlockDetected:    "it met another transaction that waited for it; try again",
	readOnlyTransaction: "the server takes no writes: it is a standby, or the session is read-only; connect to the primary",
	abortedTransaction:  "an earlier statement of the transaction failed; roll it back",
	diskFull:            "the server's disk is full; make room",
	undefinedTable:      "the tables are not there; run the migrations, or set the schema and prefix that they have",
	undefinedColumn:     "the tables are of another version; run the migrations",
}

// explained adds what to do about an error that proves that nothing was written.
func explained(ctx context.Context, err error, names persist.Names) error {
	e := serverError(err)
	if e == nil {
		return err
	}
	switch {
	case e.Code == queryCanceled && ctx.Err() != nil:
		return fmt.Errorf("stopped, nothing was written: %w: %w", ctx.Err(), err)
	case e.Code == queryCanceled:
		return fmt.Errorf("the statement reached the server's statement_timeout, or an operator canceled it; nothing was written: %w", err)
	case e.Code == uniqueViolation && e.ConstraintName == names.RedoIndex():
		return &refused{&machine.InvalidError{Field: "redo_of", Text: "the operation was redone before; redo its successor"}, err}
	case e.Code == notNullViolation:
		return &refused{&machine.InvalidError{Field: e.ColumnName, Text: e.Message}, err}
	case e.Code == checkViolation:
		return &refused{&machine.InvalidError{Field: strings.TrimSuffix(e.ConstraintName, "_allowed"), Text: e.Message}, err}
	}
	if hint := hints[e.Code]; hint != "" {
		return fmt.Errorf("%s: %w", hint, err)
	}
	return err
}

// refused is a value that the tables do not take, in the engine's words and with the server's error.
type refused struct {
	invalid *machine.InvalidError
	server  error
}

func (e *refused) Error() string   { return e.invalid.Error() }
func (e *refused) Unwrap() []error { return []error{e.invalid, e.server} }
