package reports_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/webhook"
	"github.com/fencerow/fencerow/worker"
)

const hookSecret = "what both sides know"

// hook is a server that receives the calls of the remote, as fencerow work --webhook does.
type hook struct {
	testing.TB
	*httptest.Server
}

func (s *stand) hook(m *machine.Machine, change ...func(*webhook.Config)) *hook {
	s.Helper()
	verify, err := webhook.HMAC{Header: "X-Signature", Secrets: [][]byte{[]byte(hookSecret)}}.Verifier()
	if err != nil {
		s.Fatal(err)
	}
	config := webhook.Config{
		Machine: m, Who: video, Verify: verify, Log: quiet(), Timeout: 30 * time.Second,
		Reader: fromFile(s, "https://api.example.com", "kind: video", "kind: video\nwebhook: {id: /id, status: /status}",
			"succeeded: [succeeded]", "succeeded: [succeeded], failed: [failed], canceled: [canceled]"),
	}
	for _, c := range change {
		c(&config)
	}
	handler, err := webhook.New(config)
	if err != nil {
		s.Fatal(err)
	}
	h := &hook{s, httptest.NewServer(handler)}
	s.Cleanup(h.Close)
	return h
}

// call tells what a job has come to, and gives the answer's code.
func (h *hook) call(job, status string) int {
	h.Helper()
	body := fmt.Sprintf(`{"id":%q,"status":%q}`, job, status)
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write([]byte(body))
	r, err := http.NewRequest(http.MethodPost, h.URL, strings.NewReader(body))
	if err != nil {
		h.Error(err)
		return 0
	}
	r.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	resp, err := h.Client().Do(r)
	if err != nil {
		h.Error(err)
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// counted counts the deliveries of a handler.
type counted struct {
	*remote
	mu        sync.Mutex
	delivered int
}

func (c *counted) Deliver(ctx context.Context, d worker.Delivery) (worker.Delivered, error) {
	c.mu.Lock()
	c.delivered++
	c.mu.Unlock()
	return c.remote.Deliver(ctx, d)
}

func (s *stand) count1(id, event string) (n int) {
	s.Helper()
	for _, e := range s.events(id) {
		if e == event {
			n++
		}
	}
	return n
}

// B59: fifty equal calls at once end the operation once, and start one delivery; each is answered as done, and so is the
// fifty-first (rules: the guard phase of notified_succeeded on the locked row, C2).
func TestB59FiftyEqualCallsAtOnceEndItOnce(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		s.at(transitions.Observing, requestOf("a")) // somebody observes it, and is fenced out
		h := s.hook(s.machine)
		codes := make(chan int, 50)
		var calls sync.WaitGroup
		begin := make(chan struct{})
		for range cap(codes) {
			calls.Go(func() {
				<-begin
				codes <- h.call("job-a", "succeeded")
			})
		}
		close(begin)
		calls.Wait()
		close(codes)
		for code := range codes {
			if code != http.StatusNoContent {
				t.Errorf("a call is answered %d, want 204", code)
			}
		}
		r := &counted{remote: &remote{}}
		s.working(s.machine, r).start()
		await(t, "the result is delivered", func() bool { return s.op("a").Delivery == "delivered" })
		if code := h.call("job-a", "succeeded"); code != http.StatusNoContent {
			t.Errorf("the last call is answered %d, want 204", code)
		}
		op := s.op("a")
		got := []any{s.count1("a", "notified_succeeded"), s.count1("a", "deliver_claim"), r.delivered, r.looked("a"), op.OutcomeContradicted, op.EvidenceSeq}
		if diff := cmp.Diff([]any{1, 1, 1, 0, false, int64(0)}, got); diff != "" {
			t.Errorf("ends, delivery claims, deliveries, looks, mark, evidence (-want +got):\n%s", diff)
		}
		s.sound("a")
	})
}

// B59, before anybody holds the id: equal calls are kept, and end the operation once when the id lands.
func TestB59EqualCallsBeforeTheIDEndItOnce(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		l := s.at(transitions.Submitting, requestOf("a"))
		h := s.hook(s.machine)
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() {
				if code := h.call("job-a", "succeeded"); code != http.StatusAccepted && code != http.StatusNoContent {
					t.Errorf("a call is answered %d, want 202 or 204", code)
				}
			})
		}
		calls.Wait()
		if _, err := s.machine.Accepted(t.Context(), l, "job-a", nil, 0); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := s.machine.Match(t.Context(), video, "job-a"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.reconciler(10).Once(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		op := s.op("a")
		if diff := cmp.Diff([]any{1, "succeeded", false}, []any{s.count1("a", "notified_succeeded"), op.Outcome, op.OutcomeContradicted}); diff != "" {
			t.Errorf("ends, outcome, mark (-want +got):\n%s", diff)
		}
		s.sound("a")
	})
}

// B58: the remote calls back with the id before its answer to the request is heard. The call is kept, and ends the
// operation as soon as the answer is stored, without a look at the remote (rules: evidence of no operation; whoever
// stores an id looks for it).
func TestB58ACallBeforeTheAnswerIsKeptAndTaken(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		h := s.hook(s.machine)
		r := &remote{}
		r.submit = func(_ context.Context, id string) (string, error) {
			if code := h.call("job-"+id, "succeeded"); code != http.StatusAccepted {
				t.Errorf("the early call is answered %d, want 202", code)
			}
			return "job-" + id, nil
		}
		s.prepare(requestOf("a"))
		w := s.working(s.machine, r)
		w.config.Every, w.config.MaxEvery = time.Hour, time.Hour
		w.start()
		await(t, "the result is delivered", func() bool { return s.op("a").Delivery == "delivered" })
		if r.sent("a") != 1 || r.looked("a") != 0 {
			t.Errorf("sent %d times, looked at %d times; want 1 and 0", r.sent("a"), r.looked("a"))
		}
		s.sound("a")
	})
}

// B58, the process that stores the id dies before it looks for the call: the reconciler finds it, and any number of them
// fire it once (D1).
func TestB58ACallThatNobodyMatchedIsMatchedByTheReconciler(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		l := s.at(transitions.Submitting, requestOf("a"))
		if code := s.hook(s.machine).call("job-a", "failed"); code != http.StatusAccepted {
			t.Errorf("the early call is answered %d, want 202", code)
		}
		if _, err := s.machine.Accepted(t.Context(), l, "job-a", nil, time.Hour); err != nil {
			t.Fatal(err)
		}
		var sweeps sync.WaitGroup
		for range 5 {
			r := s.reconciler(10)
			sweeps.Go(func() {
				if _, err := r.Once(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		sweeps.Wait()
		op := s.op("a")
		if diff := cmp.Diff([]any{1, "failed", false, int64(0)}, []any{s.count1("a", "notified_failed"), op.Outcome, op.OutcomeContradicted, op.EvidenceSeq}); diff != "" {
			t.Errorf("ends, outcome, mark, evidence (-want +got):\n%s", diff)
		}
		s.sound("a")
	})
}

// B58, the crash: the process dies with the answer, so that the id is never stored. The operation becomes uncertain, the
// job is a candidate for its reviewer, and attached it ends as the call said.
func TestB58AJobThatWasOnlyToldOfIsACandidate(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		ctx, h := t.Context(), s.hook(s.machine)
		h.call("job-of-somebody", "succeeded") // before it was sent: not its job
		time.Sleep(20 * time.Millisecond)      // sleep: the databases' clocks tell milliseconds apart
		s.at(transitions.Submitting, requestOf("a"))
		h.call("job-a", "running")
		h.call("job-a", "succeeded")
		s.expire("a")
		if _, err := s.reconciler(10).Once(ctx); err != nil {
			t.Fatal(err)
		}
		s.ends(transitions.Uncertain, "no_response", "a")
		candidates := func() (ids []string) {
			op := s.op("a")
			found, err := s.machine.Candidates(ctx, machine.Who{Provider: op.Provider, Account: op.Account}, op.SubmittedAt, 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range found {
				ids = append(ids, c.RemoteJobID+" "+c.Said)
			}
			return ids
		}
		if diff := cmp.Diff([]string{"job-a succeeded"}, candidates()); diff != "" {
			t.Errorf("candidates (-want +got):\n%s", diff)
		}
		if _, err := s.machine.ReviewAttach(ctx, "a", "job-a", s.decided("a")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.reconciler(10).Once(ctx); err != nil {
			t.Fatal(err)
		}
		if op := s.op("a"); op.Outcome != "succeeded" || len(candidates()) != 0 {
			t.Errorf("the operation is %s %s, candidates %v; want it succeeded, and none", op.Phase, op.Outcome, candidates())
		}
		s.sound("a")
	})
}

// permutations calls each with every order of the numbers below n.
func permutations(n int, each func([]int)) {
	var build func(order, left []int)
	build = func(order, left []int) {
		if len(left) == 0 {
			each(order)
			return
		}
		for i := range left {
			rest := append(append([]int{}, left[:i]...), left[i+1:]...)
			build(append(append([]int{}, order...), left[i]), rest)
		}
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	build(nil, all)
}

// B56: a success and pending words, told by calls, by a poller that has long held its lease and by one that comes along,
// lead to the same row in every order: the success stays, and the late word changes nothing (I3).
func TestB56NoOrderOfSourcesTakesAnEndBack(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s *stand) {
		ctx, h := t.Context(), s.hook(s.machine)
		n := 0
		permutations(4, func(order []int) {
			n++
			id := fmt.Sprintf("op-%d", n)
			old := s.at(transitions.Observing, requestOf(id))
			steps := []func(){
				func() { h.call("job-"+id, "running") },
				func() { h.call("job-"+id, "succeeded") },
				func() { _, _ = s.machine.Pending(ctx, old, []byte("running"), 0, "") },
				func() {
					if l, err := s.machine.Claim(ctx, transitions.Observe, id, video); err == nil {
						_, _ = s.machine.Observed(ctx, l, "succeeded", fmt.Appendf(nil, `{"id":"job-%s","status":"succeeded"}`, id), "")
					}
				},
			}
			for _, i := range order {
				steps[i]()
			}
			op := s.op(id)
			got := []any{op.Phase, op.Outcome, op.NextAction, string(op.Snapshot), op.OutcomeContradicted, op.EvidenceSeq,
				s.count1(id, "notified_succeeded") + s.count1(id, "observe_succeeded"), op.LeaseOwner}
			want := []any{transitions.Terminal, "succeeded", transitions.Deliver, fmt.Sprintf(`{"id":"job-%s","status":"succeeded"}`, id), false, int64(0), 1, ""}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("in the order %v (-want +got):\n%s", order, diff)
			}
			s.sound(id)
		})
	})
}

// B56, with a contradiction: of two ends the first stays, the other is evidence, once, and marks the operation for a
// reviewer, whoever tells them and however often.
func TestB56OfTwoEndsTheFirstStaysAndTheOtherIsEvidence(t *testing.T) {
	t.Parallel()
	words := []string{"running", "succeeded", "failed", "failed"}
	onStores(t, func(t *testing.T, s *stand) {
		h := s.hook(s.machine)
		n := 0
		permutations(len(words), func(order []int) {
			n++
			id := fmt.Sprintf("op-%d", n)
			s.at(transitions.Observing, requestOf(id))
			first := ""
			for _, i := range order {
				if words[i] != "running" && first == "" {
					first = words[i]
				}
				h.call("job-"+id, words[i])
			}
			op := s.op(id)
			if diff := cmp.Diff([]any{first, true, int64(1)}, []any{op.Outcome, op.OutcomeContradicted, op.EvidenceSeq}); diff != "" {
				t.Errorf("outcome, mark and evidence in the order %v (-want +got):\n%s", order, diff)
			}
			s.sound(id)
		})
	})
}

// A call that finds the database away is answered 503, and lands when it comes again; one whose reply is lost is
// resolved at once, or found done when it comes again. Nothing that is answered 2xx is lost.
func TestACallIsNotAnsweredBeforeItIsStored(t *testing.T) {
	t.Parallel()
	s := onPostgres(t)
	proxy, through := pgproxy.New(t, s.url)
	store, err := pgstore.Open(t.Context(), through, pgstore.Options{LockTimeout: 2 * time.Second, StatementTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	m, err := machine.New(store, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	h := s.hook(m, func(c *webhook.Config) { c.Timeout = 3 * time.Second })
	away := func(string) pgproxy.Fate { return pgproxy.CutRequest }
	lost := func(part string, fate pgproxy.Fate) func(string) pgproxy.Fate {
		return func(sql string) pgproxy.Fate {
			if strings.Contains(sql, part) {
				return fate
			}
			return pgproxy.Pass
		}
	}
	for name, c := range map[string]struct {
		weather func(string) pgproxy.Fate
		known   bool // the id is stored before the calls
		want    int  // the first call's answer
	}{
		"the database is away":                    {away, true, 503},
		"the database is away, and nobody has it": {away, false, 503},
		"the event's reply is lost each time":     {lost("notified_succeeded", pgproxy.CutReply), true, 204},
		"the event's reply never comes":           {lost("notified_succeeded", pgproxy.SwallowReply), true, 503},
		"the event never arrives":                 {lost("notified_succeeded", pgproxy.CutRequest), true, 503},
		"the evidence's reply is lost each time":  {lost("INSERT INTO", pgproxy.CutReply), false, 204},
		"the evidence never arrives":              {lost("INSERT INTO", pgproxy.CutRequest), false, 503},
		"who holds the id cannot be asked":        {lost("o.remote_job_id = $3", pgproxy.CutRequest), false, 503},
		"what is known of the id cannot be asked": {lost("v.remote_job_id = $3", pgproxy.CutRequest), false, 503},
	} {
		id := strings.ReplaceAll(name, " ", "-")
		l := s.at(transitions.Submitting, requestOf(id))
		if c.known {
			if _, err := s.machine.Accepted(t.Context(), l, "job-"+id, nil, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		proxy.Choose(c.weather)
		if code := h.call("job-"+id, "succeeded"); code != c.want {
			t.Errorf("%s: the first call is answered %d, want %d", name, code, c.want)
		}
		proxy.Heal()
		proxy.CutAll()
		if code := h.call("job-"+id, "succeeded"); code != 204 && code != 202 {
			t.Errorf("%s: the second call is answered %d, want 204 or 202", name, code)
		}
		if !c.known {
			if _, err := s.machine.Accepted(t.Context(), l, "job-"+id, nil, time.Hour); err != nil {
				t.Fatal(err)
			}
			if _, err := s.machine.Match(t.Context(), video, "job-"+id); err != nil {
				t.Fatal(err)
			}
		}
		if op := s.op(id); op.Outcome != "succeeded" || s.count1(id, "notified_succeeded") != 1 {
			t.Errorf("%s: the operation is %s %s, ended %d times; want it succeeded, once", name, op.Phase, op.Outcome, s.count1(id, "notified_succeeded"))
		}
	}
}

// The same of a file that another process holds locked.
func TestACallThatFindsTheFileLockedComesAgain(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	s.at(transitions.Observing, requestOf("a"))
	_, m := s.open(sqlitestore.Options{BusyTimeout: 200 * time.Millisecond}, machine.Config{})
	h := s.hook(m)
	letGo := s.locked()
	for _, job := range []string{"job-a", "job-nobodys"} {
		if code := h.call(job, "succeeded"); code != http.StatusServiceUnavailable {
			t.Errorf("the call about %s is answered %d, want 503", job, code)
		}
	}
	letGo()
	if code := h.call("job-a", "succeeded"); code != http.StatusNoContent || s.op("a").Outcome != "succeeded" {
		t.Errorf("the second call is answered %d, and the operation is %s; want 204 and an end", code, s.op("a").Phase)
	}
	if code := h.call("job-nobodys", "succeeded"); code != http.StatusAccepted {
		t.Errorf("the second call is answered %d, want 202", code)
	}
}
