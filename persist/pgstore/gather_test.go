package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// crowd fires several events as as many callers at once, where the store itself would be asked for several.
type crowd struct{ *pgstore.Store }

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
	f := open(t, pgstore.AlwaysGather(pgstore.Options{MaxConns: 4}))
	return machinetest.Subject{Store: crowd{f.Store}, Put: f.put, Now: f.Now}
}

func TestGatheredEventsConform(t *testing.T) {
	t.Parallel()
	machinetest.Run(t, crowded)
}

func TestGatheredEventsAgreeWithTheTable(t *testing.T) {
	t.Parallel()
	machinetest.Agree(t, crowded)
}

// told is what a caller was told.
type told struct {
	answer machine.Answer
	err    error
}

// gathering is a store whose statements were recorded, and an event of which one waits for a row, so that others gather.
type gathering struct {
	*fixture
	sent  *recorder
	event string
	first chan told
	let   func() // lets the first one go
}

// gather locks the operation "first" and fires the event on it. An event on the operation "slow" waits for the advisory
// lock 1.
func gather(t *testing.T, o pgstore.Options, event string, with transitions.Params) *gathering {
	t.Helper()
	g := &gathering{sent: &recorder{}, event: event, first: make(chan told, 1)}
	o.LockTimeout, o.StatementTimeout, o.MaxConns, o.Tracer = patient.LockTimeout, patient.StatementTimeout, 6, g.sent
	g.fixture = open(t, o)
	g.prepared("first")
	other, watcher := g.connect(), g.connect()
	g.exec(other, `CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$`)
	g.exec(other, `CREATE TRIGGER dawdle BEFORE UPDATE ON fencerow_operations FOR EACH ROW WHEN (NEW.operation_id = 'slow') EXECUTE FUNCTION dawdle()`)
	g.exec(other, "BEGIN; SELECT FROM fencerow_operations WHERE operation_id = 'first' FOR UPDATE")
	go func() {
		answer, err := g.Apply(g.ctx, event, params(with, text("operation_id", "first")))
		g.first <- told{answer, err}
	}()
	g.until("the first one waits", func() bool { return g.waiters(watcher) == 1 })
	g.let = func() { g.exec(other, "ROLLBACK") }
	return g
}

// call fires the event and waits until it has joined the others.
func (g *gathering) call(ctx context.Context, with transitions.Params) chan told {
	g.Helper()
	before, answered := g.Waiting(g.event), make(chan told, 1)
	go func() {
		answer, err := g.Apply(ctx, g.event, with)
		answered <- told{answer, err}
	}()
	g.until("a call has joined the others", func() bool { return g.Waiting(g.event) > before })
	return answered
}

// statements counts what was sent in a form, since the first one.
func (g *gathering) statements(form transitions.Form) int {
	g.Helper()
	set, err := persist.Compile(g.Program(), persist.PostgreSQL, persist.Names{}, persist.LockTimeout(patient.LockTimeout))
	if err != nil {
		g.Fatal(err)
	}
	g.sent.mu.Lock()
	defer g.sent.mu.Unlock()
	n := 0
	for _, sql := range g.sent.sent {
		if sql == set.Statement(g.event, form).SQL {
			n++
		}
	}
	return n
}

func (c told) verdict() string {
	switch {
	case c.err != nil:
		return c.err.Error()
	case !c.answer.Exists:
		return "no such operation"
	case !c.answer.Applied:
		return "denied: " + strings.Join(c.answer.Failed, ", ")
	default:
		return "applied"
	}
}

func TestEventsThatAreFiredTogetherTravelTogetherAndEachIsAnswered(t *testing.T) {
	t.Parallel()
	g := gather(t, pgstore.Unhurried(pgstore.Options{}), "dispatch_claim", claim("w"))
	g.prepared("a", "b", "c", "d")
	g.exec(g.connect(), "UPDATE fencerow_operations SET provider = 'print' WHERE operation_id = 'c'")
	g.exec(g.connect(), "UPDATE fencerow_operations SET lease_owner = 'v', lease_until = now() + interval '1 hour', due_at = now() + interval '1 hour' WHERE operation_id = 'd'")
	var answers []chan told
	for _, id := range []string{"a", "b", "c", "d", "nobody"} {
		answers = append(answers, g.call(g.ctx, params(claim("w-"+id), text("operation_id", id))))
	}
	g.let()
	if got := (<-g.first).verdict(); got != "applied" {
		t.Errorf("the first: %s", got)
	}
	var got []string
	for _, a := range answers {
		got = append(got, (<-a).verdict())
	}
	want := []string{"applied", "applied", "denied: provider", "denied: lease_vacant, due", "no such operation"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the answers (-want +got):\n%s", diff)
	}
	for _, id := range []string{"a", "b"} {
		if op := g.op(id); op.LeaseOwner != "w-"+id || op.Revision != 1 {
			t.Errorf("%s is held by %q at revision %d", id, op.LeaseOwner, op.Revision)
		}
	}
	// The first one, the one statement for five, and that there is no such operation is asked again.
	if one, many := g.statements(transitions.One), g.statements(persist.Gathered); one != 2 || many != 1 {
		t.Errorf("%d statements of one and %d of several, want 2 and 1", one, many)
	}
}

// Evidence and renewals of several operations go as other events do: one statement, and each operation's own is kept.
func TestEvidenceAndRenewalsTravelTogetherToo(t *testing.T) {
	t.Parallel()
	for event, with := range map[string]transitions.Params{
		"evidence_noted": text("kind", "note"),
		"renew":          params(held("w", 1), num("ttl_ms", 3_600_000)),
	} {
		g := gather(t, pgstore.Unhurried(pgstore.Options{}), event, with)
		g.prepared("a", "b", "c")
		g.exec(g.connect(), "UPDATE fencerow_operations SET lease_owner = 'w', lease_until = now() + interval '1 minute', revision = 1 WHERE operation_id <> 'first'")
		var answers []chan told
		for _, id := range []string{"a", "b", "c"} {
			answers = append(answers, g.call(g.ctx, params(with, text("operation_id", id))))
		}
		g.let()
		<-g.first
		for i, a := range answers {
			if got := (<-a).verdict(); got != "applied" {
				t.Errorf("%s, call %d: %s", event, i, got)
			}
		}
		if many := g.statements(persist.Gathered); many != 1 {
			t.Errorf("%s: %d statements for three operations, want one", event, many)
		}
		for _, id := range []string{"a", "b", "c"} {
			op := g.op(id)
			if kept := op.EvidenceSeq == 1; kept != (event == "evidence_noted") {
				t.Errorf("%s: %s has %d pieces of evidence", event, id, op.EvidenceSeq)
			}
			if longer := op.LeaseUntil.Sub(op.UpdatedAt) > 30*time.Minute; longer != (event == "renew") {
				t.Errorf("%s: the lease of %s ends %s after the event", event, id, op.LeaseUntil.Sub(op.UpdatedAt))
			}
		}
	}
}

func TestWithoutGroupCommitEveryEventIsAStatement(t *testing.T) {
	t.Parallel()
	sent := &recorder{}
	f := open(t, pgstore.Options{Tracer: sent})
	before := len(sent.sent)
	var all []transitions.Params
	for i := range 20 {
		all = append(all, request(fmt.Sprint("op-", i)))
	}
	if _, err := (crowd{f.Store}).ApplyMany(f.ctx, "prepare", all); err != nil {
		t.Fatal(err)
	}
	if got := len(sent.sent) - before; got != 20 {
		t.Errorf("%d statements for 20 events", got)
	}
}

func TestALockedOperationHoldsUpNoneThatTravelWithIt(t *testing.T) {
	t.Parallel()
	g := gather(t, pgstore.Unhurried(pgstore.Options{}), "dispatch_claim", claim("w"))
	g.prepared("a", "b", "c")
	other, watcher := g.connect(), g.connect()
	g.exec(other, "BEGIN; UPDATE fencerow_operations SET lease_owner = 'v', lease_until = now() + interval '1 hour' WHERE operation_id = 'b'")
	var answers []chan told
	for _, id := range []string{"a", "b", "c"} {
		answers = append(answers, g.call(g.ctx, params(claim("w"), text("operation_id", id))))
	}
	g.let()
	for _, i := range []int{0, 2} {
		if got := (<-answers[i]).verdict(); got != "applied" {
			t.Errorf("call %d: %s", i, got)
		}
	}
	g.until("the one whose row is locked waits alone", func() bool { return g.waiters(watcher) == 1 })
	if one := g.statements(transitions.One); one != 2 {
		t.Errorf("%d statements of one, want 2: the first, and the one whose row is locked", one)
	}
	g.exec(other, "COMMIT")
	if got := (<-answers[1]).verdict(); got != "denied: lease_vacant" {
		t.Errorf("the one whose row was locked: %s", got)
	}
}

func TestAStatementThatTakesLongHoldsUpNoneBehindIt(t *testing.T) {
	t.Parallel()
	g := gather(t, pgstore.Options{GroupCommit: true}, "dispatch_claim", claim("w"))
	defer g.let()
	g.prepared("a", "b")
	for _, id := range []string{"a", "b"} {
		g.applied("dispatch_claim", id, claim("w"))
	}
	select {
	case first := <-g.first:
		t.Errorf("the others were behind it until it had ended: %s", first.verdict())
	default:
	}
}

func TestOneThatTheTablesRefuseSpoilsNothingForTheOthers(t *testing.T) {
	t.Parallel()
	g := gather(t, pgstore.Unhurried(pgstore.Options{}), "submit_unknown", params(held("w", 1), text("reason", "panic")))
	for _, id := range []string{"a", "b"} {
		g.prepared(id)
		g.applied("dispatch_claim", id, claim("w"))
		g.applied("submit_begin", id, held("w", 1))
	}
	good := g.call(g.ctx, params(held("w", 1), text("operation_id", "a"), text("reason", "panic")))
	bad := g.call(g.ctx, params(held("w", 1), text("operation_id", "b"), text("reason", "no word of the list")))
	g.let()
	if got := (<-good).verdict(); got != "applied" {
		t.Errorf("the good one: %s", got)
	}
	var invalid *machine.InvalidError
	if err := (<-bad).err; !errors.As(err, &invalid) || invalid.Field != "uncertain_reason" || machine.IsUnknown(err) {
		t.Errorf("the bad one: %v, want an error about uncertain_reason", err)
	}
	if op := g.op("b"); op.Phase != transitions.Submitting {
		t.Errorf("the bad one's operation is %s", op.Phase)
	}
}

// B8: the index that keeps a remote job id with one operation refuses the common statement, and no caller is told so.
func TestOfTwoThatFindTheSameRemoteJobTogetherOneGetsIt(t *testing.T) {
	t.Parallel()
	g := gather(t, pgstore.Unhurried(pgstore.Options{}), "submit_accepted", params(held("w", 1), text("remote_job_id", "job-0")))
	var answers []chan told
	for _, id := range []string{"a", "b"} {
		g.prepared(id)
		g.applied("dispatch_claim", id, claim("w"))
		g.applied("submit_begin", id, held("w", 1))
	}
	for _, id := range []string{"a", "b"} {
		answers = append(answers, g.call(g.ctx, params(held("w", 1), text("operation_id", id), text("remote_job_id", "job-1"))))
	}
	g.let()
	got := []string{(<-answers[0]).verdict(), (<-answers[1]).verdict()}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"applied", "denied: remote_job_id_free"}, got); diff != "" {
		t.Errorf("the answers (-want +got):\n%s", diff)
	}
}

func TestTwoEventsOfOneOperationNeverShareAStatement(t *testing.T) {
	t.Parallel()
	g := gather(t, pgstore.Unhurried(pgstore.Options{}), "evidence_noted", text("kind", "note"))
	g.prepared("a", "b")
	var answers []chan told
	for _, p := range []transitions.Params{text("detail", "one"), text("detail", "two"), text("detail", "three")} {
		answers = append(answers, g.call(g.ctx, params(p, text("operation_id", "a"), text("kind", "note"))))
	}
	answers = append(answers, g.call(g.ctx, params(text("operation_id", "b"), text("kind", "note"))))
	g.let()
	for i, a := range answers {
		if got := (<-a).verdict(); got != "applied" {
			t.Errorf("call %d: %s", i, got)
		}
	}
	history, err := g.History(g.ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, e := range history[1:] {
		order = append(order, e.Detail)
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, order); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
	if op := g.op("a"); op.EvidenceSeq != 3 {
		t.Errorf("the row counts %d notes, want 3", op.EvidenceSeq)
	}
}

// C5.
func TestATransactionOfTheCallersIsNeverShared(t *testing.T) {
	t.Parallel()
	g := gather(t, pgstore.Unhurried(pgstore.Options{}), "dispatch_claim", claim("w"))
	defer g.let()
	g.prepared("a")
	tx, err := g.connect().Begin(g.ctx)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := g.InTx(tx).Apply(g.ctx, "dispatch_claim", params(claim("w"), text("operation_id", "a")))
	if err != nil || !answer.Applied {
		t.Fatalf("inside a transaction, while others wait: %+v, %v", answer, err)
	}
	if err := tx.Rollback(g.ctx); err != nil {
		t.Fatal(err)
	}
	if op := g.op("a"); op.Revision != 0 {
		t.Errorf("the operation is at revision %d after the caller rolled back", op.Revision)
	}
}

func TestACallThatIsGivenUpBeforeItWasSentDidNotRun(t *testing.T) {
	t.Parallel()
	g := gather(t, pgstore.Unhurried(pgstore.Options{}), "dispatch_claim", claim("w"))
	g.prepared("a", "b")
	ctx, cancel := context.WithCancel(g.ctx)
	gone := g.call(ctx, params(claim("w"), text("operation_id", "a")))
	stays := g.call(g.ctx, params(claim("w"), text("operation_id", "b")))
	cancel()
	if err := (<-gone).err; !errors.Is(err, context.Canceled) || machine.IsUnknown(err) {
		t.Errorf("the call that was given up: %v, want that it did not run", err)
	}
	g.let()
	if got := (<-stays).verdict(); got != "applied" {
		t.Errorf("the call beside it: %s", got)
	}
	if op := g.op("a"); op.Revision != 0 {
		t.Errorf("the operation of the call that was given up is at revision %d", op.Revision)
	}
}

func TestACallThatIsGivenUpWhileItIsUnderWayIsUnknown(t *testing.T) {
	t.Parallel()
	g := gather(t, pgstore.Unhurried(pgstore.Options{}), "dispatch_claim", claim("w"))
	g.prepared("slow", "b")
	other, watcher := g.connect(), g.connect()
	g.exec(other, `SELECT pg_advisory_lock(1)`)
	ctx, cancel := context.WithCancel(g.ctx)
	gone := g.call(ctx, params(claim("w"), text("operation_id", "slow")))
	stays := g.call(g.ctx, params(claim("w"), text("operation_id", "b")))
	g.let()
	<-g.first
	g.until("the common statement is under way", func() bool { return g.waiters(watcher) == 1 })
	cancel()
	err := (<-gone).err
	g.exec(other, "SELECT pg_advisory_unlock(1)")
	if !machine.IsUnknown(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("the call that was given up: %v, want that nobody knows", err)
	}
	if got := (<-stays).verdict(); got != "applied" {
		t.Errorf("the call beside it: %s", got)
	}
	if op := g.op("slow"); op.LeaseOwner != "w" {
		t.Errorf("the operation of the call that was given up is held by %q", op.LeaseOwner)
	}
}

func TestNoMoreThanAHundredTravelTogether(t *testing.T) {
	t.Parallel()
	g := gather(t, pgstore.Unhurried(pgstore.Options{}), "cancel_request", nil)
	var ids []string
	for i := range 120 {
		ids = append(ids, fmt.Sprintf("op-%d", i))
	}
	g.prepared(ids...)
	var answers []chan told
	for _, id := range ids {
		answers = append(answers, g.call(g.ctx, text("operation_id", id)))
	}
	g.let()
	for i, a := range answers {
		if got := (<-a).verdict(); got != "applied" {
			t.Errorf("call %d: %s", i, got)
		}
	}
	if many := g.statements(persist.Gathered); many != 2 {
		t.Errorf("120 events took %d statements, want 2", many)
	}
}
