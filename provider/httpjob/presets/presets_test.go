package presets_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/provider/httpjob/presets"
	"github.com/fencerow/fencerow/worker"
)

// each runs a test against every preset's API.
func each(t *testing.T, test func(t *testing.T, r *remote)) {
	t.Helper()
	for _, a := range apis {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t, a))
		})
	}
}

func TestEveryPresetIsTestedHere(t *testing.T) {
	t.Parallel()
	var want []string
	for _, a := range apis {
		want = append(want, a.name)
	}
	if diff := cmp.Diff(want, presets.Names()); diff != "" {
		t.Error(diff)
	}
}

func TestAskingForAPresetThatIsNotThereNamesThoseThatAre(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"acme", "", "../presets", "testdata/fal/submit"} {
		_, err := presets.Read(name)
		if err == nil || !strings.Contains(err.Error(), "known are fal, openai-videos, replicate, runway") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

var variable = regexp.MustCompile(`\$\{([A-Z_]+)\}`)

func TestAPresetNeedsItsVariablesAndNoOthers(t *testing.T) {
	t.Parallel()
	for _, a := range apis {
		text, err := presets.Read(a.name)
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]bool{}
		for _, m := range variable.FindAllStringSubmatch(string(text), -1) {
			named[m[1]] = true
		}
		want := slices.Sorted(maps.Keys(a.env))
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(named))); diff != "" {
			t.Error(a.name, diff)
		}
		for _, missing := range want {
			_, err := httpjob.Parse(a.name, text, func(name string) (string, bool) { return a.env[name], name != missing })
			if err == nil || !strings.Contains(err.Error(), missing+" is not set") {
				t.Errorf("%s without %s: %v", a.name, missing, err)
			}
		}
	}
}

func TestTheAnswersAreThoseOfTheAPIThatThePresetNames(t *testing.T) {
	t.Parallel()
	for _, a := range apis {
		text, _ := presets.Read(a.name)
		spec, err := httpjob.Parse(a.name, text, func(name string) (string, bool) { return a.env[name], true })
		if err != nil {
			t.Fatal(err)
		}
		got := []string{spec.Name, spec.Account, spec.Kind, "POST " + strings.TrimPrefix(spec.Submit.URL.String(), a.origin)}
		if diff := cmp.Diff([]string{a.provider, a.origin, "video", a.submit}, got); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(string(text), "as of 2026-11") || !strings.Contains(string(text), "#   https://") {
			t.Errorf("%s names no source or no date", a.name)
		}
	}
}

func TestAJobGoesFromItsRequestToItsResult(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *remote) {
		h, dir := r.open()
		a := r.accepted(h)
		if a.RemoteJobID != r.id {
			t.Errorf("the id is %q", a.RemoteJobID)
		}
		for name, want := range map[string]worker.State{"pending": worker.Pending, "succeeded": worker.Succeeded} {
			if s := r.observe(h, a, 200, r.recorded(name)); s.State != want || s.Detail != "" {
				t.Errorf("%s: %q, %q", name, s.State, s.Detail)
			}
		}
		done, err := r.deliver(h, a, r.observe(h, a, 200, r.recorded("succeeded")))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, done.ObjectKey))
		if err != nil || string(text) != result || done.ObjectKey != "op-1.mp4" || done.Bytes != int64(len(result)) {
			t.Errorf("%v: %s holds %q", err, done.ObjectKey, text)
		}
		r.checkRequests()
	})
}

// checkRequests holds what the servers received during one job against what the API documents.
func (r *remote) checkRequests() {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	get := seen{What: "GET " + r.look}
	atAPI := []seen{{What: r.submit, Body: request}, get, get, get}
	atFiles := []seen{{What: "GET " + r.result}}
	if r.between != "" {
		atAPI = append(atAPI, seen{What: "GET " + r.between})
	}
	if r.files == "" {
		atAPI, atFiles = append(atAPI, atFiles...), nil
	}
	same := cmp.Comparer(func(a, b seen) bool { return a.What == b.What && a.Body == b.Body })
	if diff := cmp.Diff(atAPI, r.atAPI, same); diff != "" {
		r.t.Error("at the API:", diff)
	}
	if diff := cmp.Diff(atFiles, r.atFiles, same); diff != "" {
		r.t.Error("where the files are:", diff)
	}
	for _, s := range r.atAPI {
		for name, want := range r.headers {
			if got := s.header.Get(name); got != want {
				r.t.Errorf("%s has the header %s: %s", s.What, name, got)
			}
		}
	}
	for _, s := range r.atFiles {
		for name := range r.headers {
			if s.header.Get(name) != "" {
				r.t.Errorf("%s of another host has the header %s", s.What, name)
			}
		}
		if strings.Contains(fmt.Sprint(s.header), apiKey) {
			r.t.Errorf("%s of another host has the key", s.What)
		}
	}
}

var statusWord = regexp.MustCompile(`"status": "\w+"`)

func TestEveryDocumentedWordIsReadAndNoOtherIsGuessed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *remote) {
		h, _ := r.open()
		a := r.accepted(h)
		o := h.Spec().Observe
		known := slices.Concat(o.Pending, o.Succeeded, o.Failed, o.Canceled)
		slices.Sort(known)
		if diff := cmp.Diff(slices.Sorted(maps.Keys(r.words)), known); diff != "" {
			t.Error(diff)
		}
		say := func(word string) worker.Status {
			body := statusWord.ReplaceAllString(r.recorded("pending"), fmt.Sprintf(`"status": %q`, word))
			return r.observe(h, a, 200, body)
		}
		for word, want := range r.words {
			if got := say(word); got.State != want || got.Detail != "" {
				t.Errorf("%s: %q, %q", word, got.State, got.Detail)
			}
		}
		for _, word := range []string{"PAUSED", "paused", "", strings.ToLower(known[0]) + "_"} {
			if got := say(word); got.State != worker.Pending || !strings.Contains(got.Detail, fmt.Sprintf("status word %q", word)) {
				t.Errorf("%q: %q, %q", word, got.State, got.Detail)
			}
		}
	})
}

func TestAFailedJobTellsWhy(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *remote) {
		h, _ := r.open()
		got := r.observe(h, r.accepted(h), 200, r.recorded("failed"))
		if diff := cmp.Diff([]any{worker.Failed, r.failure}, []any{got.State, got.Detail}); diff != "" {
			t.Error(diff)
		}
	})
}

func TestACanceledJobAndOneThatIsGoneAreNotTakenForOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		api, answer string
		status      int
		want        worker.State
	}{
		{"replicate", "canceled", 200, worker.Canceled},
		{"runway", "canceled", 200, worker.Canceled},
		{"runway", "gone", 404, worker.NotFound},
		{"openai-videos", "gone", 404, worker.NotFound},
	} {
		t.Run(c.api+" "+c.answer, func(t *testing.T) {
			t.Parallel()
			at := slices.IndexFunc(apis, func(a api) bool { return a.name == c.api })
			r := start(t, apis[at])
			h, _ := r.open()
			if got := r.observe(h, r.accepted(h), c.status, r.recorded(c.answer)); got.State != c.want {
				t.Errorf("got %q, %q", got.State, got.Detail)
			}
		})
	}
}

func TestAResultThatIsNoLongerThereIsNotDelivered(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *remote){
		"replicate":     func(r *remote) { r.set("GET "+r.look, 200, r.recorded("removed")) },
		"fal":           func(r *remote) { r.set("GET "+r.between, 504, r.recorded("response-failed")) },
		"runway":        func(r *remote) { r.set("GET "+r.look, 404, r.recorded("gone")) },
		"openai-videos": func(*remote) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := slices.IndexFunc(apis, func(a api) bool { return a.name == name })
			r := start(t, apis[at])
			h, dir := r.open()
			a := r.accepted(h)
			s := r.observe(h, a, 200, r.recorded("succeeded"))
			r.set("GET "+r.result, 404, "{}")
			change(r)
			if _, err := r.deliver(h, a, s); err == nil || worker.IsDeliverFailed(err) {
				t.Errorf("got %v", err)
			}
			if _, err := os.Stat(filepath.Join(dir, "op-1.mp4")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("there is a result: %v", err)
			}
		})
	}
}

func TestAnAddressThatExpiredIsAskedForAnew(t *testing.T) {
	t.Parallel()
	at := slices.IndexFunc(apis, func(a api) bool { return a.name == "runway" })
	r := start(t, apis[at])
	h, _ := r.open()
	a := r.accepted(h)
	s := r.observe(h, a, 200, strings.Replace(r.recorded("succeeded"), "/output.mp4", "/expired.mp4", 1))
	r.set("GET "+r.look, 200, r.recorded("succeeded"))
	if done, err := r.deliver(h, a, s); err != nil || done.Bytes != int64(len(result)) {
		t.Errorf("got %v, %v", done, err)
	}
}

func TestOnlyDocumentedStatusesProveThatNothingWasCreated(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *remote) {
		h, _ := r.open()
		for status := 400; status <= 599; status++ {
			r.set(r.submit, status, r.recorded("denied"))
			_, err := r.send(h)
			var e *worker.SubmitError
			if !errors.As(err, &e) {
				t.Fatalf("%d: %v", status, err)
			}
			want, ok := r.proofs[status]
			if !ok {
				want = worker.ClassUnknown
			}
			if e.Class != want {
				t.Errorf("%d is %s, want %s", status, e.Class, want)
			}
		}
	})
}

func TestTheDocumentationNamesEveryPresetAndItsVariables(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/presets.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| [") {
			rows = append(rows, line)
		}
	}
	for _, a := range apis {
		row := slices.IndexFunc(rows, func(row string) bool { return strings.Contains(row, "presets/"+a.name+".yaml)") })
		if row < 0 {
			t.Errorf("%s is not in the table", a.name)
			continue
		}
		for name := range a.env {
			if !strings.Contains(rows[row], "`"+name+"`") {
				t.Errorf("%s: %s is missing", a.name, name)
			}
		}
	}
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		file, _, _ := strings.Cut(block, "```")
		if _, err := httpjob.Parse("docs/presets.md", []byte(file), func(string) (string, bool) { return "value", true }); err != nil {
			t.Error(err)
		}
	}
}
