package pgstore

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/fencerow/fencerow/transitions"
)

// Every kind of column is read the same from pgx, in both of its formats, and from database/sql.
func TestAColumnIsReadAsTheValueThatItHolds(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 2, 3, 4, 5, 6, 789_000, time.UTC)
	for _, c := range []struct {
		name string
		oid  uint32
		kind transitions.Kind
		from any
		want transitions.Value
	}{
		{"a text", pgtype.TextOID, transitions.Text, "a fence", transitions.TextValue("a fence")},
		{"an empty text", pgtype.TextOID, transitions.Text, "", transitions.TextValue("")},
		{"bytes", pgtype.ByteaOID, transitions.Bytes, []byte{0, 1}, transitions.BytesValue([]byte{0, 1})},
		{"no bytes", pgtype.ByteaOID, transitions.Bytes, []byte{}, transitions.BytesValue([]byte{})},
		{"an integer", pgtype.Int8OID, transitions.Int, int64(-7), transitions.IntValue(-7)},
		{"true", pgtype.BoolOID, transitions.Bool, true, transitions.BoolValue(true)},
		{"a time", pgtype.TimestamptzOID, transitions.Time, at, transitions.TimeValue(at)},
		{"a null text", pgtype.TextOID, transitions.Text, nil, transitions.NullValue},
		{"null bytes", pgtype.ByteaOID, transitions.Bytes, nil, transitions.NullValue},
		{"a null integer", pgtype.Int8OID, transitions.Int, nil, transitions.NullValue},
		{"a null truth", pgtype.BoolOID, transitions.Bool, nil, transitions.NullValue},
		{"a null time", pgtype.TimestamptzOID, transitions.Time, nil, transitions.NullValue},
	} {
		same := cmp.Comparer(func(a, b transitions.Value) bool { return a == b })
		m := pgtype.NewMap()
		for format, name := range map[int16]string{pgtype.BinaryFormatCode: "binary", pgtype.TextFormatCode: "text"} {
			got := transitions.TextValue("of the row before")
			sent, err := m.Encode(c.oid, format, c.from, []byte{})
			if err == nil {
				err = m.Scan(c.oid, format, sent, cell(c.kind, &got))
			}
			if diff := cmp.Diff(c.want, got, same); err != nil || diff != "" {
				t.Errorf("%s from pgx, in the %s format: %v (-want +got):\n%s", c.name, name, err, diff)
			}
		}
		got := transitions.TextValue("of the row before")
		err := (&foreign{c.kind, &got}).Scan(c.from)
		if diff := cmp.Diff(c.want, got, same); err != nil || diff != "" {
			t.Errorf("%s from database/sql: %v (-want +got):\n%s", c.name, err, diff)
		}
	}
}

// A time that no column of the table can hold is an error, not the zero time.
func TestAnInfiniteTimeIsRefused(t *testing.T) {
	t.Parallel()
	var got transitions.Value
	err := pgtype.NewMap().Scan(pgtype.TimestamptzOID, pgtype.TextFormatCode, []byte("infinity"), cell(transitions.Time, &got))
	if err == nil || !strings.Contains(err.Error(), "infinity") {
		t.Errorf("got %v and %v, want an error that says infinity", got, err)
	}
}
