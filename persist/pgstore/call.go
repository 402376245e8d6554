package pgstore

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// call is one use of an event: what was asked for, in the form in which it can be sent.
type call struct {
	event string
	id    string // of the one operation, "" for several
	rule  *transitions.Rule
	sent  []transitions.Params
}

// String says what was tried.
func (c *call) String() string {
	if c.id == "" {
		return "fire " + c.event
	}
	return fmt.Sprintf("fire %s on operation %q", c.event, c.id)
}

// one is the part of the call that is about one of its operations.
func (c *call) one(i int) *call {
	return &call{event: c.event, id: c.sent[i]["operation_id"].Text(), rule: c.rule, sent: c.sent[i : i+1]}
}

// callOf refuses what no database would take.
func (s *Store) callOf(event string, params ...transitions.Params) (*call, error) {
	rule := s.program.Rule(event)
	if rule == nil {
		return nil, &machine.InvalidError{Field: "event", Text: fmt.Sprintf("table %s has no event %q", s.program.Name, event)}
	}
	c := &call{event: event, rule: rule, sent: make([]transitions.Params, len(params))}
	named := map[string]bool{}
	for i, p := range params {
		for _, d := range rule.Params {
			if k := p[d.Name].Kind(); k != transitions.NoKind && k != d.Kind {
				return nil, &machine.InvalidError{Field: d.Name, Text: fmt.Sprintf("is of kind %s; %s takes %s", k, event, d.Kind)}
			}
		}
		id := p["operation_id"].Text()
		if named[id] {
			return nil, &machine.InvalidError{Field: "operation_id", Text: fmt.Sprintf("%q is named twice for one %s; fire it once an operation", id, event)}
		}
		named[id] = true
		if !storable(id) {
			return nil, &machine.InvalidError{Field: "operation_id", Text: fmt.Sprintf("%q is not UTF-8 text without NUL; no operation can have it", id)}
		}
		c.sent[i] = sendable(p)
	}
	if len(params) == 1 {
		c.id = params[0]["operation_id"].Text()
	}
	return c, nil
}

// storable reports whether PostgreSQL's text can hold s.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// sendable is p as PostgreSQL can take it: its text holds neither a NUL nor what is not UTF-8. A remote job id with
// such bytes is not usable as one and is judged as null is; it is kept as raw evidence, or in the detail where there
// is raw evidence already. In other texts the bytes are replaced by U+FFFD.
func sendable(p transitions.Params) transitions.Params {
	var out transitions.Params
	change := func(name string, v transitions.Value) {
		if out == nil {
			out = transitions.Params{}
			for n, old := range p {
				out[n] = old
			}
		}
		out[name] = v
	}
	for name, v := range p {
		if v.Kind() != transitions.Text || storable(v.Text()) {
			continue
		}
		if name != "remote_job_id" {
			change(name, transitions.TextValue(strings.ReplaceAll(strings.ToValidUTF8(v.Text(), "\ufffd"), "\x00", "\ufffd")))
			continue
		}
		change(name, transitions.NullValue)
		if p["raw"].IsNull() {
			change("raw", transitions.BytesValue([]byte(v.Text())))
		} else if p["detail"].IsNull() {
			change("detail", transitions.TextValue("remote job id "+strconv.QuoteToASCII(v.Text())))
		}
	}
	if out == nil {
		return p
	}
	return out
}
