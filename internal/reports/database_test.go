package reports_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// api is a handler whose every answer a test may give; what is nil goes well at once.
type api struct {
	submit  func(context.Context, worker.Submission) (worker.Accepted, error)
	observe func(context.Context, worker.Observation) (worker.Status, error)
	deliver func(context.Context, worker.Delivery) (worker.Delivered, error)
}

func (a api) Submit(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
	if a.submit == nil {
		return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
	}
	return a.submit(ctx, s)
}

func (a api) Observe(ctx context.Context, o worker.Observation) (worker.Status, error) {
	if a.observe == nil {
		return worker.Status{State: worker.Succeeded}, nil
	}
	return a.observe(ctx, o)
}

func (a api) Deliver(ctx context.Context, d worker.Delivery) (worker.Delivered, error) {
	if a.deliver == nil {
		return worker.Delivered{ObjectKey: d.OperationID + ".mp4", Bytes: 1}, nil
	}
	return a.deliver(ctx, d)
}

// another opens the stand's PostgreSQL database once more, as another process does, at an address that may lead there by
// a detour.
func (s *stand) another(address string, o pgstore.Options, c machine.Config) *machine.Machine {
	s.Helper()
	store, err := pgstore.Open(context.Background(), address, o)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = store.Close() })
	m, err := machine.New(store, c)
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// asking is the address with settings that its sessions begin with.
func asking(address, settings string) string {
	if strings.Contains(address, "?") {
		return address + "&" + settings
	}
	return address + "?" + settings
}

// soon are the bounds of a store that gives an answer up soon.
var soon = pgstore.Options{LockTimeout: 300 * time.Millisecond, StatementTimeout: 500 * time.Millisecond, MaxConns: 2}

// slack is what a busy machine may take for anything.
const slack = 4 * time.Second

// B76: nothing rests on a session that listens: every session of a worker is ended by the server, again and again, and
// work that becomes due meanwhile is found by the next poll, on a new session (rules: a claim that failed is followed by
// another, after a pause of at most 64 poll intervals and five seconds; G3).
func TestB76WorkGoesOnByPollingThoughTheServerEndsEverySession(t *testing.T) {
	t.Parallel()
	s := onPostgres(t)
	h := &remote{}
	s.working(s.another(asking(s.url, "application_name=listener"), soon, machine.Config{}), h).start()
	for i := range 4 {
		ended := 0
		await(t, "the worker has sessions", func() bool {
			err := s.pool.QueryRow(t.Context(), "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'listener' AND datname = current_database()").Scan(&ended)
			return err == nil && ended > 0
		})
		id, began := fmt.Sprintf("op-%d", i), time.Now()
		s.prepare(requestOf(id))
		await(t, id+" is delivered", func() bool { return s.op(id).Delivery == "delivered" })
		if took, limit := time.Since(began), 5*time.Second+slack; took > limit {
			t.Errorf("%s took %s after its worker's sessions were ended, want at most %s", id, took, limit)
		}
		if diff := cmp.Diff(1, h.sent(id)); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		s.sound(id)
	}
}

// B76, the half-open connection: what is sent on the worker's connections goes nowhere and nothing comes back, and they
// stay open. The worker gives each up a second after the server's own bound for a statement, and goes on by another
// (rules: patience has an end, pgstore/patience.go; a connection that was given up takes no place in the pool; A9).
func TestB76WorkGoesOnByPollingOverHalfOpenConnections(t *testing.T) {
	t.Parallel()
	s := onPostgres(t)
	proxy, address := pgproxy.New(t, s.url)
	h := &remote{}
	w := s.working(s.another(address, soon, machine.Config{}), h)
	t.Cleanup(proxy.CutAll) // else closing the store waits for answers that never come
	w.start()
	const dropped = 4 // twice as many as the pool has connections
	proxy.Arm("fencerow_operations", pgproxy.NeverForward, pgproxy.NeverForward, pgproxy.NeverForward, pgproxy.NeverForward)
	for range dropped {
		select {
		case <-proxy.Met():
		case <-time.After(30 * time.Second):
			t.Fatal("the worker asks for nothing any more")
		}
	}
	began := time.Now()
	s.prepare(requestOf("a"))
	await(t, "it is delivered", func() bool { return s.op("a").Delivery == "delivered" })
	// The statement's bound, a second's grace, and half a second for the cancel request; then the longest pause at this
	// poll interval. Without patience a claim is waited for ten seconds.
	if took, limit := time.Since(began), soon.StatementTimeout+1500*time.Millisecond+1300*time.Millisecond+slack; took > limit {
		t.Errorf("it took %s after the connections fell silent, want at most %s", took, limit)
	}
	if diff := cmp.Diff(1, h.sent("a")); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	s.sound("a")
}

// stalls is a handler that says where it is and waits there until it may go on.
func stalls() (h api, at <-chan string, goOn chan<- struct{}) {
	where, free := make(chan string), make(chan struct{})
	stall := func(ctx context.Context, what string) error {
		select {
		case where <- what:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-free:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return api{
		submit: func(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
			return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, stall(ctx, "submit")
		},
		observe: func(ctx context.Context, _ worker.Observation) (worker.Status, error) {
			return worker.Status{State: worker.Succeeded}, stall(ctx, "observe")
		},
		deliver: func(ctx context.Context, d worker.Delivery) (worker.Delivered, error) {
			return worker.Delivered{ObjectKey: d.OperationID, Bytes: 1}, stall(ctx, "deliver")
		},
	}, where, free
}

// arrives waits until the handler stalls at the right place.
func arrives(t *testing.T, at <-chan string, want string) {
	t.Helper()
	select {
	case got := <-at:
		if got != want {
			t.Fatalf("the handler is at %s, want %s", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("the handler never comes to %s", want)
	}
}

// B87: while a handler waits for its remote or its object store no transaction is open: the server sees none, and its
// bound for idle ones ends nothing, although every stall takes longer than it (rule: no transaction is open while a
// remote request is in flight, A1).
func TestB87NoTransactionIsOpenDuringARemoteCall(t *testing.T) {
	t.Parallel()
	s := onPostgres(t)
	const bound = 300 * time.Millisecond
	m := s.another(asking(s.url, fmt.Sprintf("application_name=caller&idle_in_transaction_session_timeout=%d", bound.Milliseconds())), patient, machine.Config{})
	h, at, goOn := stalls()
	s.prepare(requestOf("a"))
	w := s.working(m, h)
	w.config.Drain = time.Second
	stop := w.start()
	for _, what := range []string{"submit", "observe", "deliver"} {
		arrives(t, at, what)
		over := s.now().Add(2 * bound)
		await(t, "the stall has lasted", func() bool {
			var idle int
			var oldest time.Duration
			err := s.pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE state LIKE 'idle in transaction%'),
				coalesce(max(clock_timestamp() - xact_start), '0') FROM pg_stat_activity
				WHERE application_name = 'caller' AND datname = current_database()`).Scan(&idle, &oldest)
			if err != nil {
				t.Fatal(err)
			}
			if idle > 0 || s.now().After(over) && oldest > bound {
				t.Fatalf("during %s %d sessions are idle in a transaction, and the oldest transaction is open for %s", what, idle, oldest)
			}
			return s.now().After(over)
		})
		goOn <- struct{}{}
	}
	await(t, "it is delivered", func() bool { return s.op("a").Delivery == "delivered" })
	stop()
	if w.log.has("the database does not do its work") {
		t.Error("the worker lost a session")
	}
	s.sound("a")
}

// B87 in SQLite, where an open transaction would keep every other process out: during each stall another handle has the
// write lock at once, and the log can be folded into the file, which an open reader would prevent (rules: A1; rows are
// read to their end and closed).
func TestB87NoTransactionOfSQLiteIsOpenDuringARemoteCall(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	other := sqliteAt(t, s.sqlite.Path())
	h, at, goOn := stalls()
	s.prepare(requestOf("a"))
	w := s.working(s.machine, h)
	w.config.Drain = time.Second
	w.start()
	for _, what := range []string{"submit", "observe", "deliver"} {
		arrives(t, at, what)
		beside := requestOf("beside-" + what)
		beside.Provider = "somebody else's"
		other.prepare(beside)
		await(t, "the log is folded into the file during "+what, func() bool {
			var busy, log, folded int
			if err := other.sqlite.DB().QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &folded); err != nil {
				t.Fatal(err)
			}
			return busy == 0
		})
		goOn <- struct{}{}
	}
	await(t, "it is delivered", func() bool { return s.op("a").Delivery == "delivered" })
	s.sound("a")
}

// counting keeps how many operations each renewal names, by the form in which it was sent.
type counting struct {
	many, one string

	mu      sync.Mutex
	renewed []int // of one statement each
	singles int
}

func (c *counting) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch d.SQL {
	case c.many:
		for _, a := range d.Args {
			if ids, ok := a.([]*string); ok {
				c.renewed = append(c.renewed, len(ids))
				break
			}
		}
	case c.one:
		c.singles++
	}
	return ctx
}

func (c *counting) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// seen tells how many renewals named n operations in one statement, and how many were sent for one alone.
func (c *counting) seen(n int) (whole, singles int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.renewed {
		if k == n {
			whole++
		}
	}
	return whole, c.singles
}

// B80: twenty handlers work under twenty leases on a store of two connections. They hold none of them, so that renewals
// always get through: all in one statement, and nobody else gets an operation while another worker and a reconciler wait
// for a lease to lapse (rules: the renewer sends one statement for all leases of a process, A7; a handler has no
// connection, A1).
func TestB80TwentyLeasesAreRenewedInOneStatementOverTwoConnections(t *testing.T) {
	t.Parallel()
	s := onPostgres(t)
	const handlers = 20
	lease := machine.Config{TTL: 3 * time.Second}
	small := patient
	small.MaxConns = 2
	c := &counting{many: s.statement("renew", persist.Many, small), one: s.statement("renew", transitions.One, small)}
	small.Tracer = c
	s.submitted("look", handlers)
	release, begun := make(chan struct{}), make(chan string, 10*handlers)
	h := api{observe: func(ctx context.Context, o worker.Observation) (worker.Status, error) {
		begun <- o.OperationID
		select {
		case <-release:
			return worker.Status{State: worker.Succeeded}, nil
		case <-ctx.Done():
			return worker.Status{}, context.Cause(ctx)
		}
	}}
	w := s.working(s.another(s.url, small, lease), h)
	w.config.Slots = handlers
	w.start()
	for range handlers {
		<-begun
	}
	s.working(s.engine(lease), h).start() // another process
	s.sweeping(s.engine(lease), 200*time.Millisecond)
	await(t, "every lease is renewed longer than it lasts", func() bool {
		whole, _ := c.seen(handlers)
		return whole >= 4 // a third of the lease each
	})
	close(release)
	await(t, "every job is read", func() bool { return s.ended() == handlers })
	if _, singles := c.seen(handlers); singles > 0 || len(begun) > 0 {
		t.Errorf("%d leases were renewed alone, and %d operations changed hands", singles, len(begun))
	}
	for i := range handlers {
		id := fmt.Sprintf("look-%04d", i)
		if diff := cmp.Diff([]string{"observe_claim", "observe_succeeded"}, s.events(id)[4:]); diff != "" {
			t.Errorf("history of %s (-want +got):\n%s", id, diff)
		}
	}
}

// B80, where the caller gives the store a pool that its handlers take all connections of: renewals get none, and the
// holders stop by their own watch, so that at no moment two work on one operation (rule: the watch over a handler's
// context; A7).
func TestB80HandlersThatStarveTheRenewalsStopBeforeAnybodyTakesOver(t *testing.T) {
	t.Parallel()
	s := onPostgres(t)
	lease := machine.Config{TTL: 2 * time.Second, Margin: 800 * time.Millisecond}
	shared, err := pgxpool.New(t.Context(), asking(s.url, "statement_timeout=30s&pool_max_conns=2"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shared.Close)
	store, err := pgstore.New(t.Context(), shared, patient)
	if err != nil {
		t.Fatal(err)
	}
	starving, err := machine.New(store, lease)
	if err != nil {
		t.Fatal(err)
	}
	s.submitted("look", 2)
	var mu sync.Mutex
	active, greedy := map[string]int{}, make(chan struct{}, 2)
	enter := func(id string, by int) {
		mu.Lock()
		defer mu.Unlock()
		if active[id] += by; active[id] > 1 {
			t.Errorf("two work on %s at once", id)
		}
	}
	var looks atomic.Int32
	s.working(starving, api{observe: func(ctx context.Context, o worker.Observation) (worker.Status, error) {
		enter(o.OperationID, 1)
		defer enter(o.OperationID, -1)
		if looks.Add(1) > 2 {
			return worker.Status{State: worker.Succeeded}, nil
		}
		conn, err := shared.Acquire(ctx)
		if err != nil {
			t.Error(err)
			return worker.Status{}, err
		}
		defer conn.Release()
		greedy <- struct{}{}
		<-ctx.Done()
		return worker.Status{}, context.Cause(ctx)
	}}).start()
	for range 2 {
		<-greedy
	}
	s.working(s.engine(lease), api{observe: func(_ context.Context, o worker.Observation) (worker.Status, error) {
		enter(o.OperationID, 1)
		defer enter(o.OperationID, -1)
		return worker.Status{State: worker.Succeeded}, nil
	}}).start()
	await(t, "both jobs are read", func() bool { return s.ended() == 2 })
	s.sound("look-0000", "look-0001")
}

// statement is the text that a store with these options sends for an event.
func (s *stand) statement(event string, form transitions.Form, o pgstore.Options) string {
	s.Helper()
	set, err := persist.Compile(s.store.Program(), persist.PostgreSQL, o.Names, persist.LockTimeout(o.LockTimeout))
	if err != nil {
		s.Fatal(err)
	}
	return set.Statement(event, form).SQL
}
