package httpjob

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// Signature says how a remote signs its calls, with HMAC-SHA256.
type Signature struct {
	Header          string   // where signatures stand
	Prefix          string   // what stands before one
	Encoding        string   // "hex" or "base64"
	Secrets         [][]byte // any of them
	TimestampHeader string   // where the time of the call stands; "": nowhere
	Tolerance       time.Duration
	Signed          string // what is signed; "": the body, with a TimestampHeader the time, a dot and the body
}

// defaultTolerance is how old a call may be.
const defaultTolerance = 5 * time.Minute

// minKey is the least number of bytes of a signing secret: a shorter one can be tried out.
const minKey = 8

func (r *reader) webhook(spec *Spec, e entry) {
	m := r.mapping(e, "id", "status", "snapshot", "signature")
	r.require(e, m, "id", "status")
	w := &Webhook{}
	w.ID, _ = r.pointer(m, "id")
	w.Status, _ = r.pointer(m, "status")
	if p, ok := r.pointer(m, "snapshot"); ok {
		w.Snapshot = &p
	}
	if s, ok := m["signature"]; ok {
		r.signature(w, s)
	}
	spec.Webhook = w
}

func (r *reader) signature(w *Webhook, e entry) {
	if _, isText := e.node.(*ast.StringNode); isText {
		if word, _ := r.text(e); word != "none" {
			r.fail(e, "%q: want the keys of a signature, or none, with which calls change nothing", word)
		}
		w.Unsigned = true
		return
	}
	m := r.mapping(e, "header", "prefix", "encoding", "secret", "secret_encoding", "timestamp_header", "tolerance", "signed")
	r.require(e, m, "header", "secret")
	s := &Signature{Encoding: "hex", Tolerance: r.duration(m, "tolerance", defaultTolerance)}
	s.Header, s.TimestampHeader = r.headerName(m, "header"), r.headerName(m, "timestamp_header")
	for key, into := range map[string]*string{"prefix": &s.Prefix, "signed": &s.Signed} {
		if t, ok := m[key]; ok {
			*into, _ = r.text(t)
		}
	}
	s.Encoding = r.oneOf(m, "encoding", "hex", "base64")
	coding := r.oneOf(m, "secret_encoding", "text", "hex", "base64")
	if t, ok := m["secret"]; ok {
		s.Secrets = r.signingSecrets(t, coding)
	}
	if t, ok := m["tolerance"]; ok && s.TimestampHeader == "" {
		r.fail(t, "there is no timestamp_header: without the time of a call nothing can be said of its age")
	}
	if t, ok := m["signed"]; ok {
		r.signed(t, s)
	}
	w.Signature = s
}

func (r *reader) headerName(m map[string]entry, key string) string {
	e, ok := m[key]
	if !ok {
		return ""
	}
	name, ok := r.text(e)
	if ok && (name == "" || !isToken(name)) {
		r.fail(e, "%q is no name of a header", name)
	}
	return http.CanonicalHeaderKey(name)
}

// oneOf reads a word of a list; the first is the default.
func (r *reader) oneOf(m map[string]entry, key string, words ...string) string {
	e, ok := m[key]
	if !ok {
		return words[0]
	}
	word, ok := r.text(e)
	if ok && !slices.Contains(words, word) {
		r.fail(e, "%q: want %s", word, strings.Join(words, " or "))
	}
	return word
}

// signingSecrets reads one secret or a list of them. They are secrets whatever their variables are called, and also
// where they are written into the file.
func (r *reader) signingSecrets(e entry, coding string) [][]byte {
	items := []entry{e}
	if _, isList := e.node.(*ast.SequenceNode); isList {
		items = r.list(e)
	}
	if len(items) == 0 {
		r.fail(e, "the list is empty: nobody could sign a call")
	}
	var secrets [][]byte
	for _, item := range items {
		text, ok := r.expanded(item, true)
		if !ok {
			continue
		}
		r.secrets = append(r.secrets, text)
		secret, err := decodeSecret(text, coding)
		switch {
		case err != nil:
			r.fail(item, "the value is no %s", coding) // it is not quoted: it is a secret
		case strings.TrimSpace(text) != text:
			r.fail(item, "the value has space around it: does the variable end with a line break?")
		case len(secret) < minKey:
			r.fail(item, "a secret of %d bytes can be tried out: want at least %d", len(secret), minKey)
		}
		secrets = append(secrets, secret)
	}
	return secrets
}

// decodeSecret reads a secret as it is given out. Some are base64 behind the word whsec_.
func decodeSecret(text, coding string) ([]byte, error) {
	switch coding {
	case "hex":
		return hex.DecodeString(text)
	case "base64":
		return base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimPrefix(text, "whsec_"), "="))
	default:
		return []byte(text), nil
	}
}

// signed checks what is said to be signed.
func (r *reader) signed(e entry, s *Signature) {
	rest := s.Signed
	var names []string
	for {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			break
		}
		name, then, closed := strings.Cut(after, "}")
		if !closed || !isToken(name) || name == "" {
			r.fail(e, "%q: want {body}, {timestamp} or the name of a header in braces", s.Signed)
			return
		}
		names, rest = append(names, name), then
	}
	if !slices.Contains(names, "body") {
		r.fail(e, "%q does not hold {body}: anybody could change what a call says", s.Signed)
	}
	if slices.Contains(names, "timestamp") != (s.TimestampHeader != "") {
		r.fail(e, "%s", fmt.Sprintf("%q and the timestamp_header %q: want {timestamp} and the header, or neither", s.Signed, s.TimestampHeader))
	}
}
