// Package byhand writes the rows of operations as no event would, as an import or somebody's own UPDATE does: what tests
// put into a database before they fire anything.
package byhand

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// Write writes rows into the table that the stores use by default, with one statement a row; one that is there is
// replaced.
func Write(ctx context.Context, d persist.Dialect, p *transitions.Program, exec func(ctx context.Context, sql string, args ...any) error, rows ...transitions.Row) error {
	sql := upsert(d, p)
	for _, row := range rows {
		if err := exec(ctx, sql, Values(d, row)...); err != nil {
			return fmt.Errorf("write a row by hand: %w", err)
		}
	}
	return nil
}

func upsert(d persist.Dialect, p *transitions.Program) string {
	var names, marks, sets []string
	for i, c := range p.Columns {
		name, mark := `"`+c.Name+`"`, "?" // some names are words of SQL
		if d == persist.PostgreSQL {
			mark = fmt.Sprintf("$%d", i+1)
		}
		names, marks, sets = append(names, name), append(marks, mark), append(sets, name+" = excluded."+name)
	}
	return fmt.Sprintf("INSERT INTO fencerow_operations (%s) VALUES (%s) ON CONFLICT (operation_id) DO UPDATE SET %s",
		strings.Join(names, ", "), strings.Join(marks, ", "), strings.Join(sets, ", "))
}

// Values are a row's, as the drivers take them.
func Values(d persist.Dialect, row transitions.Row) []any {
	all := make([]any, len(row))
	for i, v := range row {
		all[i] = Value(d, v)
	}
	return all
}

// Value is one value as the drivers take it: a moment for PostgreSQL, milliseconds since 1970 for SQLite.
func Value(d persist.Dialect, v transitions.Value) any {
	switch v.Kind() {
	case transitions.Text:
		return v.Text()
	case transitions.Bytes:
		return v.Bytes()
	case transitions.Int:
		return v.Int()
	case transitions.Bool:
		if d == persist.SQLite {
			return v.Int()
		}
		return v.Bool()
	case transitions.Time:
		if d == persist.SQLite {
			return time.UnixMicro(v.Micros()).UnixMilli()
		}
		return v.Time()
	default:
		return nil
	}
}
