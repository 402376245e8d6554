package pgstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// crossed is how long a call may take that shares a statement with one that has to wait: less than a lock wait.
const crossed = time.Second

// kept is a store whose connections are kept by somebody, so that calls gather until they are let go.
func (f *fixture) kept(o pgstore.Options) (*pgstore.Store, func()) {
	f.Helper()
	o.MaxConns = 3
	store, err := pgstore.Open(f.ctx, f.url, pgstore.AlwaysGather(o))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	var conns []*pgxpool.Conn
	for range o.MaxConns {
		conn, err := pgstore.Pool(store).Acquire(f.ctx)
		if err != nil {
			f.Fatal(err)
		}
		conns = append(conns, conn)
	}
	return store, func() {
		for _, c := range conns {
			c.Release()
		}
	}
}

// fires fires an event and tells when it was answered.
func (f *fixture) fires(s machine.Store, event string, p transitions.Params) chan told {
	answered := make(chan told, 1)
	go func() {
		answer, err := s.Apply(f.ctx, event, p)
		answered <- told{answer, err}
	}()
	return answered
}

// soon gives what was told, and fails the test where that takes longer than it may.
func (f *fixture) soon(what string, answered chan told) string {
	f.Helper()
	began := time.Now()
	got := (<-answered).verdict()
	if took := time.Since(began); took > crossed {
		f.Errorf("%s was told after %s", what, took.Round(time.Millisecond))
	}
	return got
}

// A prepare whose id somebody creates in a transaction that is not over waits for its end; those that came together with
// it by chance do not.
func TestAPrepareThatHasToWaitHoldsUpNoneThatTravelWithIt(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(f.ctx) }()
	if _, err := f.InTx(tx).Apply(f.ctx, "prepare", request("x")); err != nil {
		t.Fatal(err)
	}
	s, let := f.kept(pgstore.Options{LockTimeout: 4 * time.Second})
	x, y := f.fires(s, "prepare", request("x")), f.fires(s, "prepare", request("y"))
	f.until("both have gathered", func() bool { return s.Waiting("prepare") == 2 })
	let()
	if got := f.soon("y", y); got != "applied" {
		t.Errorf("y: %s", got)
	}
	if err := tx.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	if got := (<-x).verdict(); got != "denied: new" {
		t.Errorf("x: %s", got)
	}
}

// C5: a caller's transaction that prepares two operations is not ended by a deadlock because others prepare them too.
func TestACallersTransactionMeetsNoDeadlockWithPreparesThatTravelTogether(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	// The transaction has to look for deadlocks before the others do: it is the one that is ended.
	conn := f.connect()
	f.exec(conn, "SET deadlock_timeout = '500ms'")
	tx, err := conn.Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(f.ctx) }()
	if _, err := f.InTx(tx).Apply(f.ctx, "prepare", request("x")); err != nil {
		t.Fatal(err)
	}
	s, let := f.kept(pgstore.Options{})
	x, b := f.fires(s, "prepare", request("x")), f.fires(s, "prepare", request("b"))
	f.until("both have gathered", func() bool { return s.Waiting("prepare") == 2 })
	let()
	watcher := f.connect()
	f.until("one of them waits", func() bool { return f.waiters(watcher) == 1 })
	if _, err := f.InTx(tx).Apply(f.ctx, "prepare", request("b")); err != nil {
		t.Errorf("the transaction: %v", err)
	}
	_ = tx.Rollback(f.ctx)
	for name, c := range map[string]chan told{"x": x, "b": b} {
		if got := (<-c).verdict(); got != "applied" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// B8: an answer whose remote job id somebody else is just storing waits for that; those that came with it do not.
func TestAnAnswerThatHasToWaitHoldsUpNoneThatTravelWithIt(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	for _, id := range []string{"x", "y", "z"} {
		f.prepared(id)
		f.applied("dispatch_claim", id, claim("w"))
		f.applied("submit_begin", id, held("w", 1))
	}
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(f.ctx) }()
	if _, err := f.InTx(tx).Apply(f.ctx, "submit_accepted", params(held("w", 1), text("operation_id", "z"), text("remote_job_id", "job-1"))); err != nil {
		t.Fatal(err)
	}
	s, let := f.kept(pgstore.Options{LockTimeout: 4 * time.Second})
	x := f.fires(s, "submit_accepted", params(held("w", 1), text("operation_id", "x"), text("remote_job_id", "job-1")))
	y := f.fires(s, "submit_accepted", params(held("w", 1), text("operation_id", "y"), text("remote_job_id", "job-2")))
	f.until("both have gathered", func() bool { return s.Waiting("submit_accepted") == 2 })
	let()
	if got := f.soon("y", y); got != "applied" {
		t.Errorf("y: %s", got)
	}
	if err := tx.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	if got := (<-x).verdict(); got != "denied: remote_job_id_free" {
		t.Errorf("x: %s", got)
	}
}

// A7: somebody who has one row locked for long, an operator's session for instance, takes no other lease of the process.
func TestALockedRowDoesNotKeepOtherLeasesFromBeingRenewed(t *testing.T) {
	t.Parallel()
	for _, o := range []pgstore.Options{{}, {GroupCommit: true}} {
		f := open(t, o)
		m, err := machine.New(f.Store, machine.Config{TTL: 6 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var leases []*machine.Lease
		for _, id := range []string{"a", "b", "c"} {
			f.prepared(id)
			l, err := m.Claim(f.ctx, transitions.Dispatch, id, machine.Who{Provider: "video"})
			if err != nil {
				t.Fatal(err)
			}
			leases = append(leases, l)
		}
		other := f.connect()
		f.exec(other, "BEGIN; SELECT FROM fencerow_operations WHERE operation_id = 'b' FOR UPDATE")
		ctx, cancel := context.WithTimeout(f.ctx, m.Config().TTL/3) // as the worker does
		before := f.op("a").LeaseUntil
		errs := m.Renew(ctx, leases)
		cancel()
		if errs[0] != nil || errs[2] != nil {
			t.Errorf("the leases whose rows nobody has locked: %v, %v", errs[0], errs[2])
		}
		if errs[1] == nil {
			t.Error("the lease whose row is locked was renewed")
		}
		if _, denied := machine.IsDenied(errs[1]); denied {
			t.Errorf("the lease whose row is locked is taken for lost: %v", errs[1])
		}
		if !f.op("a").LeaseUntil.After(before) {
			t.Error("the lease on a was not extended")
		}
		f.exec(other, "ROLLBACK")
	}
}

// within is how long the stores of the next tests wait for a connection.
const within = 3 * time.Second

var brisk = pgstore.Options{LockTimeout: 500 * time.Millisecond, StatementTimeout: within - time.Second}

// Where the pool is used up, who joins others that have waited for a connection waits as long as it would have alone.
func TestWhoJoinsLateWaitsAsLongForAConnectionAsTheOthers(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.prepared("a", "b")
	s, let := f.kept(brisk)
	first := f.fires(s, "cancel_request", text("operation_id", "a"))
	f.until("the first waits", func() bool { return s.Waiting("cancel_request") == 1 })
	time.Sleep(within * 3 / 4) // sleep: most of what the first has
	second := f.fires(s, "cancel_request", text("operation_id", "b"))
	if got := <-first; got.err == nil || machine.IsUnknown(got.err) {
		t.Errorf("the first: %s, want that it did not run", got.verdict())
	}
	time.Sleep(within / 4) // sleep: less than the second has left
	let()
	if got := (<-second).verdict(); got != "applied" {
		t.Errorf("the second: %s", got)
	}
}

// However many wait for a connection that does not come, none waits longer than it would have alone.
func TestWhereNoConnectionComesAllAreToldInTime(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	s, let := f.kept(brisk)
	defer let()
	var calls []chan told
	began := time.Now()
	for i := range 250 {
		calls = append(calls, f.fires(s, "cancel_request", text("operation_id", fmt.Sprint(i))))
	}
	for i, c := range calls {
		got := <-c
		if got.err == nil || machine.IsUnknown(got.err) {
			t.Errorf("call %d: %s, want that it did not run", i, got.verdict())
		}
		if took := time.Since(began); took > 2*within {
			t.Fatalf("call %d was told after %s", i, took.Round(time.Millisecond))
		}
	}
}

// What every caller is told is what history holds, whoever gave up, whichever session was ended and whichever row was
// locked meanwhile: applied is there once, an error that is not unknown is not there, and afterwards nothing is stuck.
func TestWhatCallersAreToldUnderFireIsWhatHistoryHolds(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	const operations, callers, calls = 20, 48, 60
	ids := make([]string, operations)
	for i := range ids {
		ids[i] = fmt.Sprintf("op-%02d", i)
	}
	f.prepared(ids...)
	s, err := pgstore.Open(f.ctx, f.url, pgstore.Options{MaxConns: 4, GroupCommit: true, Prepare: true, WakeUps: true})
	if err != nil {
		t.Fatal(err)
	}
	calm := f.trouble(ids)
	verdicts := map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for n := range calls {
				id, word := ids[rand.IntN(operations)], fmt.Sprintf("%d-%d", c, n)
				ctx, cancel := f.ctx, func() {}
				if rand.IntN(3) == 0 {
					ctx, cancel = context.WithTimeout(f.ctx, time.Duration(rand.IntN(150))*time.Millisecond)
				}
				answer, err := s.Apply(ctx, "evidence_noted", params(text("operation_id", id), text("kind", "note"), text("detail", word)))
				cancel()
				verdict := "unknown"
				switch {
				case err == nil && answer.Applied:
					verdict = "applied"
					if got := machine.OperationOf(s.Program(), answer.Row).OperationID; got != id {
						t.Errorf("asked about %s, told about %s", id, got)
					}
				case err == nil:
					t.Errorf("%s: denied %v", word, answer.Failed)
				case !machine.IsUnknown(err):
					verdict = "not run"
				}
				mu.Lock()
				verdicts[word] = verdict
				mu.Unlock()
			}
		})
	}
	all.Wait()
	calm()
	time.Sleep(s.Bound()) // sleep: what was given up lands by then
	landed := f.noted(ids)
	counts := map[string]int{}
	for word, verdict := range verdicts {
		counts[verdict]++
		n := landed[word]
		if n > 1 || verdict == "applied" && n != 1 || verdict == "not run" && n != 0 {
			t.Errorf("%s was told %s, and is in history %d times", word, verdict, n)
		}
	}
	t.Logf("told: %v", counts)
	ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
	defer cancel()
	for _, id := range ids {
		if _, err := s.Apply(ctx, "evidence_noted", params(text("operation_id", id), text("kind", "note"))); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// trouble ends sessions and locks rows at random, until it is told to be calm.
func (f *fixture) trouble(ids []string) (calm func()) {
	f.Helper()
	var trouble sync.WaitGroup
	quiet, stop := context.WithCancel(f.ctx)
	killer, locker := f.connect(), f.connect()
	trouble.Go(func() {
		for quiet.Err() == nil {
			time.Sleep(time.Duration(rand.IntN(600)) * time.Millisecond) // sleep: trouble at random
			_, _ = killer.Exec(f.ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%bounded%' AND query NOT LIKE '%pg_terminate%' ORDER BY random() LIMIT 1")
		}
	})
	trouble.Go(func() {
		for quiet.Err() == nil {
			_, _ = locker.Exec(f.ctx, "BEGIN")
			_, _ = locker.Exec(f.ctx, "SELECT FROM fencerow_operations WHERE operation_id = $1 FOR UPDATE", ids[rand.IntN(len(ids))])
			time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond) // sleep: trouble at random
			_, _ = locker.Exec(f.ctx, "ROLLBACK")
		}
	})
	return func() {
		stop()
		trouble.Wait()
	}
}

// noted counts how often history has each note.
func (f *fixture) noted(ids []string) map[string]int {
	f.Helper()
	landed := map[string]int{}
	for _, id := range ids {
		history, err := f.History(f.ctx, id)
		if err != nil {
			f.Fatal(err)
		}
		n := int64(0)
		for _, e := range history {
			if e.Event == "evidence_noted" {
				landed[e.Detail]++
				n++
			}
		}
		if got := f.op(id).EvidenceSeq; got != n {
			f.Errorf("%s counts %d notes and history has %d", id, got, n)
		}
	}
	return landed
}

// Whoever waits for company when the store is closed is told so, and nothing is left running.
func TestClosingTheStoreTellsThoseThatGather(t *testing.T) {
	f := open(t, pgstore.Options{})
	f.prepared("a", "b", "c")
	before := runtime.NumGoroutine()
	s, let := f.kept(pgstore.Options{WakeUps: true})
	var calls []chan told
	for _, id := range []string{"a", "b", "c"} {
		calls = append(calls, f.fires(s, "cancel_request", text("operation_id", id)))
	}
	f.until("all have gathered", func() bool { return s.Waiting("cancel_request") == 3 })
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	for i, c := range calls {
		select {
		case got := <-c:
			if got.err == nil || machine.IsUnknown(got.err) {
				t.Errorf("call %d: %s, want that it did not run", i, got.verdict())
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("call %d is told nothing", i)
		}
	}
	let()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := s.Apply(f.ctx, "cancel_request", text("operation_id", "a")); err == nil || machine.IsUnknown(err) {
		t.Errorf("after it was closed: %v", err)
	}
	f.until("nothing is left running", func() bool { return runtime.NumGoroutine() <= before })
}

// A hundred rows of the largest size would take the server longer than a statement may.
func TestOperationsWithLargeRequestsTravelInSmallerCompany(t *testing.T) {
	t.Parallel()
	g := gather(t, pgstore.Unhurried(pgstore.Options{}), "cancel_request", nil)
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("op-%02d", i))
	}
	g.prepared(names...)
	g.exec(g.connect(), "UPDATE fencerow_operations SET request = convert_to(repeat('x', 1 << 20), 'UTF8') WHERE operation_id LIKE 'op-%'")
	g.applied("dispatch_claim", names[0], claim("w")) // as a worker does first
	var answers []chan told
	for _, id := range names {
		answers = append(answers, g.call(g.ctx, text("operation_id", id)))
	}
	g.let()
	for i, a := range answers {
		if got := (<-a).verdict(); got != "applied" {
			t.Errorf("call %d: %s", i, got)
		}
	}
	if many := g.statements(persist.Gathered); many != 2 {
		t.Errorf("%d statements for 12 MB of requests, want 2 of at most 8", many)
	}
}
