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

	"github.com/google/go-cmp/cmp"

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

// Two events of one operation never share a transaction, so that each is judged on what the other left committed; what
// comes later of an operation stays behind it, and a hundred go together at most.
func TestTwoEventsOfOneOperationNeverShareATransaction(t *testing.T) {
	t.Parallel()
	g := &gatherer{}
	wait := func(id, event string) {
		g.waiting = append(g.waiting, &gathered{call: &call{id: id, event: event}})
	}
	taken := func() (events []string) {
		for _, w := range g.take() {
			events = append(events, w.call.event)
		}
		return events
	}
	for _, event := range []string{"a1", "b1", "a2", "c1", "a3", "b2"} {
		wait(event[:1], event)
	}
	for n, want := range [][]string{{"a1", "b1", "c1"}, {"a2", "b2"}, {"a3"}, nil} {
		if diff := cmp.Diff(want, taken()); diff != "" {
			t.Errorf("transaction %d (-want +got):\n%s", n+1, diff)
		}
	}
	for n := range mostGathered + 1 {
		wait(fmt.Sprint(n), "x")
	}
	if n := len(taken()); n != mostGathered {
		t.Errorf("%d share a transaction, want %d at most", n, mostGathered)
	}
}
