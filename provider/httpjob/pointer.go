package httpjob

import (
	"fmt"
	"strings"
)

// Pointer is an RFC 6901 JSON Pointer. The zero Pointer means the whole document.
type Pointer struct {
	text   string
	tokens []string
}

// ParsePointer reads a JSON Pointer: empty, or "/" before every reference token, with "~1" for "/" and "~0" for "~".
func ParsePointer(text string) (Pointer, error) {
	if text == "" {
		return Pointer{}, nil
	}
	if text[0] != '/' {
		return Pointer{}, fmt.Errorf("%q is no JSON Pointer: it must start with a slash, like /id", text)
	}
	tokens := strings.Split(text[1:], "/")
	for i, token := range tokens {
		for at := strings.IndexByte(token, '~'); at >= 0; {
			if at+1 >= len(token) || token[at+1] != '0' && token[at+1] != '1' {
				return Pointer{}, fmt.Errorf("%q is no JSON Pointer: after ~ must come 0 (for ~) or 1 (for /)", text)
			}
			next := strings.IndexByte(token[at+1:], '~')
			if next < 0 {
				break
			}
			at += 1 + next
		}
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
	}
	return Pointer{text: text, tokens: tokens}, nil
}

// String is the pointer as it was written.
func (p Pointer) String() string { return p.text }
