package hostile_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// database is a database with the engine's tables and a way into it that nothing disturbs.
type database struct {
	testing.TB
	url    string
	calm   *pgstore.Store
	engine *machine.Machine // on calm
}

func newDatabase(t testing.TB, url string) *database {
	t.Helper()
	d := &database{TB: t, url: url}
	d.calm = d.open(url, pgstore.Options{MaxConns: 8})
	if _, err := d.calm.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.engine = d.machine(d.calm)
	return d
}

func fresh(t testing.TB) *database {
	t.Helper()
	return newDatabase(t, pgtest.URL(t))
}

func (d *database) open(url string, o pgstore.Options) *pgstore.Store {
	d.Helper()
	store, err := pgstore.Open(context.Background(), url, o)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = store.Close() })
	return store
}

func (d *database) machine(store machine.Store) *machine.Machine {
	d.Helper()
	m, err := machine.New(store, machine.Config{TTL: time.Minute, Label: "holder"})
	if err != nil {
		d.Fatal(err)
	}
	return m
}

// statement is the text that a store with these options sends for an event.
func (d *database) statement(event string, form transitions.Form, o pgstore.Options) string {
	d.Helper()
	lock := o.LockTimeout
	if lock == 0 {
		lock = persist.DefaultLockTimeout
	}
	set, err := persist.Compile(d.calm.Program(), persist.PostgreSQL, persist.Names{}, persist.LockTimeout(lock))
	if err != nil {
		d.Fatal(err)
	}
	s := set.Statement(event, form)
	if s == nil {
		d.Fatalf("no statement fires %s in form %s", event, form)
	}
	return s.SQL
}

// wire is a store on a hostile wire.
type wire struct {
	*database
	proxy  *pgproxy.Proxy
	store  *pgstore.Store
	engine *machine.Machine
	o      pgstore.Options
}

// wire must be asked for by the test's own goroutine.
func (d *database) wire(o pgstore.Options) *wire {
	d.Helper()
	proxy, url := pgproxy.New(d, d.url)
	store := d.open(url, o)
	d.Cleanup(proxy.CutAll) // else closing the store waits for answers that never come
	return &wire{d, proxy, store, d.machine(store), o}
}

// arm gives the next statement of an event its fate.
func (w *wire) arm(event string, form transitions.Form, fates ...pgproxy.Fate) {
	w.Helper()
	w.proxy.Arm(w.statement(event, form, w.o), fates...)
}

// met waits until a statement has met its fate.
func (w *wire) met() {
	w.Helper()
	select {
	case <-w.proxy.Met():
	case <-time.After(time.Minute):
		w.Fatal("no statement met its fate")
	}
}

// connect gives a connection that nothing disturbs.
func (d *database) connect() *pgx.Conn {
	d.Helper()
	conn, err := pgx.Connect(d.Context(), d.url)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (d *database) exec(conn *pgx.Conn, sql string, args ...any) {
	d.Helper()
	if _, err := conn.Exec(d.Context(), sql, args...); err != nil {
		d.Fatalf("%s: %v", sql, err)
	}
}

// until waits for what another connection does.
func (d *database) until(what string, done func() bool) {
	d.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			d.Fatalf("waited in vain until %s", what)
		}
	}
}

// waiting counts the sessions that wait for a lock.
func (d *database) waiting(conn *pgx.Conn) int {
	d.Helper()
	var n int
	if err := conn.QueryRow(d.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n); err != nil {
		d.Fatal(err)
	}
	return n
}

func (d *database) op(id string) machine.Operation {
	d.Helper()
	op, err := d.engine.Get(context.Background(), id)
	if err != nil {
		d.Fatal(err)
	}
	return op
}

// landed counts the history rows of an event under a revision.
func (d *database) landed(id, event string, revision int64) int {
	d.Helper()
	entries, err := d.calm.History(context.Background(), id)
	if err != nil {
		d.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if e.Event == event && e.Revision == revision {
			n++
		}
	}
	return n
}

// sound fails the test where a history does not explain its row (I9).
func (d *database) sound(ids ...string) {
	d.Helper()
	for _, id := range ids {
		findings, err := d.engine.Audit(context.Background(), id)
		if err != nil {
			d.Error(err)
		}
		for _, f := range findings {
			d.Error(f)
		}
	}
}

func request(id, provider string) machine.Request {
	return machine.Request{OperationID: id, Kind: "video", Provider: provider, Request: []byte(`{"prompt":"a fence"}`), WantsDelivery: true}
}

func (d *database) prepared(id, provider string) {
	d.Helper()
	if p, err := d.engine.Prepare(context.Background(), request(id, provider)); err != nil || !p.Created {
		d.Fatalf("prepare %s: created %t, %v", id, p.Created, err)
	}
}

func (d *database) claimed(action, id, provider string) *machine.Lease {
	d.Helper()
	l, err := d.engine.Claim(context.Background(), action, id, machine.Who{Provider: provider})
	if err != nil {
		d.Fatal(err)
	}
	return l
}

// at brings a new operation to the phase in which a lease for action is held, and gives the lease.
func (d *database) at(phase, id, provider string) *machine.Lease {
	d.Helper()
	ctx := context.Background()
	d.prepared(id, provider)
	must := func(_ machine.Operation, err error) {
		d.Helper()
		if err != nil {
			d.Fatal(err)
		}
	}
	l := d.claimed(transitions.Dispatch, id, provider)
	if phase == transitions.Prepared {
		return l
	}
	must(d.engine.Begin(ctx, l))
	if phase == transitions.Submitting {
		return l
	}
	must(d.engine.Accepted(ctx, l, "job-"+id, nil, 0))
	l = d.claimed(transitions.Observe, id, provider)
	if phase == transitions.Observing {
		return l
	}
	must(d.engine.Observed(ctx, l, "succeeded", []byte("done"), ""))
	return d.claimed(transitions.Deliver, id, provider)
}

func fence(l *machine.Lease) transitions.Params {
	return transitions.Params{
		"operation_id": transitions.TextValue(l.Operation.OperationID),
		"owner":        transitions.TextValue(l.Owner),
		"revision":     transitions.IntValue(l.Revision),
	}
}

func merged(sets ...transitions.Params) transitions.Params {
	p := transitions.Params{}
	for _, set := range sets {
		maps.Copy(p, set)
	}
	return p
}

func text(name, s string) transitions.Params {
	return transitions.Params{name: transitions.TextValue(s)}
}

func num(name string, n int64) transitions.Params {
	return transitions.Params{name: transitions.IntValue(n)}
}

// whose is what a claim of the fixture's own names.
func whose(owner, provider string) transitions.Params {
	return merged(text("owner", owner), num("ttl_ms", 60_000), text("provider", provider), text("account", ""))
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func name(parts ...any) string { return fmt.Sprint(parts...) }
