package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/provider/sandbox"
	"github.com/fencerow/fencerow/worker"
)

// handlerOf makes the handler of the sandbox's own provider file.
func handlerOf(t *testing.T, a *api, key string) (*httpjob.Handler, string) {
	t.Helper()
	spec, err := httpjob.Parse("spec.yaml", sandbox.SpecYAML, func(name string) (string, bool) {
		value, ok := map[string]string{"FENCEROW_SANDBOX_URL": a.url, "FENCEROW_SANDBOX_KEY": key}[name]
		return value, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	spec.Submit.Timeout = time.Second
	dir := t.TempDir()
	h, err := httpjob.New(spec, httpjob.Options{OutDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h, dir
}

func submit(h *httpjob.Handler, operation, request string) (worker.Accepted, error) {
	return h.Submit(context.Background(), worker.Submission{OperationID: operation, Kind: "video", Provider: "sandbox",
		Account: "sandbox", Request: []byte(request), Attempt: 1, SendBy: time.Now().Add(time.Minute)})
}

func TestTheProviderFileDrivesAJobToItsResult(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"none", sandbox.GoesBack, sandbox.ExpiredURL, sandbox.OddWord} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			a := start(t, sandbox.Options{APIKey: "right-key"})
			h, dir := handlerOf(t, a, "right-key")
			request := fmt.Sprintf(`{"op":"op-1","fault":%q}`, fault)
			accepted, err := submit(h, "op-1", request)
			if err != nil {
				t.Fatal(err)
			}
			look := worker.Observation{OperationID: "op-1", Kind: "video", RemoteJobID: accepted.RemoteJobID, Keep: accepted.Keep}
			if got, err := h.Observe(context.Background(), look); err != nil || got.State != worker.Pending {
				t.Fatalf("got %v, %v", got, err)
			}
			a.clock.advance(time.Minute)
			status, err := h.Observe(context.Background(), look)
			if err != nil || status.State != worker.Succeeded {
				t.Fatalf("got %v, %v", status, err)
			}
			done, err := h.Deliver(context.Background(), worker.Delivery{OperationID: "op-1", Kind: "video",
				RemoteJobID: accepted.RemoteJobID, Snapshot: status.Snapshot, Attempt: 1})
			if err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(filepath.Join(dir, done.ObjectKey))
			if diff := cmp.Diff(sandbox.Result([]byte(request)), file); diff != "" || err != nil {
				t.Error(err, diff)
			}
		})
	}
}

func TestACutDownloadSucceedsTheSecondTime(t *testing.T) {
	t.Parallel()
	a := start(t, sandbox.Options{})
	h, _ := handlerOf(t, a, "any-key")
	accepted, err := submit(h, "op-1", `{"op":"op-1","fault":"cut-download"}`)
	if err != nil {
		t.Fatal(err)
	}
	a.clock.advance(time.Minute)
	for attempt, want := range []bool{false, true} {
		_, err := h.Deliver(context.Background(), worker.Delivery{OperationID: "op-1", Kind: "video", RemoteJobID: accepted.RemoteJobID, Attempt: attempt + 1})
		if (err == nil) != want || worker.IsDeliverFailed(err) {
			t.Errorf("attempt %d: %v", attempt+1, err)
		}
	}
}

func TestEachFaultOfASubmissionIsClassified(t *testing.T) {
	t.Parallel()
	type end struct {
		Class  worker.Class
		Reason string
	}
	silent := end{worker.ClassUnknown, worker.ReasonNoResponse}
	unclear := end{worker.ClassUnknown, worker.ReasonUnclearAnswer}
	nameless := end{worker.ClassUnknown, worker.ReasonMissingRemoteID}
	for fault, want := range map[string]end{
		sandbox.AcceptCut: silent, sandbox.Stall: silent, sandbox.HalfAnswer: silent,
		sandbox.Accept500: unclear, sandbox.Error500: unclear, sandbox.HTML: unclear, sandbox.Redirect307: unclear,
		sandbox.NoID: nameless, sandbox.BlankID: nameless,
		sandbox.Refuse429: {Class: worker.ClassRefused}, sandbox.NoCredit: {Class: worker.ClassRefused},
		sandbox.Reject422: {Class: worker.ClassRejected},
		sandbox.Slow:      {}, sandbox.Late404: {},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			a := start(t, sandbox.Options{SlowFor: 10 * time.Millisecond})
			h, _ := handlerOf(t, a, "any-key")
			_, err := submit(h, "op-1", fmt.Sprintf(`{"op":"op-1","fault":%q}`, fault))
			var e *worker.SubmitError
			var got end
			if errors.As(err, &e) {
				got = end{e.Class, e.Reason}
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v %s", err, diff)
			}
			if n := a.Counts()["op-1"].Received; n != 1 {
				t.Errorf("the sandbox received %d requests", n)
			}
		})
	}
}

func TestAWrongKeyIsARefusal(t *testing.T) {
	t.Parallel()
	a := start(t, sandbox.Options{APIKey: "right-key"})
	h, _ := handlerOf(t, a, "wrong-key")
	_, err := submit(h, "op-1", `{"op":"op-1"}`)
	var e *worker.SubmitError
	if !errors.As(err, &e) || e.Class != worker.ClassRefused || e.Key != "401" {
		t.Errorf("got %v", err)
	}
}
