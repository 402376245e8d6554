package httpjob

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// redacted stands where a secret was. It cannot be part of a URL, so a URL that held a secret is not mistaken for one.
const redacted = "[redacted]"

// minSecret is the shortest value that is cut out: a shorter one protects nothing and is part of every other text.
const minSecret = 4

// redactor cuts secrets out of what came back from a remote, which may well echo a request's headers.
type redactor struct {
	first [256][]needle // by the byte that they begin with
}

func newRedactor(secrets []string) *redactor {
	r := &redactor{}
	known := map[needle]bool{}
	for _, s := range secrets {
		if len(s) < minSecret {
			continue
		}
		for _, n := range needles(s) {
			if known[n] {
				continue
			}
			known[n] = true
			b := n.text[0]
			r.first[b] = append(r.first[b], n)
			if upper := b - 'a' + 'A'; n.fold && b >= 'a' && b <= 'z' {
				r.first[upper] = append(r.first[upper], n)
			}
		}
	}
	return r
}

// text cuts every secret out of s.
func (r *redactor) text(s string) string { return r.without(s, false) }

// holds reports whether there is a secret in s.
func (r *redactor) holds(s string) bool { return r.text(s) != s }

// cut is text for an s that may itself have been cut, and a secret with it: a tail that begins one goes too.
func (r *redactor) cut(s string) string { return r.without(s, true) }

func (r *redactor) without(s string, tail bool) string {
	var b strings.Builder
	done := 0
	for at := 0; at < len(s); {
		end, cut := r.at(s, at)
		switch {
		case end > 0:
			b.WriteString(s[done:at])
			b.WriteString(redacted)
			at += end
			done = at
		case cut && tail:
			return b.String() + s[done:at] + redacted
		default:
			at++
		}
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// at looks for secrets that begin at a place, and gives the length of the longest; cut means that the text ends within one.
func (r *redactor) at(s string, at int) (end int, cut bool) {
	meant := decode(s, at, encodings)
	var tried [len(meant.all)]byte
	for i, d := range meant.list() {
		first := byte(d.char)
		if !d.isByte {
			var b [utf8.UTFMax]byte
			utf8.EncodeRune(b[:], d.char)
			first = b[0]
		}
		if tried[i] = first; slices.Contains(tried[:i], first) {
			continue
		}
		for _, n := range r.first[first] {
			e, c := n.match(s[at:])
			end, cut = max(end, e), cut || c
		}
	}
	return end, cut
}

// body cuts every secret out of b and bounds it: at most limit bytes are kept, and the number of the others is said. What
// is far beyond the bound is not looked at.
func (r *redactor) body(b []byte, limit int, unread int64) []byte {
	whole := len(b)
	b = b[:min(whole, 2*limit)]
	unread += int64(whole - len(b))
	s := r.cut(string(b))
	if len(s) > limit {
		unread += int64(len(s) - limit)
		s = s[:limit]
	}
	if unread > 0 {
		s += fmt.Sprintf("\n[%d more bytes]", unread)
	}
	return []byte(s)
}

// error hides secrets in an error's text. The chain stays, so that errors.Is still finds a deadline or a cancellation.
func (r *redactor) error(err error) error {
	if err == nil || r.text(err.Error()) == err.Error() {
		return err
	}
	return &redactedError{text: r.text(err.Error()), err: err}
}

type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string        { return e.text }
func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }

// printable makes remote text safe for a terminal, a log line and a text column: what is not printable is escaped.
func printable(s string, limit int) string {
	var b strings.Builder
	for i, c := range s {
		if b.Len() >= limit {
			fmt.Fprintf(&b, " [%d more bytes]", len(s)-i)
			break
		}
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case c == ' ' || unicode.IsPrint(c):
			b.WriteRune(c)
		default:
			q := fmt.Sprintf("%+q", c)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}
