package reports_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

// stand is a fresh store with the engine's tables, a machine on it, and a way past the engine.
type stand struct {
	testing.TB
	url     string // as the program takes it; "" for the store in memory
	store   machine.Store
	machine *machine.Machine

	pool   *pgxpool.Pool // of PostgreSQL, past the store
	sqlite *sqlitestore.Store
	memory *machine.Memory
}

// patient waits for locks long enough that a slow machine changes no verdict.
var patient = pgstore.Options{LockTimeout: 20 * time.Second, StatementTimeout: 30 * time.Second, MaxConns: 8}

// onDatabases runs a scenario on PostgreSQL and on SQLite.
func onDatabases(t *testing.T, scenario func(*testing.T, *stand)) {
	t.Helper()
	for name, stands := range map[string]func(testing.TB) *stand{"postgres": onPostgres, "sqlite": onSQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenario(t, stands(t))
		})
	}
}

// onStores is onDatabases with the store in memory beside them.
func onStores(t *testing.T, scenario func(*testing.T, *stand)) {
	t.Helper()
	onDatabases(t, scenario)
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		scenario(t, inMemory(t))
	})
}

func onPostgres(t testing.TB) *stand { return postgresAt(t, pgtest.URL(t)) }

// postgresAt is a stand on a database that may have its tables already.
func postgresAt(t testing.TB, url string) *stand {
	t.Helper()
	ctx := context.Background()
	store, err := pgstore.Open(ctx, url, patient)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s := &stand{TB: t, url: url, store: store, pool: pool}
	s.machine = s.engine(machine.Config{})
	return s
}

func onSQLite(t testing.TB) *stand { return sqliteAt(t, filepath.Join(t.TempDir(), "fencerow.db")) }

// sqliteAt is a stand on a file that may have its tables already.
func sqliteAt(t testing.TB, path string) *stand {
	t.Helper()
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	s := &stand{TB: t, url: "sqlite:" + path, store: store, sqlite: store}
	s.machine = s.engine(machine.Config{})
	return s
}

func inMemory(t testing.TB) *stand {
	t.Helper()
	memory := machine.NewMemory(transitions.MustCompile(transitions.Standard()))
	s := &stand{TB: t, store: memory, memory: memory}
	s.machine = s.engine(machine.Config{})
	return s
}

// engine is a machine on the stand's store: another process's, as far as the store can tell.
func (s *stand) engine(c machine.Config) *machine.Machine {
	s.Helper()
	m, err := machine.New(s.store, c)
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// now reads the database's clock.
func (s *stand) now() time.Time {
	s.Helper()
	now, err := s.store.Now(context.Background())
	if err != nil {
		s.Fatal(err)
	}
	return now
}

// fromNow sets a time of one operation by hand, past every event, to so long after the database's clock.
func (s *stand) fromNow(id, column string, d time.Duration) {
	s.Helper()
	now := "clock_timestamp() + $1::bigint * interval '1 millisecond'"
	if s.sqlite != nil {
		now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) + $1"
	}
	var err error
	if s.memory != nil {
		row := s.op(id).Row()
		row[s.store.Program().Column(column)] = transitions.TimeValue(s.now().Add(d))
		err = s.memory.Put(row)
	} else {
		err = s.exec(fmt.Sprintf("UPDATE fencerow_operations SET %s = %s WHERE operation_id = $2", column, now), d.Milliseconds(), id)
	}
	if err != nil {
		s.Fatalf("set %s of %s by hand: %v", column, id, err)
	}
}

// exec runs a statement past the engine, on a database.
func (s *stand) exec(statement string, args ...any) (err error) {
	if s.pool != nil {
		_, err = s.pool.Exec(context.Background(), statement, args...)
	} else {
		_, err = s.sqlite.DB().ExecContext(context.Background(), statement, args...)
	}
	return err
}

// expire ends a lease by hand, as far as the database is concerned; its holder does not notice.
func (s *stand) expire(ids ...string) {
	s.Helper()
	for _, id := range ids {
		s.fromNow(id, "lease_until", -time.Minute)
	}
}

var video = machine.Who{Provider: "video"}

func requestOf(id string) machine.Request {
	return machine.Request{OperationID: id, Kind: "video", Request: []byte(`{"prompt":"a fence"}`), WantsDelivery: true}
}

func (s *stand) prepare(requests ...machine.Request) {
	s.Helper()
	all, err := s.machine.PrepareMany(context.Background(), requests)
	if err != nil {
		s.Fatal(err)
	}
	for _, p := range all {
		if p.Err != nil || !p.Created {
			s.Fatalf("prepare %s: created %t, %v", p.Operation.OperationID, p.Created, p.Err)
		}
	}
}

func (s *stand) claim(m *machine.Machine, action, id string) *machine.Lease {
	s.Helper()
	l, err := m.Claim(context.Background(), action, id, video)
	if err != nil {
		s.Fatal(err)
	}
	return l
}

// at brings a request to the phase in which the lease that it gives is held.
func (s *stand) at(phase string, r machine.Request) *machine.Lease {
	s.Helper()
	ctx, m := context.Background(), s.machine
	must := func(_ machine.Operation, err error) {
		s.Helper()
		if err != nil {
			s.Fatal(err)
		}
	}
	s.prepare(r)
	l := s.claim(m, transitions.Dispatch, r.OperationID)
	if phase == transitions.Prepared {
		return l
	}
	must(m.Begin(ctx, l))
	switch phase {
	case transitions.Submitting:
		return l
	case transitions.Uncertain:
		must(m.Unknown(ctx, l, "no_response", ""))
		return s.claim(m, transitions.Investigate, r.OperationID)
	}
	must(m.Accepted(ctx, l, "job-"+r.OperationID, nil, 0))
	l = s.claim(m, transitions.Observe, r.OperationID)
	if phase == transitions.Observing {
		return l
	}
	must(m.Observed(ctx, l, "succeeded", []byte("done"), ""))
	return s.claim(m, transitions.Deliver, r.OperationID)
}

func (s *stand) op(id string) machine.Operation {
	s.Helper()
	op, err := s.machine.Get(context.Background(), id)
	if err != nil {
		s.Fatal(err)
	}
	return op
}

func (s *stand) history(id string) []machine.HistoryEntry {
	s.Helper()
	entries, err := s.store.History(context.Background(), id)
	if err != nil {
		s.Fatal(err)
	}
	return entries
}

// events are the names of an operation's history, in order.
func (s *stand) events(id string) []string {
	s.Helper()
	var names []string
	for _, e := range s.history(id) {
		names = append(names, e.Event)
	}
	return names
}

// sound fails the test where a history does not explain its row (lifecycle, invariant 9).
func (s *stand) sound(ids ...string) {
	s.Helper()
	for _, id := range ids {
		findings, err := s.machine.Audit(context.Background(), id)
		if err != nil {
			s.Error(err)
		}
		for _, f := range findings {
			s.Error(f)
		}
	}
}

// inTx fires on the stand's database inside a transaction that stays open until end is called; commit tells how.
func (s *stand) inTx() (inside machine.Store, end func(commit bool)) {
	s.Helper()
	ctx := context.Background()
	var err error
	var commit, rollback func() error
	if s.pool != nil {
		var tx pgx.Tx
		if tx, err = s.pool.Begin(ctx); err == nil {
			inside = s.store.(*pgstore.Store).InTx(tx)
			commit, rollback = func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) }
		}
	} else {
		var tx *sql.Tx
		if tx, err = s.sqlite.DB().BeginTx(ctx, nil); err == nil {
			inside, commit, rollback = s.sqlite.InTx(tx), tx.Commit, tx.Rollback
		}
	}
	if err != nil {
		s.Fatal(err)
	}
	return inside, func(kept bool) {
		s.Helper()
		end := rollback
		if kept {
			end = commit
		}
		if err := end(); err != nil {
			s.Fatal(err)
		}
	}
}

// waiting counts the statements that wait for what another transaction holds.
func (s *stand) waiting() int {
	s.Helper()
	if s.sqlite != nil {
		return int(s.sqlite.DB().Stats().WaitCount)
	}
	var n int
	err := s.pool.QueryRow(context.Background(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// await waits for what somebody else does.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	tick, late := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
