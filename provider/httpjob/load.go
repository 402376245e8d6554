package httpjob

import (
	"fmt"
	"net/url"
	"os"
	"strings"
)

// maxFile bounds a provider file; a larger one is not a provider file.
const maxFile = 1 << 20

// Load reads and checks the provider file at path; ${NAME} comes from the environment. A *FileError holds everything
// that is wrong with the file. Nothing is sent anywhere.
func Load(path string) (*Spec, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading the provider file: %w", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("reading the provider file %s: it has %d bytes, at most %d are read", path, info.Size(), maxFile)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the provider file: %w", err)
	}
	return Parse(path, text, os.LookupEnv)
}

// Parse is Load for a text that is at hand: name stands in the messages, lookup has the signature of os.LookupEnv.
func Parse(name string, text []byte, lookup func(string) (string, bool)) (*Spec, error) {
	r := &reader{file: name, lookup: lookup}
	top, ok := r.parseYAML(text)
	if !ok {
		return nil, r.err()
	}
	spec := &Spec{File: name}
	entries := r.mapping(top, "kind", "name", "account", "proxy",
		"submit", "observe", "deliver", "investigate", "cancel", "webhook")
	r.require(top, entries, "kind", "submit", "observe")
	r.head(spec, entries)

	names := []string{"operation_id", "kind", "remote_job_id"}
	var kept []string
	if e, ok := entries["submit"]; ok {
		kept = r.submit(spec, e)
	}
	names = append(names, kept...)
	if e, ok := entries["observe"]; ok {
		r.observe(spec, e, names, kept)
	}
	if e, ok := entries["deliver"]; ok {
		r.deliver(spec, e, names, kept)
	}
	if e, ok := entries["investigate"]; ok {
		r.investigate(spec, e, kept)
	}
	if e, ok := entries["cancel"]; ok {
		r.cancel(spec, e, names, kept)
	}
	if e, ok := entries["webhook"]; ok {
		r.webhook(spec, e)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	if spec.Account == "" {
		spec.Account = spec.origin
	}
	spec.secrets = r.secrets
	return spec, nil
}

func (r *reader) head(spec *Spec, entries map[string]entry) {
	if e, ok := entries["kind"]; ok {
		spec.Kind = r.name(e)
	}
	spec.Name = spec.Kind
	if e, ok := entries["name"]; ok {
		spec.Name = r.expandedName(e)
	}
	if e, ok := entries["account"]; ok {
		spec.Account = r.expandedName(e)
	}
	if e, ok := entries["proxy"]; ok {
		spec.Proxy = r.proxy(e)
	}
}

// expanded reads a text and puts the environment's values in. Values of variables whose name says so are secrets
// wherever they stand; in a header every value is one.
func (r *reader) expanded(e entry, secret bool) (string, bool) {
	raw, ok := r.text(e)
	if !ok {
		return "", false
	}
	s, values, err := expand(raw, r.lookup)
	if err != nil {
		r.fail(e, "%v", err)
		return "", false
	}
	for name, value := range values {
		if secret || keyLike(name) {
			r.secrets = append(r.secrets, value)
		}
	}
	return s, true
}

func (r *reader) expandedName(e entry) string {
	s, ok := r.expanded(e, false)
	if !ok {
		return ""
	}
	if strings.TrimSpace(s) != s || s == "" || strings.ContainsFunc(s, isControl) {
		r.fail(e, "%q: want a name without control characters and without space around it", s)
	}
	return s
}

// proxy reads the address of a proxy. Submissions tunnel through it with CONNECT, to https and to http addresses, so
// that an answer of the proxy is never taken for one of the API.
func (r *reader) proxy(e entry) *url.URL {
	s, ok := r.expanded(e, false)
	if !ok {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		r.fail(e, "want the address of an HTTP proxy, like http://proxy.example.com:3128")
		return nil
	}
	if password, ok := u.User.Password(); ok {
		r.secrets = append(r.secrets, password)
	}
	return u
}

// url reads the template of an address. kept are the names of values that may be addresses themselves.
func (r *reader) url(e entry, names, kept []string) Template {
	s, ok := r.expanded(e, false)
	if !ok {
		return Template{}
	}
	t, err := parseTemplate(s, names)
	if err == nil {
		err = checkURLTemplate(t, kept)
	}
	if err != nil {
		r.fail(e, "%v", err)
	}
	return t
}
