package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

// crowd fires several events as as many callers at once, where the store itself would be asked for several.
type crowd struct{ *sqlitestore.Store }

func (c crowd) ApplyMany(ctx context.Context, event string, all []transitions.Params) ([]machine.Answer, error) {
	answers, errs := make([]machine.Answer, len(all)), make([]error, len(all))
	var callers sync.WaitGroup
	for i, p := range all {
		callers.Go(func() { answers[i], errs[i] = c.Apply(ctx, event, p) })
	}
	callers.Wait()
	return answers, errors.Join(errs...)
}

func crowded(t *testing.T) machinetest.Subject {
	f := open(t, file(t), sqlitestore.AlwaysGather(sqlitestore.Options{}))
	return machinetest.Subject{Store: crowd{f.Store}, Put: f.put, Now: f.Now}
}

func TestEventsThatShareATransactionConform(t *testing.T) {
	t.Parallel()
	machinetest.Run(t, crowded)
}

func TestEventsThatShareATransactionAgreeWithTheTable(t *testing.T) {
	t.Parallel()
	machinetest.Agree(t, crowded)
}

// gathering is a store whose writing is kept by a transaction of the caller's, so that events gather.
type gathering struct {
	*fixture
	let func()
}

func gather(t *testing.T) *gathering {
	t.Helper()
	f := open(t, file(t), sqlitestore.AlwaysGather(sqlitestore.Options{BusyTimeout: time.Minute}))
	for _, id := range []string{"a", "b", "c"} {
		f.applied("prepare", request(id))
		f.applied("dispatch_claim", claim(id, "w"))
		f.applied("submit_begin", held(id))
	}
	tx, err := f.DB().BeginTx(f.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &gathering{f, func() { _ = tx.Rollback() }}
}

func held(id string, more ...string) transitions.Params {
	p := transitions.Params{"operation_id": transitions.TextValue(id), "owner": transitions.TextValue("w"), "revision": transitions.IntValue(1)}
	for i := 0; i < len(more); i += 2 {
		p[more[i]] = transitions.TextValue(more[i+1])
	}
	return p
}

// call fires an event and waits until it has joined the others.
func (g *gathering) call(ctx context.Context, event string, p transitions.Params) chan string {
	g.Helper()
	before, verdict := g.Waiting(), make(chan string, 1)
	go func() {
		a, err := g.Apply(ctx, event, p)
		switch {
		case err != nil:
			verdict <- err.Error()
		case !a.Exists:
			verdict <- "no such operation"
		case !a.Applied:
			verdict <- "denied: " + strings.Join(a.Failed, ", ")
		default:
			verdict <- "applied"
		}
	}()
	for deadline := time.Now().Add(20 * time.Second); g.Waiting() == before; {
		if time.Now().After(deadline) {
			g.Fatal("the call does not wait with the others")
		}
	}
	return verdict
}

func verdicts(calls ...chan string) []string {
	var all []string
	for _, c := range calls {
		all = append(all, <-c)
	}
	return all
}

func TestEventsOfAnyNameShareATransactionAndEachIsAnswered(t *testing.T) {
	t.Parallel()
	g := gather(t)
	calls := []chan string{
		g.call(g.ctx, "submit_accepted", held("a", "remote_job_id", "job-1")),
		g.call(g.ctx, "submit_unknown", held("b", "reason", "panic")),
		g.call(g.ctx, "observe_claim", claim("c", "w")),
		g.call(g.ctx, "submit_accepted", held("nobody", "remote_job_id", "job-2")),
		g.call(g.ctx, "evidence_noted", held("a", "kind", "note")),
	}
	g.let()
	want := []string{"applied", "applied", "denied: phase, lease_vacant, next_action, due, remote_job_id_known", "no such operation", "applied"}
	if diff := cmp.Diff(want, verdicts(calls...)); diff != "" {
		t.Errorf("the answers (-want +got):\n%s", diff)
	}
}

func TestOneThatTheTablesRefuseSpoilsNothingForTheOthers(t *testing.T) {
	t.Parallel()
	g := gather(t)
	calls := []chan string{
		g.call(g.ctx, "submit_unknown", held("a", "reason", "panic")),
		g.call(g.ctx, "submit_unknown", held("b", "reason", "no word of the list")),
		g.call(g.ctx, "submit_unknown", held("c", "reason", "panic")),
	}
	g.let()
	got := verdicts(calls...)
	if got[0] != "applied" || got[2] != "applied" || !strings.Contains(got[1], "uncertain_reason") {
		t.Errorf("the answers are %q, want an error about uncertain_reason for the second, and the others applied", got)
	}
}

func TestOfTwoThatFindTheSameRemoteJobTogetherOneGetsIt(t *testing.T) {
	t.Parallel()
	g := gather(t)
	calls := []chan string{
		g.call(g.ctx, "submit_accepted", held("a", "remote_job_id", "job-1")),
		g.call(g.ctx, "submit_accepted", held("b", "remote_job_id", "job-1")),
	}
	g.let()
	if diff := cmp.Diff([]string{"applied", "denied: remote_job_id_free"}, verdicts(calls...)); diff != "" {
		t.Errorf("the answers (-want +got):\n%s", diff)
	}
}

func TestACallThatIsGivenUpBeforeItsTransactionBeganDidNotRun(t *testing.T) {
	t.Parallel()
	g := gather(t)
	ctx, cancel := context.WithCancel(g.ctx)
	gone := g.call(ctx, "submit_unknown", held("a", "reason", "panic"))
	stays := g.call(g.ctx, "submit_unknown", held("b", "reason", "panic"))
	cancel()
	if got := <-gone; !strings.HasSuffix(got, "not begun: context canceled") {
		t.Errorf("the call that was given up: %s", got)
	}
	g.let()
	if got := <-stays; got != "applied" {
		t.Errorf("the call beside it: %s", got)
	}
	rows, err := g.Get(g.ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if op := machine.OperationOf(g.Program(), rows[0]); op.Phase != transitions.Submitting {
		t.Errorf("the operation of the call that was given up is %s", op.Phase)
	}
}

func TestWhereNoTransactionIsHadNoneOfThoseThatGatheredRan(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.AlwaysGather(sqlitestore.Options{BusyTimeout: 500 * time.Millisecond}))
	f.applied("prepare", request("a"))
	tx, err := f.DB().BeginTx(f.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var callers sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		callers.Go(func() { _, errs[i] = f.Apply(f.ctx, "prepare", request(fmt.Sprint("op-", i))) })
	}
	callers.Wait()
	for i, err := range errs {
		if err == nil || machine.IsUnknown(err) || !strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("call %d: %v, want that nothing was written", i, err)
		}
	}
}
