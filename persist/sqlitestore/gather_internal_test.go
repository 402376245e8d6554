package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// kept is a store whose writing is kept by a transaction until several prepares have gathered; it gives what they were
// told, and how many commits that took.
func kept(t *testing.T, commit error, o Options) (store *Store, told []error, commits int64) {
	t.Helper()
	s, ctx := spying(t), context.Background()
	o.driver, o.BusyTimeout = "spy-"+t.Name(), time.Minute
	store, err := Open(ctx, filepath.Join(t.TempDir(), "x.db"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	tx, err := store.DB().BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	s.commit = func() error {
		n.Add(1)
		return commit
	}
	told = make([]error, 5)
	var callers sync.WaitGroup
	for i := range told {
		callers.Go(func() {
			_, told[i] = store.Apply(ctx, "prepare", transitions.Params{
				"operation_id": transitions.TextValue(fmt.Sprint("op-", i)), "kind": transitions.TextValue("clip"), "request": transitions.BytesValue([]byte("{}")),
			})
		})
	}
	for late := time.Now().Add(20 * time.Second); store.gather != nil && store.Waiting() < len(told); {
		if time.Now().After(late) {
			t.Fatal("the calls do not gather")
		}
	}
	_ = tx.Rollback()
	callers.Wait()
	return store, told, n.Load()
}

func TestEventsThatAreFiredTogetherShareACommit(t *testing.T) {
	t.Parallel()
	_, told, commits := kept(t, nil, Options{GroupCommit: true, alwaysGather: true})
	if err := errors.Join(told...); err != nil || commits != 1 {
		t.Errorf("%d commits for %d events, and %v", commits, len(told), err)
	}
}

func TestWithoutGroupCommitEveryEventHasACommit(t *testing.T) {
	t.Parallel()
	_, told, commits := kept(t, nil, Options{})
	if err := errors.Join(told...); err != nil || int(commits) != len(told) {
		t.Errorf("%d commits for %d events, and %v", commits, len(told), err)
	}
}

func TestASharedCommitWhoseAnswerIsLostIsUnknownToAllAndHistoryKnows(t *testing.T) {
	t.Parallel()
	store, told, _ := kept(t, errors.New("the disk went away"), Options{GroupCommit: true, alwaysGather: true})
	m, err := machine.New(store, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range told {
		id := fmt.Sprint("op-", i)
		var unknown *machine.UnknownError
		if !errors.As(err, &unknown) || unknown.OperationID != id || unknown.Event != "prepare" {
			t.Errorf("%s: got %v, want an *UnknownError", id, err)
		}
		if landed, err := m.Landed(t.Context(), id, "prepare", 0); err != nil || !landed {
			t.Errorf("ask history of %s: landed %t, %v; want true", id, landed, err)
		}
	}
}
