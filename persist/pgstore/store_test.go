package pgstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/byhand"
	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// fixture is a store on a fresh database, and a second way into it.
type fixture struct {
	*testing.T
	*pgstore.Store
	ctx    context.Context
	url    string
	byHand *byHand
}

// byHand keeps those apart who put rows in the one session beside the store.
type byHand struct{ sync.Mutex }

func open(t *testing.T, o pgstore.Options) *fixture {
	t.Helper()
	ctx := context.Background()
	url := pgtest.URL(t)
	store, err := pgstore.Open(ctx, url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	return &fixture{T: t, Store: store, ctx: ctx, url: url, byHand: &byHand{}}
}

// connect gives a connection of its own, past the store.
func (f *fixture) connect() *pgx.Conn {
	f.Helper()
	conn, err := pgx.Connect(f.ctx, f.url)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (f *fixture) exec(conn *pgx.Conn, sql string, args ...any) {
	f.Helper()
	if _, err := conn.Exec(f.ctx, sql, args...); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
}

// put writes rows by hand; one that is there is replaced.
func (f *fixture) put(ctx context.Context, rows ...transitions.Row) error {
	f.byHand.Lock()
	defer f.byHand.Unlock()
	conn, err := pgtest.Beside(ctx, f.url)
	if err != nil {
		return err
	}
	exec := func(ctx context.Context, sql string, args ...any) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	}
	return byhand.Write(ctx, persist.PostgreSQL, f.Program(), exec, rows...)
}

func TestPreparedStatementsAnswerAsTheOthersDo(t *testing.T) {
	t.Parallel()
	plain, fast := open(t, pgstore.Options{}), open(t, pgstore.Options{Prepare: true})
	// Often enough that the server keeps one plan for any values.
	for i := range 8 {
		id := fmt.Sprintf("op-%d", i)
		for _, c := range []struct {
			event string
			with  transitions.Params
		}{
			{"prepare", request(id)}, {"prepare", request(id)}, {"submit_begin", held("w", 1)}, {"dispatch_claim", claim("w")},
			{"dispatch_claim", claim("w2")}, {"renew", params(held("w", 1), num("ttl_ms", 9_000_000))}, {"submit_begin", held("w", 1)},
			{"submit_accepted", params(held("w", 1), text("remote_job_id", "job "+id))},
			{"submit_accepted", params(held("w", 1), text("remote_job_id", "job-"+id))}, {"observe_claim", claim("w")},
		} {
			want, got := plain.fire(c.event, id, c.with), fast.fire(c.event, id, c.with)
			want.Row, got.Row = nil, nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s on %s (-want +got):\n%s", c.event, id, diff)
			}
		}
		if got := fast.op(id); got.Phase != transitions.Observing || got.RemoteJobID != "job-"+id {
			t.Errorf("%s ended as %s with job %q", id, got.Phase, got.RemoteJobID)
		}
	}
}

func TestPostgreSQLConformsUnderAnAwkwardSchemaAndPrefix(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{Names: persist.Names{Schema: `my "own" Schema`, Prefix: `Job's "x"_`}})
	f.prepared("a")
	f.applied("dispatch_claim", "a", claim("w"))
	status, err := f.MigrationStatus(f.ctx)
	if err != nil || len(status) != 1 || status[0].At.IsZero() {
		t.Errorf("the migrations are %+v with %v, want one that was made", status, err)
	}
}

// params merges parameters.
func params(sets ...transitions.Params) transitions.Params {
	p := transitions.Params{}
	for _, set := range sets {
		for name, v := range set {
			p[name] = v
		}
	}
	return p
}

func text(name, s string) transitions.Params {
	return transitions.Params{name: transitions.TextValue(s)}
}
func num(name string, n int64) transitions.Params {
	return transitions.Params{name: transitions.IntValue(n)}
}

// claim is what a worker of provider video claims with.
func claim(owner string) transitions.Params {
	return params(text("owner", owner), num("ttl_ms", 60_000), text("provider", "video"), text("account", ""))
}

func held(owner string, revision int64) transitions.Params {
	return params(text("owner", owner), num("revision", revision))
}

func request(id string) transitions.Params {
	return transitions.Params{
		"operation_id": transitions.TextValue(id), "kind": transitions.TextValue("video"),
		"request": transitions.BytesValue([]byte("{}")),
	}
}

func (f *fixture) fire(event, id string, sets ...transitions.Params) machine.Answer {
	f.Helper()
	answer, err := f.Apply(f.ctx, event, params(append(sets, text("operation_id", id))...))
	if err != nil {
		f.Fatalf("fire %s on %s: %v", event, id, err)
	}
	return answer
}

func (f *fixture) applied(event, id string, sets ...transitions.Params) machine.Operation {
	f.Helper()
	answer := f.fire(event, id, sets...)
	if !answer.Applied {
		f.Fatalf("%s on %s was denied: %v", event, id, answer.Failed)
	}
	return machine.OperationOf(f.Program(), answer.Row)
}

func (f *fixture) prepared(ids ...string) {
	f.Helper()
	for _, id := range ids {
		f.applied("prepare", id, request(id))
	}
}

func (f *fixture) op(id string) machine.Operation {
	f.Helper()
	rows, err := f.Get(f.ctx, id)
	if err != nil || len(rows) != 1 {
		f.Fatalf("read %s: %d rows, %v", id, len(rows), err)
	}
	return machine.OperationOf(f.Program(), rows[0])
}

// until waits for something that another connection does; it fails the test when that takes too long.
func (f *fixture) until(what string, done func() bool) {
	f.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			f.Fatalf("waited in vain until %s", what)
		}
	}
}

// waiters counts the sessions of the database that wait for a lock.
func (f *fixture) waiters(conn *pgx.Conn) int {
	f.Helper()
	var n int
	if err := conn.QueryRow(f.ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n); err != nil {
		f.Fatal(err)
	}
	return n
}
