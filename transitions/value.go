package transitions

import (
	"fmt"
	"strconv"
	"time"
)

// Kind is the type of a column, a parameter or a value.
type Kind uint8

// The kinds. Times are kept as Unix microseconds, which is what PostgreSQL resolves; SQLite stores milliseconds.
const (
	NoKind Kind = iota
	Text
	Bytes
	Int
	Bool
	Time
)

var kindNames = [...]string{NoKind: "null", Text: "text", Bytes: "bytes", Int: "int", Bool: "bool", Time: "time"}

// String names the kind as it is written in documents.
func (k Kind) String() string { return kindNames[k] }

// Value is one column's or parameter's value. The zero Value is null. Values are comparable with ==.
type Value struct {
	kind Kind
	num  int64
	str  string
}

// MaxNatural bounds a column whose check is "natural", and MinTime and MaxTime every time: a value that somebody set by
// hand must not make the arithmetic of a whole batch fail. As milliseconds MaxNatural is more than thirty years.
const MaxNatural = 1_000_000_000_000

// MinTime is the earliest time that a column holds, and MaxTime the latest.
var (
	MinTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	MaxTime = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

// NullValue is the value of an empty column.
var NullValue Value

// TextValue, BytesValue, IntValue, BoolValue and TimeValue make a value of their kind.
func TextValue(s string) Value { return Value{kind: Text, str: s} }

// BytesValue copies b. A nil slice is null, an empty one is not.
func BytesValue(b []byte) Value {
	if b == nil {
		return Value{}
	}
	return Value{kind: Bytes, str: string(b)}
}

// IntValue makes an integer.
func IntValue(n int64) Value { return Value{kind: Int, num: n} }

// BoolValue makes a truth value.
func BoolValue(b bool) Value {
	if b {
		return Value{kind: Bool, num: 1}
	}
	return Value{kind: Bool}
}

// TimeValue keeps t to the microsecond. The zero time is null.
func TimeValue(t time.Time) Value {
	if t.IsZero() {
		return Value{}
	}
	return Value{kind: Time, num: t.UnixMicro()}
}

// MicrosValue makes a time from Unix microseconds.
func MicrosValue(us int64) Value { return Value{kind: Time, num: us} }

// OptText is TextValue, but null where s is empty.
func OptText(s string) Value {
	if s == "" {
		return Value{}
	}
	return TextValue(s)
}

// Kind says what v is; NoKind for null.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == NoKind }

// Text gives the characters of a text or bytes value, "" for null.
func (v Value) Text() string { return v.str }

// Bytes gives a copy of a bytes value, nil for null.
func (v Value) Bytes() []byte {
	if v.kind == NoKind {
		return nil
	}
	return []byte(v.str)
}

// Int gives an integer, 0 for null.
func (v Value) Int() int64 { return v.num }

// Bool gives a truth value, false for null.
func (v Value) Bool() bool { return v.kind == Bool && v.num != 0 }

// Micros gives a time as Unix microseconds, 0 for null.
func (v Value) Micros() int64 { return v.num }

// Time gives a time in UTC, the zero time for null.
func (v Value) Time() time.Time {
	if v.kind == NoKind {
		return time.Time{}
	}
	return time.UnixMicro(v.num).UTC()
}

// String writes v so that a person can read it in a test's output or a dump of the program.
func (v Value) String() string {
	switch v.kind {
	case Text:
		return strconv.Quote(v.str)
	case Bytes:
		return fmt.Sprintf("bytes(%q)", v.str)
	case Int:
		return strconv.FormatInt(v.num, 10)
	case Bool:
		return strconv.FormatBool(v.num != 0)
	case Time:
		return v.Time().Format(time.RFC3339Nano)
	default:
		return "null"
	}
}
