package pgstore

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// row is a result row of pgx or of database/sql.
type row interface{ Scan(into ...any) error }

// argument is a value as pgx takes it.
func argument(v transitions.Value) any {
	switch v.Kind() {
	case transitions.Text:
		return v.Text()
	case transitions.Bytes:
		return v.Bytes()
	case transitions.Int:
		return v.Int()
	case transitions.Bool:
		return v.Bool()
	case transitions.Time:
		return v.Time()
	default:
		return nil
	}
}

func arguments(names []string, params transitions.Params) []any {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = argument(params[name])
	}
	return args
}

// arrays gives one array a parameter, over the calls at places.
func arrays(rule *transitions.Rule, names []string, params []transitions.Params, places []int) []any {
	kinds := map[string]transitions.Kind{}
	for _, d := range rule.Params {
		kinds[d.Name] = d.Kind
	}
	args := make([]any, len(names))
	for i, name := range names {
		column := func(n int) transitions.Value { return params[places[n]][name] }
		switch kinds[name] {
		case transitions.Text:
			args[i] = array(len(places), column, transitions.Value.Text)
		case transitions.Int:
			args[i] = array(len(places), column, transitions.Value.Int)
		case transitions.Bool:
			args[i] = array(len(places), column, transitions.Value.Bool)
		case transitions.Time:
			args[i] = array(len(places), column, transitions.Value.Time)
		case transitions.Bytes:
			blobs := make([][]byte, len(places))
			for n := range blobs {
				blobs[n] = column(n).Bytes()
			}
			args[i] = blobs
		}
	}
	return args
}

func array[T any](n int, column func(int) transitions.Value, plain func(transitions.Value) T) []*T {
	list := make([]*T, n)
	for i := range list {
		if v := column(i); !v.IsNull() {
			x := plain(v)
			list[i] = &x
		}
	}
	return list
}

// scan reads a row's columns, which stand after what before takes.
func (s *Store) scan(r row, before ...any) (transitions.Row, error) {
	columns := s.program.Columns
	values := make(transitions.Row, len(columns))
	into := make([]any, 0, len(before)+len(columns))
	into = append(into, before...)
	_, other := r.(*sql.Rows)
	for i := range columns {
		if other {
			into = append(into, &foreign{columns[i].Kind, &values[i]})
		} else {
			into = append(into, cell(columns[i].Kind, &values[i]))
		}
	}
	return values, r.Scan(into...)
}

// answer reads what a statement says about one operation.
func (s *Store) answer(r row, before ...any) (machine.Answer, error) {
	var applied bool
	var failed []string
	var list any = &failed
	if _, other := r.(*sql.Rows); other {
		list = (*textArray)(&failed)
	}
	values, err := s.scan(r, append(before, &applied, list)...)
	if err != nil {
		return machine.Answer{}, err
	}
	if len(failed) == 0 {
		failed = nil
	}
	if s.gather != nil {
		s.gather.answered(values)
	}
	return machine.Answer{Applied: applied, Exists: true, Failed: failed, Row: values}, nil
}

// textArray reads a text[] in the form in which PostgreSQL writes it, which is how database/sql hands it on.
type textArray []string

// Scan implements sql.Scanner.
func (a *textArray) Scan(from any) error {
	text, ok := from.(string)
	if b, isBytes := from.([]byte); isBytes {
		text, ok = string(b), true
	}
	if !ok || len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return fmt.Errorf("read a text array: got %T %v", from, from)
	}
	*a = nil
	var word strings.Builder
	quoted, any := false, false
	body := text[1 : len(text)-1]
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			quoted, any = !quoted, true
		case c == '\\' && i+1 < len(body):
			i++
			word.WriteByte(body[i])
		case c == ',' && !quoted:
			*a = append(*a, word.String())
			word.Reset()
			any = false
		default:
			word.WriteByte(c)
		}
	}
	if word.Len() > 0 || any || len(*a) > 0 {
		*a = append(*a, word.String())
	}
	return nil
}
