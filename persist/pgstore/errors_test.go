package pgstore

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
)

func TestOnlyTheServersWordThatEndsTheStatementProvesThatItDidNotRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		want bool
	}{
		{"a lock timeout", &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "55P03"}, true},
		{"a constraint", &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "23505"}, true},
		{"a serialization failure", &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "40001"}, true},
		{"a full disk", &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "53100"}, true},
		{"a localized severity", &pgconn.PgError{Severity: "FEHLER", SeverityUnlocalized: "ERROR", Code: "55P03"}, true},
		{"no severity that is not localized", &pgconn.PgError{Severity: "ERROR", Code: "55P03"}, false},
		{"a completion that is not known", &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "40003"}, false},
		{"a protocol violation", &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "08P01"}, false},
		{"a terminated session", &pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "57P01"}, false},
		{"a pooler's word about its server", &pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "57P01"}, false},
		{"an idle transaction's end", &pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "25P03"}, false},
		{"a panic", &pgconn.PgError{SeverityUnlocalized: "PANIC", Code: "XX000"}, false},
		{"a deadline", context.DeadlineExceeded, false},
		{"what the driver calls safe to retry", safe{errors.New("conn closed")}, false},
	} {
		if got := provesNotRun(c.err); got != c.want {
			t.Errorf("%s proves that it did not run: %t, want %t", c.name, got, c.want)
		}
	}
}

type safe struct{ error }

func (safe) SafeToRetry() bool { return true }

func TestATextArrayIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for _, want := range [][]string{nil, {"a"}, {"a", "b_c"}, {""}, {"", ""}, {`with "quotes"`, `back\slash`, "com,ma", "{}"}} {
		var got textArray
		if err := got.Scan(arrayText(want)); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, []string(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for _, bad := range []any{nil, 7, "", "{", "a,b"} {
		if err := new(textArray).Scan(bad); err == nil {
			t.Errorf("%v was read as a text array", bad)
		}
	}
}
