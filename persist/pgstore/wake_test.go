package pgstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// listener hears the wake-ups of a store.
type listener struct {
	heard chan machine.Wake
	ended chan error
}

// listening gives a listener once it listens.
func (f *fixture) listening() *listener {
	f.Helper()
	l := &listener{make(chan machine.Wake, 10_000), make(chan error, 1)}
	ready := make(chan struct{})
	ctx, cancel := context.WithCancel(f.ctx)
	f.Cleanup(cancel)
	go func() {
		l.ended <- f.Wakes(ctx, func() { close(ready) }, func(w machine.Wake) { l.heard <- w })
	}()
	select {
	case <-ready:
	case err := <-l.ended:
		f.Fatal(err)
	}
	return l
}

// hears gives what is heard until the last of it.
func (f *fixture) hears(l *listener, last machine.Wake) []machine.Wake {
	f.Helper()
	var all []machine.Wake
	for {
		select {
		case w := <-l.heard:
			if all = append(all, w); w == last {
				return all
			}
		case err := <-l.ended:
			f.Fatalf("the listener ended: %v", err)
		case <-time.After(time.Minute):
			f.Fatalf("heard %v, and %v in vain", all, last)
		}
	}
}

var end = machine.Wake{Action: "the end"}

// Contract G3: whoever listens hears what became due now for somebody else, also what a lease holder leaves to others: not
// what it goes on with, not what is due later, not what was denied.
func TestWhatBecomesDueForOthersIsHeard(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{WakeUps: true})
	l := f.listening()
	later := request("later")
	later["not_before"] = transitions.TimeValue(time.Now().Add(time.Hour))
	f.applied("prepare", "a", request("a"))
	f.applied("prepare", "later", later)
	if _, err := f.ApplyMany(f.ctx, "prepare", []transitions.Params{params(request("b"), text("operation_id", "b")), params(request("c"), text("operation_id", "c"))}); err != nil {
		t.Fatal(err)
	}
	a := machine.Wake{Action: transitions.Dispatch, Provider: "video", OperationID: "a", Kind: "video"}
	if first := f.hears(l, a); len(first) != 1 {
		t.Errorf("before the first of them %v were heard", first)
	}
	f.applied("dispatch_claim", "a", claim("w"))
	f.applied("submit_begin", "a", held("w", 1))
	f.applied("submit_accepted", "a", params(held("w", 1), text("remote_job_id", "job-a")))
	f.fire("prepare", "a", request("a")) // denied
	observe := machine.Wake{Action: transitions.Observe, Provider: "video", Kind: "video"}
	f.Wake(end)
	told := map[machine.Wake]bool{}
	for _, w := range f.hears(l, end) {
		told[w] = true
	}
	told[observe] = told[observe] || f.hears(l, observe) != nil // the last ones may come in either order
	// Of b and c, which became due together, neither is named.
	if diff := cmp.Diff(map[machine.Wake]bool{a.Unnamed(): true, observe: true, end: true}, told); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

// What repeats an operation is heard without its name: it is looked at before it is begun.
func TestARepetitionIsHeardWithoutItsName(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{WakeUps: true})
	f.applied("prepare", "a", request("a"))
	l := f.listening()
	f.applied("prepare", "again", params(request("again"), text("redo_of", "a")))
	f.hears(l, machine.Wake{Action: transitions.Dispatch, Provider: "video", Kind: "video"})
}

// A thousand events at once are a few notifications, and none of them is in a transition's own statement: a commit that
// notifies waits for every other that does.
func TestManyEventsAreFewNotifications(t *testing.T) {
	t.Parallel()
	sent := &recorder{}
	f := open(t, pgstore.Options{WakeUps: true, Tracer: sent, MaxConns: 8})
	l := f.listening()
	began := time.Now()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 50 {
				f.applied("prepare", fmt.Sprint(i, "-", n), request(fmt.Sprint(i, "-", n)))
			}
		})
	}
	all.Wait()
	f.Wake(end)
	f.hears(l, end)
	most, n := int(time.Since(began)/(10*time.Millisecond))+2, 0
	for _, sql := range sent.all() {
		if strings.Contains(sql, "pg_notify") {
			n++
			if strings.Contains(sql, "fencerow_operations") {
				t.Errorf("an event's statement notifies: %s", sql)
			}
		}
	}
	if n == 0 || n > min(most, 300) {
		t.Errorf("400 events made %d notifications, want 1 to %d", n, most)
	}
}

// It can be switched off, and is: nothing is sent, and who would listen is told so.
func TestWithoutWakeUpsNobodyIsTold(t *testing.T) {
	t.Parallel()
	sent := &recorder{}
	f := open(t, pgstore.Options{Tracer: sent})
	f.applied("prepare", "a", request("a"))
	f.Wake(end)
	if err := f.Wakes(f.ctx, func() { t.Error("it listens") }, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	for _, sql := range sent.all() {
		if strings.Contains(strings.ToLower(sql), "notify") || strings.Contains(sql, "LISTEN") {
			t.Errorf("sent %s", sql)
		}
	}
}

// What a transaction of the caller's made due is told by the caller after its commit, and not before.
func TestACallersTransactionTellsNothingByItself(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{WakeUps: true})
	l := f.listening()
	tx, err := f.connect().Begin(f.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.InTx(tx).Apply(f.ctx, "prepare", params(request("a"), text("operation_id", "a"))); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(f.ctx); err != nil {
		t.Fatal(err)
	}
	due := machine.Wake{Action: transitions.Dispatch, Provider: "video"}
	f.Wake(due, end)
	got := f.hears(l, end)
	if len(got) == 1 { // the two may come in either order
		got = append(got, f.hears(l, due)...)
	}
	if diff := cmp.Diff(map[machine.Wake]bool{due: true, end: true}, map[machine.Wake]bool{got[0]: true, got[len(got)-1]: true}); diff != "" || len(got) != 2 {
		t.Errorf("heard %v", got)
	}
}

// Two sets of tables in one database do not wake each other, and a session that ends ends the listening with an error.
func TestAListenerHearsItsOwnTablesAndItsSessionsEnd(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{WakeUps: true})
	l := f.listening()
	other, err := pgstore.Open(f.ctx, f.url, pgstore.Options{WakeUps: true, Names: persist.Names{Prefix: "other_"}})
	if err != nil {
		t.Fatal(err)
	}
	other.Wake(machine.Wake{Action: "another's"})
	if err := other.Close(); err != nil { // what was told is sent or dropped by now
		t.Error(err)
	}
	f.Wake(end)
	if got := f.hears(l, end); len(got) != 1 {
		t.Errorf("heard %v", got)
	}
	f.exec(f.connect(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'")
	if err := <-l.ended; err == nil || !strings.Contains(err.Error(), "listen for wake-ups") {
		t.Error(err)
	}
}

// all gives what was sent.
func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sent)
}

// Contract G3: behind a pooler that takes a LISTEN and delivers nothing nobody takes the silence for quiet: the listener
// says so and is never ready, and the worker goes on to poll as often as without.
func TestAListenerThatHearsNothingSaysSo(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	store, err := pgstore.Open(f.ctx, silent(t, f.url), pgstore.Options{WakeUps: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	err = store.Wakes(f.ctx, func() { t.Error("it is ready") }, func(w machine.Wake) { t.Errorf("it heard %v", w) })
	if err == nil || !strings.Contains(err.Error(), "pooler") {
		t.Errorf("got %v, want an error that speaks of a pooler", err)
	}
}

// silent gives the address of something that passes everything on but notifications.
func silent(t *testing.T, address string) string {
	t.Helper()
	return through(t, address, func(client, upstream net.Conn) {
		go func() {
			_, _ = io.Copy(upstream, client)
			_ = upstream.Close()
		}()
		var head [5]byte
		for {
			if _, err := io.ReadFull(upstream, head[:]); err != nil {
				return
			}
			body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
			if _, err := io.ReadFull(upstream, body); err != nil {
				return
			}
			const notification = 'A'
			if head[0] == notification {
				continue
			}
			if _, err := client.Write(append(head[:], body...)); err != nil {
				return
			}
		}
	})
}
