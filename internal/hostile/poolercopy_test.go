package hostile_test

import (
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
)

// Prepares that are copied are a transaction of several statements, which keeps its session while others wait for one;
// who calls with the same requests at the same time creates none of them again (G3).
func TestVeryManyPreparesAreCopiedBehindAPooler(t *testing.T) {
	t.Parallel()
	direct := pgtest.URL(t)
	admin(t, direct, "SET statement_timeout = '20s'")
	newDatabase(t, direct)
	const callers, operations = 8, 600
	store, err := pgstore.Open(t.Context(), newPooler(t, direct).before(t, direct), pgstore.Options{MaxConns: callers, LockTimeout: 15 * time.Second, StatementTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	verbs, err := machine.New(store, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	requests := make([]machine.Request, operations)
	for i := range requests {
		requests[i] = machine.Request{OperationID: name("op-", i), Kind: "video", Request: []byte("{}")}
	}
	var mu sync.Mutex
	created := map[string]int{}
	var busy sync.WaitGroup
	for range callers {
		busy.Go(func() {
			prepared, err := verbs.PrepareMany(t.Context(), requests)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, p := range prepared {
				if p.Err != nil {
					t.Error(p.Err)
				}
				if p.Created {
					created[p.Operation.OperationID]++
				}
			}
		})
	}
	busy.Wait()
	for id, n := range created {
		if n != 1 {
			t.Errorf("%s was created %d times", id, n)
		}
	}
	if len(created) != operations {
		t.Errorf("%d of %d operations were created", len(created), operations)
	}
}
