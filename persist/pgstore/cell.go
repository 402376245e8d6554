package pgstore

import (
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/fencerow/fencerow/transitions"
)

// These receive one column of a row from pgx, null or not, as the value that it becomes: a row has more than forty, and
// each would be allocated once more on its way. One type for all kinds would read every column that comes as text, as
// those of statements do that are not prepared, as a text.
type (
	textCell  transitions.Value
	bytesCell transitions.Value
	intCell   transitions.Value
	boolCell  transitions.Value
	timeCell  transitions.Value
)

// cell receives a column of a kind into v.
func cell(kind transitions.Kind, v *transitions.Value) any {
	switch kind {
	case transitions.Text:
		return (*textCell)(v)
	case transitions.Bytes:
		return (*bytesCell)(v)
	case transitions.Int:
		return (*intCell)(v)
	case transitions.Bool:
		return (*boolCell)(v)
	default:
		return (*timeCell)(v)
	}
}

// unless is v, or null where it is not valid.
func unless(valid bool, v transitions.Value) transitions.Value {
	if valid {
		return v
	}
	return transitions.NullValue
}

// ScanText implements pgtype.TextScanner.
func (c *textCell) ScanText(v pgtype.Text) error {
	*c = textCell(unless(v.Valid, transitions.TextValue(v.String)))
	return nil
}

// ScanBytes implements pgtype.BytesScanner. The bytes are pgx's, and copied.
func (c *bytesCell) ScanBytes(v []byte) error {
	*c = bytesCell(transitions.BytesValue(v))
	return nil
}

// ScanInt64 implements pgtype.Int64Scanner.
func (c *intCell) ScanInt64(v pgtype.Int8) error {
	*c = intCell(unless(v.Valid, transitions.IntValue(v.Int64)))
	return nil
}

// ScanBool implements pgtype.BoolScanner.
func (c *boolCell) ScanBool(v pgtype.Bool) error {
	*c = boolCell(unless(v.Valid, transitions.BoolValue(v.Bool)))
	return nil
}

// ScanTimestamptz implements pgtype.TimestamptzScanner. The table's checks let no infinite time in.
func (c *timeCell) ScanTimestamptz(v pgtype.Timestamptz) error {
	if v.InfinityModifier != pgtype.Finite {
		return fmt.Errorf("read a time: it is %s, which no column of the table can hold; set it to a time", v.InfinityModifier)
	}
	*c = timeCell(unless(v.Valid, transitions.TimeValue(v.Time)))
	return nil
}

// foreign receives one column from database/sql, whatever its driver.
type foreign struct {
	kind transitions.Kind
	into *transitions.Value
}

// Scan implements sql.Scanner.
func (f *foreign) Scan(from any) error {
	switch f.kind {
	case transitions.Text:
		return given(from, f.into, transitions.TextValue)
	case transitions.Bytes:
		return given(from, f.into, transitions.BytesValue)
	case transitions.Int:
		return given(from, f.into, transitions.IntValue)
	case transitions.Bool:
		return given(from, f.into, transitions.BoolValue)
	default:
		return given(from, f.into, transitions.TimeValue)
	}
}

// given converts what a driver gave as database/sql does.
func given[T any](from any, into *transitions.Value, value func(T) transitions.Value) error {
	var v sql.Null[T]
	if err := v.Scan(from); err != nil {
		return err
	}
	*into = transitions.NullValue
	if v.Valid {
		*into = value(v.V)
	}
	return nil
}
