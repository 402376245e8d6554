package httpjob_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
)

func TestAPointerIsReadAsTheRFCSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, "/": true, "/a": true, "/a/0": true, "/a~1b": true, "/m~0n": true, "/~01": true, "/a//b": true,
		"a": false, "#/a": false, "/~": false, "/a~2": false, "/~0~": false,
	} {
		if _, err := httpjob.ParsePointer(text); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAPointerFindsTheIDWhereItLies(t *testing.T) {
	t.Parallel()
	for pointer, body := range map[string]string{
		"/id":           `{"ID":"no","id":"job-1"}`,
		"/a~1b/m~0n":    `{"a/b":{"m~n":"job-1"}}`,
		"/jobs/1/id":    `{"jobs":[{"id":"no"},{"id":"job-1"}]}`,
		"/0":            `["job-1"]`,
		"/":             `{"":"job-1"}`,
		"/i~01":         `{"i~1":"job-1"}`,
		"/\\u00e4":      `{"\\u00e4":"job-1"}`,
		"/data/id":      `{"id":"twice","id":"elsewhere","data":{"id":"job-1"}}`,
		"/deep/deep/id": `{"deep":{"deep":{"id":"job-1"}}}`,
	} {
		remote := startRaw(t, nil, answer(framed(201, body)))
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{}, "id: /id", "id: '"+pointer+"'")
		got, err := h.Submit(t.Context(), submission())
		if err != nil || got.RemoteJobID != "job-1" {
			t.Errorf("%s in %s: %v, %v", pointer, body, got, err)
		}
	}
	for _, index := range []string{"/jobs/01/id", "/jobs/-/id", "/jobs/2/id", "/jobs/-1/id", "/jobs/+1/id"} {
		remote := startRaw(t, nil, answer(framed(201, `{"jobs":[{"id":"no"},{"id":"no"}]}`)))
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{}, "id: /id", "id: "+index)
		if got, err := h.Submit(t.Context(), submission()); err == nil {
			t.Errorf("%s found %v", index, got)
		}
	}
}

func TestKeptValuesAreTextsAndDigitsWithoutSecrets(t *testing.T) {
	t.Parallel()
	body := `{"id":"j","urls":{"get":"http://x/?k=` + secret + `"}}`
	remote := startRaw(t, nil, answer(framed(201, body)))
	h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
	got, err := h.Submit(t.Context(), submission())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"status_url": "http://x/?k=[redacted]"}, got.Keep); diff != "" || strings.Contains(string(got.Raw), "s3cr3t") {
		t.Errorf("%s %s", diff, got.Raw)
	}
	for _, value := range []string{`null`, `""`, `{}`, `true`, `"a\nb"`, `"a\u0000"`} {
		remote := startRaw(t, nil, answer(framed(201, `{"id":"j","urls":{"get":`+value+`}}`)))
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{})
		if got, err := h.Submit(t.Context(), submission()); err != nil || got.Keep != nil {
			t.Errorf("%s: %v, %v", value, got.Keep, err)
		}
	}
}
