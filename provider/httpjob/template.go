package httpjob

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Template is a text with {name} placeholders.
type Template struct {
	text  string
	parts []part
}

// part is literal text, or a placeholder when name is set.
type part struct{ literal, name string }

// parseTemplate reads text; names are the placeholders that may stand in it.
func parseTemplate(text string, names []string) (Template, error) {
	t := Template{text: text}
	rest := text
	for rest != "" {
		open := strings.IndexAny(rest, "{}")
		if open < 0 {
			t.parts = append(t.parts, part{literal: rest})
			break
		}
		if rest[open] == '}' {
			return t, fmt.Errorf("%q has a } without a {", text)
		}
		if open > 0 {
			t.parts = append(t.parts, part{literal: rest[:open]})
		}
		end := strings.IndexByte(rest[open:], '}')
		if end < 0 {
			return t, fmt.Errorf("%q has a { without a }", text)
		}
		name := rest[open+1 : open+end]
		if !slices.Contains(names, name) {
			return t, fmt.Errorf("unknown placeholder {%s}: allowed here are {%s}", name, strings.Join(names, "}, {"))
		}
		t.parts = append(t.parts, part{name: name})
		rest = rest[open+end+1:]
	}
	return t, nil
}

// String is the template as it was written, with the environment's values in their places.
func (t Template) String() string { return t.text }

// Text fills the placeholders in with the values as they are. A placeholder without a value is an error.
func (t Template) Text(values map[string]string) (string, error) { return t.fill(values, nil) }

func (t Template) fill(values map[string]string, escape func(string) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.name == "" {
			b.WriteString(p.literal)
			continue
		}
		value, ok := values[p.name]
		if !ok || value == "" {
			return "", fmt.Errorf("filling in %q: there is no value for {%s}", t.text, p.name)
		}
		if escape != nil {
			escaped, err := escape(value)
			if err != nil {
				return "", fmt.Errorf("filling in {%s} of %q: %w", p.name, t.text, err)
			}
			value = escaped
		}
		b.WriteString(value)
	}
	return b.String(), nil
}

func (t Template) uses(name string) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.name == name })
}

// URL fills the placeholders in and gives the address. A placeholder that the template begins with is an address
// itself, relative to base; every other value is escaped, so that it can add neither a path segment nor a parameter.
// A kept value that a secret was cut out of is an error: what is left is another address.
func (t Template) URL(base *url.URL, values map[string]string) (*url.URL, error) {
	for _, p := range t.parts {
		kept := p.name != "operation_id" && p.name != "kind" && p.name != "remote_job_id"
		if kept && strings.Contains(values[p.name], redacted) {
			return nil, fmt.Errorf("filling in %q: {%s} held a secret, which is not kept", t.text, p.name)
		}
	}
	rest := t
	var head string
	if len(t.parts) > 0 && t.parts[0].name != "" {
		name := t.parts[0].name
		if head = values[name]; head == "" {
			return nil, fmt.Errorf("filling in %q: there is no value for {%s}", t.text, name)
		}
		rest.parts = t.parts[1:]
	}
	tail, err := rest.fill(values, escapeURLValue)
	if err != nil {
		return nil, err
	}
	return resolveURL(base, head+tail)
}

// shown quotes a short text whole and of a long one says the length: cut, it could not be searched for secrets any more.
func shown(text string) string {
	if len(text) > 200 {
		return fmt.Sprintf("of %d bytes", len(text))
	}
	return strconv.Quote(printable(text, 1000))
}

// resolveURL reads an address that may be relative to base and that only HTTP can fetch.
func resolveURL(base *url.URL, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading the address %s: %w", shown(text), errors.Unwrap(err))
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the address %s is neither http nor https", shown(text))
	case u.Hostname() == "":
		return nil, fmt.Errorf("the address %s names no host", shown(text))
	case u.User != nil:
		return nil, errors.New("the address holds a user name or a password: put them into a header")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// escapeURLValue escapes everything but RFC 3986's unreserved characters. A dot segment stays one however it is
// escaped, and a server may walk up on it.
func escapeURLValue(s string) (string, error) {
	if s == "." || s == ".." {
		return "", fmt.Errorf("%q cannot stand in an address", s)
	}
	return percent(s, "-._~"), nil
}

// percent escapes every byte but ASCII letters, digits and those in keep.
func percent(s, keep string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if isAlnum(c) || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// origin is scheme, host and port in one spelling: two addresses with one origin are the same server.
func origin(u *url.URL) string {
	host, port := strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	scheme := strings.ToLower(u.Scheme)
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return scheme + "://" + host
	}
	return scheme + "://" + host + ":" + port
}

// checkURLTemplate reports what would make t a bad address whatever the values are.
func checkURLTemplate(t Template, kept []string) error {
	if len(t.parts) == 0 {
		return errors.New("the address is empty")
	}
	if name := t.parts[0].name; name != "" {
		if !slices.Contains(kept, name) {
			return fmt.Errorf("an address cannot begin with {%s}: only a kept value can be an address", name)
		}
		return nil
	}
	first := t.parts[0].literal
	if _, after, ok := strings.Cut(first, "://"); ok && len(t.parts) > 1 && !strings.ContainsAny(after, "/?") {
		return errors.New("a placeholder cannot stand in the host of an address")
	}
	values := map[string]string{}
	for _, p := range t.parts {
		values[p.name] = "x"
	}
	text, err := t.fill(values, escapeURLValue)
	if err != nil {
		return err
	}
	u, err := resolveURL(nil, text)
	if err != nil {
		return err
	}
	if strings.Contains(text, "#") {
		return fmt.Errorf("the address %q has a fragment, which is never sent", t.text)
	}
	if p := u.Port(); strings.HasSuffix(u.Host, ":") && p == "" {
		return fmt.Errorf("the address %q has an empty port", t.text)
	}
	return nil
}
