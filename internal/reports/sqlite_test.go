package reports_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/worker"
)

// open opens the stand's file once more, as another process does.
func (s *stand) open(o sqlitestore.Options, c machine.Config) (*sqlitestore.Store, *machine.Machine) {
	s.Helper()
	store, err := sqlitestore.Open(context.Background(), s.sqlite.Path(), o)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = store.Close() })
	m, err := machine.New(store, c)
	if err != nil {
		s.Fatal(err)
	}
	return store, m
}

// locked holds the file's write lock until it is let go of.
func (s *stand) locked() (letGo func()) {
	s.Helper()
	tx, err := s.sqlite.DB().Begin()
	if err != nil {
		s.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			s.Error(err)
		}
	}
}

// B90: a begin that finds the file locked beyond the busy timeout is no leave to send. It is tried again while the lease
// lives, and sent then; where the lease ends first nothing is sent under it (rules: only a begin without an error allows
// the request, B1; a begin is tried again no longer than its lease).
func TestB90ALockedFileAtTheBeginningLeadsToNoSecondRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		until  string // what the worker says before the lock is let go of
		events []string
	}{
		"the lease lives": {"the database does not do its work", []string{"prepare", "dispatch_claim", "submit_begin", "submit_accepted"}},
		"the lease ends":  {"was not begun", []string{"prepare", "dispatch_claim", "dispatch_claim", "submit_begin", "submit_accepted"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, h := onSQLite(t), &remote{}
			s.prepare(requestOf("a"))
			lease := machine.Config{TTL: 3 * time.Second}
			if name == "the lease lives" {
				lease.TTL = time.Minute
			}
			_, m := s.open(sqlitestore.Options{BusyTimeout: 50 * time.Millisecond}, lease)
			w := s.working(m, h)
			claimed, goOn := make(chan struct{}, 10), make(chan struct{})
			w.config.Failpoint = func(at string) {
				if at == worker.StepClaimed {
					claimed <- struct{}{}
					<-goOn
				}
			}
			w.start()
			<-claimed
			letGo := s.locked()
			close(goOn)
			w.awaitLine(c.until)
			if diff := cmp.Diff(0, h.sent("a")); diff != "" {
				t.Errorf("requests while the file is locked (-want +got):\n%s", diff)
			}
			letGo()
			await(t, "it is sent", func() bool { return s.op("a").RemoteJobID != "" })
			if diff := cmp.Diff(c.events, s.events("a")[:len(c.events)]); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(1, h.sent("a")); diff != "" {
				t.Errorf("requests in all (-want +got):\n%s", diff)
			}
			s.sound("a")
		})
	}
}

// B92: with one connection that reads and one that writes, a reconciler pages through what it moves, and a caller fires
// an event on each row of each page that it lists: no read is open when the next write comes (rule: rows are read to
// their end and closed before anything is done with them).
func TestB92ReadsAreDoneBeforeTheWritesThatFollow(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	store, m := s.open(sqlitestore.Options{Readers: 1, BusyTimeout: time.Second}, machine.Config{})
	one := &stand{TB: t, store: store, sqlite: store, machine: m}
	const n = 120
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // what waits for itself does so for ever
	defer cancel()
	one.submitted("op", n)
	if err := s.exec("UPDATE fencerow_operations SET remote_job_id = NULL"); err != nil {
		t.Fatal(err)
	}
	moved, err := one.reconciler(25).Once(ctx)
	if err != nil || len(moved) != 1 || len(moved[0].Operations) != n {
		t.Fatalf("the reconciler moved %d, %v", len(moved), err)
	}
	ended := 0
	for query := (machine.Query{Phase: transitions.Uncertain, Limit: 25}); ; {
		page, err := m.List(ctx, query)
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range page {
			if _, err := m.ReviewAbandon(ctx, op.OperationID, machine.Decision{Seen: op.Seen(), Reviewer: "r", Reason: "test"}); err != nil {
				t.Fatal(err)
			}
			ended++
		}
		if len(page) < query.Limit {
			break
		}
	}
	if diff := cmp.Diff(n, ended); diff != "" {
		t.Errorf("ended by page (-want +got):\n%s", diff)
	}
}

// B92, the caller's part: rows that a handler has open on a connection of its own hold up no event; rows that are open
// on the store's own connection, for which the loop's next event would wait for ever, are told as what they are after
// the busy timeout, and nothing is written (rules: WAL, in which readers and the writer do not wait for each other; the
// wait for the connection that writes is bounded, A9).
func TestB92OpenRowsOfACallersLockNobodyOutForGood(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	store, m := s.open(sqlitestore.Options{BusyTimeout: 200 * time.Millisecond}, machine.Config{})
	s.prepare(requestOf("a"), requestOf("b"), requestOf("c"))
	own, err := sql.Open("sqlite", "file://"+(&url.URL{Path: s.sqlite.Path()}).EscapedPath())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	for _, c := range []struct {
		whose string
		db    *sql.DB
		want  string // of the error; "" is none
	}{{"their own", own, ""}, {"the store's", store.DB(), "read its open rows to their end"}} {
		rows, err := c.db.Query("SELECT operation_id FROM fencerow_operations ORDER BY operation_id") //nolint:sqlclosecheck // left open: that is the scenario
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err := m.Claim(ctx, transitions.Dispatch, id, video)
			cancel()
			if c.want == "" && err != nil || c.want != "" && (err == nil || machine.IsUnknown(err) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("a claim while rows of %s connection are open: %v, want %q", c.whose, err, c.want)
			}
		}
		if err := rows.Err(); err != nil {
			t.Error(err)
		}
		for _, id := range []string{"a", "b", "c"} {
			if diff := cmp.Diff([]string{"prepare", "dispatch_claim"}, s.events(id)); diff != "" {
				t.Errorf("history after the rows of %s connection (-want +got):\n%s", c.whose, diff)
			}
		}
	}
	if _, err := m.Prepare(t.Context(), requestOf("after")); err != nil {
		t.Errorf("once the rows are closed: %v", err)
	}
}
