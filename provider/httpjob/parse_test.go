package httpjob_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
)

const fullFile = `kind: video
name: example
account: main
submit:
  url: https://api.example.com/v1/generations
  headers: {Authorization: "Bearer ${EXAMPLE_API_KEY}"}
  id: /id
  keep: {status_url: /urls/get}
  rejected: [400, 410, 413, 415, 422]
  refused: [401, 402, 403, 404, 405, 429]
  timeout: 30s
observe:
  url: https://api.example.com/v1/generations/{remote_job_id}
  status: /status
  pending: [queued, running]
  succeeded: [succeeded]
  failed: [failed]
  canceled: [canceled]
  error: /error
  every: 2s
  deadline: 24h
  not_found_grace: 2m
deliver:
  from: /output/url
  key: "{operation_id}.mp4"
  attempts: 8
investigate:
  url: https://api.example.com/v1/generations?op={operation_id}
  items: /data
  id: /id
  match: {/op: "{operation_id}"}
  keep: {status_url: /urls/get}
cancel: {method: POST, url: "https://api.example.com/v1/generations/{remote_job_id}/cancel"}
webhook: {id: /id, status: /status}
`

func env(name string) (string, bool) {
	values := map[string]string{
		"EXAMPLE_API_KEY": "s3cr3t-value", "BASE": "https://api.example.com:8443", "EMPTY": "", "BROKEN": "two\nlines", "LINE": "value\n",
	}
	v, ok := values[name]
	return v, ok
}

func TestTheWholeFileIsRead(t *testing.T) {
	t.Parallel()
	spec, err := httpjob.Parse("p.yaml", []byte(fullFile), env)
	if err != nil {
		t.Fatal(err)
	}
	type values struct {
		Kind, Provider, Account, Key, Auth, Keep string
		Timeout, Every, MaxEvery, Deadline, NFG  time.Duration
		Attempts                                 int
		Wants, Can                               bool
		Rejected, Refused                        []int
	}
	got := values{
		spec.Kind, spec.Provider(), spec.Account, spec.Deliver.Key.String(), spec.Submit.Headers.Get("Authorization"),
		spec.Submit.Keep["status_url"].String(),
		spec.Timeout(), spec.Every(), spec.MaxEvery(), spec.Deadline(), spec.NotFoundGrace(),
		spec.DeliverAttempts(), spec.WantsDelivery(), spec.CanInvestigate(), spec.Submit.Rejected, spec.Submit.Refused,
	}
	want := values{
		"video", "example", "main", "{operation_id}.mp4", "Bearer s3cr3t-value", "/urls/get",
		30 * time.Second, 2 * time.Second, 30 * time.Second, 24 * time.Hour, 2 * time.Minute,
		8, true, true, []int{400, 410, 413, 415, 422}, []int{401, 402, 403, 404, 405, 429},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const smallFile = `kind: video
submit: {url: "${BASE}/v1/jobs", id: /id}
observe: {url: "${BASE}/v1/jobs/{remote_job_id}", status: /status, succeeded: [done]}
`

func TestWhatAFileLeavesOutHasDefaults(t *testing.T) {
	t.Parallel()
	spec, err := httpjob.Parse("p.yaml", []byte(smallFile), env)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{
		"video", "https://api.example.com:8443", 30 * time.Second, 2 * time.Second, 30 * time.Second, 24 * time.Hour,
		2 * time.Minute, 0, false, false, []int{400, 410, 413, 415, 422}, []int{401, 402, 403, 404, 405, 429},
	}
	got := []any{
		spec.Provider(), spec.Account, spec.Timeout(), spec.Every(), spec.MaxEvery(), spec.Deadline(),
		spec.NotFoundGrace(), spec.DeliverAttempts(), spec.WantsDelivery(), spec.CanInvestigate(), spec.Submit.Rejected, spec.Submit.Refused,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAStatusNamedInOneListLeavesTheOthersDefault(t *testing.T) {
	t.Parallel()
	text := strings.Replace(smallFile, "id: /id}", "id: /id, rejected: [400, 404, 409]}", 1)
	spec, err := httpjob.Parse("p.yaml", []byte(text), env)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{401, 402, 403, 405, 429}, spec.Submit.Refused); diff != "" {
		t.Error(diff)
	}
}

// Each case changes one thing of the whole file and names the finding that it must give.
func TestAFaultOfTheFileIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown key at the top", "kind: video", "kind: video\nretries: 3", "p.yaml:2: retries: unknown key"},
		{"unknown key inside", "  timeout: 30s", "  retry: 3", "p.yaml:11: submit.retry: unknown key"},
		{"a key twice", "kind: video", "kind: video\nkind: video", "p.yaml:2: "},
		{"missing id", "  id: /id\n  keep", "  keep", "p.yaml:4: submit.id: missing"},
		{"word in two lists", "failed: [failed]", "failed: [failed, queued]", `p.yaml:17: observe.failed[1]: "queued" stands in pending as well`},
		{"word twice", "pending: [queued, running]", "pending: [queued, queued]", `p.yaml:15: observe.pending[1]: "queued" is there twice`},
		{"word without quotes", "pending: [queued, running]", "pending: [queued, null]", "p.yaml:15: observe.pending[1]: want a text, found nothing"},
		{"no success", "succeeded: [succeeded]", "succeeded: []", "p.yaml:16: observe.succeeded: no word means success"},
		{"pointer without slash", "status: /status\n  pending", "status: status\n  pending", `p.yaml:14: observe.status: "status" is no JSON Pointer`},
		{"pointer with bad escape", "from: /output/url", "from: /output~2", "p.yaml:24: deliver.from: "},
		{"pointer in match", "match: {/op:", "match: {op:", "p.yaml:31: investigate.match.op: "},
		{"unset variable", "${EXAMPLE_API_KEY}", "${NOT_SET}", "p.yaml:6: submit.headers.Authorization: the environment variable NOT_SET is not set"},
		{"empty variable", "${EXAMPLE_API_KEY}", "${EMPTY}", "p.yaml:6: submit.headers.Authorization: the environment variable EMPTY is empty"},
		{"variable with a line break", "${EXAMPLE_API_KEY}", "${LINE}", "p.yaml:6: submit.headers.Authorization: the value has a control character"},
		{"unset variable in a url", "https://api.example.com/v1/generations\n", "${NOT_SET}/v1\n", "p.yaml:5: submit.url: the environment variable NOT_SET"},
		{"url without scheme", "https://api.example.com/v1/generations\n", "api.example.com/v1\n", "p.yaml:5: submit.url: the address"},
		{"url of another scheme", "https://api.example.com/v1/generations\n", "file:///etc/passwd\n", "p.yaml:5: submit.url: the address"},
		{"url with a password", "https://api.example.com/v1/generations\n", "https://u:p@api.example.com/v1\n", "p.yaml:5: submit.url: the address holds a user name"},
		{"placeholder in the host", "https://api.example.com/v1/generations\n", "https://{kind}.example.com/\n", "p.yaml:5: submit.url: a placeholder cannot stand in the host"},
		{"unknown placeholder", "generations/{remote_job_id}\n", "generations/{job}\n", "p.yaml:13: observe.url: unknown placeholder {job}"},
		{"remote id before there is one", "v1/generations\n", "v1/{remote_job_id}\n", "p.yaml:5: submit.url: unknown placeholder {remote_job_id}"},
		{"key that walks up", `"{operation_id}.mp4"`, `"../{operation_id}.mp4"`, "p.yaml:25: deliver.key: the key"},
		{"absolute key", `"{operation_id}.mp4"`, `"/{operation_id}.mp4"`, "p.yaml:25: deliver.key: the key"},
		{"key with a backslash", `"{operation_id}.mp4"`, `"a\\{operation_id}.mp4"`, "p.yaml:25: deliver.key: the key"},
		{"key with a NUL", `"{operation_id}.mp4"`, `"a\0{operation_id}.mp4"`, "p.yaml:25: deliver.key: "},
		{"key in the records", `"{operation_id}.mp4"`, `".fencerow/{operation_id}"`, "p.yaml:25: deliver.key: the key"},
		{"one key for all", `"{operation_id}.mp4"`, `"video.mp4"`, `p.yaml:25: deliver.key: "video.mp4" has no {operation_id}`},
		{"from and url", "  from: /output/url", "  from: /output/url\n  url: https://api.example.com/{remote_job_id}", "deliver: want one of from"},
		{"no attempts", "attempts: 8", "attempts: 0", "p.yaml:26: deliver.attempts: 0 attempts"},
		{"status in both lists", "refused: [401,", "refused: [400, 401,", "p.yaml:10: submit.refused: 400 stands in rejected as well"},
		{"408", "rejected: [400,", "rejected: [408,", "p.yaml:9: submit.rejected[0]: 408 says"},
		{"503", "rejected: [400,", "rejected: [503,", "p.yaml:9: submit.rejected[0]: 503 may come from a gateway"},
		{"200", "rejected: [400,", "rejected: [200,", "p.yaml:9: submit.rejected[0]: 200 is no answer"},
		{"duration without unit", "timeout: 30s", "timeout: 30", "p.yaml:11: submit.timeout: 30 has no unit"},
		{"negative duration", "timeout: 30s", "timeout: -1s", `p.yaml:11: submit.timeout: "-1s" is no duration`},
		{"idempotency key", "{Authorization:", "{idempotency-KEY: x, Authorization:", "p.yaml:6: submit.headers.idempotency-KEY: remove it"},
		{"its other spelling", "{Authorization:", "{X-Idempotency-Key: x, Authorization:", "p.yaml:6: submit.headers.X-Idempotency-Key: remove it"},
		{"kept name that is taken", "{status_url:", "{operation_id:", "p.yaml:8: submit.keep.operation_id: the name is taken"},
		{"no condition", `match: {/op: "{operation_id}"}`, "match: {}", "p.yaml:31: investigate.match: no condition holds {operation_id}"},
		{"a condition that names no operation", `{/op: "{operation_id}"}`, `{/kind: "{kind}"}`, "p.yaml:31: investigate.match: no condition holds {operation_id}"},
		{"a kept value that a submission has not", "keep: {status_url: /urls/get}\ncancel", "keep: {poll: /urls/get}\ncancel", "p.yaml:32: investigate.keep.poll: unknown key: known here are status_url"},
		{"a cancel that names no job", "generations/{remote_job_id}/cancel", "generations/cancel", "p.yaml:33: cancel.url: the address names no job"},
		{"bad method", "method: POST", "method: GET", `p.yaml:33: cancel.method: "GET"`},
		{"anchor", "kind: video", "kind: &k video", "p.yaml:1: kind: want a text, found an anchor"},
		{"no YAML", "kind: video", "kind: [video", "reading YAML"},
		{"two documents", "kind: video", "kind: a\n---\nkind: video", "the file has 2 YAML documents"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(fullFile, c.old) {
				t.Fatalf("the file has no %q", c.old)
			}
			_, err := httpjob.Parse("p.yaml", []byte(strings.Replace(fullFile, c.old, c.new, 1)), env)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

// A found job must be one that can be observed: what observe.url is made of is in an item of the list, or the file is bad.
func TestAFoundJobMustBeOneThatCanBeObserved(t *testing.T) {
	t.Parallel()
	kept := strings.Replace(fullFile, "url: https://api.example.com/v1/generations/{remote_job_id}\n", "url: \"{status_url}\"\n", 1)
	if _, err := httpjob.Parse("p.yaml", []byte(kept), env); err != nil {
		t.Error(err)
	}
	lost := strings.Replace(kept, "  keep: {status_url: /urls/get}\ncancel", "cancel", 1)
	_, err := httpjob.Parse("p.yaml", []byte(lost), env)
	if err == nil || !strings.Contains(err.Error(), "p.yaml:27: investigate: observe.url needs {status_url}") {
		t.Errorf("got %v", err)
	}
	nothing := strings.Replace(fullFile, "  keep: {status_url: /urls/get}\n  rejected", "  rejected", 1)
	_, err = httpjob.Parse("p.yaml", []byte(nothing), env)
	if err == nil || !strings.Contains(err.Error(), "p.yaml:31: investigate.keep: submit.keep has no values") {
		t.Errorf("got %v", err)
	}
}

func TestAllFindingsAreReportedAtOnceWithoutSecrets(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("timeout: 30s", "timeout: 30", "id: /id\n  keep", "id: id\n  keep", "every: 2s", "every: soon",
		"observe:\n  url: https://api", "observe:\n  url: ftp://${EXAMPLE_API_KEY}").Replace(fullFile)
	_, err := httpjob.Parse("p.yaml", []byte(text), env)
	var file *httpjob.FileError
	if !errors.As(err, &file) {
		t.Fatalf("want a FileError, got %v", err)
	}
	var got []string
	for _, f := range file.Findings {
		got = append(got, f.Field)
	}
	if diff := cmp.Diff([]string{"submit.id", "submit.timeout", "observe.url", "observe.every"}, got); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("the error holds a secret: %v", err)
	}
}

func TestLoadNamesTheFileThatIsNotThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "none.yaml")
	_, err := httpjob.Load(path)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}
