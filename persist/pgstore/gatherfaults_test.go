package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// together is a store on a hostile wire, whose one connection is kept until several events have gathered.
type together struct {
	*fixture // the same database, past the wire
	proxy    *pgproxy.Proxy
	pool     *pgxpool.Pool
	store    *pgstore.Store
	leases   []*machine.Lease // of operations that are prepared and claimed
}

var hurried = pgstore.Options{LockTimeout: time.Second, StatementTimeout: 4 * time.Second}

func newTogether(t *testing.T) *together {
	t.Helper()
	w := &together{fixture: open(t, pgstore.Options{})}
	var url string
	w.proxy, url = pgproxy.New(t, w.url)
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	config.ConnConfig.RuntimeParams["statement_timeout"] = fmt.Sprint(hurried.StatementTimeout.Milliseconds())
	if w.pool, err = pgxpool.NewWithConfig(w.ctx, config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.pool.Close)
	t.Cleanup(w.proxy.CutAll) // else closing the pool waits for answers that never come
	if w.store, err = pgstore.New(w.ctx, w.pool, pgstore.AlwaysGather(hurried)); err != nil {
		t.Fatal(err)
	}
	calm := w.engine(w.Store)
	for i := range 5 {
		id := fmt.Sprintf("op-%d", i)
		w.prepared(id)
		l, err := calm.Claim(w.ctx, transitions.Dispatch, id, machine.Who{Provider: "video"})
		if err != nil {
			t.Fatal(err)
		}
		w.leases = append(w.leases, l)
	}
	return w
}

func (w *together) engine(s machine.Store) *machine.Machine {
	w.Helper()
	m, err := machine.New(s, machine.Config{TTL: time.Minute})
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// all begins every operation at the same time, in one statement that meets its fate, and gives what the callers were
// told.
func (w *together) all(fate pgproxy.Fate, begin func(*machine.Lease) error) []error {
	w.Helper()
	set, err := persist.Compile(w.Program(), persist.PostgreSQL, persist.Names{}, persist.LockTimeout(hurried.LockTimeout))
	if err != nil {
		w.Fatal(err)
	}
	w.proxy.Arm(set.Statement("submit_begin", persist.Gathered).SQL, fate)
	kept, err := w.pool.Acquire(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	errs := make([]error, len(w.leases))
	var callers sync.WaitGroup
	for i, l := range w.leases {
		callers.Go(func() { errs[i] = begin(l) })
	}
	w.until("all have gathered", func() bool { return w.store.Waiting("submit_begin") == len(w.leases) })
	kept.Release()
	callers.Wait()
	return errs
}

// begins counts what history has of an operation's begin.
func (w *together) begins(l *machine.Lease) int {
	w.Helper()
	history, err := w.History(w.ctx, l.Operation.OperationID)
	if err != nil {
		w.Fatal(err)
	}
	n := 0
	for _, e := range history {
		if e.Event == "submit_begin" {
			n++
		}
	}
	return n
}

// B69: where the common statement's answer is lost, every caller is told that nobody knows, and none that it was denied.
func TestALostAnswerOfACommonStatementIsUnknownToAll(t *testing.T) {
	t.Parallel()
	for _, fate := range pgproxy.Fates {
		t.Run(fate.String(), func(t *testing.T) {
			t.Parallel()
			w := newTogether(t)
			defer w.proxy.HoldCancels()()
			errs := w.all(fate, func(l *machine.Lease) error {
				_, err := w.store.Apply(w.ctx, "submit_begin", params(held(l.Owner, l.Revision), text("operation_id", l.Operation.OperationID)))
				return err
			})
			for i, l := range w.leases {
				var unknown *machine.UnknownError
				if !errors.As(errs[i], &unknown) || unknown.OperationID != l.Operation.OperationID || unknown.Event != "submit_begin" {
					t.Errorf("%s was told %v, want that nobody knows", l.Operation.OperationID, errs[i])
				}
				want := 0
				if fate.Runs() {
					want = 1
				}
				if got := w.begins(l); got != want {
					t.Errorf("%s was begun %d times, want %d", l.Operation.OperationID, got, want)
				}
			}
			w.proxy.Land()
			for _, l := range w.leases {
				if got := w.begins(l); fate == pgproxy.Late && got != 1 {
					t.Errorf("%s was begun %d times when the statement landed late", l.Operation.OperationID, got)
				}
			}
		})
	}
}

func TestVerbsResolveALostAnswerOfACommonStatementEachForItself(t *testing.T) {
	t.Parallel()
	for _, fate := range pgproxy.Fates {
		t.Run(fate.String(), func(t *testing.T) {
			t.Parallel()
			w := newTogether(t)
			verbs := w.engine(w.store)
			errs := w.all(fate, func(l *machine.Lease) error {
				ctx, cancel := context.WithTimeout(w.ctx, 40*time.Second)
				defer cancel()
				_, err := verbs.Begin(ctx, l)
				return err
			})
			w.proxy.Land()
			for i, l := range w.leases {
				if errs[i] != nil {
					t.Errorf("%s: %v", l.Operation.OperationID, errs[i])
				}
				if got := w.begins(l); got != 1 {
					t.Errorf("%s was begun %d times", l.Operation.OperationID, got)
				}
			}
		})
	}
}

func TestWhereNoConnectionIsHadNoneOfThoseThatGatheredRan(t *testing.T) {
	t.Parallel()
	w := newTogether(t)
	kept, err := w.pool.Acquire(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Release()
	var callers sync.WaitGroup
	errs := make([]error, len(w.leases))
	for i, l := range w.leases {
		callers.Go(func() {
			_, errs[i] = w.store.Apply(w.ctx, "submit_begin", params(held(l.Owner, l.Revision), text("operation_id", l.Operation.OperationID)))
		})
	}
	callers.Wait()
	for i, err := range errs {
		if err == nil || machine.IsUnknown(err) {
			t.Errorf("call %d: %v, want that it did not run", i, err)
		}
	}
}
