package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

func TestAFullDatabaseLosesNothingAndWorksAgainWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	var pages int
	if err := f.DB().QueryRowContext(f.ctx, "PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		if _, err := f.DB().ExecContext(f.ctx, fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 20)
	large := func(id string) transitions.Params {
		return params(id, map[string]any{"kind": "clip", "request": []byte(strings.Repeat("x", 10_000))})
	}
	kept := map[string]bool{}
	var full error
	for i := 0; full == nil && i < 1000; i++ {
		id := fmt.Sprintf("a-%03d", i)
		answer, err := f.Apply(f.ctx, "prepare", large(id))
		if full = err; err == nil {
			kept[id] = answer.Applied
		}
	}
	if full == nil || !strings.Contains(full.Error(), "the database is full, nothing was written") || machine.IsUnknown(full) {
		t.Fatalf("fill the database: got %v, want an error that says that it is full", full)
	}
	if _, err := f.ApplyMany(f.ctx, "prepare", []transitions.Params{large("b"), large("c"), large("d")}); err == nil {
		t.Error("prepare three more: got no error")
	}
	check := func() {
		t.Helper()
		got := map[string]bool{}
		for _, id := range f.ids() {
			got[id] = true
			entries, err := f.History(f.ctx, id)
			if err != nil || len(entries) != 1 {
				t.Errorf("history of %s: %d rows, %v", id, len(entries), err)
			}
		}
		if diff := cmp.Diff(kept, got); diff != "" {
			t.Errorf("the operations (-want +got):\n%s", diff)
		}
	}
	check()
	limit(pages + 10_000)
	f.applied("prepare", large("z"))
	kept["z"] = true
	check()
	var verdict string
	if err := f.DB().QueryRowContext(f.ctx, "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity: %q, %v", verdict, err)
	}
}

// lockedBy holds the database's write lock from another handle until the test lets go.
func lockedBy(t *testing.T, f *fixture) (release func()) {
	t.Helper()
	other := open(t, f.Path(), sqlitestore.Options{})
	tx, err := other.DB().BeginTx(f.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
			t.Error(err)
		}
	}
}

func TestALockedDatabaseIsWaitedForAndThenToldAsLocked(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{BusyTimeout: 200 * time.Millisecond})
	f.applied("prepare", request("a"))
	release := lockedBy(t, f)
	defer release()
	start := time.Now()
	_, err := f.Apply(f.ctx, "dispatch_claim", claim("a", "w"))
	if err == nil || !strings.Contains(err.Error(), "locked by another process for longer than 200ms, nothing was written") || machine.IsUnknown(err) {
		t.Errorf("fire while another holds the lock: got %v", err)
	}
	if waited := time.Since(start); waited < 150*time.Millisecond {
		t.Errorf("gave up after %s, want to wait for 200ms", waited)
	}
	if _, err := f.Get(f.ctx, "a"); err != nil {
		t.Errorf("read while another holds the lock: %v", err)
	}
	release()
	f.applied("dispatch_claim", claim("a", "w"))
}

func TestADeadlineEndsTheWaitForALock(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	f.applied("prepare", request("a"))
	release := lockedBy(t, f)
	defer release()
	for range 3 {
		ctx, cancel := context.WithTimeout(f.ctx, 50*time.Millisecond)
		start := time.Now()
		_, err := f.Apply(ctx, "dispatch_claim", claim("a", "w"))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || machine.IsUnknown(err) || !strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("fire under a deadline: got %v", err)
		}
		if waited := time.Since(start); waited > 3*time.Second {
			t.Errorf("waited for %s beyond a deadline of 50ms", waited)
		}
	}
	release()
	op := f.applied("dispatch_claim", claim("a", "w"))
	if op.Revision != 1 {
		t.Errorf("revision %d after one claim that landed, want 1: one that was given up landed too", op.Revision)
	}
}

func TestADeadlineInTheCallersTransactionDoesNotTakeItAlong(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	err := f.inTx(f.ctx, func(tx *sql.Tx) error {
		if _, err := f.InTx(tx).Apply(f.ctx, "prepare", request("a")); err != nil {
			t.Error(err)
		}
		over, cancel := context.WithCancel(f.ctx)
		cancel()
		if _, err := f.InTx(tx).Apply(over, "prepare", request("b")); !errors.Is(err, context.Canceled) {
			t.Errorf("fire under a context that is over: got %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, f.ids()); diff != "" {
		t.Errorf("the operations (-want +got):\n%s", diff)
	}
}

func TestALeaseThatEndsWhileTheLockIsWaitedForIsOver(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	f.applied("prepare", request("a"))
	short := claim("a", "w")
	short["ttl_ms"] = transitions.IntValue(300)
	op := f.applied("dispatch_claim", short)
	release := lockedBy(t, f)
	done := make(chan error, 1)
	var answer machine.Answer
	go func() {
		var err error
		answer, err = f.Apply(f.ctx, "renew", params("a", map[string]any{"owner": "w", "revision": 1, "ttl_ms": 60_000}))
		done <- err
	}()
	time.Sleep(time.Until(op.LeaseUntil) + 100*time.Millisecond) // sleep: the lease ends by the machine's clock
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"lease_live"}, answer.Failed); diff != "" {
		t.Errorf("the guards that failed (-want +got):\n%s", diff)
	}
}

// A4; report B46: the clock goes on inside a transaction.
func TestALeaseThatEndsInsideATransactionCanBeClaimedThere(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	f.applied("prepare", request("a"))
	short := claim("a", "w")
	short["ttl_ms"] = transitions.IntValue(300)
	op := f.applied("dispatch_claim", short)
	err := f.inTx(f.ctx, func(tx *sql.Tx) error {
		inside := f.InTx(tx)
		early, err := inside.Apply(f.ctx, "dispatch_claim", claim("a", "w2"))
		if err != nil {
			return err
		}
		if diff := cmp.Diff([]string{"lease_vacant"}, early.Failed); diff != "" && time.Now().Before(op.LeaseUntil) {
			t.Errorf("claim while the lease lives (-want +got):\n%s", diff)
		}
		time.Sleep(time.Until(op.LeaseUntil) + 10*time.Millisecond) // sleep: the lease ends by the machine's clock
		late, err := inside.Apply(f.ctx, "dispatch_claim", claim("a", "w2"))
		if !late.Applied {
			t.Errorf("claim after the lease ended inside the transaction: failed %v", late.Failed)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
