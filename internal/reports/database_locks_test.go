package reports_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// unordered keeps the planner from reading rows in the order of their ids by itself.
const unordered = "enable_indexscan=off&enable_bitmapscan=off"

// noting are the parameters that note something about each operation, in this order.
func noting(ids []string) []transitions.Params {
	all := make([]transitions.Params, len(ids))
	for i, id := range ids {
		all[i] = transitions.Params{"operation_id": transitions.TextValue(id), "kind": transitions.TextValue("note")}
	}
	return all
}

// B82: a statement about many operations locks them in the order of their ids, in whatever order they are named and lie
// in the table: one that waits for the second holds the first already, so that no two of them wait for each other (rule:
// ORDER BY operation_id FOR UPDATE of the form for many).
func TestB82AStatementAboutManyLocksThemInOneOrder(t *testing.T) {
	t.Parallel()
	s := onPostgres(t)
	m := s.another(asking(s.url, unordered), patient, machine.Config{})
	s.prepare(requestOf("b"))
	s.prepare(requestOf("a"))
	tx, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "SELECT FROM fencerow_operations WHERE operation_id = 'b' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	noted := make(chan error, 1)
	go func() {
		_, err := m.Store().ApplyMany(context.Background(), "evidence_noted", noting([]string{"b", "a"}))
		noted <- err
	}()
	await(t, "the statement waits for b", func() bool { return s.waiting() == 1 })
	var free int
	if err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM (SELECT FROM fencerow_operations WHERE operation_id = 'a' FOR UPDATE SKIP LOCKED) AS f").Scan(&free); err != nil {
		t.Fatal(err)
	}
	if free > 0 {
		t.Error("the statement waits for b and has not locked a")
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-noted; err != nil {
		t.Error(err)
	}
}

// crowd is many who work on the same rows at once.
type crowd struct {
	*stand
	store     *pgstore.Store
	ids       []string
	ctx       context.Context
	deadlocks atomic.Int32
	done      atomic.Int32
	prepared  atomic.Int32
}

// shuffled are the ids in another order.
func shuffled(ids []string) []string {
	other := slices.Clone(ids)
	rand.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
	return other
}

// acts are what goes on at once.
var acts = map[string]func(c *crowd, m *machine.Machine) error{
	"claim": func(c *crowd, m *machine.Machine) error {
		leases, err := m.ClaimMany(c.ctx, transitions.Observe, video, len(c.ids)/2)
		rand.Shuffle(len(leases), func(i, j int) { leases[i], leases[j] = leases[j], leases[i] })
		return errors.Join(append(m.Renew(c.ctx, leases), err)...)
	},
	"renew": func(c *crowd, m *machine.Machine) error { // of anybody's: it locks them, and is denied
		all := noting(shuffled(c.ids))
		for _, p := range all {
			p["owner"], p["revision"], p["ttl_ms"] = transitions.TextValue("nobody"), transitions.IntValue(0), transitions.IntValue(1)
			delete(p, "kind")
		}
		_, err := m.Store().ApplyMany(c.ctx, "renew", all)
		return err
	},
	"note": func(c *crowd, m *machine.Machine) error {
		_, err := m.Store().ApplyMany(c.ctx, "evidence_noted", noting(shuffled(c.ids)))
		return err
	},
	"sweep": func(c *crowd, m *machine.Machine) error {
		_, err := m.Sweep(c.ctx, "observe_overdue", len(c.ids))
		return err
	},
	"revive": func(c *crowd, _ *machine.Machine) error { // one row each, by hand: what was swept is observed again
		id := c.ids[rand.N(len(c.ids))]
		_, err := c.pool.Exec(c.ctx, `UPDATE fencerow_operations SET phase = 'observing', next_action = 'observe', uncertain_reason = NULL,
			due_at = created_at, lease_until = NULL WHERE operation_id = $1 AND (phase = 'uncertain' OR lease_until IS NOT NULL)`, id)
		return err
	},
	"prepare": func(c *crowd, m *machine.Machine) error {
		var requests []machine.Request
		for i := range 20 {
			requests = append(requests, requestOf(fmt.Sprintf("new-%d-%d", c.prepared.Load()/4, i)))
		}
		c.prepared.Add(1)
		rand.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
		_, err := m.PrepareMany(c.ctx, requests)
		return err
	},
}

// act does one thing again and again, and counts what the server ended as a deadlock.
func (c *crowd) act(name string) {
	m, err := machine.New(c.store, machine.Config{TTL: time.Second})
	if err != nil {
		c.Error(err)
		return
	}
	for c.ctx.Err() == nil {
		err := acts[name](c, m)
		c.done.Add(1)
		switch _, denied := machine.IsDenied(err); {
		case err == nil || denied || c.ctx.Err() != nil:
		case strings.Contains(err.Error(), "40P01"):
			c.deadlocks.Add(1)
		default:
			c.Errorf("%s: %v", name, err)
		}
	}
}

// B82: batch claims, renewals, notes, preparations and sweeps of the same rows in any order, for seconds, and the server
// finds no two that wait for each other (rules: rows are locked in the order of their ids, or passed by where they are
// locked).
func TestB82NoTwoStatementsWaitForEachOther(t *testing.T) {
	t.Parallel()
	s := onPostgres(t)
	const rows = 40
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Second) // a deadlock is looked for after a second
	defer stop()
	c := &crowd{stand: s, ctx: ctx}
	var requests []machine.Request
	for i := range rows {
		r := overdue(fmt.Sprintf("op-%02d", i))
		requests, c.ids = append(requests, r), append(c.ids, r.OperationID)
	}
	s.prepare(requests...)
	if err := s.exec("UPDATE fencerow_operations SET phase = 'observing', next_action = 'observe', remote_job_id = operation_id, observe_deadline = created_at"); err != nil {
		t.Fatal(err)
	}
	wide := patient
	wide.MaxConns = 12
	c.store = s.another(asking(s.url, unordered), wide, machine.Config{}).Store().(*pgstore.Store)
	var busy sync.WaitGroup
	for name := range acts {
		for range 2 {
			busy.Go(func() { c.act(name) })
		}
	}
	busy.Wait()
	t.Logf("%d things were done", c.done.Load())
	if diff := cmp.Diff(int32(0), c.deadlocks.Load()); diff != "" {
		t.Errorf("deadlocks (-want +got):\n%s", diff)
	}
}

// B83: a migration that needs a table which somebody reads at length gives up soon, says what it waited for and leaves
// nothing half done; who writes behind it waits no longer than that, so that leases are renewed. Afterwards it is made,
// once, by whichever of several processes comes first (rules: the migration's own lock_timeout; one transaction a step;
// the advisory lock of those who migrate).
func TestB83AMigrationBehindALongReadFailsFast(t *testing.T) {
	t.Parallel()
	s := onPostgres(t)
	usual := s.another(s.url, pgstore.Options{}, machine.Config{}) // with the default bounds
	s.prepare(requestOf("a"))
	l := s.claim(usual, transitions.Dispatch, "a")
	next := pgstore.Options{Names: persist.Names{Prefix: "next_"}}
	s.alteringStep(next.Names)
	migrator := s.another(s.url, next, machine.Config{}).Store().(*pgstore.Store)

	reader, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Rollback(context.Background()) }()
	if _, err := reader.Exec(t.Context(), "SELECT count(*) FROM fencerow_operations"); err != nil {
		t.Fatal(err)
	}
	began, migrated := time.Now(), make(chan error, 1)
	go func() { _, err := migrator.Migrate(context.Background()); migrated <- err }()
	await(t, "the migration waits", func() bool { return s.waiting() == 1 })
	if err := usual.Renew(t.Context(), []*machine.Lease{l})[0]; err != nil {
		t.Errorf("a renewal behind the migration: %v", err)
	}
	err = <-migrated
	if err == nil {
		t.Fatal("the migration altered a table that is read")
	}
	for _, part := range []string{"migrate: ", "lock wait", "nothing of the step was made", "a long SELECT"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the migration says %q, want %q in it", err, part)
		}
	}
	if took := time.Since(began); took > 2*time.Second+2*slack {
		t.Errorf("the migration waited for %s", took)
	}
	s.madeSteps(migrator, 0)
	var exists bool
	if err := s.pool.QueryRow(t.Context(), "SELECT to_regclass('next_operations') IS NOT NULL").Scan(&exists); err != nil || exists {
		t.Errorf("half of the step is there: %t, %v", exists, err)
	}
	if err := reader.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	made := make(chan int, 3)
	for range cap(made) {
		go func() {
			steps, err := migrator.Migrate(context.Background())
			if err != nil {
				t.Error(err)
			}
			made <- len(steps)
		}()
	}
	if n := <-made + <-made + <-made; n != 1 {
		t.Errorf("%d steps were made by three, want one", n)
	}
	s.madeSteps(migrator, 1)
	if _, err := usual.Begin(t.Context(), l); err != nil {
		t.Errorf("under the lease that outlived the migration: %v", err)
	}
}

// alteringStep makes the first step of other tables need the exclusive use of the stand's own, as a later step of them
// will: whatever records it alters them.
func (s *stand) alteringStep(names persist.Names) {
	s.Helper()
	for _, statement := range []string{
		persist.LedgerOf(persist.PostgreSQL, names).Create,
		`CREATE FUNCTION alters() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN ALTER TABLE fencerow_operations ADD COLUMN note text; RETURN NEW; END $$`,
		"CREATE TRIGGER alters BEFORE INSERT ON next_migrations FOR EACH ROW EXECUTE FUNCTION alters()",
	} {
		if err := s.exec(statement); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *stand) madeSteps(store *pgstore.Store, want int) {
	s.Helper()
	status, err := store.MigrationStatus(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	made := 0
	for _, m := range status {
		if !m.At.IsZero() {
			made++
		}
	}
	if made != want {
		s.Errorf("%d steps are recorded as made, want %d", made, want)
	}
}
