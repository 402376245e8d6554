package httpjob

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// encoding/json's struct decoding folds the case of keys, takes the last of two equal ones and turns null into "".
// Each of these would make an id out of something that is none, so values are looked up here key by key.

var (
	errNotJSON   = errors.New("the body is not exactly one JSON value")
	errNoValue   = errors.New("there is no value")
	errDuplicate = errors.New("the object has the key twice")
)

// document is exactly one JSON value.
type document json.RawMessage

// parseDocument accepts exactly one JSON value with nothing but white space around it.
func parseDocument(body []byte) (document, error) {
	if !json.Valid(body) {
		return nil, errNotJSON
	}
	return document(bytes.TrimSpace(body)), nil
}

// at gives the value that p points to. It fails with errNoValue when there is none, and with errDuplicate when an
// object on the way has the key more than once, because then the answer says two things.
func (d document) at(p Pointer) (document, error) {
	here := d
	for _, token := range p.tokens {
		next, err := here.child(token)
		if err != nil {
			return nil, fmt.Errorf("at %s: %w", p, err)
		}
		here = next
	}
	return here, nil
}

func (d document) child(token string) (document, error) {
	switch d[0] {
	case '{':
		return d.member(token)
	case '[':
		items, err := d.items()
		if err != nil {
			return nil, err
		}
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(items) || strconv.Itoa(i) != token {
			return nil, errNoValue
		}
		return items[i], nil
	default:
		return nil, errNoValue
	}
}

func (d document) member(key string) (document, error) {
	dec := json.NewDecoder(bytes.NewReader(d))
	if _, err := dec.Token(); err != nil {
		return nil, errNotJSON
	}
	var found document
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, errNotJSON
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, errNotJSON
		}
		if name != key {
			continue
		}
		if found != nil {
			return nil, errDuplicate
		}
		found = document(value)
	}
	if found == nil {
		return nil, errNoValue
	}
	return found, nil
}

// items gives the elements of an array.
func (d document) items() ([]document, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(d, &raw); err != nil {
		return nil, errNotJSON
	}
	items := make([]document, len(raw))
	for i, r := range raw {
		items[i] = document(r)
	}
	return items, nil
}

// text gives a string's value, and false for everything that is no string.
func (d document) text() (string, bool) {
	var s string
	if len(d) == 0 || d[0] != '"' || json.Unmarshal(d, &s) != nil {
		return "", false
	}
	return s, true
}

// scalar gives a string's value or a number's digits as they are written, and false for everything else.
func (d document) scalar() (string, bool) {
	if s, ok := d.text(); ok {
		return s, true
	}
	if len(d) > 0 && (d[0] == '-' || d[0] >= '0' && d[0] <= '9') {
		return string(d), true
	}
	return "", false
}

// words gives a value for a person to read: a string as it is, anything else as its JSON; null is nothing.
func (d document) words() string {
	if s, ok := d.text(); ok {
		return s
	}
	var compact bytes.Buffer
	if json.Compact(&compact, d) != nil || compact.String() == "null" {
		return ""
	}
	return compact.String()
}

// maxID is the longest remote job id that is taken.
const maxID = 1024

// usableID reads a remote job id, which must hold no secret: ids are shown, stored and sent as they are.
func (h *Handler) usableID(d document) (string, error) {
	id, err := usableID(d)
	if err == nil && h.redact.holds(id) {
		return "", errors.New("it holds a secret of the provider file")
	}
	return id, err
}

// usableID reads a remote job id: a string of 1 to 1024 visible ASCII characters, or a number digit by digit as it is
// written. The number 0 is what servers write when they have no id, so it is none.
func usableID(d document) (string, error) {
	id, ok := d.scalar()
	if !ok {
		return "", errors.New("it is neither a string nor a number")
	}
	switch {
	case id == "":
		return "", errors.New("it is empty")
	case len(id) > maxID:
		return "", fmt.Errorf("it has %d characters, %d are allowed", len(id), maxID)
	case d[0] != '"' && strings.Trim(strings.SplitN(strings.ToLower(id), "e", 2)[0], "-0.") == "":
		return "", errors.New("it is the number 0")
	}
	for i := range len(id) {
		if id[i] < '!' || id[i] > '~' {
			return "", fmt.Errorf("its byte %d is %#02x, not a visible ASCII character", i+1, id[i])
		}
	}
	return id, nil
}
