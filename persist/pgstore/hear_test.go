package pgstore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// beside is another process's store on the same tables.
func (f *fixture) beside(o pgstore.Options) *fixture {
	f.Helper()
	store, err := pgstore.Open(f.ctx, f.url, o)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	other := *f
	other.Store = store
	return &other
}

// What somebody here takes by its name is told to no other process; what nobody here takes is, and is not heard here a
// second time when its notification comes back.
func TestOtherProcessesAreToldWhatNobodyHereTakes(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{WakeUps: true})
	there := f.beside(pgstore.Options{WakeUps: true}).listening()
	back := f.listening()
	var here []machine.Wake
	defer f.Hear(func(w machine.Wake) bool {
		here = append(here, w)
		return w.OperationID == "taken"
	})()
	f.applied("prepare", "taken", request("taken"))
	f.applied("prepare", "left", request("left"))
	f.Wake(end)
	taken := machine.Wake{Action: transitions.Dispatch, Provider: "video", OperationID: "taken", Kind: "video"}
	left := taken
	left.OperationID = "left"
	if diff := cmp.Diff([]machine.Wake{taken, left, end}, here); diff != "" {
		t.Errorf("heard here (-want +got):\n%s", diff)
	}
	told := map[machine.Wake]int{}
	for told[left] == 0 || told[end] == 0 { // they may come in either order
		select {
		case w := <-there.heard:
			told[w]++
		case <-time.After(time.Minute):
			t.Fatalf("the other process was told %v", told)
		}
	}
	if diff := cmp.Diff(map[machine.Wake]int{left: 1, end: 1}, told); diff != "" {
		t.Errorf("told to the other process (-want +got):\n%s", diff)
	}
	f.beside(pgstore.Options{WakeUps: true}).Wake(end) // a third, by whose word what came before it has come back
	if got := f.hears(back, end); len(got) != 1 {
		t.Errorf("came back: %v", got)
	}
}

// What a transaction of the caller's leaves due is told by the caller after its commit, here too, and needs no wake-ups.
func TestACallersTransactionIsHeardWhenItsCallerSaysSo(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	var here []machine.Wake
	defer f.Hear(func(w machine.Wake) bool { here = append(here, w); return false })()
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	inside := f.InTx(tx)
	if _, err := inside.Apply(f.ctx, "prepare", params(request("a"), text("operation_id", "a"))); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	if len(here) > 0 {
		t.Errorf("%v was heard of a transaction whose end nobody had told", here)
	}
	f.Wake(end)
	if diff := cmp.Diff([]machine.Wake{end}, here); diff != "" {
		t.Error(diff)
	}
}

// What was told is sent although the store is closed right after it: a process that is shut down leaves its work to others.
func TestWhatWasToldIsSentBeforeTheStoreIsClosed(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	l := f.beside(pgstore.Options{WakeUps: true}).listening()
	leaving := f.beside(pgstore.Options{WakeUps: true})
	first := machine.Wake{Action: "the first, which is on its way"}
	leaving.Wake(first)
	leaving.Wake(end)
	if err := leaving.Close(); err != nil {
		t.Error(err)
	}
	f.hears(l, end)
}
