package worker_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/worker"
)

// until waits until something is so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); !so(); time.Sleep(5 * time.Millisecond) { // sleep: of another process
		if time.Now().After(late) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

func pgConn(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func pgExec(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// hears waits until a worker listens and has found nothing.
func hears(t *testing.T, conn *pgx.Conn, n int) {
	t.Helper()
	until(t, "somebody listens", func() bool {
		var got int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%LISTEN%' AND pid <> pg_backend_pid()").Scan(&got); err != nil {
			t.Fatal(err)
		}
		return got >= n
	})
	time.Sleep(2500 * time.Millisecond) // sleep: until it is ready and has claimed in vain
}

func waits(t *testing.T, conn *pgx.Conn) func() bool {
	return func() bool {
		var got int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&got); err != nil {
			t.Fatal(err)
		}
		return got > 0
	}
}

// nameUntilItWaits names an operation whose row is locked, again now and then: who listens may not be ready yet.
func nameUntilItWaits(t *testing.T, s *pgstore.Store, id string, watcher *pgx.Conn) {
	t.Helper()
	look, n := waits(t, watcher), 0
	until(t, "the claim waits", func() bool {
		if n%200 == 0 {
			s.Wake(named(id))
		}
		n++
		return look()
	})
}

// Contract E1: on shutdown nothing more is claimed, and what gets the drain budget is a request in flight. A claim that is
// under way then, by a name too, is given back.
func TestNothingIsSentOfWhatWasNotClaimedWhenShutdownBegan(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	m := pgBenchOn(t, url, &counter{})
	var sent sync.Map
	r := &remote{submit: func(_ context.Context, s worker.Submission) (worker.Accepted, error) {
		sent.Store(s.OperationID, time.Now())
		return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
	}}
	w, err := worker.New(worker.Config{Machine: m, Who: machine.Who{Provider: "video"}, Handlers: map[string]worker.Handler{"video": r}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	holder, watcher := pgConn(t, url), pgConn(t, url)
	hears(t, watcher, 1)

	quiet, err := pgstore.Open(t.Context(), url, pgstore.Options{}) // tells nobody by itself
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = quiet.Close() })
	silentMachine, err := machine.New(quiet, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	tx, err := holder.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	// The caller notes something about the operation in a transaction of its own.
	if _, err := silentMachine.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "video", Request: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM fencerow_operations WHERE operation_id = 'a' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	nameUntilItWaits(t, m.Store().(*pgstore.Store), "a", watcher)
	stop()
	began := time.Now()
	time.Sleep(200 * time.Millisecond) // sleep: shutdown is under way
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if at, was := sent.Load("a"); was {
		t.Errorf("it was claimed, begun and sent %s after shutdown had begun", at.(time.Time).Sub(began).Round(time.Millisecond))
	}
}

// Contract A3: a row that somebody has locked, and that is named, is waited for; nothing else that is due is kept waiting.
func TestALockedRowThatIsNamedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for name, byName := range map[string]bool{"without its name": false, "by its name": true} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.URL(t)
			m := pgBenchOn(t, url, &counter{})
			sent := make(chan string, 10)
			r := &remote{submit: func(_ context.Context, s worker.Submission) (worker.Accepted, error) {
				sent <- s.OperationID
				return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
			}}
			works(t, worker.Config{Machine: m, Slots: 2, Handlers: map[string]worker.Handler{"video": r}})
			holder, watcher := pgConn(t, url), pgConn(t, url)
			hears(t, watcher, 1)
			quiet, err := pgstore.Open(t.Context(), url, pgstore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = quiet.Close() })
			silentMachine, err := machine.New(quiet, machine.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := silentMachine.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "video", Request: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			pgExec(t, holder, "BEGIN; SELECT FROM fencerow_operations WHERE operation_id = 'a' FOR UPDATE")
			wake := named("a")
			if byName {
				nameUntilItWaits(t, m.Store().(*pgstore.Store), "a", watcher)
			} else {
				m.Store().(*pgstore.Store).Wake(wake.Unnamed())
				time.Sleep(300 * time.Millisecond) // sleep: it is heard
			}
			began := time.Now()
			if _, err := m.Prepare(t.Context(), machine.Request{OperationID: "b", Kind: "video", Request: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			select {
			case id := <-sent:
				if took := time.Since(began); id != "b" || took > 1500*time.Millisecond {
					t.Errorf("%s was sent after %s, while a slot waited for the row of a", id, took.Round(time.Millisecond))
				}
			case <-time.After(20 * time.Second):
				t.Error("b was not sent in 20 s")
			}
			pgExec(t, holder, "ROLLBACK")
		})
	}
}

// Contract G3: whoever may connect to the database may notify, and has no request sent by a handler that it was not prepared
// for.
func TestARoleWithoutPrivilegesChoosesNoHandler(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	m := pgBenchOn(t, url, &counter{})
	took := make(chan worker.Submission, 10)
	takes := func(_ context.Context, s worker.Submission) (worker.Accepted, error) {
		took <- s
		return worker.Accepted{RemoteJobID: "job-" + s.OperationID}, nil
	}
	video, poster := &remote{submit: takes}, &remote{submit: takes}
	works(t, worker.Config{Machine: m, Handlers: map[string]worker.Handler{"video": video, "poster": poster}})
	conn := pgConn(t, url)
	hears(t, conn, 1)
	quiet, err := pgstore.Open(t.Context(), url, pgstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = quiet.Close() })
	silentMachine, err := machine.New(quiet, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := silentMachine.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "poster", Provider: "video", Request: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	var listen string
	if err := conn.QueryRow(t.Context(), "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'").Scan(&listen); err != nil {
		t.Fatal(err)
	}
	channel := strings.Trim(strings.TrimPrefix(listen, "LISTEN "), `"`) // a hash of the schema and the prefix: anybody can tell
	pgExec(t, conn, "CREATE ROLE fencerow_nobody; SET ROLE fencerow_nobody")
	defer pgExec(t, conn, "RESET ROLE; DROP ROLE fencerow_nobody")
	if _, err := conn.Exec(t.Context(), "SELECT pg_notify($1, $2)", channel, `{"Action":"dispatch","Provider":"video","OperationID":"a","Kind":"video"}`); err != nil {
		t.Fatal(err)
	}
	select {
	case <-took:
	case <-time.After(20 * time.Second):
		t.Fatal("it was not sent at all")
	}
	if video.count("a") != 0 || poster.count("a") != 1 {
		t.Errorf("the handler of video sent it %d times, that of poster %d times; it was prepared as a poster", video.count("a"), poster.count("a"))
	}
}
