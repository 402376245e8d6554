package httpjob

import (
	"cmp"
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
	secrets  []string
	replacer *strings.Replacer
}

func newRedactor(secrets []string) *redactor {
	var forms []string
	for _, s := range secrets {
		if len(s) >= minSecret {
			forms = append(forms, variants(s)...)
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	forms = slices.Compact(forms)
	var pairs []string
	for _, f := range forms {
		pairs = append(pairs, f, redacted)
	}
	return &redactor{secrets: forms, replacer: strings.NewReplacer(pairs...)}
}

// text cuts every secret out of s.
func (r *redactor) text(s string) string { return r.replacer.Replace(s) }

// cut is text for an s that may itself have been cut, and a secret with it: a tail that begins one goes too.
func (r *redactor) cut(s string) string {
	s = r.text(s)
	for _, secret := range r.secrets {
		for n := min(len(secret)-1, len(s)); n >= minSecret; n-- {
			if strings.HasSuffix(s, secret[:n]) {
				s = s[:len(s)-n] + redacted
				break
			}
		}
	}
	return s
}

// body cuts every secret out of b and bounds it: at most limit bytes are kept, and the number of the others is said.
func (r *redactor) body(b []byte, limit int, unread int64) []byte {
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
