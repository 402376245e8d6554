package hostile_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/byhand"
	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// pooler is a PgBouncer in transaction mode, before the server of an address: few sessions for many clients.
type pooler struct{ host string }

const poolerConfig = `[databases]
* = host=%s port=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = users
pool_mode = transaction
default_pool_size = 3
max_client_conn = 500
server_idle_timeout = 5
`

// newPooler starts one; the program must be there or be had.
func newPooler(t *testing.T, server string) *pooler {
	t.Helper()
	program := pgtest.FindCompanion(t, "pgbouncer", "pgbouncer")
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	const tries = 3 // somebody else may take the free port
	var log string
	for range tries {
		port := pgtest.FreePort(t)
		running := pgtest.StartCompanion(t, map[string]string{
			"config": fmt.Sprintf(poolerConfig, u.Hostname(), u.Port(), port),
			"users":  fmt.Sprintf("%q \"\"\n", u.User.Username()),
		}, program, "config")
		p := &pooler{net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
		for begin := time.Now(); time.Since(begin) < 5*time.Second; {
			if conn, err := pgx.Connect(t.Context(), p.before(t, server)); err == nil {
				_ = conn.Close(t.Context())
				return p
			}
		}
		log = running.Log()
	}
	t.Fatalf("the pooler does not answer; it wrote:\n%s", log)
	return nil
}

// before is the address of a database through the pooler.
func (p *pooler) before(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = p.host
	q := u.Query()
	q.Set("sslmode", "disable")
	u.RawQuery = q.Encode()
	return u.String()
}

// admin changes what new sessions of a database begin with.
func admin(t *testing.T, database string, settings ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	for _, s := range settings {
		if _, err := conn.Exec(t.Context(), fmt.Sprintf("ALTER DATABASE %s %s", pgx.Identifier{conn.Config().Database}.Sanitize(), s)); err != nil {
			t.Fatal(err)
		}
	}
}

// The whole battery, through a pooler that gives every statement another session (G3; B67).
func TestTheStoreConformsBehindAPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	p := newPooler(t, pgtest.URL(t))
	machinetest.Run(t, func(t *testing.T) machinetest.Subject {
		direct := pgtest.URL(t)
		admin(t, direct, "SET statement_timeout = '20s'", "SET default_transaction_isolation = 'read committed'")
		store, err := pgstore.Open(t.Context(), p.before(t, direct), pgstore.Options{MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		if _, err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		byHand, err := pgx.Connect(t.Context(), direct)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = byHand.Close(context.Background()) })
		return machinetest.Subject{Store: store, Now: store.Now, Put: func(ctx context.Context, rows ...transitions.Row) error {
			return put(ctx, byHand, store.Program(), rows...)
		}}
	})
}

// More claimers than the pooler has sessions: every operation is held once (A3, G3).
func TestManyClaimersShareFewSessionsBehindAPooler(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	admin(t, direct, "SET statement_timeout = '20s'")
	d := newDatabase(t, direct)
	const claimers, operations = 12, 60
	for i := range operations {
		d.prepared(name("op-", i), "video")
	}
	store := d.open(newPooler(t, direct).before(t, direct), pgstore.Options{MaxConns: claimers})
	held := map[string]int{}
	var mu sync.Mutex
	var busy sync.WaitGroup
	for i := range claimers {
		busy.Go(func() {
			for {
				rows, err := store.Take(t.Context(), "dispatch_claim", merged(whose(name("w", i), "video"), num("limit", 3)))
				if err != nil {
					t.Error(err)
					return
				}
				if len(rows) == 0 {
					return
				}
				mu.Lock()
				for _, row := range rows {
					held[row[store.Program().Column("operation_id")].Text()]++
				}
				mu.Unlock()
			}
		})
	}
	busy.Wait()
	for id, n := range held {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
	if len(held) != operations {
		t.Errorf("%d of %d operations were claimed", len(held), operations)
	}
}

// A pooler whose own session breaks answers with an error of its own making, which proves nothing: the answer is
// unknown all the same, and resolved.
func TestAPoolersOwnErrorIsNoProof(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	admin(t, direct, "SET statement_timeout = '20s'")
	d := newDatabase(t, direct)
	behind, address := pgproxy.New(t, direct) // between the pooler and the server
	p := newPooler(t, address)
	for _, fate := range []pgproxy.Fate{pgproxy.CutReply, pgproxy.CutBeforeReady, pgproxy.CutRequest} {
		t.Run(fate.String(), func(t *testing.T) {
			store := d.open(p.before(t, direct), pgstore.Options{MaxConns: 2})
			id := name("op-", int(fate))
			l := d.at(transitions.Submitting, id, "video")
			behind.Arm(d.statement("submit_accepted", transitions.One, pgstore.Options{}), fate, fate)
			accepted := merged(fence(l), text("remote_job_id", "job-"+id))
			answer, err := store.Apply(t.Context(), "submit_accepted", accepted)
			if answer.Applied || !machine.IsUnknown(err) {
				t.Errorf("the store says applied %t, %v; want an unknown answer", answer.Applied, err)
			}
			t.Logf("it said: %v", err)
			want := map[bool]int{true: 1}[fate.Runs()]
			if diff := cmp.Diff(want, d.landed(id, "submit_accepted", l.Revision)); diff != "" {
				t.Errorf("it landed (-want +got):\n%s", diff)
			}
			l = d.at(transitions.Submitting, id+"-again", "video")
			if _, err := d.machine(store).Accepted(t.Context(), l, "job-"+id+"-again", nil, 0); err != nil {
				t.Errorf("the verb says %v, want that it landed", err)
			}
			if diff := cmp.Diff(1, d.landed(id+"-again", "submit_accepted", l.Revision)); diff != "" {
				t.Errorf("the verb's event landed (-want +got):\n%s", diff)
			}
			d.sound(id, id+"-again")
		})
	}
}

// A pooler takes no session parameters, so that the database or the role must have them; without them the store is
// not opened, and says what to set (A9, G3).
func TestBehindAPoolerTheStoreOpensOnlyOnTheRightSettings(t *testing.T) {
	t.Parallel()
	first := pgtest.URL(t)
	p := newPooler(t, first)
	for _, c := range []struct {
		name     string
		settings []string
		refusal  []string // nil: it opens
	}{
		{"nothing is set", nil, []string{"statement_timeout", "ALTER ROLE"}},
		{"the statement timeout is set", []string{"SET statement_timeout = '7s'"}, nil},
		{"the statement timeout is off", []string{"SET statement_timeout = 0"}, []string{"statement_timeout", "ALTER ROLE"}},
		{"the statement timeout is shorter than a lock wait", []string{"SET statement_timeout = '1s'"}, []string{"statement_timeout 1s", "lock timeout 2s"}},
		{"transactions are serializable", []string{"SET statement_timeout = '7s'", "SET default_transaction_isolation = 'serializable'"}, []string{"read committed", "ALTER ROLE"}},
		{"both are set", []string{"SET statement_timeout = '7s'", "SET default_transaction_isolation = 'read committed'"}, nil},
		{"commits are not durable", []string{"SET statement_timeout = '7s'", "SET synchronous_commit = off"}, []string{"synchronous_commit"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			direct := pgtest.URL(t)
			admin(t, direct, c.settings...)
			store, err := pgstore.Open(t.Context(), p.before(t, direct), pgstore.Options{})
			if c.refusal == nil {
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = store.Close() }()
				if store.Bound() != 7*time.Second {
					t.Errorf("the bound is %s, want the database's own 7s", store.Bound())
				}
				return
			}
			if err == nil {
				_ = store.Close()
				t.Fatalf("the store was opened, want a refusal that names %q", c.refusal)
			}
			for _, word := range c.refusal {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the refusal %q does not name %q", err, word)
				}
			}
		})
	}
}

// put writes rows by hand; one that is there is replaced.
func put(ctx context.Context, conn *pgx.Conn, program *transitions.Program, rows ...transitions.Row) error {
	exec := func(ctx context.Context, sql string, args ...any) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	}
	return byhand.Write(ctx, persist.PostgreSQL, program, exec, rows...)
}
