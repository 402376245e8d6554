package lostjobs_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/sandbox"
	"github.com/fencerow/fencerow/transitions"
)

func ended(op machine.Operation) bool { return op.Finished() }

func onItsWay(op machine.Operation) bool { return op.Phase == transitions.Observing }

// wish asks to cancel an operation that was sent, twice, and fails the test unless it is then marked and goes on.
func (w *world) wish(id string) {
	w.Helper()
	for range 2 {
		op, err := w.cancel(id)
		if err != nil || op.Outcome != "" || op.CancelRequestedAt.IsZero() {
			w.Errorf("after the wish: %v, outcome %q, asked %s", err, op.Outcome, op.CancelRequestedAt)
		}
	}
	if n := len(w.told(id, "cancel_request")); n != 1 {
		w.Errorf("history has the wish %d times", n)
	}
}

// Cancel, before sending: it ends at once, a second time too, and nothing is ever sent.
func TestACancelBeforeSendingEndsItAndSendsNothing(t *testing.T) {
	t.Parallel()
	onStores(t, sandbox.Options{}, func(t *testing.T, w *world) {
		w.prepare("none", "a", "other")
		if op, err := w.cancel("a"); err != nil || op.Outcome != "canceled" {
			t.Errorf("outcome %q, %v", op.Outcome, err)
		}
		if _, err := w.cancel("a"); err == nil {
			t.Error("an operation that has ended was asked to be canceled")
		} else if _, denied := machine.IsDenied(err); !denied {
			t.Error(err)
		}
		w.work("other", "the other is delivered", delivered)
		if n := w.remote.Counts()["a"].Received; n != 0 || w.op("a").Outcome != "canceled" || w.count("cancel") != 0 {
			t.Errorf("%d requests, %d cancels, outcome %q", n, w.count("cancel"), w.op("a").Outcome)
		}
		w.sentOnce("other")
	})
}

// Cancel, in flight: it is marked, and the remote is asked once it has accepted the request.
func TestACancelInFlightIsAskedForOnceTheRequestIsAccepted(t *testing.T) {
	t.Parallel()
	onStores(t, sandbox.Options{Running: time.Hour}, func(t *testing.T, w *world) {
		w.prepare("none", "a")
		arrived, answer := make(chan struct{}), make(chan struct{})
		w.script = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && r.URL.Path == "/v1/generations" {
				close(arrived)
				<-answer
			}
			return false
		}
		stop := w.start()
		<-arrived
		w.wish("a")
		if phase := w.op("a").Phase; phase != transitions.Submitting || w.count("cancel") != 0 {
			t.Errorf("in flight it is %s, and %d cancels were asked for", phase, w.count("cancel"))
		}
		close(answer)
		op := w.await("a", "it ends", ended)
		stop()
		if diff := cmp.Diff([]any{"canceled", 1}, []any{op.Outcome, w.count("cancel")}); diff != "" {
			t.Error(diff)
		}
		w.sentOnce("a")
	})
}

// Cancel, afterwards: the remote is asked, and its own status decides what the outcome is, whatever it answered.
func TestTheRemotesStatusDecidesWhatACancelComesTo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		status  int // of the answer; 0: the sandbox's own
		outcome string
		said    string
	}{
		{"it cancels", 0, "canceled", " answered 200 OK\n{"},
		{"it finishes anyway", 202, "succeeded", " answered 202 Accepted\nas it likes"},
		{"its cancel address fails", 500, "succeeded", " answered 500 Internal Server Error; it said: as it likes"},
		{"it says that there is no such job", 404, "succeeded", " answered 404 Not Found\nas it likes"},
		{"it says that it is too late", 409, "succeeded", " answered 409 Conflict\nas it likes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			onStores(t, sandbox.Options{Running: time.Hour}, func(t *testing.T, w *world) {
				wished := make(chan struct{}) // twice: the remote, which may end it, hears of it only then
				w.script = func(rw http.ResponseWriter, r *http.Request) bool {
					if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/cancel") {
						return false
					}
					<-wished
					if c.status == 0 {
						return false
					}
					w.ahead.Store(int64(2 * time.Hour)) // the job is done when it is looked at next
					rw.WriteHeader(c.status)
					_, _ = rw.Write([]byte("as it likes"))
					return true
				}
				w.prepare("none", "a")
				stop := w.start()
				w.await("a", "it is observed", onItsWay)
				w.wish("a")
				close(wished)
				op := w.await("a", "it ends", ended)
				stop()
				if diff := cmp.Diff([]any{c.outcome, 1}, []any{op.Outcome, w.count("cancel")}); diff != "" {
					t.Error(diff)
				}
				kept := w.evidence("a", machine.EvidenceCancel)
				if len(kept) != 1 || !strings.Contains(string(kept[0].Detail), c.said) || kept[0].RemoteJobID != op.RemoteJobID {
					t.Errorf("want %q, kept %+v", c.said, kept)
				}
				w.sentOnce("a")
			})
		})
	}
}

// Cancel: how often the remote was asked is counted in the database, by whoever asks. It is looked at all the while.
func TestTheRemoteIsAskedToCancelABoundedNumberOfTimesByWhoever(t *testing.T) {
	t.Parallel()
	onStores(t, sandbox.Options{Running: time.Hour}, func(t *testing.T, w *world) {
		w.answers(http.MethodPost, "/cancel", 500, func() string { return "out of order" })
		w.config.AskAgain = []time.Duration{time.Millisecond, time.Millisecond}
		w.prepare("none", "a")
		w.work("a", "it is observed", onItsWay)
		w.wish("a")
		for n := 1; n <= 3; n++ { // each is another process
			w.work("a", "the remote is asked", func(machine.Operation) bool { return len(w.evidence("a", machine.EvidenceCancel)) >= n })
		}
		before := w.count("status")
		w.work("a", "the job is looked at", func(machine.Operation) bool { return w.count("status") >= before+5 })
		if n := w.count("cancel"); n != 3 || w.op("a").Phase != transitions.Observing {
			t.Errorf("the remote was asked %d times, want 3; the operation is %s", n, w.op("a").Phase)
		}
		w.sentOnce("a")
	})
}

// Cancel and D4: a job that was marked while nobody knew of it is canceled once it is found.
func TestAFoundJobThatNobodyWantsIsCanceled(t *testing.T) {
	t.Parallel()
	onStores(t, sandbox.Options{Running: time.Hour}, func(t *testing.T, w *world) {
		w.prepare(sandbox.AcceptCut, "a")
		w.script = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost && r.URL.Path == "/v1/generations" {
				w.wish("a")
			}
			return false
		}
		op := w.work("a", "it ends", ended)
		if diff := cmp.Diff([]any{"canceled", 1}, []any{op.Outcome, w.count("cancel")}); diff != "" {
			t.Error(diff)
		}
		w.sentOnce("a")
	})
}
