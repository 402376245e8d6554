package machinetest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// pieces splits a text at a separator outside of quotes, and trims the pieces.
func pieces(text, separator string) []string {
	var all []string
	quoted, start := false, 0
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(text[i:], separator):
			all = append(all, strings.TrimSpace(text[start:i]))
			start = i + len(separator)
			i = start - 1
		}
	}
	if rest := strings.TrimSpace(text[start:]); rest != "" {
		all = append(all, rest)
	}
	return all
}

// settings reads "name value, name value"; kindOf says what a value is, or what is wrong with the name.
func settings(at place, text string, kindOf func(name string) (transitions.Kind, string)) ([]setting, error) {
	var all []setting
	for _, piece := range pieces(text, ",") {
		name, word, ok := strings.Cut(piece, " ")
		if !ok {
			return nil, at.errorf("%q has no value; write name value, and a comma before the next", piece)
		}
		kind, wrong := kindOf(name)
		if wrong != "" {
			return nil, at.errorf("%s", wrong)
		}
		if slices.ContainsFunc(all, func(s setting) bool { return s.name == name }) {
			return nil, at.errorf("%s is given twice", name)
		}
		v, err := valueOf(kind, strings.TrimSpace(word))
		if err != nil {
			return nil, at.errorf("%s: %v", name, err)
		}
		all = append(all, setting{name, v})
	}
	return all, nil
}

// valueOf reads one value. Times are offsets from the case's now.
func valueOf(kind transitions.Kind, word string) (transitions.Value, error) {
	if word == "null" {
		return transitions.NullValue, nil
	}
	switch kind {
	case transitions.Text, transitions.Bytes:
		text := word
		if strings.HasPrefix(word, `"`) {
			var err error
			if text, err = strconv.Unquote(word); err != nil {
				return transitions.NullValue, fmt.Errorf("%s is no quoted text: write it as Go does", word)
			}
		} else if !bareWord.MatchString(word) {
			return transitions.NullValue, fmt.Errorf("%s is more than a word; put it in quotes", word)
		}
		if kind == transitions.Bytes {
			return transitions.BytesValue([]byte(text)), nil
		}
		return transitions.TextValue(text), nil
	case transitions.Int:
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return transitions.NullValue, fmt.Errorf("%s is no whole number", word)
		}
		return transitions.IntValue(n), nil
	case transitions.Bool:
		if word != "true" && word != "false" {
			return transitions.NullValue, fmt.Errorf("%s is neither true nor false", word)
		}
		return transitions.BoolValue(word == "true"), nil
	default:
		if word == "now" {
			return transitions.MicrosValue(0), nil
		}
		d, err := time.ParseDuration(word)
		if err != nil || word[0] != '+' && word[0] != '-' {
			return transitions.NullValue, fmt.Errorf("%s is no time; write now, or an offset from it such as +30s or -1h", word)
		}
		return transitions.MicrosValue(d.Microseconds()), nil
	}
}

// bareWord needs no quotes.
var bareWord = regexp.MustCompile(`^[A-Za-z_{][A-Za-z0-9_./:{}-]*$`)

// worded writes a value so that valueOf reads it again.
func worded(v transitions.Value) string {
	switch v.Kind() {
	case transitions.Text, transitions.Bytes:
		if text := v.Text(); bareWord.MatchString(text) && !slices.Contains([]string{"null", "true", "false", "now"}, text) {
			return text
		}
		return strconv.QuoteToASCII(v.Text())
	case transitions.Time:
		return offset(time.Duration(v.Micros()) * time.Microsecond)
	default:
		return v.String()
	}
}

// offset writes a duration without the units that are nought.
func offset(d time.Duration) string {
	if d == 0 {
		return "now"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	if d > 0 {
		text = "+" + text
	}
	return text
}

// list writes settings one after the other.
func listed(sets []setting) string {
	parts := make([]string, len(sets))
	for i, s := range sets {
		parts[i] = s.name + " " + worded(s.value)
	}
	return strings.Join(parts, ", ")
}
