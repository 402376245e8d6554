package transitions

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// AppendChanges appends the changes of an Entry as a JSON object, in the form in which history keeps them in every store:
// times as Unix microseconds, bytes as hex, and of a text what is not UTF-8 as U+FFFD.
func AppendChanges(b []byte, changes []Change) []byte {
	b = append(b, '{')
	for i := range changes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendJSON(b, changes[i].Column), ':')
		switch v := changes[i].Value; v.Kind() {
		case Text:
			b = appendJSON(b, v.Text())
		case Bytes:
			b = append(hex.AppendEncode(append(b, '"'), v.Bytes()), '"')
		case Int, Time:
			b = strconv.AppendInt(b, v.Int(), 10)
		case Bool:
			b = strconv.AppendBool(b, v.Bool())
		default:
			b = append(b, "null"...)
		}
	}
	return append(b, '}')
}

// appendJSON appends a text as a JSON string. It escapes what must be escaped, a quote, a backslash and control
// characters, and no more: very many operations are prepared at once.
func appendJSON(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	s = strings.ToValidUTF8(s, "\ufffd")
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		if c >= ' ' {
			b = append(b, '\\', c)
		} else {
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		from = i + 1
	}
	return append(append(b, s[from:]...), '"')
}
