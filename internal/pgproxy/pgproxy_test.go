package pgproxy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/internal/pgtest"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	})
	return conn
}

const bump = "UPDATE counter SET n = n + $1"

func counter(t *testing.T, conn *pgx.Conn) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), "SELECT n FROM counter").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAStatementMeetsItsFateAndNoOtherDoes(t *testing.T) {
	t.Parallel()
	address := pgtest.URL(t)
	direct := connect(t, address)
	if _, err := direct.Exec(t.Context(), "CREATE TABLE counter AS SELECT 0 AS n"); err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeCacheStatement} {
		for _, fate := range pgproxy.Fates {
			t.Run(fmt.Sprintf("%s, mode %s", fate, mode), func(t *testing.T) {
				want += meets(t, direct, address, mode, fate, want)
			})
		}
	}
}

// meets sends one statement to its fate and another one after it, and tells how many ran.
func meets(t *testing.T, direct *pgx.Conn, address string, mode pgx.QueryExecMode, fate pgproxy.Fate, before int) int {
	t.Helper()
	want := before
	proxy, url := pgproxy.New(t, address)
	conn := connect(t, url)
	if _, err := conn.Exec(t.Context(), bump, mode, 0); err != nil { // where it is to be prepared, it now is
		t.Fatal(err)
	}
	defer proxy.HoldCancels()() // the client's own cancel request would race with the statement that is forwarded late
	proxy.Arm("counter SET", fate)
	if _, err := conn.Exec(t.Context(), "SELECT 1 AS counter"); err != nil {
		t.Fatalf("a statement that does not match: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(ctx, bump, mode, 1); err == nil {
		t.Error("the client was told that it went well")
	}
	<-proxy.Met()
	if fate.Runs() {
		want++
	}
	if diff := cmp.Diff(want, counter(t, direct)); diff != "" {
		t.Errorf("the counter (-want +got):\n%s", diff)
	}
	if landed := proxy.Land(); landed == 1 {
		want++
	}
	if _, err := connect(t, url).Exec(t.Context(), bump, mode, 1); err != nil {
		t.Errorf("the next statement, on a new connection: %v", err)
	}
	want++
	if diff := cmp.Diff(want, counter(t, direct)); diff != "" {
		t.Errorf("the counter in the end (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[pgproxy.Fate]int{fate: 1}, proxy.Counts()); diff != "" {
		t.Errorf("the fates that were met (-want +got):\n%s", diff)
	}
	return want - before
}

func TestACancelRequestIsHeldBackUntilItIsReleased(t *testing.T) {
	t.Parallel()
	proxy, url := pgproxy.New(t, pgtest.URL(t))
	conn := connect(t, url)
	release := proxy.HoldCancels()
	failed := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), "SELECT pg_sleep(60)")
		failed <- err
	}()
	asked := make(chan error, 1)
	go func() { asked <- conn.PgConn().CancelRequest(t.Context()) }()
	select {
	case err := <-failed:
		t.Fatalf("the statement ended while its cancel request was held: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	release()
	release() // again, which changes nothing
	if err := <-failed; err == nil {
		t.Error("the canceled statement went well")
	}
	if err := <-asked; err != nil {
		t.Error(err)
	}
}

func TestEveryConnectionIsCutAtOnce(t *testing.T) {
	t.Parallel()
	proxy, url := pgproxy.New(t, pgtest.URL(t))
	one, other := connect(t, url), connect(t, url)
	proxy.CutAll()
	for _, conn := range []*pgx.Conn{one, other} {
		if err := conn.Ping(t.Context()); err == nil {
			t.Error("a connection that was cut answers")
		}
	}
	if err := connect(t, url).Ping(t.Context()); err != nil {
		t.Errorf("a new connection: %v", err)
	}
}
