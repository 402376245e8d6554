package input

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func findings(t *testing.T, text string) []string {
	t.Helper()
	f, err := Open("-", strings.NewReader(text), "video")
	if err == nil {
		_ = f.Close()
		return nil
	}
	var bad *BadError
	if !errors.As(err, &bad) {
		t.Fatalf("want a *BadError, got %v", err)
	}
	return strings.Split(bad.Error(), "\n")
}

func TestEveryBadLineIsToldWithItsReason(t *testing.T) {
	t.Parallel()
	at := "standard input:1: "
	for name, c := range map[string]struct{ line, want string }{
		"no JSON":             {`{"id": "a", "request": }`, "invalid JSON at byte 24: invalid character '}' looking for beginning of value"},
		"cut":                 {`{"id": "a", "request": {`, "invalid JSON at byte 24: unexpected end of JSON input"},
		"two values":          {`{"id":"a","request":1} {}`, "invalid JSON at byte 24: invalid character '{' after top-level value"},
		"no object":           {`["a"]`, `is no JSON object; want {"id": "…", "request": …}`},
		"no id":               {`{"request": 1}`, "has no id"},
		"no request":          {`{"id": "a"}`, "has no request"},
		"blank id":            {`{"id": " \u200b", "request": 1}`, "id: is blank; give it at least one character that can be seen"},
		"empty id":            {`{"id": "", "request": 1}`, "id: is blank; give it at least one character that can be seen"},
		"id is a number":      {`{"id": 7, "request": 1}`, "id is 7; want a string"},
		"id is null":          {`{"id": null, "request": 1}`, "id is null; want a string"},
		"NUL in the id":       {`{"id": "a\u0000b", "request": 1}`, "id: has a NUL character, which a database cannot store"},
		"half a pair":         {`{"id": "a\ud800", "request": 1}`, `id is "a\ud800", which has half a surrogate pair`},
		"second half alone":   {`{"id": "\udc00a", "request": 1}`, `id is "\udc00a", which has half a surrogate pair`},
		"halves apart":        {`{"id": "\ud83d-\ude00", "request": 1}`, `id is "\ud83d-\ude00", which has half a surrogate pair`},
		"long id":             {`{"id": "` + strings.Repeat("x", 513) + `", "request": 1}`, "id: has 513 bytes; at most 512 are kept"},
		"invalid UTF-8":       {"{\"id\": \"a\xff\", \"request\": 1}", "byte 10 is not valid UTF-8"},
		"field twice":         {`{"id": "a", "request": 1, "\u0069d": "b"}`, `the field "id" is there twice`},
		"request twice":       {`{"id": "a", "request": 1, "request": 1}`, `the field "request" is there twice`},
		"unknown field":       {`{"id": "a", "request": 1, "Kind": "video"}`, `unknown field "Kind"; known are id, request, kind, priority and not_before`},
		"another kind":        {`{"id": "a", "request": 1, "kind": "audio"}`, `kind is "audio"; the provider file's is "video"`},
		"half a priority":     {`{"id": "a", "request": 1, "priority": 1.5}`, "priority is 1.5; want a whole number"},
		"priority is text":    {`{"id": "a", "request": 1, "priority": "1"}`, `priority is "1"; want a whole number`},
		"not_before is never": {`{"id": "a", "request": 1, "not_before": "0000-01-31T15:04:05Z"}`, `not_before is "0000-01-31T15:04:05Z"; want a time between the years 1 and 9999`},
		"not_before is a day": {`{"id": "a", "request": 1, "not_before": "2026-01-31"}`, `not_before is "2026-01-31"; want a time like 2026-01-31T15:04:05Z (RFC 3339)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{at + c.want}, findings(t, c.line+"\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheSameIDTwiceNamesBothLines(t *testing.T) {
	t.Parallel()
	got := findings(t, "{\"id\":\"a\",\"request\":1}\n\n{\"id\":\"\\u0061\",\"request\":1}\n")
	if diff := cmp.Diff([]string{`standard input:3: id "a" is on line 1 already; an id names one request`}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheRestOfManyBadLinesIsCounted(t *testing.T) {
	t.Parallel()
	got := findings(t, strings.Repeat("x\n", 25))
	if diff := cmp.Diff("and 5 more bad lines", got[len(got)-1]); diff != "" || len(got) != 21 {
		t.Errorf("%d lines, the last: %s", len(got), diff)
	}
}

func TestARequestIsReadByteForByteAsItStandsInItsLine(t *testing.T) {
	t.Parallel()
	requests := []string{
		`{"b": 1,  "a":[1.0, 1e2 ,"\u00e9é<&>"]}`, `null`, `"text \u2028 "`, `-0.10`, `[]`, `{"a":1,"a":2}`, `true`, `{ }`,
	}
	text := "\xef\xbb\xbf"
	for i, r := range requests {
		end := []string{"\n", "\r\n", " \n\n", "\n \t\r\n"}[i%4]
		text += fmt.Sprintf(" {\"id\" :\"%d\",\"priority\":%d ,\"request\" : %s ,\"kind\":\"video\",\"not_before\":\"2026-01-31T15:04:05.5+02:00\"}%s", i, i-3, r, end)
	}
	for _, from := range []string{"a file", "a pipe", "a file without a last line end"} {
		text, path, stdin := text, "-", io.Reader(nil)
		if from == "a pipe" {
			stdin = strings.NewReader(text)
		} else {
			path = write(t, strings.TrimRight(text, "\n"))
		}
		f, err := Open(path, stdin, "video")
		if err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		var got []string
		for i, item := range f.Items {
			request, err := f.Request(item)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(request))
			at := time.Date(2026, 1, 31, 13, 4, 5, 5e8, time.UTC)
			if item.ID != fmt.Sprint(i) || item.Priority != int64(i-3) || item.Kind != "video" || !item.NotBefore.Equal(at) {
				t.Errorf("%s: line %d was read as %+v", from, item.Line, item)
			}
		}
		if diff := cmp.Diff(requests, got); diff != "" {
			t.Errorf("%s: %s", from, diff)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnEmojiInAnIDMayBeEscaped(t *testing.T) {
	t.Parallel()
	f, err := Open("-", strings.NewReader(`{"id":"\ud83d\ude00 \\ud800","request":1}`), "video")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if diff := cmp.Diff("😀 \\ud800", f.Items[0].ID); diff != "" {
		t.Error(diff)
	}
}

func TestAFileThatChangesAfterItsCheckIsNotSent(t *testing.T) {
	t.Parallel()
	path := write(t, `{"id":"a","request":"one"}`)
	f, err := Open(path, nil, "video")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.WriteFile(path, []byte(`{"id":"a","request":"two"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = f.Request(f.Items[0])
	if want := path + ":1: the file has changed since it was checked; run it again"; err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
}

// endless is one line that never ends until it has given so many bytes.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.left -= n
	return n, nil
}

func TestALineOfAHundredMegabytesIsPassedOverWithoutBeingKept(t *testing.T) {
	// Not parallel: it measures what is allocated.
	f := &File{Name: "in"}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := f.check(io.MultiReader(&endless{100 << 20}, strings.NewReader("\nx\n")), "video")
	runtime.ReadMemStats(&after)
	want := "in:1: the line has more than 10485760 bytes (10 MiB)\nin:2: invalid JSON at byte 1: invalid character 'x' looking for beginning of value"
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; grown > 80 {
		t.Errorf("%d MiB were allocated for it", grown)
	}
}

func TestALineOfExactlyTenMebibytesIsGood(t *testing.T) {
	t.Parallel()
	frame := `{"id":"a","request":""}`
	line := strings.Replace(frame, `""`, `"`+strings.Repeat("x", MaxLine-len(frame))+`"`, 1)
	if got := findings(t, line+"\r\n"); got != nil {
		t.Error(got)
	}
	if got := findings(t, line+" \r\n"); len(got) != 1 {
		t.Errorf("one byte more: want one finding, got %v", got)
	}
}

func TestAFileThatCannotBeReadIsAnErrorAndNotABadLine(t *testing.T) {
	t.Parallel()
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir()} {
		_, err := Open(path, nil, "video")
		var bad *BadError
		if err == nil || errors.As(err, &bad) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
