package pgstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// B83: those who migrate at the same time wait for each other.
func TestManyProcessesMigrateTogether(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := pgtest.URL(t)
	const processes = 6
	made := make(chan int, processes)
	for range processes {
		go func() {
			n := -1
			defer func() { made <- n }()
			store, err := pgstore.Open(ctx, url, pgstore.Options{MaxConns: 2})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			defer func() { _ = store.Close() }()
			steps, err := store.Migrate(ctx)
			if err != nil {
				t.Errorf("migrate: %v", err)
				return
			}
			n = len(steps)
		}()
	}
	total := 0
	for range processes {
		total += <-made
	}
	if total != 1 {
		t.Errorf("%d steps were made together, want the one that there is", total)
	}
}

func TestTheStatusTellsWhatIsStillToBeMigrated(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store, err := pgstore.Open(ctx, pgtest.URL(t), pgstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	for _, made := range []bool{false, true} {
		status, err := store.MigrationStatus(ctx)
		if err != nil || len(status) != 1 || status[0].At.IsZero() == made {
			t.Errorf("the status is %+v with %v, want one step that was made: %t", status, err, made)
		}
		if _, err := store.Migrate(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func TestASessionThatTheStatementsCannotRelyOnIsRefused(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := pgtest.URL(t)
	for settings, want := range map[string]string{
		"":                       "ALTER ROLE \"postgres\" SET statement_timeout = '5s'",
		"&statement_timeout=500": "does not leave room",
		"&statement_timeout=9000&default_transaction_isolation=serializable":          "SET default_transaction_isolation = 'read committed'",
		"&statement_timeout=9000&synchronous_commit=off":                              "synchronous_commit",
		"&statement_timeout=9000&default_transaction_isolation=read%20committed&a.b=": "",
	} {
		pool, err := pgxpool.New(ctx, url+settings)
		if err != nil {
			t.Fatal(err)
		}
		store, err := pgstore.New(ctx, pool, pgstore.Options{})
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", settings, err)
		case want == "" && store.Bound() != 9*time.Second:
			t.Errorf("%s: the bound is %s", settings, store.Bound())
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want an error that says %q", settings, err, want)
		}
		pool.Close()
	}
}

func TestALockTimeoutBeyondTheStatementTimeoutIsRefused(t *testing.T) {
	t.Parallel()
	_, err := pgstore.Open(context.Background(), "", pgstore.Options{LockTimeout: 5 * time.Second})
	if err == nil || !strings.Contains(err.Error(), "lock timeout") {
		t.Errorf("got %v, want an error about the lock timeout", err)
	}
}

// C5: the caller's own rows and the event are committed together or not at all.
func TestAnEventInTheCallersTransactionIsCommittedWithItsRows(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.exec(f.connect(), "CREATE TABLE invoices (id text)")
	config, err := pgx.ParseConfig(f.url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer func() { _ = db.Close() }()
	ways := map[string]func(commit bool) (machine.Store, func(), func(string)){
		"pgx": func(commit bool) (machine.Store, func(), func(string)) {
			tx, err := f.connect().Begin(f.ctx)
			if err != nil {
				t.Fatal(err)
			}
			end := tx.Rollback
			if commit {
				end = tx.Commit
			}
			return f.InTx(tx), func() { must(t, end(f.ctx)) }, func(id string) {
				_, err := tx.Exec(f.ctx, "INSERT INTO invoices VALUES ($1)", id)
				must(t, err)
			}
		},
		"database-sql": func(commit bool) (machine.Store, func(), func(string)) {
			tx, err := db.BeginTx(f.ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
			if err != nil {
				t.Fatal(err)
			}
			end := tx.Rollback
			if commit {
				end = tx.Commit
			}
			return f.InSQLTx(tx), func() { must(t, end()) }, func(id string) {
				_, err := tx.Exec("INSERT INTO invoices VALUES ($1)", id)
				must(t, err)
			}
		},
	}
	for name, begin := range ways {
		for _, commit := range []bool{true, false} {
			store, end, invoice := begin(commit)
			one, two := fmt.Sprintf("%s-%t-1", name, commit), fmt.Sprintf("%s-%t-2", name, commit)
			answers, err := store.ApplyMany(f.ctx, "prepare", []transitions.Params{request(one), request(two)})
			must(t, err)
			again, err := store.Apply(f.ctx, "prepare", request(one))
			must(t, err)
			denied, err := store.Apply(f.ctx, "renew", params(text("operation_id", one), num("ttl_ms", 5)))
			must(t, err)
			if !answers[0].Applied || !answers[1].Applied || again.Applied || !again.Exists || len(denied.Failed) != 3 {
				t.Errorf("%s: prepared %+v, again %+v, renewed %+v", name, answers, again, denied.Failed)
			}
			invoice(one)
			rows, err := store.Get(f.ctx, one, two)
			must(t, err)
			history, err := store.History(f.ctx, one)
			must(t, err)
			if len(rows) != 2 || len(history) != 1 {
				t.Errorf("%s: inside there are %d rows and %d history rows", name, len(rows), len(history))
			}
			end()
			f.countsAre(name, one, commit)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) countsAre(name, id string, there bool) {
	f.Helper()
	var invoices, operations int
	err := f.connect().QueryRow(f.ctx, "SELECT (SELECT count(*) FROM invoices WHERE id = $1), (SELECT count(*) FROM fencerow_operations WHERE operation_id = $1)", id).Scan(&invoices, &operations)
	if err != nil {
		f.Fatal(err)
	}
	if (invoices == 1) != there || invoices != operations {
		f.Errorf("%s: %d invoices and %d operations, there should be any: %t", name, invoices, operations, there)
	}
}

func TestMigrationsAreNotMadeInsideATransaction(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	inside, ok := f.InTx(tx).(*pgstore.Store)
	if !ok {
		t.Fatal("inside a transaction the store is of another type")
	}
	if _, err := inside.Migrate(f.ctx); err == nil {
		t.Error("a migration inside a transaction was made")
	}
}
