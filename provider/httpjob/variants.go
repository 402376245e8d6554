package httpjob

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// needle is one way in which a remote may write a secret that it echoes. Each of its characters may be escaped, or not,
// on its own: encoders differ in which ones they leave alone.
type needle struct {
	text string
	fold bool // upper and lower case are the same
}

// needles are s itself, its hex and its base64.
func needles(s string) []needle {
	var all []needle
	for _, c := range []string{s, strings.ToLower(s), strings.ToUpper(s)} {
		all = append(all, needle{c, true}, needle{hex.EncodeToString([]byte(c)), true})
	}
	for _, f := range base64Forms(s) {
		all = append(all, needle{f, false})
	}
	for i, n := range all {
		if n.fold {
			all[i].text = lowerASCII(n.text)
		}
	}
	slices.SortFunc(all, func(a, b needle) int { return strings.Compare(a.text, b.text) })
	return slices.Compact(all)
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
					forms = append(forms, f)
				}
			}
		}
	}
	return forms
}

// place is a position in a text, and how much of a needle stands before it.
type place struct{ needle, text int }

// match looks for the needle at the beginning of text and gives the end of the longest text that is it, or 0. cut means
// that text ends within the needle, after at least minSecret of its characters.
func (n needle) match(text string) (end int, cut bool) {
	places := []place{{}}
	for i := 0; i < len(places); i++ {
		at := places[i]
		if at.needle == len(n.text) {
			end = max(end, at.text)
			continue
		}
		cut = cut || at.needle >= minSecret && endsWithin(text[at.text:])
		if at.text == len(text) {
			continue
		}
		meant := decode(text, at.text, encodings)
		for _, d := range meant.list() {
			width := n.takes(at.needle, d)
			next := place{at.needle + width, at.text + int(d.size)}
			if width > 0 && !slices.Contains(places, next) {
				places = append(places, next)
			}
		}
	}
	return end, cut
}

// takes gives how many bytes of the needle at k are the character d, 0 for none.
func (n needle) takes(k int, d decoded) int {
	if d.char < 0x80 || d.isByte {
		b := byte(d.char)
		if n.fold {
			b = lowerByte(b)
		}
		if n.text[k] == b {
			return 1
		}
		return 0
	}
	if c := string(d.char); strings.HasPrefix(n.text[k:], c) {
		return len(c)
	}
	return 0
}

func lowerASCII(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = lowerByte(b[i])
	}
	return string(b)
}

func lowerByte(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}
