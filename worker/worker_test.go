package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
	"github.com/google/go-cmp/cmp"
)

// remote is a handler of the test's own: it counts what arrives and answers as the test says.
type remote struct {
	mu       sync.Mutex
	received map[string]int
	submit   func(ctx context.Context, s worker.Submission) (worker.Accepted, error)
	observe  func(ctx context.Context, o worker.Observation) (worker.Status, error)
	deliver  func(ctx context.Context, d worker.Delivery) (worker.Delivered, error)
}

func (r *remote) Submit(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
	r.mu.Lock()
	if r.received == nil {
		r.received = map[string]int{}
	}
	r.received[s.OperationID]++
	r.mu.Unlock()
	if r.submit != nil {
		return r.submit(ctx, s)
	}
	return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
}

func (r *remote) Observe(ctx context.Context, o worker.Observation) (worker.Status, error) {
	if r.observe != nil {
		return r.observe(ctx, o)
	}
	return worker.Status{State: worker.Succeeded, Snapshot: []byte(`{"status":"succeeded"}`)}, nil
}

func (r *remote) Deliver(ctx context.Context, d worker.Delivery) (worker.Delivered, error) {
	if r.deliver != nil {
		return r.deliver(ctx, d)
	}
	return worker.Delivered{ObjectKey: d.OperationID + ".mp4", SHA256: "00", Bytes: 1}, nil
}

func (r *remote) count(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.received[id]
}

// bench is a machine on the memory store, in a bubble of synthetic time.
type bench struct {
	*testing.T
	m      *machine.Machine
	remote *remote
	config worker.Config
}

func newBench(t *testing.T, r *remote) *bench {
	store := machine.NewMemory(transitions.MustCompile(transitions.Standard()))
	m, err := machine.New(store, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, m, r, worker.Config{
		Machine: m, Who: machine.Who{Provider: "video"}, Handlers: map[string]worker.Handler{"video": r},
	}}
}

func (b *bench) prepare(ids ...string) {
	b.Helper()
	for _, id := range ids {
		_, err := b.m.Prepare(b.Context(), machine.Request{OperationID: id, Kind: "video", Request: []byte("{}"), WantsDelivery: true})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func (b *bench) get(id string) machine.Operation {
	b.Helper()
	op, err := b.m.Get(context.Background(), id)
	if err != nil {
		b.Fatal(err)
	}
	return op
}

// run works for a while of synthetic time, then shuts down.
func (b *bench) run(d time.Duration) {
	b.Helper()
	w, err := worker.New(b.config)
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithTimeout(context.Background(), d)
	defer stop()
	if err := w.Run(ctx); err != nil {
		b.Error(err)
	}
}

func TestAnOperationIsSentOnceObservedAndDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{})
		b.prepare("a")
		b.run(time.Minute)
		op := b.get("a")
		want := []any{"terminal", "succeeded", "delivered", "a.mp4", "job-a"}
		if diff := cmp.Diff(want, []any{op.Phase, op.Outcome, op.Delivery, op.ObjectKey, op.RemoteJobID}); diff != "" {
			t.Error(diff)
		}
		if n := b.remote.count("a"); n != 1 {
			t.Errorf("the remote received %d requests, want 1", n)
		}
	})
}

// The end of a submission decides where its operation goes (contract B2; provider classes; reports B01, B03, B14).
func TestEachEndOfASubmissionLeadsToItsPhase(t *testing.T) {
	ends := []struct {
		name   string
		submit func(context.Context, worker.Submission) (worker.Accepted, error)
		phase  string
		reason string
		sent   int // requests received within a minute
	}{
		{"an error that nobody classified is uncertain", fails(errors.New("boom")), "uncertain", "unclassified", 1},
		{"a panic is uncertain", func(context.Context, worker.Submission) (worker.Accepted, error) { panic("boom") }, "uncertain", "panic", 1},
		{"an unclear answer is uncertain", fails(worker.Unknown(errors.New("500"), worker.ReasonUnclearAnswer)), "uncertain", "unclear_answer", 1},
		{"a rejected request ends", fails(worker.Rejected(errors.New("422"))), "terminal", "", 1},
		{"a refused request is prepared again and sent later", fails(worker.Refused(errors.New("429"), time.Hour)), "prepared", "", 1},
		{"a request that was not sent is sent later", fails(worker.NotSent(errors.New("connection refused"))), "prepared", "", 7},
		{"a wrapped proof is still a proof", fails(fmt.Errorf("submit: %w", worker.Refused(errors.New("429"), time.Hour))), "prepared", "", 1},
		{"an id that cannot be one is uncertain", accepts("  "), "uncertain", "missing_remote_id", 1},
		{"an id with an invisible character is uncertain", accepts("job\u200b1"), "uncertain", "missing_remote_id", 1},
		{"no id is uncertain", accepts(""), "uncertain", "missing_remote_id", 1},
	}
	for _, end := range ends {
		t.Run(end.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, &remote{submit: end.submit})
				b.prepare("a")
				b.run(time.Minute)
				op := b.get("a")
				if diff := cmp.Diff([]string{end.phase, end.reason}, []string{op.Phase, op.UncertainReason}); diff != "" {
					t.Error(diff)
				}
				if n := b.remote.count("a"); n > end.sent || n < 1 {
					t.Errorf("the remote received %d requests, want 1 to %d", n, end.sent)
				}
			})
		})
	}
}

func fails(err error) func(context.Context, worker.Submission) (worker.Accepted, error) {
	return func(context.Context, worker.Submission) (worker.Accepted, error) { return worker.Accepted{}, err }
}

func accepts(id string) func(context.Context, worker.Submission) (worker.Accepted, error) {
	return func(context.Context, worker.Submission) (worker.Accepted, error) {
		return worker.Accepted{RemoteJobID: id}, nil
	}
}

// An accepted id that another operation has is kept as evidence, and the operation is uncertain (contract B8).
func TestAnIDThatAnotherOperationHasIsKeptAsEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{submit: accepts("same")})
		b.prepare("a")
		b.run(30 * time.Second)
		b.prepare("b")
		b.run(30 * time.Second)
		op := b.get("b")
		if diff := cmp.Diff([]string{"uncertain", "remote_id_taken", ""}, []string{op.Phase, op.UncertainReason, op.RemoteJobID}); diff != "" {
			t.Error(diff)
		}
		evidence, err := b.m.Store().Evidence(t.Context(), "b")
		if err != nil || len(evidence) != 1 || evidence[0].RemoteJobID != "same" {
			t.Errorf("evidence is %+v, %v; want the id that was accepted", evidence, err)
		}
	})
}

// Shutdown gives a request in flight the drain budget, then writes it as uncertain (contract E1).
func TestShutdownDuringARequest(t *testing.T) {
	slow := func(d time.Duration) func(context.Context, worker.Submission) (worker.Accepted, error) {
		return func(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
			select {
			case <-time.After(d):
				return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
			case <-ctx.Done():
				return worker.Accepted{}, worker.Unknown(ctx.Err(), worker.ReasonNoResponse)
			}
		}
	}
	cases := []struct {
		name          string
		answers       time.Duration
		phase, reason string
	}{
		{"an answer within the drain budget is stored", 8 * time.Second, "submitted", ""},
		{"no answer within the drain budget is uncertain", 25 * time.Second, "uncertain", "shutdown"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, &remote{submit: slow(c.answers)})
				b.config.Drain = 10 * time.Second
				b.prepare("a")
				b.run(2 * time.Second)
				op := b.get("a")
				if diff := cmp.Diff([]string{c.phase, c.reason}, []string{op.Phase, op.UncertainReason}); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// A submission that takes longer than its timeout ends by its own context, well within the lease.
func TestAHandlerIsCutOffAtTheSubmitTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var took time.Duration
		b := newBench(t, &remote{submit: func(ctx context.Context, _ worker.Submission) (worker.Accepted, error) {
			began := time.Now()
			<-ctx.Done()
			took = time.Since(began)
			return worker.Accepted{}, worker.Unknown(ctx.Err(), worker.ReasonNoResponse)
		}})
		b.prepare("a")
		b.run(time.Minute)
		if took != worker.DefaultTimeout {
			t.Errorf("the handler was cut off after %s, want %s", took, worker.DefaultTimeout)
		}
		if op := b.get("a"); op.UncertainReason != "no_response" {
			t.Errorf("reason is %q, want no_response", op.UncertainReason)
		}
	})
}

// A long observation keeps its lease by renewals, under one revision (report B30), but not for ever (contract A7).
func TestALongObservationIsRenewedButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held time.Duration
		b := newBench(t, &remote{observe: func(ctx context.Context, _ worker.Observation) (worker.Status, error) {
			began := time.Now()
			<-ctx.Done()
			held = time.Since(began)
			return worker.Status{}, ctx.Err()
		}})
		b.prepare("a")
		b.run(50 * time.Second)
		if held < 45*time.Second {
			t.Errorf("the observer's context ended after %s; a look may take longer than a lease", held)
		}
		if op := b.get("a"); op.Revision != 2 {
			t.Errorf("revision is %d, want 2: one claim to send and one to observe", op.Revision)
		}
	})
}

// The brake (contract B10): equal bad ends in a row stop further sends; one that goes through lets them on again.
func TestTheBrakeStopsSendsThatKeepEndingTheSameWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := false
		var mu sync.Mutex
		r := &remote{}
		r.submit = func(_ context.Context, s worker.Submission) (worker.Accepted, error) {
			mu.Lock()
			defer mu.Unlock()
			if good {
				return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
			}
			return worker.Accepted{}, worker.Refused(errors.New("401"), 0)
		}
		b := newBench(t, r)
		b.config.Slots = 4
		var told []string
		b.config.Braked = func(reason string) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, reason)
		}
		var ids []string
		for i := range 100 {
			ids = append(ids, fmt.Sprintf("op-%03d", i))
		}
		b.prepare(ids...)
		b.run(4 * time.Second)
		sent := 0
		for _, id := range ids {
			sent += r.count(id)
		}
		if limit := worker.DefaultBrake + 4; sent > limit {
			t.Errorf("%d requests were sent before the brake held, want at most %d", sent, limit)
		}
		if len(told) != 1 || told[0] == "" {
			t.Errorf("the brake told %q, want one reason", told)
		}
		mu.Lock()
		good = true
		mu.Unlock()
		b.run(10 * time.Minute)
		for _, id := range ids {
			if op := b.get(id); op.Outcome != "succeeded" {
				t.Fatalf("%s is %s %s once the key is right, want it delivered", id, op.Phase, op.Outcome)
			}
		}
	})
}

// An outage that answers in several ways is one outage: each unknown end is a question for a reviewer (contract B10).
func TestTheBrakeCountsEveryUnknownEndAsOneKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		n := 0
		b := newBench(t, &remote{submit: func(context.Context, worker.Submission) (worker.Accepted, error) {
			mu.Lock()
			defer mu.Unlock()
			n++
			if n%3 == 0 {
				return worker.Accepted{}, errors.New("boom")
			}
			return worker.Accepted{}, worker.Unknown(errors.New("5xx"), []string{worker.ReasonUnclearAnswer, worker.ReasonNoResponse}[n%2])
		}})
		b.config.Slots = 4
		var ids []string
		for i := range 100 {
			ids = append(ids, fmt.Sprintf("op-%03d", i))
		}
		b.prepare(ids...)
		b.run(4 * time.Second)
		if limit := worker.DefaultBrake + 4; n > limit {
			t.Errorf("%d requests were sent before the brake held, want at most %d", n, limit)
		}
	})
}

// No more than MaxSends submissions are begun.
func TestMaxSendsBoundsWhatIsBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{})
		b.config.MaxSends = 3
		b.prepare("a", "b", "c", "d", "e")
		b.run(time.Minute)
		sent := 0
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			sent += b.remote.count(id)
		}
		if sent != 3 {
			t.Errorf("%d requests were sent, want 3", sent)
		}
	})
}

// A remote that does not know a new job is asked again within its grace, and is no proof of anything after it (C1, B63).
func TestAJobThatTheRemoteDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := newBench(t, &remote{observe: func(_ context.Context, o worker.Observation) (worker.Status, error) {
			if o.OperationID == "slow" && time.Since(began) > time.Minute {
				return worker.Status{State: worker.Succeeded}, nil
			}
			return worker.Status{State: worker.NotFound}, nil
		}})
		b.prepare("slow", "gone")
		b.run(5 * time.Minute)
		got := []string{b.get("slow").Outcome, b.get("gone").Phase, b.get("gone").UncertainReason}
		if diff := cmp.Diff([]string{"succeeded", "uncertain", "remote_not_found"}, got); diff != "" {
			t.Error(diff)
		}
		if n := b.remote.count("gone"); n != 1 {
			t.Errorf("the remote received %d requests, want 1: a missing job is no proof that none was created", n)
		}
	})
}

// A job that does not end within its time is uncertain, reason overdue, without waiting for a sweep (contract C3).
func TestAnOverdueJobIsGivenToAReviewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{observe: func(context.Context, worker.Observation) (worker.Status, error) {
			return worker.Status{State: worker.Pending, Snapshot: []byte("running")}, nil
		}})
		_, err := b.m.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "video", Request: []byte("{}"), ObserveDeadline: 2 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		b.run(4 * time.Minute)
		op := b.get("a")
		if diff := cmp.Diff([]string{"uncertain", "overdue", "job-a"}, []string{op.Phase, op.UncertainReason, op.RemoteJobID}); diff != "" {
			t.Error(diff)
		}
	})
}

// A delivery that fails each time ends, the outcome stays, and nothing is sent again (contract C4; report B108).
func TestADeliveryThatNeverWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		b := newBench(t, &remote{deliver: func(context.Context, worker.Delivery) (worker.Delivered, error) {
			tries++
			return worker.Delivered{}, errors.New("403")
		}})
		b.prepare("a")
		b.run(time.Hour)
		op := b.get("a")
		if diff := cmp.Diff([]string{"terminal", "succeeded", "failed"}, []string{op.Phase, op.Outcome, op.Delivery}); diff != "" {
			t.Error(diff)
		}
		if tries != 8 || b.remote.count("a") != 1 {
			t.Errorf("%d deliveries and %d requests, want 8 and 1", tries, b.remote.count("a"))
		}
	})
}

// A remote that answers every request with the same id tells of no job, and each request is paid for: the brake counts
// such answers as it counts those that never came (contract B10).
func TestTheBrakeStopsSendsWhoseAnswersNameAJobThatAnotherOperationHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, &remote{submit: accepts("same")})
		var why []string
		b.config.Braked = func(reason string) { why = append(why, reason) }
		b.config.Slots = 1
		for n := range 30 {
			b.prepare(fmt.Sprintf("op-%02d", n))
		}
		b.run(5 * time.Second)
		sent := 0
		for n := range 30 {
			sent += b.remote.count(fmt.Sprintf("op-%02d", n))
		}
		if want := 1 + worker.DefaultBrake; sent != want || len(why) == 0 {
			t.Errorf("%d requests were sent, braked for %q; want %d, one that got the id and %d that did not", sent, why, want, worker.DefaultBrake)
		}
	})
}
