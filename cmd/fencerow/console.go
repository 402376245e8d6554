package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/fencerow/fencerow/transitions"
)

// console is stderr. While live lines are shown at its end, what is written goes above them.
type console struct {
	mu   sync.Mutex
	out  io.Writer
	over io.Writer // what writes above the live lines; nil: there are none
}

func (c *console) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		if n, err := c.over.Write(b); err == nil { // else the live lines have ended
			return n, nil
		}
	}
	return c.out.Write(b)
}

// output is stdout. It keeps the first error, so that no verb can end well when what it had to say was not written.
type output struct {
	out io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.out.Write(b)
	o.err = err
	return n, err
}

func (c *console) divert(over io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = over
}

// watched reports whether somebody looks at a terminal that understands cursor movements.
func watched(w io.Writer, lookup func(string) (string, bool)) bool {
	file, ok := w.(*os.File)
	if kind, _ := lookup("TERM"); kind == "dumb" {
		return false
	}
	return ok && term.IsTerminal(int(file.Fd()))
}

// clean makes text harmless and honest on a terminal: control characters, escape sequences, marks that turn the
// direction of writing and characters that cannot be seen are shown as escapes. Newlines are too: a line stays a line.
func clean(s string) string {
	if strings.IndexFunc(s, unseen) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unseen(r):
			quoted := fmt.Sprintf("%+q", string(r))
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// called is an id for a person, without what clean takes away: two ids never look the same. One that is not simply what
// it looks like stands in quotes, as in Go, and so does one that could be taken for such.
func called(id string) string {
	if clean(id) == id && !strings.ContainsAny(id, "\\\"") {
		return id
	}
	return `"` + clean(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(id)) + `"`
}

// unseen reports whether a character would change a terminal or could not be seen on it.
func unseen(r rune) bool {
	if r == ' ' {
		return false
	}
	return !unicode.IsPrint(r) || transitions.IsBlank(string(r)) || unicode.Is(unicode.Variation_Selector, r)
}

// cell is clean text for a table: bounded, and never empty, so that columns stay columns.
func cell(s string, most int) string {
	if s == "" {
		return "-"
	}
	s = clean(s)
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
