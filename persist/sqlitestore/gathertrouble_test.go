package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

func note(id, word string) transitions.Params {
	return transitions.Params{"operation_id": transitions.TextValue(id), "kind": transitions.TextValue("note"), "detail": transitions.TextValue(word)}
}

// noted counts how often history has each note.
func (f *fixture) noted(ids []string) map[string]int {
	f.Helper()
	landed := map[string]int{}
	for _, id := range ids {
		history, err := f.History(f.ctx, id)
		if err != nil {
			f.Fatal(err)
		}
		for _, e := range history {
			if e.Event == "evidence_noted" {
				landed[e.Detail]++
			}
		}
	}
	return landed
}

// trouble keeps the writer of stores at random, until it is told to be calm.
func trouble(stores ...*fixture) (calm func()) {
	var all sync.WaitGroup
	quiet, stop := context.WithCancel(context.Background())
	for _, s := range stores {
		all.Go(func() {
			for quiet.Err() == nil {
				time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond) // sleep: trouble at random
				tx, err := s.DB().BeginTx(s.ctx, nil)
				if err != nil {
					continue
				}
				time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond) // sleep: now and then longer than anybody waits
				_ = tx.Rollback()
			}
		})
	}
	return func() {
		stop()
		all.Wait()
	}
}

// What every caller is told is what the file holds, whoever gave up, and while the callers' own transactions and another
// process keep the writer: applied is there once, everything else is not there, since nothing lands after its call.
func TestWhatCallersAreToldUnderFireIsWhatTheFileHolds(t *testing.T) {
	t.Parallel()
	path := file(t)
	f := open(t, path, sqlitestore.Options{GroupCommit: true, BusyTimeout: 300 * time.Millisecond})
	other := open(t, path, sqlitestore.Options{})
	const operations, callers, calls = 12, 32, 40
	var ids []string
	for i := range operations {
		ids = append(ids, fmt.Sprintf("op-%02d", i))
		f.applied("prepare", request(ids[i]))
	}
	calm := trouble(f, other)
	var mu sync.Mutex
	verdicts := map[string]string{}
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for n := range calls {
				word, id := fmt.Sprintf("%d-%d", c, n), ids[rand.IntN(operations)]
				ctx, cancel := f.ctx, func() {}
				if rand.IntN(3) == 0 {
					ctx, cancel = context.WithTimeout(f.ctx, time.Duration(rand.IntN(40_000))*time.Microsecond)
				}
				answer, err := f.Apply(ctx, "evidence_noted", note(id, word))
				cancel()
				verdict := "not run"
				switch {
				case machine.IsUnknown(err):
					verdict = "unknown"
				case err == nil && answer.Applied && machine.OperationOf(f.Program(), answer.Row).OperationID == id:
					verdict = "applied"
				case err == nil:
					t.Errorf("%s: told about %+v", word, answer)
				}
				mu.Lock()
				verdicts[word] = verdict
				mu.Unlock()
			}
		})
	}
	all.Wait()
	calm()
	landed, counts := f.noted(ids), map[string]int{}
	for word, verdict := range verdicts {
		counts[verdict]++
		if n := landed[word]; n > 1 || (verdict == "applied") != (n == 1) && verdict != "unknown" {
			t.Errorf("%s was told %s, and is in history %d times", word, verdict, n)
		}
	}
	t.Logf("told: %v", counts)
	for _, id := range ids {
		if _, err := f.Apply(f.ctx, "evidence_noted", note(id, "afterwards")); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}

// Whoever waits for company when the store is closed is told, and what was told is in the file.
func TestClosingTheStoreTellsThoseThatGather(t *testing.T) {
	path := file(t)
	open(t, path, sqlitestore.Options{})
	before := runtime.NumGoroutine()
	for range 20 {
		s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{GroupCommit: true})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		applied := map[string]bool{}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				id := fmt.Sprint(rand.Int64())
				a, err := s.Apply(context.Background(), "prepare", request(id))
				mu.Lock()
				defer mu.Unlock()
				applied[id] = err == nil && a.Applied
				if machine.IsUnknown(err) {
					t.Logf("unknown: %v", err)
				}
			})
		}
		time.Sleep(time.Duration(rand.IntN(8)) * time.Millisecond) // sleep: somewhere in between
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		done := make(chan struct{})
		go func() { all.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			t.Fatal("a caller is told nothing")
		}
		f := open(t, path, sqlitestore.Options{})
		for id, was := range applied {
			rows, err := f.Get(f.ctx, id)
			if err != nil || (len(rows) == 1) != was {
				t.Errorf("%s: applied %t, and %d rows, %v", id, was, len(rows), err)
			}
		}
		if err := f.Close(); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	for late := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(late) {
			buffer := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, buffer[:runtime.Stack(buffer, true)])
		}
	}
}
