package httpjob

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// What a status proves when the file does not say.
var (
	defaultRejected = []int{400, 410, 413, 415, 422}
	defaultRefused  = []int{401, 402, 403, 404, 405, 429}
)

// submit reads how a job is created and gives the names of the kept values.
func (r *reader) submit(spec *Spec, e entry) []string {
	m := r.mapping(e, "url", "headers", "id", "keep", "rejected", "refused", "timeout")
	r.require(e, m, "url", "id")
	s := &spec.Submit
	if u, ok := m["url"]; ok {
		s.URL = r.url(u, []string{"operation_id", "kind"}, nil)
		example, err := s.URL.URL(nil, map[string]string{"operation_id": "x", "kind": "x"})
		if err == nil {
			spec.base, spec.origin = example, origin(example)
		}
	}
	s.Headers = http.Header{}
	if h, ok := m["headers"]; ok {
		s.Headers = r.headers(h)
	}
	s.ID, _ = r.pointer(m, "id")
	s.Timeout = r.duration(m, "timeout", 30*time.Second)
	r.statuses(s, m)
	if k, ok := m["keep"]; ok {
		return r.keep(s, k)
	}
	return nil
}

func (r *reader) keep(s *Submit, e entry) []string {
	s.Keep = map[string]Pointer{}
	for name, at := range r.mapping(e) {
		switch {
		case slices.Contains([]string{"operation_id", "kind", "remote_job_id"}, name):
			r.fail(at, "the name is taken: {%s} already means something", name)
		case !isVariable(name):
			r.fail(at, "%q cannot be a placeholder: letters, digits and _ are allowed", name)
		}
		s.Keep[name], _ = r.pointerAt(at)
	}
	return slices.Sorted(maps.Keys(s.Keep))
}

// statuses reads the two lists. When only one is given, what it names leaves the other's default.
func (r *reader) statuses(s *Submit, m map[string]entry) {
	rejected, hasRejected := m["rejected"]
	refused, hasRefused := m["refused"]
	without := func(list, drop []int) []int {
		return slices.DeleteFunc(slices.Clone(list), func(code int) bool { return slices.Contains(drop, code) })
	}
	if hasRejected {
		s.Rejected = r.codes(rejected)
	}
	if hasRefused {
		s.Refused = r.codes(refused)
	}
	switch {
	case !hasRejected:
		s.Rejected = without(defaultRejected, s.Refused)
		if !hasRefused {
			s.Refused = slices.Clone(defaultRefused)
		}
	case !hasRefused:
		s.Refused = without(defaultRefused, s.Rejected)
	default:
		for _, code := range s.Refused {
			if slices.Contains(s.Rejected, code) {
				r.fail(refused, "%d stands in rejected as well: a status proves one of the two", code)
			}
		}
	}
}

// codes reads statuses that are said to prove that nothing was created. Which do is the API's own contract, but some
// can prove it nowhere, whatever a file says.
func (r *reader) codes(e entry) []int {
	codes := []int{}
	for _, item := range r.list(e) {
		code, ok := r.integer(item)
		switch {
		case !ok:
		case code == http.StatusRequestTimeout:
			r.fail(item, "408 says that the server stopped waiting, not what it did with what it had read")
		case code >= 500 && code <= 599:
			r.fail(item, "%d may come from a gateway that has passed the request on: it proves nothing", code)
		case code < 400 || code > 499:
			r.fail(item, "%d is no answer that proves that nothing was created: want 400 to 499", code)
		case slices.Contains(codes, code):
			r.fail(item, "%d is there twice", code)
		default:
			codes = append(codes, code)
		}
	}
	return codes
}

func (r *reader) observe(spec *Spec, e entry, names, kept []string) {
	m := r.mapping(e, "url", "status", "pending", "succeeded", "failed", "canceled", "error", "failed_if",
		"every", "max_every", "deadline", "not_found_grace")
	r.require(e, m, "url", "status", "succeeded")
	o := &spec.Observe
	if u, ok := m["url"]; ok {
		o.URL = r.url(u, names, kept)
	}
	o.Status, _ = r.pointer(m, "status")
	if p, ok := r.pointer(m, "error"); ok {
		o.Error = &p
	}
	if p, ok := r.pointer(m, "failed_if"); ok {
		o.FailedIf = &p
	}
	taken := map[string]string{}
	o.Pending = r.words(m, "pending", taken)
	o.Succeeded = r.words(m, "succeeded", taken)
	o.Failed = r.words(m, "failed", taken)
	o.Canceled = r.words(m, "canceled", taken)
	if s, ok := m["succeeded"]; ok && len(o.Succeeded) == 0 {
		r.fail(s, "no word means success: no operation could ever succeed")
	}
	o.Every = r.duration(m, "every", 2*time.Second)
	o.MaxEvery = r.duration(m, "max_every", max(30*time.Second, o.Every))
	o.Deadline = r.duration(m, "deadline", 24*time.Hour)
	o.NotFoundGrace = r.duration(m, "not_found_grace", 2*time.Minute)
	if o.MaxEvery < o.Every {
		r.fail(m["max_every"], "%s is shorter than every (%s)", o.MaxEvery, o.Every)
	}
}

// words reads a list of status words; taken has the words of the lists before it.
func (r *reader) words(m map[string]entry, key string, taken map[string]string) []string {
	e, ok := m[key]
	if !ok {
		return nil
	}
	words := []string{}
	for _, item := range r.list(e) {
		word, ok := r.text(item)
		switch other, twice := taken[word]; {
		case !ok:
		case word == "":
			r.fail(item, "an empty word is no status")
		case twice && other == key:
			r.fail(item, "%q is there twice", word)
		case twice:
			r.fail(item, "%q stands in %s as well: a status word means one thing", word, other)
		default:
			taken[word] = key
			words = append(words, word)
		}
	}
	return words
}

func (r *reader) deliver(spec *Spec, e entry, names, kept []string) {
	m := r.mapping(e, "from", "via", "url", "key", "attempts")
	r.require(e, m, "key")
	d := &Deliver{Attempts: 8}
	if p, ok := r.pointer(m, "from"); ok {
		d.From = &p
	}
	if u, ok := m["url"]; ok {
		t := r.url(u, names, kept)
		d.URL = &t
	}
	if v, ok := m["via"]; ok {
		t := r.url(v, names, kept)
		d.Via = &t
		if _, ok := m["from"]; !ok {
			r.fail(v, "there is no from: it says where in the answer at this address the result's address is")
		}
	}
	_, hasFrom := m["from"]
	_, hasURL := m["url"]
	if hasFrom == hasURL && m != nil {
		r.fail(e, "want one of from (a pointer into the snapshot) and url (a template), found %s",
			map[bool]string{true: "both", false: "neither"}[hasFrom])
	}
	if k, ok := m["key"]; ok {
		d.Key = r.key(k)
	}
	if a, ok := m["attempts"]; ok {
		if n, ok := r.integer(a); ok && (n < 1 || n > 1000) {
			r.fail(a, "%d attempts: want 1 to 1000", n)
		} else if ok {
			d.Attempts = n
		}
	}
	spec.Deliver = d
}

// key reads the template of an object key. Without the operation's id in it, all results would have one name.
func (r *reader) key(e entry) Template {
	s, ok := r.text(e)
	if !ok {
		return Template{}
	}
	t, err := parseTemplate(s, []string{"operation_id", "kind"})
	if err == nil {
		_, err = objectKey(t, "x", "x")
	}
	switch {
	case err != nil:
		r.fail(e, "%v", err)
	case !t.uses("operation_id"):
		r.fail(e, "%q has no {operation_id}: every result would have this one name", s)
	}
	return t
}

func (r *reader) investigate(spec *Spec, e entry, kept []string) {
	m := r.mapping(e, "url", "items", "id", "keep", "match")
	r.require(e, m, "url", "items", "id", "match")
	i := &Investigate{}
	names := []string{"operation_id", "kind"}
	if u, ok := m["url"]; ok {
		i.URL = r.url(u, names, nil)
	}
	i.Items, _ = r.pointer(m, "items")
	i.ID, _ = r.pointer(m, "id")
	if k, ok := m["keep"]; ok {
		i.Keep = map[string]Pointer{}
		if len(kept) == 0 {
			r.fail(k, "submit.keep has no values: only what it names can be used")
		}
		for name, at := range r.mapping(k, kept...) {
			i.Keep[name], _ = r.pointerAt(at)
		}
	}
	if c, ok := m["match"]; ok {
		i.Match = r.matches(c, names)
		if !slices.ContainsFunc(i.Match, func(m Match) bool { return m.Want.uses("operation_id") }) {
			r.fail(c, "no condition holds {operation_id}: any job would be taken for the operation's own")
		}
	}
	for _, use := range spec.uses() {
		for _, name := range kept {
			if _, found := i.Keep[name]; !found && use.template.uses(name) {
				r.fail(e, "%s needs {%s}, so a job that was found could not be %s: put it under keep, with where it is in an item", use.field, name, use.purpose)
			}
		}
	}
	spec.Investigate = i
}

func (r *reader) matches(e entry, names []string) []Match {
	conditions := r.mapping(e)
	var matches []Match
	for _, key := range slices.Sorted(maps.Keys(conditions)) {
		at := conditions[key]
		p, err := ParsePointer(key)
		if err != nil {
			r.fail(at, "%v", err)
		}
		s, ok := r.text(at)
		if !ok {
			continue
		}
		t, err := parseTemplate(s, names)
		if err != nil {
			r.fail(at, "%v", err)
		}
		matches = append(matches, Match{At: p, Want: t})
	}
	return matches
}

func (r *reader) cancel(spec *Spec, e entry, names, kept []string) {
	m := r.mapping(e, "method", "url")
	r.require(e, m, "url")
	c := &Cancel{Method: http.MethodPost}
	if u, ok := m["url"]; ok {
		c.URL = r.url(u, names, kept)
		if len(c.URL.parts) > 0 && !slices.ContainsFunc(names, func(name string) bool { return name != "kind" && c.URL.uses(name) }) {
			r.fail(u, "the address names no job: put {remote_job_id}, or a kept value, into it")
		}
	}
	if method, ok := m["method"]; ok {
		c.Method, _ = r.text(method)
		if !slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, c.Method) {
			r.fail(method, "%q: want POST, PUT, PATCH or DELETE", c.Method)
		}
	}
	spec.Cancel = c
}

// headers reads the API's headers. Some would make the HTTP client send again or change what a message is.
func (r *reader) headers(e entry) http.Header {
	h := http.Header{}
	for name, at := range r.mapping(e) {
		canonical := http.CanonicalHeaderKey(name)
		if _, twice := h[canonical]; twice {
			r.fail(at, "the header is there twice")
		}
		if why := badHeaderName(canonical); why != "" {
			r.fail(at, "%s", why)
		}
		value, ok := r.expanded(at, true)
		if !ok {
			continue
		}
		// The value is not quoted in the message: it may be a secret.
		if strings.TrimSpace(value) != value || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			r.fail(at, "the value has a control character in it or space around it: does the variable end with a line break?")
			continue
		}
		h[canonical] = []string{value}
	}
	return h
}

// isToken reports whether s is made of what the names of headers are made of.
func isToken(s string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte("!#$%&'*+-.^_`|~", s[i]) < 0 {
			return false
		}
	}
	return true
}

func badHeaderName(name string) string {
	if !isToken(name) {
		return "the name of a header has letters, digits and dashes only"
	}
	switch name {
	case "":
		return "a header needs a name"
	case "Idempotency-Key", "X-Idempotency-Key":
		return "remove it: HTTP clients take it as leave to send a request again, and this API is said to honour no such key"
	case "Expect", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "Te", "Trailer", "Host",
		"Accept-Encoding", "Proxy-Authorization", "Proxy-Connection":
		return "remove it: the client sets it itself"
	}
	return ""
}
