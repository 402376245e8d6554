package httpjob

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CheckKept reports whether a job that somebody found could be observed, and its result brought home, with these kept
// values: submit.keep takes them from the answer of a submission, and whoever attaches a job by hand has to give those
// that an address or a key of the file is built from.
func (s *Spec) CheckKept(operationID, remoteJobID string, keep map[string]string) error {
	known := slices.Sorted(maps.Keys(s.Submit.Keep))
	for _, name := range slices.Sorted(maps.Keys(keep)) {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s keeps no value called %q: it keeps %s", s.File, name, orNone(known))
		}
	}
	values := jobValues(operationID, s.Kind, remoteJobID, keep)
	for _, use := range s.uses() {
		for _, name := range known {
			if use.template.uses(name) && values[name] == "" {
				return fmt.Errorf("%s is built from the kept value {%s}, which is not known of remote job %s: without it the job could never be %s", use.field, name, printable(remoteJobID, 100), use.purpose)
			}
		}
		if use.field == "deliver.key" {
			continue
		}
		if _, err := use.template.URL(s.base, values); err != nil {
			return fmt.Errorf("%s: %w", use.field, err)
		}
	}
	return nil
}

// use is a template that has to work for every job.
type use struct {
	field    string
	template Template
	purpose  string
}

func (s *Spec) uses() []use {
	uses := []use{{"observe.url", s.Observe.URL, "observed"}}
	if d := s.Deliver; d != nil {
		if d.Via != nil {
			uses = append(uses, use{"deliver.via", *d.Via, "delivered"})
		}
		if d.URL != nil {
			uses = append(uses, use{"deliver.url", *d.URL, "delivered"})
		}
		uses = append(uses, use{"deliver.key", d.Key, "delivered"})
	}
	return uses
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
