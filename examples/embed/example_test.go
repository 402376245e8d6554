package embed_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/reconcile"
	"github.com/fencerow/fencerow/worker"
)

// printShop is a handler: what is known of one remote API. Submit sends once; whatever it does not classify is
// uncertain.
type printShop struct{}

func (printShop) Submit(ctx context.Context, s worker.Submission) (worker.Accepted, error) {
	// POST s.Request here, not after s.SendBy, once. worker.NotSent, worker.Refused and worker.Rejected say what an
	// error proves; any other error leaves open whether a job exists.
	return worker.Accepted{RemoteJobID: "print-4711"}, nil
}

func (printShop) Observe(ctx context.Context, o worker.Observation) (worker.Status, error) {
	// GET the status of o.RemoteJobID here, as often as it takes.
	return worker.Status{State: worker.Succeeded, Snapshot: []byte(`{"printed": 500}`)}, nil
}

// The README's example is everything between the two marks.
// [example]

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "embed")
	check(err)
	defer os.RemoveAll(dir)
	store, err := sqlitestore.Open(ctx, filepath.Join(dir, "orders.db"), sqlitestore.Options{})
	check(err)
	defer store.Close()
	_, err = store.Migrate(ctx)
	check(err)
	m, err := machine.New(store, machine.Config{})
	check(err)

	// The operation is prepared in the transaction that stores your own rows: both are there, or neither.
	_, err = store.DB().ExecContext(ctx, `CREATE TABLE orders (id TEXT PRIMARY KEY, flyers INTEGER)`)
	check(err)
	tx, err := store.DB().BeginTx(ctx, nil)
	check(err)
	_, err = tx.ExecContext(ctx, `INSERT INTO orders VALUES ('order-1', 500)`)
	check(err)
	prepared, err := m.In(store.InTx(tx)).Prepare(ctx, machine.Request{
		OperationID: "order-1", Kind: "print", Request: []byte(`{"flyers": 500}`),
	})
	check(err)
	check(tx.Commit())
	store.Wake(machine.Due(prepared.Operation)...) // a worker of this process with nothing to do sends it at once

	// A worker and a reconciler, usually in a process of their own, and as many of them as you like.
	w, err := worker.New(worker.Config{
		Machine: m, Who: machine.Who{Provider: "print"}, Handlers: map[string]worker.Handler{"print": printShop{}},
		Every: 10 * time.Millisecond, Poll: 10 * time.Millisecond,
	})
	check(err)
	r, err := reconcile.New(m, reconcile.Options{})
	check(err)
	working, stop := context.WithCancel(ctx)
	go r.Run(working)
	go func() {
		defer stop()
		op := finished(ctx, m, "order-1")
		fmt.Println(op.Phase, op.Outcome, op.RemoteJobID)
	}()
	check(w.Run(working)) // until working ends; then it drains
	// Output: terminal succeeded print-4711
}

// [end]

// finished waits for the end of one operation.
func finished(ctx context.Context, m *machine.Machine, id string) machine.Operation {
	for {
		op, err := m.Get(ctx, id)
		check(err)
		if op.Finished() {
			return op
		}
		<-time.After(10 * time.Millisecond)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
