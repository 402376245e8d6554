package machine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/examples/immediate"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// Of many that one call makes due none is named: whoever works takes as many of them as it can by one statement.
func TestManyThatBecomeDueTogetherAreToldOnceWithoutNames(t *testing.T) {
	t.Parallel()
	store := machine.NewMemory(transitions.MustCompile(transitions.Standard()))
	m, err := machine.New(store, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var heard []machine.Wake
	defer store.Hear(func(w machine.Wake) bool { heard = append(heard, w); return false })()
	of := func(id, provider string) machine.Request {
		return machine.Request{OperationID: id, Kind: "video", Provider: provider, Request: []byte("{}")}
	}
	if _, err := m.PrepareMany(t.Context(), []machine.Request{of("a", "video"), of("b", "print"), of("c", "video"), of("d", "video")}); err != nil {
		t.Fatal(err)
	}
	want := []machine.Wake{
		{Action: transitions.Dispatch, Provider: "video", Kind: "video"},
		{Action: transitions.Dispatch, Provider: "print", OperationID: "b", Kind: "video"},
	}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

// What was prepared in a transaction of the caller's the caller tells after its commit; what is due later, and an operation
// that there is not, is nothing to tell.
func TestACallerTellsWhatIsDueOfItsOperations(t *testing.T) {
	t.Parallel()
	m, err := machine.New(machine.NewMemory(transitions.MustCompile(transitions.Standard())), machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	now, err := m.Prepare(t.Context(), machine.Request{OperationID: "a", Kind: "video", Account: "main", Request: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	later, err := m.Prepare(t.Context(), machine.Request{OperationID: "b", Kind: "video", Request: []byte("{}"), NotBefore: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	want := []machine.Wake{{Action: transitions.Dispatch, Provider: "video", Account: "main", OperationID: "a", Kind: "video"}}
	if diff := cmp.Diff(want, machine.Due(machine.Operation{}, later.Operation, now.Operation)); diff != "" {
		t.Errorf("due (-want +got):\n%s", diff)
	}
	if due := machine.Due(machine.Operation{}); due != nil {
		t.Errorf("of nothing %v is due", due)
	}
}

// Operations of two tables have their columns in other places.
func TestACallerTellsWhatIsDueOfOperationsOfTwoTables(t *testing.T) {
	t.Parallel()
	var ops []machine.Operation
	for _, table := range []transitions.Table{transitions.Standard(), immediate.Table()} {
		m, err := machine.New(machine.NewMemory(transitions.MustCompile(table)), machine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Prepare(t.Context(), machine.Request{OperationID: "of " + table.Name, Kind: table.Name, Request: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, p.Operation)
	}
	var names []string
	for _, w := range machine.Due(ops...) {
		names = append(names, w.OperationID)
	}
	if diff := cmp.Diff([]string{"of standard", "of immediate"}, names); diff != "" {
		t.Error(diff)
	}
}

// Stop waits for the calls that are under way, and none comes after it; what is called may fire events, also while somebody
// waits for it to end.
func TestNothingIsHeardAfterStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := machine.NewMemory(transitions.MustCompile(transitions.Standard()))
		m, err := machine.New(store, machine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		prepare := func(id string) {
			if _, err := m.Prepare(context.Background(), machine.Request{OperationID: id, Kind: "video", Request: []byte("{}")}); err != nil {
				t.Error(err)
			}
		}
		goOn := make(chan struct{})
		var heard []string
		stop := store.Hear(func(w machine.Wake) bool {
			heard = append(heard, w.OperationID)
			<-goOn
			prepare(w.OperationID + " and its own")
			return false
		})
		others := 0
		stopOther := store.Hear(func(machine.Wake) bool { others++; return false })
		go prepare("a")
		synctest.Wait()
		stopOther() // its turn has not come
		stopped := false
		go func() { stop(); stopped = true }()
		synctest.Wait()
		if stopped {
			t.Error("stop did not wait for a call that was under way")
		}
		close(goOn)
		synctest.Wait()
		prepare("b")
		if diff := cmp.Diff([]string{"a"}, heard); diff != "" || !stopped || others > 0 {
			t.Errorf("stopped %t, %d were heard by one that had stopped; heard (-want +got):\n%s", stopped, others, diff)
		}
	})
}

// Inside a transaction, and in a store that has nobody to tell, there is no notifier; what is told to it stays.
func TestWithoutANotifierNobodyHears(t *testing.T) {
	t.Parallel()
	var nobody *machine.Notifier
	nobody.Hear(func(machine.Wake) bool { t.Error("heard"); return true })()
	due := machine.Wake{Action: transitions.Dispatch}
	if diff := cmp.Diff([]machine.Wake{due}, nobody.Tell(due)); diff != "" || nobody.Heard() || nobody.Applied(nil) != nil {
		t.Errorf("what is left: %s", diff)
	}
}
