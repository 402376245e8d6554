package httpjob_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/httpjob"
)

// hooked is the handler of a small file with a webhook section.
func hooked(t testing.TB, webhook string, opts httpjob.Options, observe ...string) *httpjob.Handler {
	t.Helper()
	text := `kind: video
submit: {url: "https://api.example.com/jobs", id: /id, headers: {Authorization: "Bearer ${EXAMPLE_API_KEY}"}}
observe:
  url: "https://api.example.com/jobs/{remote_job_id}"
  status: /status
  pending: [running]
  succeeded: [done]
  failed: [failed]
  canceled: [canceled]
  error: /error
` + strings.Join(observe, "\n") + "\nwebhook: " + webhook + "\n"
	spec, err := httpjob.Parse("p.yaml", []byte(text), env)
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpjob.New(spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

const thin = "{id: /id, status: /status}"

func TestACallIsReadAsAStatusIs(t *testing.T) {
	t.Parallel()
	const failedIf = "  failed_if: /error"
	for _, c := range []struct {
		name, webhook, observe, body string
		want                         machine.Notice // without the snapshot
		snapshot                     string         // "": the body
		refused                      string
	}{
		{name: "an end", webhook: thin, body: `{"id":"job-1","status":"done"}`, want: machine.Notice{RemoteJobID: "job-1", Says: "succeeded"}},
		{name: "a failure", webhook: thin, body: `{"id":"job-1","status":"failed","error":"no GPU"}`, want: machine.Notice{RemoteJobID: "job-1", Says: "failed", Detail: "no GPU"}},
		{name: "a cancel", webhook: thin, body: `{"id":"job-1","status":"canceled"}`, want: machine.Notice{RemoteJobID: "job-1", Says: "canceled"}},
		{name: "no end", webhook: thin, body: `{"id":"job-1","status":"running"}`, want: machine.Notice{RemoteJobID: "job-1", Says: "pending"}},
		{name: "a number for an id", webhook: thin, body: `{"id":12345678901234567890,"status":"done"}`, want: machine.Notice{RemoteJobID: "12345678901234567890", Says: "succeeded"}},
		{name: "a word in no list", webhook: thin, body: `{"id":"job-1","status":"warming"}`,
			want: machine.Notice{RemoteJobID: "job-1", Says: "pending", Detail: `status word "warming" is in no list of the provider file; kept as pending`}},
		{name: "no word", webhook: thin, body: `{"id":"job-1"}`,
			want: machine.Notice{RemoteJobID: "job-1", Says: "pending", Detail: "no status word: at /status: there is no value; kept as pending"}},
		{name: "two words", webhook: thin, body: `{"id":"job-1","status":"done","status":"failed"}`,
			want: machine.Notice{RemoteJobID: "job-1", Says: "pending", Detail: "no status word: at /status: the object has the key twice; kept as pending"}},

		{name: "an envelope", webhook: "{id: /data/id, status: /data/status, snapshot: /data}", body: `{"type":"x","data":{"id":"job-1","status":"failed","error":"no GPU"}}`,
			want: machine.Notice{RemoteJobID: "job-1", Says: "failed", Detail: "no GPU"}, snapshot: `{"id":"job-1","status":"failed","error":"no GPU"}`},
		{name: "an envelope that is not opened", webhook: "{id: /data/id, status: /data/status}", body: `{"data":{"id":"job-1","status":"done"}}`,
			want: machine.Notice{RemoteJobID: "job-1", Says: "succeeded"}},
		{name: "an envelope that says otherwise than the job in it", webhook: "{id: /data/id, status: /status, snapshot: /data}",
			body: `{"status":"done","data":{"id":"job-1","status":"running"}}`, want: machine.Notice{RemoteJobID: "job-1", Says: "succeeded"}},

		{name: "success in the form of a status", webhook: thin, observe: failedIf, body: `{"id":"job-1","status":"done","error":null}`,
			want: machine.Notice{RemoteJobID: "job-1", Says: "succeeded"}},
		{name: "failure under the word of success", webhook: thin, observe: failedIf, body: `{"id":"job-1","status":"done","error":"no GPU"}`,
			want: machine.Notice{RemoteJobID: "job-1", Says: "failed", Detail: "no GPU"}},
		{name: "the word of success where a failure could not be seen", webhook: "{id: /job, status: /state}", observe: failedIf, body: `{"job":"job-1","state":"done"}`,
			want: machine.Notice{RemoteJobID: "job-1", Says: "pending", Detail: "no telling success from failure: nothing there is as /status reads it; kept as pending"}},

		{name: "the key of the API in it", webhook: thin, body: `{"id":"job-1","status":"failed","error":"bad key s3cr3t-value"}`,
			want:     machine.Notice{RemoteJobID: "job-1", Says: "failed", Detail: "bad key [redacted]"},
			snapshot: `{"id":"job-1","status":"failed","error":"bad key [redacted]"}`},

		{name: "no JSON", webhook: thin, body: `id=job-1&status=done`, refused: "not exactly one JSON value"},
		{name: "two values", webhook: thin, body: `{"id":"job-1"} {}`, refused: "not exactly one JSON value"},
		{name: "nothing", webhook: thin, body: ``, refused: "not exactly one JSON value"},
		{name: "no id", webhook: thin, body: `{"status":"done"}`, refused: "the remote job id: at /id: there is no value"},
		{name: "a blank id", webhook: thin, body: `{"id":" ","status":"done"}`, refused: "the remote job id at /id: its byte 1 is 0x20"},
		{name: "the id 0", webhook: thin, body: `{"id":0,"status":"done"}`, refused: "it is the number 0"},
		{name: "two ids", webhook: thin, body: `{"id":"job-1","id":"job-2","status":"done"}`, refused: "the object has the key twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := hooked(t, c.webhook, httpjob.Options{}, c.observe).ReadCall(nil, []byte(c.body))
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("read %+v, %v; want an error that says %q", got, err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.snapshot == "" {
				c.snapshot = c.body
			}
			if diff := cmp.Diff(c.snapshot, string(got.Snapshot)); diff != "" {
				t.Errorf("the snapshot (-want +got):\n%s", diff)
			}
			got.Snapshot = nil
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the notice (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWordOfACallThatStandsInNoListIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h := hooked(t, thin, httpjob.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		if _, err := h.ReadCall(nil, []byte(`{"id":"job-1","status":"warming"}`)); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "warming"); n != 1 {
		t.Errorf("it is logged %d times, want once:\n%s", n, &log)
	}
}

func TestTheSignatureOfAFileIsRead(t *testing.T) {
	t.Parallel()
	secret := func(text ...string) (all [][]byte) {
		for _, s := range text {
			all = append(all, []byte(s))
		}
		return all
	}
	for text, want := range map[string]*httpjob.Signature{
		"none": nil,
		"{header: x-signature, secret: '${EXAMPLE_API_KEY}'}": {Header: "X-Signature", Encoding: "hex", Secrets: secret("s3cr3t-value"), Tolerance: 5 * time.Minute},
		"{header: X-Hub-Signature-256, prefix: sha256=, encoding: hex, secret: ['${EXAMPLE_API_KEY}', 'another one']}": {
			Header: "X-Hub-Signature-256", Prefix: "sha256=", Encoding: "hex", Secrets: secret("s3cr3t-value", "another one"), Tolerance: 5 * time.Minute},
		"{header: webhook-signature, prefix: 'v1,', encoding: base64, secret: 'whsec_dGhlIHNlY3JldA==', secret_encoding: base64, timestamp_header: webhook-timestamp, tolerance: 1m, signed: '{webhook-id}.{timestamp}.{body}'}": {
			Header: "Webhook-Signature", Prefix: "v1,", Encoding: "base64", Secrets: secret("the secret"), TimestampHeader: "Webhook-Timestamp",
			Tolerance: time.Minute, Signed: "{webhook-id}.{timestamp}.{body}"},
		"{header: X-S, secret: '7468652073656372657421', secret_encoding: hex}": {
			Header: "X-S", Encoding: "hex", Secrets: secret("the secret!"), Tolerance: 5 * time.Minute},
	} {
		spec, err := httpjob.Parse("p.yaml", []byte(smallFile+"webhook: {id: /id, status: /status, signature: "+text+"}\n"), env)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, spec.Webhook.Signature); diff != "" || spec.Webhook.Unsigned != (want == nil) {
			t.Errorf("%s: unsigned %t (-want +got):\n%s", text, spec.Webhook.Unsigned, diff)
		}
	}
}

func TestAFaultOfASignatureIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"nothing":                                                                     `webhook.signature: "nothing": want the keys of a signature, or none`,
		"{header: X-S}":                                                               "webhook.signature.secret: missing",
		"{secret: long enough":                                                        "reading YAML",
		"{secret: long enough}":                                                       "webhook.signature.header: missing",
		"{header: X S, secret: long enough}":                                          `webhook.signature.header: "X S" is no name of a header`,
		"{header: X-S, secret: '${NOT_SET}'}":                                         "webhook.signature.secret: the environment variable NOT_SET is not set",
		"{header: X-S, secret: '${LINE}'}":                                            "webhook.signature.secret: the value has space around it",
		"{header: X-S, secret: short}":                                                "webhook.signature.secret: a secret of 5 bytes can be tried out",
		"{header: X-S, secret: []}":                                                   "webhook.signature.secret: the list is empty",
		"{header: X-S, secret: [long enough, 17]}":                                    "webhook.signature.secret[1]: want a text",
		"{header: X-S, secret: '!!!!!!!!!', secret_encoding: hex}":                    "webhook.signature.secret: the value is no hex",
		"{header: X-S, secret: long enough, encoding: base32}":                        `webhook.signature.encoding: "base32": want hex or base64`,
		"{header: X-S, secret: long enough, tolerance: 1m}":                           "webhook.signature.tolerance: there is no timestamp_header",
		"{header: X-S, secret: long enough, signed: '{X-Id}'}":                        `webhook.signature.signed: "{X-Id}" does not hold {body}`,
		"{header: X-S, secret: long enough, signed: '{body'}":                         `webhook.signature.signed: "{body": want {body}`,
		"{header: X-S, secret: long enough, signed: '{timestamp}{body}'}":             "webhook.signature.signed: \"{timestamp}{body}\" and the timestamp_header \"\"",
		"{header: X-S, secret: long enough, timestamp_header: X-T, signed: '{body}'}": "webhook.signature.signed: \"{body}\" and the timestamp_header \"X-T\"",
		"{header: X-S, secret: long enough, algorithm: sha1}":                         "webhook.signature.algorithm: unknown key",
	} {
		_, err := httpjob.Parse("p.yaml", []byte(smallFile+"webhook: {id: /id, status: /status, signature: "+text+"}\n"), env)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "!!!!") {
			t.Errorf("%s: the error holds the secret: %v", text, err)
		}
	}
}

// A secret that calls are signed with is cut out like any other, also where it is written into the file.
func TestASigningSecretIsASecret(t *testing.T) {
	t.Parallel()
	h := hooked(t, "{id: /id, status: /status, signature: {header: X-S, secret: [written down, '${BASE}']}}", httpjob.Options{})
	n, err := h.ReadCall(nil, []byte(`{"id":"job-1","status":"failed","error":"not written down but https://api.example.com:8443"}`))
	if err != nil || n.Detail != "not [redacted] but [redacted]" || strings.Contains(string(n.Snapshot), "written down") {
		t.Errorf("read %+v, %v", n, err)
	}
}

// Whatever somebody who has the secret sends, it is read as a notice that can be stored, or refused.
func FuzzACallIsReadOrRefused(f *testing.F) {
	for _, body := range []string{`{"id":"job-1","status":"done"}`, `{"id":7,"status":"failed","error":{"a":[1]}}`, `{"data":{"id":"x"}}`, `[]`, `"`, "\x00", `{"id":"\ud800","status":"\u0000"}`} {
		f.Add([]byte(body))
	}
	handlers := []*httpjob.Handler{hooked(f, thin, httpjob.Options{}, "  failed_if: /error"), hooked(f, "{id: /data/id, status: /data/0/status, snapshot: /data}", httpjob.Options{})}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, h := range handlers {
			n, err := h.ReadCall(nil, body)
			if err != nil {
				continue
			}
			if err := n.Validate(); err != nil {
				t.Errorf("%q is read as %+v: %v", body, n, err)
			}
			if n.Says != "pending" && !bytes.Contains(body, []byte(fmt.Sprint(n.Says[:4]))) && !bytes.Contains(body, []byte("done")) && !bytes.Contains(body, []byte(`\u`)) {
				t.Errorf("%q says %s", body, n.Says)
			}
		}
	})
}
