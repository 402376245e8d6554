package httpjob

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A provider file is read from its syntax tree and not through struct tags, so that every finding has its line and all
// of them are reported at once.

// reader collects the findings of one file while its fields are read.
type reader struct {
	file     string
	lookup   func(string) (string, bool)
	findings []Finding
	secrets  []string
}

// entry is one key of a mapping, or one element of a list.
type entry struct {
	path string // "submit.url"
	line int
	node ast.Node
}

func (r *reader) fail(e entry, format string, args ...any) {
	r.findings = append(r.findings, Finding{File: r.file, Line: e.line, Field: e.path, Message: fmt.Sprintf(format, args...)})
}

// err is nil when nothing was found. Secrets are cut out: a finding may quote an address that holds one.
func (r *reader) err() error {
	if len(r.findings) == 0 {
		return nil
	}
	red := newRedactor(r.secrets)
	for i := range r.findings {
		r.findings[i].Message = red.text(r.findings[i].Message)
	}
	slices.SortStableFunc(r.findings, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return &FileError{Findings: r.findings}
}

// parseYAML gives the file's one document. What it fails on has been noted.
func (r *reader) parseYAML(text []byte) (entry, bool) {
	top := entry{line: 1}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		message := err.Error()
		var at yaml.Error
		if errors.As(err, &at) {
			message = at.GetMessage()
			if t := at.GetToken(); t != nil && t.Position != nil {
				top.line = t.Position.Line
			}
		}
		r.fail(top, "reading YAML: %s", message)
		return top, false
	}
	var docs []*ast.DocumentNode
	for _, doc := range file.Docs {
		if doc.Body != nil {
			docs = append(docs, doc)
		}
	}
	if len(docs) != 1 {
		r.fail(top, "the file has %d YAML documents, a provider file has one", len(docs))
		return top, false
	}
	top.node = docs[0].Body
	return top, true
}

// mapping gives the entries of a mapping by key. A key that is not known, or there twice, is a finding; with no known
// keys any key may stand.
func (r *reader) mapping(e entry, known ...string) map[string]entry {
	var values []*ast.MappingValueNode
	switch n := e.node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		r.fail(e, "want a mapping of keys to values, found %s", describe(e.node))
		return nil
	}
	entries := map[string]entry{}
	for _, v := range values {
		at := entry{path: e.path, line: v.Key.GetToken().Position.Line}
		key, ok := keyText(v.Key)
		if !ok {
			r.fail(at, "want a plain key, found %s", describe(v.Key))
			continue
		}
		at.path = strings.TrimPrefix(e.path+"."+key, ".")
		if len(known) > 0 && !slices.Contains(known, key) {
			r.fail(at, "unknown key: known here are %s", strings.Join(known, ", "))
			continue
		}
		if _, twice := entries[key]; twice {
			r.fail(at, "the key is there twice")
			continue
		}
		at.node = v.Value
		if t := v.Value.GetToken(); t != nil && t.Position != nil && t.Position.Line > at.line && !isCollection(v.Value) {
			at.line = t.Position.Line
		}
		entries[key] = at
	}
	return entries
}

func isCollection(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
		return true
	}
	return false
}

func keyText(n ast.MapKeyNode) (string, bool) {
	switch k := n.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode:
		return k.Token.Value, true
	case *ast.BoolNode:
		return k.Token.Value, true
	}
	return "", false
}

func describe(n ast.Node) string {
	switch v := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return "an anchor, alias, merge or tag (write the value itself)"
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return fmt.Sprintf("%s without quotes", v.GetToken().Value)
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	default:
		return v.Type().String()
	}
}

// text reads a string. Words such as true, null or 17 without quotes are other things in YAML and are refused.
func (r *reader) text(e entry) (string, bool) {
	switch n := e.node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	r.fail(e, "want a text, found %s", describe(e.node))
	return "", false
}

// name reads a string that must not be empty or hold control characters.
func (r *reader) name(e entry) string {
	s, ok := r.text(e)
	if ok && (strings.TrimSpace(s) != s || s == "" || strings.ContainsFunc(s, isControl)) {
		r.fail(e, "%q: want a name without control characters and without space around it", s)
	}
	return s
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f || c == '\uFFFD' }

func (r *reader) list(e entry) []entry {
	n, ok := e.node.(*ast.SequenceNode)
	if !ok {
		r.fail(e, "want a list, found %s", describe(e.node))
		return nil
	}
	items := make([]entry, len(n.Values))
	for i, v := range n.Values {
		items[i] = entry{path: fmt.Sprintf("%s[%d]", e.path, i), line: v.GetToken().Position.Line, node: v}
	}
	return items
}

func (r *reader) integer(e entry) (int, bool) {
	if n, ok := e.node.(*ast.IntegerNode); ok {
		if i, err := strconv.Atoi(n.Token.Value); err == nil {
			return i, true
		}
	}
	r.fail(e, "want a whole number, found %s", describe(e.node))
	return 0, false
}

// duration reads a time with its unit, such as 30s; what is not there has the default.
func (r *reader) duration(entries map[string]entry, key string, def time.Duration) time.Duration {
	e, ok := entries[key]
	if !ok {
		return def
	}
	if n, ok := e.node.(*ast.IntegerNode); ok {
		r.fail(e, "%s has no unit: write for instance %ss", n.Token.Value, n.Token.Value)
		return def
	}
	s, ok := r.text(e)
	if !ok {
		return def
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		r.fail(e, "%q is no duration above zero: write for instance 30s, 2m or 24h", s)
		return def
	}
	return d
}

func (r *reader) pointer(entries map[string]entry, key string) (Pointer, bool) {
	e, ok := entries[key]
	if !ok {
		return Pointer{}, false
	}
	return r.pointerAt(e)
}

func (r *reader) pointerAt(e entry) (Pointer, bool) {
	s, ok := r.text(e)
	if !ok {
		return Pointer{}, false
	}
	p, err := ParsePointer(s)
	if err != nil {
		r.fail(e, "%v", err)
		return Pointer{}, false
	}
	return p, true
}

// require notes each key of the mapping at e that is not there.
func (r *reader) require(e entry, entries map[string]entry, keys ...string) {
	for _, key := range keys {
		if _, ok := entries[key]; !ok && entries != nil {
			missing := entry{path: strings.TrimPrefix(e.path+"."+key, "."), line: e.line}
			r.fail(missing, "missing: it has no default")
		}
	}
}
