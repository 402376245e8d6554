package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultTolerance is how far the time in a call may be from the clock here.
const DefaultTolerance = 5 * time.Minute

// Encoding is how a signature is written.
type Encoding string

// The encodings. Base64 is the standard alphabet, with or without padding.
const (
	Hex    Encoding = "hex"
	Base64 Encoding = "base64"
)

// HMAC verifies calls that are signed with HMAC-SHA256 under a secret that both sides know.
type HMAC struct {
	Header   string   // where the signature is; several may be there, with spaces between them: any of them will do
	Prefix   string   // what stands before a signature, such as "sha256="; signatures without it are passed over
	Encoding Encoding // "" means Hex
	Secrets  [][]byte // any of them: two while one takes the other's place

	// TimestampHeader is where the time of the call is, in Unix seconds; "": there is none, and a call that somebody has
	// recorded is verified for ever. That is harmless to operations, which the same call again does not change.
	TimestampHeader string
	Tolerance       time.Duration // how far that time may be from now, either way; 0 means DefaultTolerance

	// Signed is what is signed: a text in which {body} and {timestamp} stand for those, and {Name} for the header of that
	// name. "" means {body}, with a TimestampHeader {timestamp}.{body}.
	Signed string
}

// Verifier checks the configuration and gives the check of a call. It compares in constant time.
func (h HMAC) Verifier() (Verifier, error) {
	if h.Encoding == "" {
		h.Encoding = Hex
	}
	if h.Tolerance == 0 {
		h.Tolerance = DefaultTolerance
	}
	if h.Signed == "" {
		h.Signed = "{body}"
		if h.TimestampHeader != "" {
			h.Signed = "{timestamp}.{body}"
		}
	}
	signed, err := parseSigned(h.Signed)
	switch {
	case err != nil:
	case h.Header == "":
		err = errors.New("the header of the signature is not named")
	case h.Encoding != Hex && h.Encoding != Base64:
		err = fmt.Errorf("encoding %q: want %s or %s", h.Encoding, Hex, Base64)
	case len(h.Secrets) == 0 || slices.ContainsFunc(h.Secrets, func(s []byte) bool { return len(s) == 0 }):
		err = errors.New("a secret is missing or empty")
	case h.Tolerance < 0:
		err = fmt.Errorf("a tolerance of %s is negative", h.Tolerance)
	case !slices.Contains(signed, part{name: "body"}):
		err = fmt.Errorf("%q does not hold {body}: anybody could change what a call says", h.Signed)
	case (h.TimestampHeader != "") != slices.Contains(signed, part{name: "timestamp"}):
		err = fmt.Errorf("a timestamp header %q with the signed text %q: name both or neither, or anybody could change the time of a call", h.TimestampHeader, h.Signed)
	}
	if err != nil {
		return nil, fmt.Errorf("verify by HMAC: %w", err)
	}
	return func(r *http.Request, body []byte) error { return h.verify(r, body, signed, time.Now()) }, nil
}

// maxSignatures is how many signatures of one call are looked at.
const maxSignatures = 16

func (h HMAC) verify(r *http.Request, body []byte, signed []part, now time.Time) error {
	timestamp := ""
	if h.TimestampHeader != "" {
		var err error
		if timestamp, err = h.fresh(r, now); err != nil {
			return err
		}
	}
	given := h.signatures(r)
	if len(given) == 0 {
		return fmt.Errorf("the header %s holds no signature", h.Header)
	}
	sums := make([][]byte, len(h.Secrets))
	for i, secret := range h.Secrets {
		mac := hmac.New(sha256.New, secret)
		for _, p := range signed {
			mac.Write(p.of(r, timestamp, body))
		}
		sums[i] = mac.Sum(nil)
	}
	for _, g := range given {
		for _, sum := range sums {
			if hmac.Equal(g, sum) {
				return nil
			}
		}
	}
	return fmt.Errorf("none of the signatures in the header %s is right", h.Header)
}

// fresh reads the time of a call and holds it against the clock.
func (h HMAC) fresh(r *http.Request, now time.Time) (string, error) {
	values := r.Header.Values(h.TimestampHeader)
	if len(values) != 1 {
		return "", fmt.Errorf("the header %s is there %d times, want once", h.TimestampHeader, len(values))
	}
	seconds, err := strconv.ParseUint(values[0], 10, 40)
	if err != nil {
		return "", fmt.Errorf("the header %s holds no time in Unix seconds", h.TimestampHeader)
	}
	if off := now.Sub(time.Unix(int64(seconds), 0)).Abs(); off > h.Tolerance {
		return "", fmt.Errorf("the call is of another time: %s off, %s are allowed", off.Truncate(time.Second), h.Tolerance)
	}
	return values[0], nil
}

// signatures decodes what stands in the header.
func (h HMAC) signatures(r *http.Request) [][]byte {
	var found [][]byte
	for _, value := range r.Header.Values(h.Header) {
		for _, word := range strings.Fields(value) {
			text, ok := strings.CutPrefix(word, h.Prefix)
			if !ok || len(found) == maxSignatures {
				continue
			}
			if sum, err := h.decode(text); err == nil && len(sum) == sha256.Size {
				found = append(found, sum)
			}
		}
	}
	return found
}

func (h HMAC) decode(text string) ([]byte, error) {
	if h.Encoding == Hex {
		return hex.DecodeString(text)
	}
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}

// part is a piece of the signed text: a text as it is, or what a name stands for.
type part struct{ text, name string }

func parseSigned(template string) ([]part, error) {
	var parts []part
	for template != "" {
		text, rest, found := strings.Cut(template, "{")
		if text != "" {
			parts = append(parts, part{text: text})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || name == "" || strings.ContainsAny(name, "{ \t") {
			return nil, fmt.Errorf("signed text: %q is no name in braces", "{"+rest)
		}
		parts = append(parts, part{name: name})
		template = after
	}
	return parts, nil
}

func (p part) of(r *http.Request, timestamp string, body []byte) []byte {
	switch p.name {
	case "":
		return []byte(p.text)
	case "body":
		return body
	case "timestamp":
		return []byte(timestamp)
	default:
		return []byte(r.Header.Get(p.name))
	}
}
