package httpjob

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
)

var (
	percentEscape = regexp.MustCompile(`%[0-9A-F]{2}`)
	unicodeEscape = regexp.MustCompile(`\\u[0-9a-f]{4}`)
)

// variants are the ways in which a remote may write a secret that it echoes.
func variants(s string) []string {
	var forms []string
	for _, c := range []string{s, strings.ToLower(s), strings.ToUpper(s)} {
		forms = append(forms, escaped(c)...)
		digits := hex.EncodeToString([]byte(c))
		forms = append(forms, digits, strings.ToUpper(digits))
	}
	return append(forms, base64Forms(s)...)
}

// escaped are the ways to write s in JSON, in an address and in HTML.
func escaped(s string) []string {
	forms := []string{s, url.QueryEscape(s), url.PathEscape(s), html.EscapeString(s)}
	if quoted, err := json.Marshal(s); err == nil {
		inner := string(quoted[1 : len(quoted)-1])
		plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(inner)
		forms = append(forms, inner, plain)
	}
	forms = append(forms, strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&apos;", "<", "&lt;", ">", "&gt;").Replace(s))
	for _, special := range []bool{true, false} {
		forms = append(forms, each(s, special, "%%%02X", true), each(s, special, `\u%04x`, false),
			each(s, special, "&#%d;", false), each(s, special, "&#x%x;", false), each(s, special, "&#x%X;", false))
	}
	for _, f := range forms {
		forms = append(forms, strings.ReplaceAll(f, "/", `\/`), percentEscape.ReplaceAllStringFunc(f, strings.ToLower),
			unicodeEscape.ReplaceAllStringFunc(f, func(e string) string { return `\u` + strings.ToUpper(e[2:]) }))
	}
	return forms
}

// each writes every character of s, or every one that is no ASCII letter or digit, in a format of its number.
func each(s string, special bool, format string, bytewise bool) string {
	var b strings.Builder
	write := func(n rune) {
		if special && n < 0x80 && isAlnum(byte(n)) {
			b.WriteByte(byte(n))
			return
		}
		fmt.Fprintf(&b, format, n)
	}
	for _, c := range s {
		if !bytewise {
			write(c)
			continue
		}
		for _, one := range []byte(string(c)) {
			write(rune(one))
		}
	}
	return b.String()
}

// base64Forms are what becomes of s in the base64 of a text that has it at its end, or somewhere within: there its
// first and last characters are shared with what stands beside it, and only those between are its own.
func base64Forms(s string) []string {
	var forms []string
	for before, shared := range []int{0, 2, 3} {
		text := append(make([]byte, before), s...)
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			padded := e.EncodeToString(text)[shared:]
			within := e.EncodeToString(text)[shared : len(text)*8/6]
			for _, f := range []string{padded, strings.TrimRight(padded, "="), within} {
				if len(f) >= minSecret {
					forms = append(forms, f, strings.ReplaceAll(f, "/", `\/`), url.QueryEscape(f),
						percentEscape.ReplaceAllStringFunc(url.QueryEscape(f), strings.ToLower))
				}
			}
		}
	}
	return forms
}
