package worker_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/worker"
)

// counter counts what is sent.
type counter struct{ n, claims, joined atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	c.n.Add(1)
	if strings.Contains(d.SQL, "picked") {
		c.claims.Add(1)
	}
	if strings.Contains(d.SQL, "then_failed") && strings.Contains(d.SQL, "'submit_begin'") {
		c.joined.Add(1)
	}
	return ctx
}
func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// investigating is a handler that does everything.
type investigating struct{ *remote }

func (investigating) Investigate(context.Context, worker.Investigation) (worker.Findings, error) {
	return worker.Findings{}, nil
}

func pgBench(t *testing.T, c *counter) *machine.Machine {
	t.Helper()
	return pgBenchOn(t, pgtest.URL(t), c)
}

func pgBenchOn(t *testing.T, url string, c *counter) *machine.Machine {
	t.Helper()
	s, err := pgstore.Open(t.Context(), url, pgstore.Options{WakeUps: true, GroupCommit: true, Tracer: c, MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := machine.New(s, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func works(t *testing.T, cfg worker.Config) *worker.Worker {
	t.Helper()
	cfg.Who, cfg.Log = machine.Who{Provider: "video"}, slog.New(slog.DiscardHandler)
	w, err := worker.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return w
}

// An idle process on PostgreSQL that hears wake-ups sends less than a statement a second, all that it does counted.
func TestAnIdleWorkerOnPostgreSQLSendsLessThanAStatementASecond(t *testing.T) {
	t.Parallel()
	c := &counter{}
	m := pgBench(t, c)
	// Work that is not for now, work of others, work that nobody here knows how to do.
	for id, r := range map[string]machine.Request{
		"later": {Kind: "video", NotBefore: time.Now().Add(time.Hour)}, "other": {Kind: "print"}, "strange": {Kind: "audio", Provider: "video"},
	} {
		r.OperationID, r.Request = id, []byte("{}")
		if _, err := m.Prepare(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	works(t, worker.Config{Machine: m, Handlers: map[string]worker.Handler{"video": investigating{&remote{}}}})
	time.Sleep(25 * time.Second) // sleep: until its pauses are long
	before := c.n.Load()
	time.Sleep(20 * time.Second) // sleep: what is measured
	if n := c.n.Load() - before; n >= 20 {
		t.Errorf("%d statements in 20 s", n)
	} else {
		t.Logf("%d statements in 20 s", n)
	}
}

// Three idle processes hear the name of each operation. One of them takes it and begins it in one statement and sends it;
// the others are denied, and nothing is sent twice.
func TestOfThreeProcessesThatHearANameOneSends(t *testing.T) {
	c, sent := &counter{}, make(chan string, 1000)
	r := &remote{submit: func(_ context.Context, s worker.Submission) (worker.Accepted, error) {
		sent <- s.OperationID
		return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
	}}
	url := pgtest.URL(t)
	m := pgBenchOn(t, url, &counter{})
	for range 3 {
		works(t, worker.Config{Machine: pgBenchOn(t, url, c), Handlers: map[string]worker.Handler{"video": r}, Every: time.Hour, MaxEvery: time.Hour})
	}
	const operations = 60
	for n := range operations {
		if _, err := m.Prepare(t.Context(), machine.Request{OperationID: fmt.Sprint("op-", n), Kind: "video", Request: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		select {
		case <-sent:
		case <-time.After(time.Minute):
			t.Fatalf("op-%d was not sent", n)
		}
	}
	for n := range operations {
		if got := r.count(fmt.Sprint("op-", n)); got != 1 {
			t.Errorf("op-%d was sent %d times", n, got)
		}
	}
	if n := c.joined.Load(); n < operations/2 {
		t.Errorf("of %d operations, by name %d statements were sent; most should have been taken so", operations, n)
	}
	t.Logf("%d operations, %d statements that take one by its name, %d claims of many", operations, c.joined.Load(), c.claims.Load())
}

// However fast work comes, no more is held at once than there are slots for.
func TestClaimsByDemandNeverExceedTheSlots(t *testing.T) {
	c := &counter{}
	m := pgBench(t, c)
	const operations, slots = 120, 5
	var now, most, sent atomic.Int64
	all := make(chan struct{})
	r := &remote{submit: func(_ context.Context, s worker.Submission) (worker.Accepted, error) {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(20 * time.Millisecond) // sleep: the remote
		now.Add(-1)
		if sent.Add(1) == operations {
			close(all)
		}
		return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
	}}
	var held atomic.Int64
	works(t, worker.Config{Machine: m, Slots: slots, Handlers: map[string]worker.Handler{"video": r}, Failpoint: func(step string) {
		if step == worker.StepClaimed && held.Add(1) > slots {
			t.Errorf("%d are held", held.Load())
		}
		if step == worker.StepStored {
			held.Add(-1)
		}
	}})
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			for n := range operations / 4 {
				if _, err := m.Prepare(t.Context(), machine.Request{OperationID: fmt.Sprintf("%d-%d", i, n), Kind: "video", Request: []byte("{}")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	select {
	case <-all:
	case <-time.After(time.Minute):
		t.Fatalf("%d were sent", sent.Load())
	}
	if n := most.Load(); n > slots {
		t.Errorf("%d were under way at once, and there are %d slots", n, slots)
	}
	for i := range 4 {
		for n := range operations / 4 {
			if got := r.count(fmt.Sprintf("%d-%d", i, n)); got != 1 {
				t.Errorf("%d-%d was sent %d times", i, n, got)
			}
		}
	}
	t.Logf("%d statements, of which %d claims", c.n.Load(), c.claims.Load())
}

// A brake that has closed tries again when it said that it would, also in a process that hears wake-ups and so asks the
// database little while there is nothing to do.
func TestTheBrakeTriesAgainWhenItSaidAlsoWhereWakeUpsAreHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []time.Time
		r := &remote{submit: func(context.Context, worker.Submission) (worker.Accepted, error) {
			sent = append(sent, time.Now())
			if len(sent) <= 4 {
				return worker.Accepted{}, errors.New("502") // nobody knows
			}
			return worker.Accepted{RemoteJobID: fmt.Sprint("job-", len(sent))}, nil
		}}
		b := newBench(t, r)
		s := &wakeable{Store: b.m.Store(), cut: make(chan struct{})}
		var err error
		if b.m, err = machine.New(s, machine.Config{}); err != nil {
			t.Fatal(err)
		}
		b.config.Machine, b.config.Brake, b.config.Slots, b.config.Log = b.m, 2, 1, slog.New(slog.DiscardHandler)
		b.prepare("a", "b", "c", "d", "e", "f")
		b.run(3 * time.Minute)
		want := []time.Duration{0, 0, 5 * time.Second, 10 * time.Second, 20 * time.Second}
		for i := 2; i < 5; i++ {
			if got := sent[i].Sub(sent[i-1]); got > want[i]+2*time.Second {
				t.Errorf("try %d came after %s, want %s", i-1, got, want[i])
			}
		}
	})
}

// One connection is enough for a worker with everything switched on: nothing waits for what it holds itself.
func TestAWorkerWithEverythingSwitchedOnNeedsOneConnection(t *testing.T) {
	s, err := pgstore.Open(t.Context(), pgtest.URL(t), pgstore.Options{WakeUps: true, GroupCommit: true, Prepare: true, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := machine.New(s, machine.Config{TTL: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	works(t, worker.Config{
		Machine: m, Slots: 8, SubmitTimeout: time.Second, Every: 10 * time.Millisecond,
		Handlers: map[string]worker.Handler{"video": investigating{&remote{}}},
	})
	const operations = 30
	var callers sync.WaitGroup
	for i := range operations {
		callers.Go(func() {
			r := machine.Request{OperationID: fmt.Sprint("op-", i), Kind: "video", Request: []byte("{}"), WantsDelivery: true}
			if _, err := m.Prepare(t.Context(), r); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	for late, i := time.Now().Add(time.Minute), 0; i < operations; {
		op, err := m.Get(t.Context(), fmt.Sprint("op-", i))
		if err == nil && op.Finished() {
			i++
			continue
		}
		if time.Now().After(late) {
			t.Fatalf("op-%d is %s, %v", i, op.Phase, err)
		}
		time.Sleep(50 * time.Millisecond) // sleep: others need the one connection
	}
}
