package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fencerow/fencerow/transitions"
)

// parse reads one line. The item's offset is that of the request within the line.
func parse(line []byte, kind string) (Item, []byte, error) {
	if !utf8.Valid(line) {
		return Item{}, nil, fmt.Errorf("byte %d is not valid UTF-8", invalidAt(line)+1)
	}
	if err := valid(line); err != nil {
		return Item{}, nil, err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return Item{}, nil, errors.New(`is no JSON object; want {"id": "…", "request": …}`)
	}
	var item Item
	var request []byte
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return item, nil, err
		}
		name, _ := token.(string)
		if seen[name] {
			return item, nil, fmt.Errorf("the field %q is there twice", name)
		}
		seen[name] = true
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return item, nil, err
		}
		if name == "request" {
			request, item.offset = raw, d.InputOffset()-int64(len(raw))
			continue
		}
		if err := item.field(name, raw, kind); err != nil {
			return item, nil, err
		}
	}
	switch {
	case !seen["id"]:
		return item, nil, errors.New("has no id")
	case !seen["request"]:
		return item, nil, errors.New("has no request")
	}
	return item, request, nil
}

func (i *Item) field(name string, raw []byte, kind string) error {
	var err error
	switch name {
	case "id":
		i.ID, err = text(name, raw)
	case "kind":
		if i.Kind, err = text(name, raw); err == nil && i.Kind != kind {
			err = fmt.Errorf("kind is %q; the provider file's is %q", i.Kind, kind)
		}
	case "priority":
		if i.Priority, err = strconv.ParseInt(string(raw), 10, 64); err != nil {
			err = fmt.Errorf("priority is %s; want a whole number", short(raw))
		}
	case "not_before":
		var at string
		if at, err = text(name, raw); err == nil {
			if i.NotBefore, err = instant(at); err != nil {
				err = fmt.Errorf("not_before is %s; want a time like 2026-01-31T15:04:05Z (RFC 3339)", short(raw))
			} else if i.NotBefore.Before(transitions.MinTime) || i.NotBefore.After(transitions.MaxTime) {
				err = fmt.Errorf("not_before is %s; want a time between the years 1 and 9999", short(raw))
			}
		}
	default:
		err = fmt.Errorf("unknown field %q; known are id, request, kind, priority and not_before", name)
	}
	return err
}

// instant refuses the zero time, which a store cannot tell from none.
func instant(s string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, s)
	if err == nil && at.IsZero() {
		err = errors.New("is the zero time")
	}
	return at, err
}

// text decodes a string. Half a surrogate pair would become U+FFFD, so that two ids became one.
func text(name string, raw []byte) (string, error) {
	if raw[0] != '"' {
		return "", fmt.Errorf("%s is %s; want a string", name, short(raw))
	}
	if loneSurrogate(raw) {
		return "", fmt.Errorf("%s is %s, which has half a surrogate pair", name, short(raw))
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// loneSurrogate looks at the \u escapes of a valid JSON string.
func loneSurrogate(raw []byte) bool {
	high := false // the escape before was the first half of a pair
	for i := 0; i < len(raw); i++ {
		half := uint64(0)
		if raw[i] == '\\' {
			if raw[i+1] == 'u' {
				half, _ = strconv.ParseUint(string(raw[i+2:i+6]), 16, 32)
				i += 4
			}
			i++
		}
		low := half >= 0xdc00 && half <= 0xdfff
		if low != high {
			return true
		}
		high = half >= 0xd800 && half <= 0xdbff
	}
	return high
}

// valid reports the place of a syntax error.
func valid(line []byte) error {
	if json.Valid(line) {
		return nil
	}
	var raw json.RawMessage
	err := json.Unmarshal(line, &raw)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("invalid JSON at byte %d: %s", syntax.Offset, strings.TrimPrefix(syntax.Error(), "json: "))
	}
	return fmt.Errorf("invalid JSON: %w", err)
}

func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(b)
}

// short quotes a value that is at fault.
func short(raw []byte) string {
	const most = 60
	if len(raw) <= most {
		return string(raw)
	}
	cut := most
	for !utf8.RuneStart(raw[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", raw[:cut], len(raw))
}
