package reports_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/reconcile"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// B01: a remote that takes the request and hangs up gets it once, whoever else works: three workers and a reconciler
// leave the operation with a reviewer (rules: a cut is unknown, B2; from uncertain only a person leads back).
func TestB01ARequestThatWasCutOffIsNotSentAgain(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		remote := newShop(t, &shop{sell: func(w http.ResponseWriter, r *http.Request, id string) {
			if id == "cut" {
				cutOff(w, r, id)
			}
			accept(w, id)
		}})
		s.prepare(order("cut"))
		s.sweeping(s.machine, 20*time.Millisecond)
		for n := range 3 {
			s.working(s.engine(machine.Config{Label: fmt.Sprint("worker-", n)}), fromFile(t, remote.URL)).start()
		}
		s.await(transitions.Uncertain, "cut")
		ids, all := orders(30) // every one of them has had its chance by the time that these are done
		s.prepare(all...)
		s.await(transitions.Terminal, ids...)
		s.ends(transitions.Uncertain, "no_response", "cut")
		remote.soldOnce(t, append(ids, "cut")...)
		if diff := cmp.Diff([]string{"prepare", "dispatch_claim", "submit_begin", "evidence_noted", "submit_unknown"}, s.events("cut")); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if n := s.op("cut").Attempts; n != 1 {
			t.Errorf("%d attempts, want 1", n)
		}
	})
}

// B01, as long as the report and longer: a remote that hangs up after 60 seconds, three workers with pauses of their
// own and a reconciler, for half an hour, which is also past the quarantine (rule: an error that nobody classified is
// unknown).
func TestB01NothingSendsItAgainInHalfAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := inMemory(t)
		r := &remote{submit: func(ctx context.Context, _ string) (string, error) {
			select {
			case <-time.After(time.Minute):
				return "", fmt.Errorf("post: %w", io.ErrUnexpectedEOF)
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}}
		s.prepare(order("a"))
		var stops []func()
		for range 3 {
			w := s.working(s.engine(machine.Config{TTL: 2 * time.Minute}), r)
			w.config.SubmitTimeout, w.config.Poll = 90*time.Second, time.Second
			stops = append(stops, w.start())
		}
		sweeps, err := reconcile.New(s.machine, reconcile.Options{Log: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		sweeps.Run(ctx)
		for _, stop := range stops {
			stop()
		}
		if diff := cmp.Diff(1, r.sent("a")); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		s.ends(transitions.Uncertain, "unclassified", "a")
	})
}

// B03: an error that is just an error is uncertain, whether the request had left or not, and whatever its text or its
// kind says: only what a handler wraps as proof is one (rule: the default of every end is unknown, B2).
func TestB03AnOpaqueErrorIsUncertainWhateverItSays(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	said := map[string]error{
		"boom":                  errors.New("boom"),
		"not sent, it says":     errors.New("not_sent: connection refused"),
		"refused, it says":      errors.New("429 Too Many Requests"),
		"a dial's error":        dial,
		"wrapped":               fmt.Errorf("submit: %w", dial),
		"no such host":          &net.DNSError{Err: "no such host", Name: "api.example.com", IsNotFound: true},
		"the context's own":     context.DeadlineExceeded,
		"a class nobody knows":  &worker.SubmitError{Class: "harmless", Err: errors.New("boom")},
		"a class without words": &worker.SubmitError{Err: errors.New("boom")},
	}
	onStores(t, func(t *testing.T, s *stand) {
		for _, left := range []bool{true, false} {
			remote := newShop(t, &shop{})
			ids := []string{}
			h := opaque{said: map[string]error{}}
			if left {
				h.base = remote.URL
			}
			for text, err := range said {
				id := fmt.Sprintf("%s, sent %t", text, left)
				ids, h.said[id] = append(ids, id), err
				s.prepare(order(id))
			}
			w := s.working(s.machine, h)
			w.config.Brake = -1
			stop := w.start()
			s.await(transitions.Uncertain, ids...)
			stop()
			for _, id := range ids {
				if events := s.events(id); len(events) != 5 || events[3] != "evidence_noted" || events[4] != "submit_unknown" {
					t.Errorf("%s: history is %q", id, events)
				}
			}
			s.sound(ids...)
			if !left {
				ids = nil
			}
			remote.soldOnce(t, ids...)
		}
	})
}

// opaque is a handler that sends, or does not, and then gives an error.
type opaque struct {
	base string // "": nothing is sent
	said map[string]error
}

func (o opaque) Submit(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
	if o.base != "" {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, o.base, strings.NewReader(string(s.Request)))
		if err != nil {
			return worker.Accepted{}, err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}
	return worker.Accepted{}, o.said[s.OperationID]
}

func (opaque) Observe(context.Context, worker.Observation) (worker.Status, error) {
	return worker.Status{}, errors.New("nothing to observe")
}

// B04: a remote that takes the request and answers 502, 503 or 504 gets one, and the operation is uncertain with the
// answer kept: the first true error is not hidden behind a replay's (rule: every 5xx is unclear). That a handler which
// does send again is found out is worker/workertest.
func TestB04AGatewaysErrorAfterTheRequestIsUncertain(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		codes := map[string]int{"502": 502, "503": 503, "504": 504}
		remote := newShop(t, &shop{sell: func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Retry-After", "0")
			http.Error(w, "no answer from "+id, codes[id])
		}})
		for id := range codes {
			s.prepare(order(id))
		}
		stop := s.working(s.machine, fromFile(t, remote.URL)).start()
		s.await(transitions.Uncertain, "502", "503", "504")
		stop()
		s.ends(transitions.Uncertain, "unclear_answer", "502", "503", "504")
		remote.soldOnce(t, "502", "503", "504")
		for id := range codes {
			s.keptAnswer(id, "no answer from "+id+"\n")
		}
	})
}

// keptAnswer checks that the last evidence of an operation is an answer's body.
func (s *stand) keptAnswer(id, body string) {
	s.Helper()
	kept, err := s.store.Evidence(context.Background(), id)
	if err != nil || len(kept) == 0 {
		s.Fatalf("the evidence of %s is %v, %v", id, kept, err)
	}
	last := kept[len(kept)-1]
	if diff := cmp.Diff([]string{machine.EvidenceAnswer, body}, []string{last.Kind, string(last.Detail)}); diff != "" {
		s.Errorf("the evidence of %s (-want +got):\n%s", id, diff)
	}
}

// B14: a 500 to a request that was taken is uncertain. Once a person has it sent again, the remote's 409 is neither
// taken for success nor sent a third time: it is with a reviewer, with the body (rule: 409 and 5xx are unclear).
func TestB14AConflictAfterAServerErrorIsForAReviewer(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		first := make(chan struct{}, 1)
		first <- struct{}{}
		remote := newShop(t, &shop{sell: func(w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			select {
			case <-first:
				w.WriteHeader(http.StatusInternalServerError)
				_, _ = io.WriteString(w, `{"error":"boom"}`)
			default:
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, `{"error":"exists","id":"job-`+id+`"}`)
			}
		}})
		s.prepare(order("a"))
		w := s.working(s.machine, fromFile(t, remote.URL))
		w.config.Brake = -1
		w.start()
		s.await(transitions.Uncertain, "a")
		s.keptAnswer("a", `{"error":"boom"}`)
		if _, err := s.machine.ReviewNotCreated(t.Context(), "a", s.decided("a"), true); err != nil {
			t.Fatal(err)
		}
		await(t, "it was sent again", func() bool { return s.op("a").Attempts == 2 && s.op("a").Phase == transitions.Uncertain })
		s.keptAnswer("a", `{"error":"exists","id":"job-a"}`)
		ids, all := orders(5)
		s.prepare(all...)
		s.await(transitions.Uncertain, ids...) // and nothing has sent the first one a third time
		s.ends(transitions.Uncertain, "unclear_answer", "a")
		if diff := cmp.Diff(2, remote.sold("a")); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if id := s.op("a").RemoteJobID; id != "" {
			t.Errorf("the id %q was taken from a 409", id)
		}
	})
}

// decided is a reviewer's decision about what is there now.
func (s *stand) decided(id string) machine.Decision {
	s.Helper()
	return machine.Decision{Seen: s.op(id).Seen(), Reviewer: "ada", Reason: "looked at the remote"}
}

// B17: the caller's key names the operation, not a hash of what is sent: the same key with a new timestamp in the
// payload is a conflict that shows the first, the same key and payload is the first, and one row is sent once, as it
// was first. Two keys with one payload are two (guard new of prepare; rule: a request is compared byte for byte).
func TestB17TheCallersKeyNamesTheOperationAndNotItsPayload(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		var jobs atomic.Int64
		remote := newShop(t, &shop{sell: func(w http.ResponseWriter, _ *http.Request, _ string) { accept(w, fmt.Sprint(jobs.Add(1))) }})
		invoice := func(key, at string) machine.Request {
			r := order(key)
			r.Request = []byte(`{"op":"` + at + `"}`)
			return r
		}
		ctx := t.Context()
		s.prepare(invoice("invoice-1", "noon"))
		again, err := s.machine.Prepare(ctx, invoice("invoice-1", "noon"))
		if err != nil || again.Created {
			t.Errorf("the same again: created %t, %v", again.Created, err)
		}
		_, err = s.machine.Prepare(ctx, invoice("invoice-1", "one o'clock"))
		var conflict *machine.ConflictError
		if !errors.As(err, &conflict) {
			t.Fatalf("another payload under the same key says %v, want a conflict", err)
		}
		got := []string{strings.Join(conflict.Differs, " "), string(conflict.Existing.Request)}
		if diff := cmp.Diff([]string{"request", `{"op":"noon"}`}, got); diff != "" {
			t.Errorf("the conflict (-want +got):\n%s", diff)
		}
		s.prepare(invoice("invoice-2", "noon"))
		stop := s.working(s.machine, fromFile(t, remote.URL)).start()
		s.await(transitions.Terminal, "invoice-1", "invoice-2")
		stop()
		ops, err := s.machine.List(ctx, machine.Query{})
		if diff := cmp.Diff(2, len(ops)); diff != "" || err != nil {
			t.Errorf("operations (-want +got):\n%s%v", diff, err)
		}
		if diff := cmp.Diff([]int{2, 0}, []int{remote.sold("noon"), remote.sold("one o'clock")}); diff != "" {
			t.Errorf("what was sent (-want +got):\n%s", diff)
		}
	})
}
