package hostile_test

import (
	"context"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/worker"
)

// sends tells of what it was asked to send.
type sends chan string

func (s sends) Submit(_ context.Context, sub worker.Submission) (worker.Accepted, error) {
	s <- sub.OperationID
	return worker.Accepted{RemoteJobID: "job-" + sub.OperationID}, nil
}

func (sends) Observe(context.Context, worker.Observation) (worker.Status, error) {
	return worker.Status{State: worker.Pending}, nil
}

// Contract G3: what one process prepares another sends long before it would have polled, also when the session that it
// listened on was ended.
func TestAProcessThatPreparesWakesOneThatSends(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	d := newDatabase(t, url)
	var stores [2]*pgstore.Store
	for i := range stores {
		store, err := pgstore.Open(t.Context(), url, pgstore.Options{WakeUps: true, MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		stores[i] = store
	}
	prepares, err := machine.New(stores[0], machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	works, err := machine.New(stores[1], machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(sends, 10)
	w, err := worker.New(worker.Config{
		Machine: works, Who: machine.Who{Provider: "video", Account: "main"}, Handlers: map[string]worker.Handler{"video": got}, Poll: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	watcher := d.connect()
	listens := func() bool {
		var n int
		if err := watcher.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%' AND state = 'idle'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 1
	}
	for _, id := range []string{"first", "second"} {
		d.until("the worker listens", listens)
		if _, err := prepares.Prepare(t.Context(), machine.Request{OperationID: id, Kind: "video", Account: "main", Request: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		select {
		case sent := <-got:
			if sent != id {
				t.Errorf("%s was sent, want %s", sent, id)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s was not sent within a minute", id)
		}
		d.exec(watcher, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'")
		d.until("the session has ended", func() bool { return !listens() })
	}
}
