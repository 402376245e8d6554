package httpjob_test

import (
	"testing"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/worker"
	"github.com/fencerow/fencerow/worker/workertest"
)

// Reports B04 and B24: one call of Submit, one request, whatever the remote does to it.
func TestTheHandlerSendsOnce(t *testing.T) {
	t.Parallel()
	workertest.SendsOnce(t, workertest.Remote{}, func(base string) worker.Handler {
		return newHandler(t, base, httpjob.Options{}, "timeout: 5s", "timeout: 1m")
	})
}

// Report B19: no header makes it send again, not even on a remote that keeps its connections. The file's reader refuses
// this one, so it is put into the Spec by hand; what keeps it back is that a submission has one connection of its own
// and no second body.
func TestTheHandlerSendsOnceWithAHeaderThatInvitesAgain(t *testing.T) {
	t.Parallel()
	workertest.SendsOnce(t, workertest.Remote{}, func(base string) worker.Handler {
		h := newHandler(t, base, httpjob.Options{}, "timeout: 5s", "timeout: 1m")
		h.Spec().Submit.Headers["Idempotency-Key"] = []string{"k"}
		h.Spec().Submit.Headers["X-Idempotency-Key"] = []string{"k"}
		return h
	})
}
