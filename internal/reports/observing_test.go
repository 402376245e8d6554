package reports_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/transitions"
)

// says is a remote that answers the looks at a job in turn, and with the last answer for ever.
func says(code int, answers ...string) func(http.ResponseWriter, *http.Request) {
	var mu sync.Mutex
	seen := map[string]int{}
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n := min(seen[r.URL.Path], len(answers)-1)
		seen[r.URL.Path]++
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if answers[n] == "" {
			http.Error(w, `{"error":"no such job"}`, http.StatusNotFound)
			return
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answers[n])
	}
}

// onlooker is a handler whose provider file lists the words of a test.
func onlooker(t testing.TB, base, words string) *httpjob.Handler {
	t.Helper()
	return fromFile(t, base, `pending: [running], succeeded: [succeeded]`, words)
}

// details are what history says of the looks at an operation that ended nothing.
func (s *stand) details(id string) (all []string) {
	s.Helper()
	for _, e := range s.history(id) {
		if e.Event == "observe_pending" {
			all = append(all, e.Detail)
		}
	}
	return all
}

// B60: a remote that takes the request and rejects it later, inside a 200 whose word is that of every end, has failed:
// the operation is terminal with the remote's own words. One whose words the file does not know is not asked for ever:
// its deadline brings it to a reviewer (rules: failed_if decides a success; observe_overdue, C3).
func TestB60AFailureInsideAGoodAnswerIsAFailure(t *testing.T) {
	t.Parallel()
	const words = `pending: [processing], succeeded: [done], failed: [rejected], failed_if: /data/code, error: /data/message`
	const rejected = `{"status":"done","data":{"code":400,"message":"the picture shows a person"}}`
	onStores(t, func(t *testing.T, s *stand) {
		busy := `{"status":"processing"}`
		mapped := newShop(t, &shop{tell: says(http.StatusOK, busy, busy, busy, rejected)})
		s.prepare(order("mapped"))
		stop := s.working(s.machine, onlooker(t, mapped.URL, words)).start()
		s.await(transitions.Terminal, "mapped")
		stop()
		op := s.op("mapped")
		got := []string{op.Outcome, s.last("mapped").Reason, string(op.Snapshot)}
		if diff := cmp.Diff([]string{"failed", "the picture shows a person", rejected}, got); diff != "" {
			t.Errorf("outcome, reason and snapshot (-want +got):\n%s", diff)
		}
		mapped.soldOnce(t, "mapped")

		unmapped := newShop(t, &shop{tell: says(http.StatusOK, busy, `{"code":400,"message":"the picture shows a person"}`)})
		late := order("unmapped")
		late.ObserveDeadline = time.Hour
		s.prepare(late)
		s.sweeping(s.machine, 20*time.Millisecond)
		s.working(s.machine, onlooker(t, unmapped.URL, words)).start()
		await(t, "the rejection was read", func() bool { return strings.Contains(string(s.op("unmapped").Snapshot), "person") })
		s.is(transitions.Observing, "", "unmapped")
		s.fromNow("unmapped", "observe_deadline", -time.Second)
		s.await(transitions.Uncertain, "unmapped")
		s.is(transitions.Uncertain, "overdue", "unmapped")
		op = s.op("unmapped")
		if diff := cmp.Diff([]string{transitions.Review, "job-unmapped"}, []string{op.NextAction, op.RemoteJobID}); diff != "" {
			t.Errorf("next action and remote job (-want +got):\n%s", diff)
		}
		if !strings.Contains(string(op.Snapshot), "the picture shows a person") {
			t.Errorf("the reviewer is shown %s", op.Snapshot)
		}
		unmapped.soldOnce(t, "unmapped")
	})
}

// B62: a status that stands in no list is no end, whatever it looks like: not started, a listed word in another case or
// with a space, nothing, a number. It moves nothing, the raw value is kept, and the job ends when a listed word comes
// (rule: an unlisted word is pending and told).
func TestB62AnUnknownStatusIsKeptAndMovesNothing(t *testing.T) {
	t.Parallel()
	raw := []string{`"NOT_START"`, `"Queued "`, `"COMPLETED"`, `"completed "`, `null`, `17`, `["completed"]`, `""`}
	answers := []string{}
	for _, word := range raw {
		answers = append(answers, fmt.Sprintf(`{"status":%s}`, word))
	}
	answers = append(answers, `{"state":"completed"}`, `{"status":"completed"}`)
	onStores(t, func(t *testing.T, s *stand) {
		remote := newShop(t, &shop{tell: says(http.StatusOK, answers...)})
		s.prepare(order("a"))
		w := s.working(s.machine, onlooker(t, remote.URL, `pending: [queued, running], succeeded: [completed]`))
		w.config.Slots = 1
		w.start()
		s.await(transitions.Terminal, "a")
		s.ends(transitions.Terminal, "", "a")
		if diff := cmp.Diff("succeeded", s.op("a").Outcome); diff != "" {
			t.Errorf("outcome (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(len(answers), len(remote.told())); diff != "" {
			t.Errorf("looks at the job (-want +got):\n%s", diff)
		}
		details := s.details("a")
		if diff := cmp.Diff(len(answers)-1, len(details)); diff != "" {
			t.Fatalf("looks on record (-want +got):\n%s%q", diff, details)
		}
		for i, word := range raw {
			if !strings.Contains(details[i], strings.Trim(word, `"`)) {
				t.Errorf("the look that found %s says %q", word, details[i])
			}
		}
		remote.soldOnce(t, "a")
	})
}

// B63: a remote that does not know a new job yet is asked again within its grace, and the job goes on as if nothing had
// been. One that never knows it is with a reviewer after the grace: neither failed nor ordered anew (guard
// not_found_grace_over of observe_lost; that it is not ordered anew also after the job was known is B11).
func TestB63AJobThatIsNotKnownYetIsAskedForAgain(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		soon := newShop(t, &shop{tell: says(http.StatusOK, "", "", "", "", "", `{"status":"running"}`, `{"status":"succeeded"}`)})
		s.prepare(order("soon"))
		stop := s.working(s.machine, fromFile(t, soon.URL)).start()
		s.await(transitions.Terminal, "soon")
		stop()
		s.ends(transitions.Terminal, "", "soon")
		if n := len(soon.told()); n < 7 {
			t.Errorf("the remote was asked %d times, and knows the job at the sixth", n)
		}
		never := newShop(t, &shop{tell: says(http.StatusOK, "")})
		long := order("never")
		long.NotFoundGrace = time.Hour
		s.prepare(long)
		s.sweeping(s.machine, 20*time.Millisecond)
		s.working(s.machine, fromFile(t, never.URL)).start()
		await(t, "the remote was asked several times", func() bool { return len(never.told()) > 3 })
		if phase := s.op("never").Phase; phase != transitions.Observing && phase != transitions.Submitted {
			t.Errorf("within the grace it is %s", phase)
		}
		s.fromNow("never", "not_found_until", -time.Second)
		s.await(transitions.Uncertain, "never")
		s.is(transitions.Uncertain, "remote_not_found", "never")
		soon.soldOnce(t, "soon")
		never.soldOnce(t, "never")
	})
}
