package hostile_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

// long asks for more of what runs for a while.
func long() bool { return os.Getenv("FENCEROW_TEST_LONG") == "1" }

const clients = 6

// kind is a kind of store: open opens one a client, all on the same operations, and leases on it are of up to lease
// milliseconds, so that they end while others ask.
type kind struct {
	open  func(t *testing.T, p *transitions.Program) []machine.Store
	lease int
}

var kinds = map[string]kind{
	"PostgreSQL": {onPostgreSQL, 60},
	"SQLite":     {onSQLite, 60},
	"memory":     {inMemory, 2},
}

func onPostgreSQL(t *testing.T, p *transitions.Program) []machine.Store {
	t.Helper()
	url := pgtest.URL(t)
	all := make([]machine.Store, clients)
	for i := range all {
		store, err := pgstore.Open(t.Context(), url, pgstore.Options{Program: p, MaxConns: 1, LockTimeout: 20 * time.Second, StatementTimeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		if i == 0 {
			if _, err := store.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		all[i] = store
	}
	return all
}

func onSQLite(t *testing.T, p *transitions.Program) []machine.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "operations.db")
	all := make([]machine.Store, clients)
	for i := range all {
		store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Program: p, Readers: 1, BusyTimeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		if i == 0 {
			if _, err := store.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		all[i] = store
	}
	return all
}

func inMemory(_ *testing.T, p *transitions.Program) []machine.Store {
	return slices.Repeat([]machine.Store{machine.NewMemory(p)}, clients)
}

// client is one goroutine's knowledge, some of it stale: nobody here is well-behaved.
type client struct {
	store    machine.Store
	rand     *rand.Rand
	owner    string // shared with other clients, so that only the revision tells their leases apart
	revision int64  // of its last claim
	seen     int64  // the newest revision that it was told of
	lease    int
}

// next asks for something that is now right, or was, or never will be.
func (c *client) next() ask {
	events := []string{
		"dispatch_claim", "dispatch_claim", "renew", "renew", "submit_begin", "submit_begin", "submit_not_created",
		"submit_not_created", "release", "submit_lapsed", "submit_lapsed", "review_not_created", "read",
	}
	a := ask{event: events[c.rand.IntN(len(events))], owner: c.owner, revision: c.revision, ttl: int64(1+c.rand.IntN(c.lease)) * 1000}
	switch a.event {
	case "dispatch_claim", "submit_lapsed":
		a.batch = c.rand.IntN(3) == 0
	case "review_not_created":
		a.revision = c.seen
	}
	return a
}

func (c *client) do(ctx context.Context, id string, a ask) (told, error) {
	switch {
	case a.event == "read":
		rows, err := c.store.Get(ctx, id)
		if err != nil || len(rows) != 1 {
			return told{}, fmt.Errorf("read: %d rows, %w", len(rows), err)
		}
		return told{view: viewOf(machine.OperationOf(c.store.Program(), rows[0]))}, nil
	case a.batch:
		rows, err := c.store.Take(ctx, a.event, a.params(id))
		if err != nil || len(rows) == 0 {
			return told{nothing: true}, err
		}
		return c.heard(a, machine.Answer{Applied: true, Row: rows[0]}), nil
	}
	answer, err := c.store.Apply(ctx, a.event, a.params(id))
	if err != nil {
		return told{}, err
	}
	return c.heard(a, answer), nil
}

func (c *client) heard(a ask, answer machine.Answer) told {
	op := machine.OperationOf(c.store.Program(), answer.Row)
	failed := slices.Sorted(slices.Values(answer.Failed))
	t := told{applied: answer.Applied, failed: strings.Join(failed, " "), view: viewOf(op)}
	c.seen = op.Revision
	if t.applied {
		t.at = op.UpdatedAt.UnixMicro()
		if a.event == "dispatch_claim" {
			c.revision = op.Revision
		}
	}
	return t
}

// run lets every client ask some things about one new operation, all at once, and gives what each was told and when.
func (k kind) run(t *testing.T, all []machine.Store, id string, seed uint64, asks int) (porcupine.Model, []porcupine.Operation) {
	t.Helper()
	answer, err := all[0].Apply(t.Context(), "prepare", transitions.Params{
		"operation_id": transitions.TextValue(id), "kind": transitions.TextValue("video"), "provider": transitions.TextValue(id),
		"account": transitions.TextValue(""), "request": transitions.BytesValue([]byte("{}")),
	})
	if err != nil || !answer.Applied {
		t.Fatalf("prepare: %v, %v", answer.Failed, err)
	}
	op := machine.OperationOf(all[0].Program(), answer.Row)
	histories := make([][]porcupine.Operation, len(all))
	begin := time.Now()
	var busy sync.WaitGroup
	for i, store := range all {
		c := &client{store: store, rand: rand.New(rand.NewPCG(seed, uint64(i))), owner: []string{"ann", "bob"}[i%2], lease: k.lease}
		busy.Go(func() {
			for range asks {
				a := c.next()
				call := time.Since(begin)
				got, err := c.do(t.Context(), id, a)
				if err != nil {
					t.Errorf("%s: %v", a, err)
					return
				}
				histories[i] = append(histories[i], porcupine.Operation{
					ClientId: i, Input: a, Call: int64(call), Output: got, Return: int64(time.Since(begin)),
				})
			}
		})
	}
	busy.Wait()
	settle(t, all[0], id)
	return model(viewOf(op), op.UpdatedAt.UnixMicro()), slices.Concat(histories...)
}

// settle waits until no sweep finds the operation any more: a sweep of a later run would take it.
func settle(t *testing.T, store machine.Store, id string) {
	t.Helper()
	for {
		answer, err := store.Apply(t.Context(), "submit_lapsed", text("operation_id", id))
		if err != nil {
			t.Fatal(err)
		}
		if answer.Applied || slices.Contains(answer.Failed, "phase") {
			return
		}
	}
}

// coverage counts what was told, by event.
type coverage map[string]int

func (c coverage) count(history []porcupine.Operation) {
	for _, o := range history {
		a, t := o.Input.(ask), o.Output.(told)
		switch {
		case t.nothing:
			c[a.event+" took nothing"]++
		case a.event == "read":
			c["read"]++
		case t.applied:
			c[a.event+" applied"]++
		default:
			c[a.event+" denied"]++
			for _, guard := range strings.Fields(t.failed) {
				c["because of "+guard]++
			}
			if t.failed == "revision" {
				c["because of the revision alone"]++
			}
		}
	}
}

// lacks names what no client was told.
func (c coverage) lacks() []string {
	var lacking []string
	want := []string{
		"read", "because of phase", "because of owner", "because of revision", "because of lease_live",
		"because of lease_vacant", "because of the revision alone",
	}
	for event := range rules {
		want = append(want, event+" applied", event+" denied")
	}
	for _, what := range want {
		if c[what] == 0 {
			lacking = append(lacking, what)
		}
	}
	return lacking
}

// Claims, takeovers, renewals, begins, their undoing, sweeps, reviews and reads of one operation, from several
// connections at once and under leases that end all the time, have one order that explains every answer
// (contract A1 to A6; acceptance 3).
func TestEveryAnswerAboutOneOperationFitsOneOrder(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := kind.open(t, transitions.MustCompile(transitions.Standard()))
			seed := seeded(t)
			covered := coverage{}
			budget := 2 * time.Second
			if long() {
				budget = 2 * time.Minute
			}
			n := 0
			for begin := time.Now(); time.Since(begin) < budget || len(covered.lacks()) > 0 && n < 200; n++ {
				m, history := kind.run(t, all, fmt.Sprintf("op-%d", n), seed+uint64(n), 60)
				covered.count(history)
				if result, info := porcupine.CheckOperationsVerbose(m, history, time.Minute); result != porcupine.Ok {
					t.Fatalf("run %d of seed %d is %s: no one order explains\n%s", n, seed, result, drawn(t, m, info, history))
				}
			}
			if lacking := covered.lacks(); len(lacking) > 0 {
				t.Errorf("it never came about: %s", strings.Join(lacking, ", "))
			}
			t.Logf("%d runs of %d answers: %s", n, clients*60, covered)
		})
	}
}

// String lists the counts.
func (c coverage) String() string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(c)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, c[what]))
	}
	return strings.Join(parts, ", ")
}

// drawn gives the history in the order of its calls, as far as a person would read it.
func drawn(t *testing.T, m porcupine.Model, info porcupine.LinearizationInfo, history []porcupine.Operation) string {
	t.Helper()
	page := filepath.Join(os.TempDir(), "fencerow-history.html")
	if err := porcupine.VisualizePath(m, info, page); err != nil {
		t.Log(err)
	}
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var b strings.Builder
	for _, o := range history[:min(len(history), 60)] {
		fmt.Fprintf(&b, "client %d, %d to %d: %s: %s\n", o.ClientId, o.Call, o.Return, o.Input, o.Output)
	}
	return b.String() + "the whole is drawn in " + page
}

// without is the standard program but for one guard: what nobody may deploy, as Compile refuses it.
func without(t *testing.T, event, guard string) *transitions.Program {
	t.Helper()
	p, err := transitions.MustCompile(transitions.Standard()).Without(event, guard)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each guard of the fence that is taken away is missed: were it not, the test above would show nothing.
func TestABrokenFenceFitsNoOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ store, event, guard string }{
		{"PostgreSQL", "renew", "revision"},
		{"PostgreSQL", "submit_begin", "revision"},
		{"PostgreSQL", "submit_begin", "lease_live"},
		{"PostgreSQL", "dispatch_claim", "lease_vacant"},
		{"SQLite", "renew", "revision"},
		{"SQLite", "submit_begin", "revision"},
		{"memory", "submit_not_created", "revision"},
		{"memory", "submit_lapsed", "lease_vacant"},
		{"memory", "renew", "owner"},
		{"memory", "submit_begin", "phase"},
		{"memory", "review_not_created", "revision"},
	} {
		t.Run(name(c.event, " without ", c.guard, " on ", c.store), func(t *testing.T) {
			t.Parallel()
			kind := kinds[c.store]
			all := kind.open(t, without(t, c.event, c.guard))
			seed := seeded(t)
			for n := range 200 {
				m, history := kind.run(t, all, fmt.Sprintf("op-%d", n), seed+uint64(n), 60)
				if porcupine.CheckOperationsTimeout(m, history, time.Minute) == porcupine.Illegal {
					t.Logf("caught in run %d", n)
					return
				}
			}
			t.Errorf("200 runs of seed %d found nothing wrong", seed)
		})
	}
}
