package hostile_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
)

// G3: behind a pooler in transaction mode nobody hears anything, says so, and leaves no session of the pooler's behind that
// listens: its next user would be sent what it never asked for.
func TestAListenerBehindAPoolerLeavesNoSessionThatListens(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	admin(t, direct, "SET statement_timeout = '20s'")
	d := newDatabase(t, direct)
	behind := newPooler(t, direct).before(t, direct)
	store := d.open(behind, pgstore.Options{MaxConns: 2, WakeUps: true})
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := store.Wakes(ctx, func() { t.Error("it is ready") }, func(w machine.Wake) { t.Errorf("it heard %v", w) }); err == nil {
			t.Error("it ended well")
		}
		cancel()
	}
	listens := 0
	var all sync.WaitGroup
	var mu sync.Mutex
	for range 3 { // as many as the pooler has sessions
		all.Go(func() {
			conn, err := pgx.Connect(t.Context(), behind+"&default_query_exec_mode=exec")
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close(context.Background()) }()
			var n int
			if err := conn.QueryRow(t.Context(), "SELECT count(c) FROM pg_sleep(1) LEFT JOIN pg_listening_channels() AS c ON true").Scan(&n); err != nil {
				t.Error(err)
			}
			mu.Lock()
			listens += n
			mu.Unlock()
		})
	}
	all.Wait()
	if listens > 0 {
		t.Errorf("%d sessions of the pooler listen", listens)
	}
}

// G3: group commit behind a pooler in transaction mode with few sessions.
func TestEventsTravelTogetherBehindAPooler(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	admin(t, direct, "SET statement_timeout = '20s'")
	d := newDatabase(t, direct)
	store := d.open(newPooler(t, direct).before(t, direct), pgstore.Options{MaxConns: 12, GroupCommit: true, WakeUps: true})
	engine := d.machine(store)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			id := fmt.Sprint("op-", i)
			_, err := engine.Prepare(t.Context(), machine.Request{OperationID: id, Kind: "video", Request: []byte("{}")})
			if err != nil {
				t.Error(err)
				return
			}
			l, err := engine.Claim(t.Context(), "dispatch", id, machine.Who{Provider: "video"})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err = engine.Begin(t.Context(), l); err == nil {
				_, err = engine.Accepted(t.Context(), l, "job-"+id, nil, 0)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 40 {
		if op, err := d.engine.Get(t.Context(), fmt.Sprint("op-", i)); err != nil || op.RemoteJobID != fmt.Sprint("job-op-", i) {
			t.Errorf("op-%d has job %q, %v", i, op.RemoteJobID, err)
		}
	}
}
