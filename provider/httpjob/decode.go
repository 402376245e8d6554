package httpjob

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// encodings is how many encodings may lie over one another: JSON within JSON, an address within HTML.
const encodings = 2

// decoded is a character that a text may mean at some place, and how much of the text it takes.
type decoded struct {
	char   rune
	size   int32
	isByte bool // one byte of a character's UTF-8
}

// meanings are all that a text may mean at some place. It has room for more than there are.
type meanings struct {
	n   int
	all [12]decoded
}

func (m *meanings) list() []decoded { return m.all[:m.n] }

func (m *meanings) add(char rune, size int, isByte bool) {
	d := decoded{char, int32(size), isByte}
	if m.n < len(m.all) && !slices.Contains(m.list(), d) {
		m.all[m.n] = d
		m.n++
	}
}

// decode gives what text may mean at a place: the byte itself, and what JSON, an address or HTML make of an escape that
// begins there. With depth over one the character that begins the escape may be escaped itself.
func decode(text string, at, depth int) (m meanings) {
	m.add(rune(text[at]), 1, true)
	switch text[at] {
	case '+':
		m.add(' ', 1, true)
		return m
	case '\\', '%', '&':
	default:
		return m
	}
	if depth == 0 {
		return m
	}
	begins := decode(text, at, depth-1)
	for _, d := range begins.list() {
		m.add(d.char, int(d.size), d.isByte)
		switch rest := at + int(d.size); d.char {
		case '\\':
			m.backslash(text, at, rest, depth-1)
		case '%':
			if n, ok := number(text, rest, 2); ok {
				m.add(n, rest+2-at, true)
			}
		case '&':
			if c, size, ok := entity(text[rest:]); ok {
				m.add(c, rest+size-at, false)
			}
		}
	}
	return m
}

// backslash adds what an escape of JSON or JavaScript means whose backslash ends before rest.
func (m *meanings) backslash(text string, at, rest, depth int) {
	if rest == len(text) {
		return
	}
	switch c := text[rest]; {
	case c == 'u':
		if char, size, ok := unicodeEscape(text, rest, rest-at); ok {
			m.add(char, rest+size-at, false)
		}
	case c == 'x':
		if n, ok := number(text, rest+1, 2); ok {
			m.add(n, rest+3-at, true)
		}
	case !isAlnum(c):
		escaped := decode(text, rest, depth)
		for _, d := range escaped.list() {
			if d.char >= 0x80 || !isAlnum(byte(d.char)) {
				m.add(d.char, rest+int(d.size)-at, d.isByte)
			}
		}
	default:
		if i := strings.IndexByte("bfnrt", c); i >= 0 {
			m.add(rune("\b\f\n\r\t"[i]), rest+1-at, true)
		}
	}
}

// unicodeEscape reads uXXXX, or two of them with a backslash of the same width between that are one character.
func unicodeEscape(text string, at, backslash int) (rune, int, bool) {
	first, ok := number(text, at+1, 4)
	second := at + 5 + backslash
	if !ok || !utf16.IsSurrogate(first) || second >= len(text) || text[second] != 'u' {
		return first, 5, ok
	}
	last, ok := number(text, second+1, 4)
	return utf16.DecodeRune(first, last), second + 5 - at, ok
}

// number reads a number of exactly so many hexadecimal digits.
func number(text string, at, digits int) (n rune, ok bool) {
	if at+digits > len(text) {
		return 0, false
	}
	for _, c := range []byte(text[at : at+digits]) {
		d := strings.IndexByte("0123456789abcdef", lowerByte(c))
		if d < 0 {
			return 0, false
		}
		n = n<<4 | rune(d)
	}
	return n, true
}

// named are HTML's names of the characters that may stand in a secret.
var named = map[string]rune{
	"amp": '&', "AMP": '&', "lt": '<', "LT": '<', "gt": '>', "GT": '>', "quot": '"', "QUOT": '"', "apos": '\'',
	"sol": '/', "bsol": '\\', "equals": '=', "plus": '+', "colon": ':', "semi": ';', "comma": ',', "period": '.',
	"num": '#', "dollar": '$', "percnt": '%', "excl": '!', "quest": '?', "commat": '@', "ast": '*', "lowbar": '_',
	"lpar": '(', "rpar": ')', "lsqb": '[', "lbrack": '[', "rsqb": ']', "rbrack": ']', "lcub": '{', "lbrace": '{',
	"rcub": '}', "rbrace": '}', "verbar": '|', "vert": '|', "Hat": '^', "grave": '`',
}

// entity reads what stands after the & of one of HTML's character references, which may have leading zeros.
func entity(text string) (rune, int, bool) {
	size := 0
	for size < len(text) && (text[size] == '#' || isAlnum(text[size])) {
		size++
	}
	if size == len(text) || text[size] != ';' {
		return 0, 0, false
	}
	name := text[:size]
	if c, ok := named[name]; ok {
		return c, size + 1, true
	}
	digits, isNumber := strings.CutPrefix(name, "#")
	base := 10
	if isNumber && (strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X")) {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 21)
	return rune(n), size + 1, isNumber && err == nil
}

var unfinished = regexp.MustCompile(`^(?:\\|%5[Cc])*(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?|%[0-9A-Fa-f]{0,3}|&[#0-9A-Za-z]*;?[#0-9A-Za-z]*)?$`)

// endsWithin reports whether text is nothing, or the beginning of one escape.
func endsWithin(text string) bool {
	return text == "" || (text[0] == '\\' || text[0] == '%' || text[0] == '&') && unfinished.MatchString(text)
}
