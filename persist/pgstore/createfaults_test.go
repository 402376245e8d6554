package pgstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// behindWire is a store on a hostile wire, and the same database past it.
func behindWire(t *testing.T, o pgstore.Options) (*fixture, *pgproxy.Proxy, *pgstore.Store) {
	t.Helper()
	f := open(t, pgstore.Options{})
	proxy, url := pgproxy.New(t, f.url)
	store, err := pgstore.Open(f.ctx, url, o)
	must(t, err)
	t.Cleanup(func() {
		proxy.CutAll() // else closing the pool waits for answers that never come
		_ = store.Close()
	})
	return f, proxy, store
}

// hasty gives up soon, and has one connection, which must not be lost or lent half used.
var hasty = pgstore.Options{LockTimeout: 200 * time.Millisecond, StatementTimeout: time.Second, MaxConns: 1}

// all checks that exactly so many operations are stored, each with its entry.
func (f *fixture) all(want int) {
	f.Helper()
	var operations, history int
	must(f.T, f.connect().QueryRow(f.ctx, "SELECT (SELECT count(*) FROM fencerow_operations), (SELECT count(*) FROM fencerow_history)").Scan(&operations, &history))
	if diff := cmp.Diff([]int{want, want}, []int{operations, history}); diff != "" {
		f.Errorf("operations and history (-want +got):\n%s", diff)
	}
}

// repeated checks that calling again stores what is missing, and answers for all.
func (f *fixture) repeated(store *pgstore.Store, asked []transitions.Params) {
	f.Helper()
	answers, err := store.ApplyMany(f.ctx, "prepare", asked)
	must(f.T, err)
	for _, a := range answers {
		if !a.Exists {
			f.Errorf("called again, it is answered %+v", a)
		}
	}
	f.all(len(asked))
}

func TestAWireThatFailsBeforeTheCommitProvesThatNothingWasStored(t *testing.T) {
	t.Parallel()
	for _, match := range []string{"BEGIN", "idle_in_transaction_session_timeout", `COPY "fencerow_operations"`, `COPY "fencerow_history"`} {
		for _, fate := range []pgproxy.Fate{pgproxy.SwallowReply, pgproxy.CutReply, pgproxy.CutBeforeReady, pgproxy.NeverForward, pgproxy.CutRequest} {
			t.Run(match+" "+fate.String(), func(t *testing.T) {
				t.Parallel()
				f, proxy, store := behindWire(t, pgstore.Copying(hasty, 1, never))
				proxy.Arm(match, fate)
				asked := many(20)
				_, err := store.ApplyMany(f.ctx, "prepare", asked)
				if err == nil || machine.IsUnknown(err) {
					t.Errorf("got %v, want an error that proves that nothing was stored", err)
				}
				f.all(0)
				f.repeated(store, asked)
			})
		}
	}
}

func TestALostAnswerToTheCommitIsUnknownAndCallingAgainIsRight(t *testing.T) {
	t.Parallel()
	for _, fate := range pgproxy.Fates {
		t.Run(fate.String(), func(t *testing.T) {
			t.Parallel()
			f, proxy, store := behindWire(t, pgstore.Copying(hasty, 1, never))
			defer proxy.HoldCancels()()
			proxy.Arm("COMMIT", fate)
			asked := many(20)
			_, err := store.ApplyMany(f.ctx, "prepare", asked)
			if !machine.IsUnknown(err) {
				t.Errorf("got %v, want that nobody knows", err)
			}
			want := 0
			if fate.Runs() {
				want = len(asked)
			}
			if fate != pgproxy.Late {
				f.all(want)
			}
			proxy.Land()
			f.repeated(store, asked)
		})
	}
}

// waiting fires many prepares of which one is being created by another session, which is left waiting for its end.
func (f *fixture) waiting(ctx context.Context, store *pgstore.Store, asked []transitions.Params) (failed <-chan error, other func(sql string)) {
	f.Helper()
	blocking, watcher := f.connect(), f.connect()
	f.exec(blocking, "BEGIN")
	f.exec(blocking, `INSERT INTO fencerow_operations (operation_id, kind, provider, account, phase, next_action, request, due_at, created_at, updated_at)
	VALUES ('op-010', 'video', 'video', '', 'prepared', 'dispatch', '{}', now(), now(), now())`)
	ended := make(chan error, 1)
	go func() {
		_, err := store.ApplyMany(ctx, "prepare", asked)
		ended <- err
	}()
	f.until("the copy waits", func() bool { return f.waiters(watcher) == 1 })
	return ended, func(sql string) { f.exec(blocking, sql) }
}

func TestACopyWaitsForWhoCreatesTheSameNoLongerThanItsBound(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Copying(pgstore.Options{LockTimeout: 100 * time.Millisecond, StatementTimeout: 20 * time.Second}, 1, never))
	failed, other := f.waiting(f.ctx, f.Store, many(20))
	err := <-failed
	if err == nil || machine.IsUnknown(err) || !strings.Contains(err.Error(), "lock wait") {
		t.Errorf("got %v, want that the lock wait reached its bound", err)
	}
	other("ROLLBACK")
	f.all(0)
	f.repeated(f.Store, many(20))
}

func TestACopyGoesOnWhereWhoCreatedTheSameRolledBack(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Copying(patient, 1, never))
	failed, other := f.waiting(f.ctx, f.Store, many(20))
	other("ROLLBACK")
	must(t, <-failed)
	f.all(20)
}

func TestACopyThatMeetsWhatWasJustCreatedAnswersWithIt(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Copying(patient, 1, never))
	failed, other := f.waiting(f.ctx, f.Store, many(20))
	other("COMMIT")
	must(t, <-failed)
	if n := len(f.tables(persist.Names{})); n != 39 {
		t.Errorf("there are %d rows of operations and history, want 20 and 19: the other wrote none", n)
	}
}

func TestASessionThatIsKilledInMidCopyStoredNothing(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Copying(patient, 1, never))
	failed, other := f.waiting(f.ctx, f.Store, many(20))
	f.exec(f.connect(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
	if err := <-failed; err == nil || machine.IsUnknown(err) {
		t.Errorf("got %v, want an error that proves that nothing was stored", err)
	}
	other("ROLLBACK")
	f.all(0)
	f.repeated(f.Store, many(20))
}

func TestACallerWhoGivesUpInMidCopyStoredNothingAndLeavesThePoolUsable(t *testing.T) {
	t.Parallel()
	o := patient
	o.MaxConns = 1
	f := open(t, pgstore.Copying(o, 1, never))
	ctx, cancel := context.WithCancel(f.ctx)
	failed, other := f.waiting(ctx, f.Store, many(20))
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) || machine.IsUnknown(err) {
		t.Errorf("got %v, want the context's error", err)
	}
	other("ROLLBACK")
	f.all(0)
	f.repeated(f.Store, many(20))
}

func TestAWireThatIsCutInMidCopyStoredNothing(t *testing.T) {
	t.Parallel()
	o := patient
	o.MaxConns = 1
	f, proxy, store := behindWire(t, pgstore.Copying(o, 1, never))
	asked := many(12)
	for _, p := range asked { // more than the sockets hold, so that it is cut while it is sent
		p["request"] = transitions.BytesValue(make([]byte, 1<<20))
	}
	failed, other := f.waiting(f.ctx, store, asked)
	proxy.CutAll()
	if err := <-failed; err == nil || machine.IsUnknown(err) {
		t.Errorf("got %v, want an error that proves that nothing was stored", err)
	}
	other("ROLLBACK")
	f.all(0)
	f.repeated(store, asked)
}
