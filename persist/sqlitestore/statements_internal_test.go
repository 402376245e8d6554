package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// spy is the driver with a look at what it is given, and a hand on its commits.
type spy struct {
	driver.Driver
	mu     sync.Mutex
	texts  map[string]bool
	commit func() error // what a commit that was done is said to have come to
}

// spying registers a driver of its own for a test.
func spying(t *testing.T) *spy {
	t.Helper()
	db, err := sql.Open("sqlite", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s := &spy{Driver: db.Driver(), texts: map[string]bool{}}
	sql.Register("spy-"+t.Name(), s)
	return s
}

func (s *spy) saw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts[text] = true
}

func (s *spy) Open(name string) (driver.Conn, error) {
	c, err := s.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return &spyConn{c.(fullConn), s}, nil
}

// fullConn is what the driver's connections can do.
type fullConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

type spyConn struct {
	fullConn
	spy *spy
}

func (c *spyConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	c.spy.saw(text)
	return c.fullConn.PrepareContext(ctx, text)
}

func (c *spyConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	c.spy.saw(text)
	return c.fullConn.ExecContext(ctx, text, args)
}

func (c *spyConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.spy.saw(text)
	return c.fullConn.QueryContext(ctx, text, args)
}

func (c *spyConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.fullConn.BeginTx(ctx, opts)
	return &spyTx{tx, c.spy}, err
}

type spyTx struct {
	driver.Tx
	spy *spy
}

func (t *spyTx) Commit() error {
	if err := t.Tx.Commit(); err != nil || t.spy.commit == nil {
		return err
	}
	return t.spy.commit()
}

func spied(t *testing.T) (*Store, *spy) {
	t.Helper()
	s := spying(t)
	ctx := context.Background()
	store, err := Open(ctx, filepath.Join(t.TempDir(), "x.db"), Options{driver: "spy-" + t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	if _, err := store.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	return store, s
}

// TestEveryStatementIsOneOfPersists fires every event, alone, at several and at what is due, reads everything there is
// to read, and compares what reached the driver with what is compiled, printed and documented.
func TestEveryStatementIsOneOfPersists(t *testing.T) {
	t.Parallel()
	store, s := spied(t)
	ctx := context.Background()
	// There is an operation, or a prune would have no page to look at.
	const one = "INSERT INTO fencerow_operations (operation_id, kind, provider, account, phase, request, created_at, updated_at) VALUES ('z', 'k', 'p', 'a', 'prepared', x'', 0, 0)"
	if _, err := store.DB().ExecContext(ctx, one); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	clear(s.texts)
	s.mu.Unlock()

	id := func(id string) transitions.Params {
		return transitions.Params{"operation_id": transitions.TextValue(id)}
	}
	for _, r := range slices.Concat(store.program.Rules, store.program.Joined) {
		// What the events come to does not matter here: a denied one is judged only, so every step is looked at below.
		if _, err := store.ApplyMany(ctx, r.Event, []transitions.Params{id("a"), id("b")}); err != nil && !r.New {
			t.Errorf("%s: %v", r.Event, err)
		}
		if len(r.Forms) > 1 {
			if _, err := store.Take(ctx, r.Event, transitions.Params{persist.Limit: transitions.IntValue(1)}); err != nil {
				t.Errorf("take by %s: %v", r.Event, err)
			}
		}
	}
	for name, read := range map[string]func() error{
		"get":              func() error { _, err := store.Get(ctx, "a"); return err },
		"find":             func() error { _, err := store.Find(ctx, "p", "a", "j"); return err },
		"list":             func() error { _, err := store.List(ctx, machine.Query{}); return err },
		"history":          func() error { _, err := store.History(ctx, "a"); return err },
		"evidence":         func() error { _, err := store.Evidence(ctx, "a"); return err },
		"stats":            func() error { _, err := store.Stats(ctx); return err },
		"naming":           func() error { _, err := store.EvidenceNaming(ctx, "p", "a", "j"); return err },
		"unmatched":        func() error { _, err := store.Unmatched(ctx, machine.UnmatchedQuery{}); return err },
		"unmatched_newest": func() error { _, err := store.Unmatched(ctx, machine.UnmatchedQuery{Newest: true}); return err },
		"note_unmatched":   func() error { return store.NoteUnmatched(ctx, machine.EvidenceEntry{}) },
		"review":           func() error { _, err := store.Review(ctx, machine.ReviewQuery{}); return err },
		"review_count":     func() error { _, err := store.ReviewCount(ctx, machine.ReviewQuery{}); return err },
		"recent":           func() error { _, _, err := store.Recent(ctx, 1, 1, "a"); return err },
		"redone":           func() error { _, err := store.Redone(ctx, "a"); return err },
		"prunable":         func() error { _, err := store.Prunable(ctx, machine.PruneQuery{}); return err },
		"traces":           func() error { _, _, err := store.Traces(ctx, "a"); return err },
		"prune": func() error {
			_, err := store.Prune(ctx, machine.PruneQuery{}, []machine.Prunable{{OperationID: "a"}})
			return err
		},
	} {
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}

	want := map[string]bool{store.set.NoteUnmatched.SQL: true}
	for _, st := range append(slices.Clone(store.set.Statements), *store.set.Prune) {
		want[st.SQL] = true
		for _, step := range st.Then {
			want[step.SQL] = true
		}
	}
	for _, r := range store.set.Readers {
		want[r.SQL] = true
	}
	if diff := cmp.Diff(want, s.texts); diff != "" {
		t.Errorf("the texts that reached the driver (-compiled +sent):\n%s", diff)
	}
}

func TestACommitWhoseAnswerIsLostIsUnknownAndHistoryKnows(t *testing.T) {
	t.Parallel()
	store, s := spied(t)
	ctx := context.Background()
	m, err := machine.New(store, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s.commit = func() error { return errors.New("the disk went away") }
	_, err = store.Apply(ctx, "prepare", transitions.Params{
		"operation_id": transitions.TextValue("a"), "kind": transitions.TextValue("clip"), "request": transitions.BytesValue([]byte("{}")),
	})
	var unknown *machine.UnknownError
	if !errors.As(err, &unknown) || unknown.OperationID != "a" || unknown.Event != "prepare" {
		t.Fatalf("prepare whose commit failed: got %v, want an *UnknownError", err)
	}
	s.commit = nil
	landed, err := m.Landed(ctx, "a", "prepare", 0)
	if err != nil || !landed {
		t.Errorf("ask history: landed %t, %v; want true", landed, err)
	}
}

// TestADeadlineDoesNotCutACommitShort ends the context while the commit runs.
func TestADeadlineDoesNotCutACommitShort(t *testing.T) {
	t.Parallel()
	store, s := spied(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.commit = func() error {
		cancel()
		return nil
	}
	answer, err := store.Apply(ctx, "prepare", transitions.Params{
		"operation_id": transitions.TextValue("a"), "kind": transitions.TextValue("clip"), "request": transitions.BytesValue([]byte("{}")),
	})
	if err != nil || !answer.Applied {
		t.Errorf("prepare: applied %t, %v; want the answer of the commit", answer.Applied, err)
	}
}

func TestOnlyWhatSQLiteRollsBackProvesThatNothingWasCommitted(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errors.New("the connection is gone"), driver.ErrBadConn, context.Canceled, sql.ErrTxDone} {
		if provesNotCommitted(err) {
			t.Errorf("%v is taken for a proof", err)
		}
	}
}

// B95: WAL on a network file system is warned of when it is opened.
func TestASharedFileSystemIsWarnedOf(t *testing.T) {
	t.Parallel()
	for number, want := range map[uint32]string{0x6969: "NFS", 0x01021997: "9p", 0xfe534d42: "SMB", 0x65735546: "virtiofs", 0xef53: "", 0x01021994: ""} {
		got := warningFor("/data/x.db", number)
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("file system %x: got %q, want a warning about %q", number, got, want)
		}
	}
}

func TestATimeIsCutToMillisecondsAndComesBackSo(t *testing.T) {
	t.Parallel()
	for given, want := range map[int64]int64{1_999: 1_000, 0: 0, -1: -1_000, -1_000: -1_000, 1_764_000_000_123_456: 1_764_000_000_123_000} {
		ms := bound(transitions.MicrosValue(given)).(int64)
		got, err := found(transitions.Time, ms)
		if err != nil || got.Micros() != want {
			t.Errorf("%s: got %s and %v, want %s", time.UnixMicro(given).UTC(), got, err, time.UnixMicro(want).UTC())
		}
	}
	if _, err := found(transitions.Int, "text"); err == nil {
		t.Error("a text in a column of integers: got no error")
	}
}
