package clause

import (
	"fmt"
	"strings"
)

// token is a piece of SQL. Words are as they are written: the keywords of the statements are in capitals, what the
// table names is not.
type token struct {
	text     string
	from, to int
	match    int // of a bracket: the index of its partner; else 0
}

func (t token) is(text string) bool { return t.text == text }

// tokens splits a text and pairs its brackets.
func tokens(sql string) ([]token, error) {
	var all []token
	var open []int
	for at := 0; at < len(sql); {
		if strings.IndexByte(" \t\n\r", sql[at]) >= 0 {
			at++
			continue
		}
		end, err := tokenEnd(sql, at)
		if err != nil {
			return nil, err
		}
		t := token{text: sql[at:end], from: at, to: end}
		switch t.text {
		case "(", "[":
			open = append(open, len(all))
		case ")", "]":
			if len(open) == 0 {
				return nil, fmt.Errorf("read SQL: %q at byte %d closes nothing", t.text, at)
			}
			t.match = open[len(open)-1]
			open = open[:len(open)-1]
			all[t.match].match = len(all)
		}
		all = append(all, t)
		at = end
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("read SQL: the bracket at byte %d is never closed", all[open[0]].from)
	}
	return all, nil
}

// signs are operators of more than one character.
var signs = []string{"||", "::", "<=", ">=", "<>"}

func tokenEnd(sql string, at int) (int, error) {
	c := sql[at]
	switch {
	case c == '\'' || c == '"':
		return quoteEnd(sql, at)
	case isWord(c):
		end := at
		for end < len(sql) && isWord(sql[end]) {
			end++
		}
		if end < len(sql) && sql[end] == '\'' && end == at+1 && strings.IndexByte("Ex", c) >= 0 {
			return quoteEnd(sql, end) // E'…' and x'…'
		}
		return end, nil
	case strings.HasPrefix(sql[at:], "--"), strings.HasPrefix(sql[at:], "/*"):
		return 0, fmt.Errorf("read SQL: a comment at byte %d; statements have none", at)
	}
	for _, s := range signs {
		if strings.HasPrefix(sql[at:], s) {
			return at + len(s), nil
		}
	}
	return at + 1, nil
}

func quoteEnd(sql string, at int) (int, error) {
	quote := sql[at]
	for end := at + 1; end < len(sql); end++ {
		if sql[end] != quote {
			continue
		}
		if end+1 < len(sql) && sql[end+1] == quote {
			end++ // a doubled quote is a quote
			continue
		}
		return end + 1, nil
	}
	return 0, fmt.Errorf("read SQL: the quote at byte %d is never closed", at)
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '?' || c >= 0x80
}
