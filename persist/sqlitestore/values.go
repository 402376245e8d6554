package sqlitestore

import (
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// bound is a value as the driver takes it. A time is cut to milliseconds, also before 1970.
func bound(v transitions.Value) any {
	switch v.Kind() {
	case transitions.Text:
		return v.Text()
	case transitions.Bytes:
		return v.Bytes()
	case transitions.Int, transitions.Bool:
		return v.Int()
	case transitions.Time:
		return time.UnixMicro(v.Micros()).UnixMilli()
	default:
		return nil
	}
}

// arguments are the parameters of a statement, in its order; one that was not given is null.
func arguments(names []string, params transitions.Params) []any {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = bound(params[name])
	}
	return args
}

// found reads one value of a kind as the driver gives it.
func found(kind transitions.Kind, v any) (transitions.Value, error) {
	switch v := v.(type) {
	case nil:
		return transitions.NullValue, nil
	case int64:
		switch kind {
		case transitions.Int:
			return transitions.IntValue(v), nil
		case transitions.Bool:
			return transitions.BoolValue(v != 0), nil
		case transitions.Time:
			return transitions.MicrosValue(v * 1000), nil
		}
	case string:
		if kind == transitions.Text {
			return transitions.TextValue(v), nil
		}
	case []byte:
		if kind == transitions.Bytes {
			return transitions.BytesValue(append([]byte{}, v...)), nil // the driver gives nil for an empty one
		}
	}
	return transitions.NullValue, fmt.Errorf("a column of kind %s holds a %T", kind, v)
}

// scanRow reads an operation's columns, after those that stand before them.
func (s *Store) scanRow(rows *sql.Rows, before ...any) (transitions.Row, error) {
	raw := make([]any, len(s.program.Columns))
	for i := range raw {
		before = append(before, &raw[i])
	}
	if err := rows.Scan(before...); err != nil {
		return nil, err
	}
	row := make(transitions.Row, len(raw))
	for i, c := range s.program.Columns {
		var err error
		if row[i], err = found(c.Kind, raw[i]); err != nil {
			return nil, fmt.Errorf("read column %s: %w", c.Name, err)
		}
	}
	return row, nil
}

// scanJudged reads a judge's answer.
func (s *Store) scanJudged(rows *sql.Rows) (machine.Answer, error) {
	var applied bool
	var failed string
	row, err := s.scanRow(rows, &applied, &failed)
	a := machine.Answer{Applied: applied, Exists: true, Row: row}
	if failed != "" {
		a.Failed = strings.Split(failed, ",")
	}
	return a, err
}

// moment reads a time that may be null.
func moment(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return time.UnixMilli(v.Int64).UTC()
}
