package httpjob_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
)

// secretIDs are ids that a remote may make of the key that it was sent, as JSON writes them.
var secretIDs = []string{
	`"s3cr3t-value/+"`, `"job-s3cr3t-value/+-1"`, `"s3cr3t-value\/\u002b"`, `"s3cr3t-value%2F%2b"`, `"S3CR3T-VALUE/+"`,
	`"7333637233742d76616c75652f2b"`, `"czNjcjN0LXZhbHVlLys="`, `"s3cr3t-value&#x2F;&plus;"`,
}

// Ids are stored, shown and sent as they are, so one that holds a secret is none (contract D1: the job may exist).
func TestAnIDThatHoldsASecretIsNone(t *testing.T) {
	t.Parallel()
	for _, id := range secretIDs {
		remote := startRaw(t, nil, answer(framed(201, `{"id":`+id+`}`)))
		got, err := newHandler(t, "http://"+remote.addr, httpjob.Options{}).Submit(t.Context(), submission())
		e := submitError(t, err)
		if e.Reason != worker.ReasonMissingRemoteID || got.RemoteJobID != "" {
			t.Errorf("%s: %q, %s: %v", id, got.RemoteJobID, e.Reason, e)
		}
		tellsNothing(t, id, string(e.Raw), e)

		remote = startRaw(t, nil, answer(framed(200, listed(`{"id":`+id+`,"op":"op-1","kind":"video"}`))))
		found, err := newLooking(t, "http://"+remote.addr).Investigate(context.Background(), investigation())
		if err == nil || len(found.Found) > 0 {
			t.Errorf("%s: %v, %v", id, found.Found, err)
		}
		tellsNothing(t, id, string(found.Raw), err)

		notice, err := hooked(t, thin, httpjob.Options{}).ReadCall(nil, []byte(`{"id":`+id+`,"status":"succeeded"}`))
		if err == nil || notice.RemoteJobID != "" {
			t.Errorf("%s: a call of job %q is taken", id, notice.RemoteJobID)
		}
	}
}

func tellsNothing(t *testing.T, id, raw string, err error) {
	t.Helper()
	if all := raw + " " + fmt.Sprint(err); strings.Contains(strings.ToLower(all), strings.ToLower(strings.Trim(id, `"`))) || !strings.Contains(raw, "[redacted]") {
		t.Errorf("%s: %s", id, all)
	}
}

// What is left of a kept value without its secret is another value: nothing is asked there.
func TestNoAddressIsBuiltFromAKeptValueThatHeldASecret(t *testing.T) {
	t.Parallel()
	remote := startRaw(t, nil, answer(framed(200, `{"status":"succeeded"}`)))
	for _, at := range []string{"{status_url}", "${BASE}/v1/{status_url}"} {
		h := newHandler(t, "http://"+remote.addr, httpjob.Options{}, "url: ${BASE}/v1/jobs/{remote_job_id}", "url: \""+at+"\"")
		observed := worker.Observation{OperationID: "op-1", RemoteJobID: "j", Keep: map[string]string{"status_url": "/j?k=[redacted]"}}
		if _, err := h.Observe(t.Context(), observed); err == nil || !strings.Contains(err.Error(), "{status_url} held a secret") || remote.conns.Load() > 0 {
			t.Errorf("%s: %v, %d connections", at, err, remote.conns.Load())
		}
	}
}
