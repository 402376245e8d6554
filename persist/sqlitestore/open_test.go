package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/transitions"
)

// text and number are parameters by name.
func params(id string, more map[string]any) transitions.Params {
	p := transitions.Params{"operation_id": transitions.TextValue(id)}
	for name, v := range more {
		switch v := v.(type) {
		case string:
			p[name] = transitions.TextValue(v)
		case []byte:
			p[name] = transitions.BytesValue(v)
		case int:
			p[name] = transitions.IntValue(int64(v))
		}
	}
	return p
}

func request(id string) transitions.Params {
	return params(id, map[string]any{"kind": "clip", "request": []byte("{}")})
}

func claim(id, owner string) transitions.Params {
	return params(id, map[string]any{"owner": owner, "ttl_ms": 60_000, "provider": "clip", "account": ""})
}

// applied fires an event that has to be applied.
func (f *fixture) applied(event string, p transitions.Params) machine.Operation {
	f.Helper()
	answer, err := f.Apply(f.ctx, event, p)
	if err != nil {
		f.Fatalf("%s: %v", event, err)
	}
	if !answer.Applied {
		f.Fatalf("%s was denied: %v", event, answer.Failed)
	}
	return machine.OperationOf(f.Program(), answer.Row)
}

func (f *fixture) ids() []string {
	f.Helper()
	rows, err := f.List(f.ctx, machine.Query{Limit: 10_000})
	if err != nil {
		f.Fatal(err)
	}
	ids := []string{}
	for _, row := range rows {
		ids = append(ids, machine.OperationOf(f.Program(), row).OperationID)
	}
	return ids
}

func TestAnOperationOutlivesTheStore(t *testing.T) {
	t.Parallel()
	path := file(t)
	first := open(t, path, sqlitestore.Options{})
	if !first.Created() {
		t.Error("a database that was not there: not told as created")
	}
	op := first.applied("prepare", request("a"))
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path, sqlitestore.Options{})
	if again.Created() {
		t.Error("a database that was there: told as created")
	}
	rows, err := again.Get(again.ctx, "a")
	if err != nil || len(rows) != 1 {
		t.Fatalf("read the operation anew: %d rows, %v", len(rows), err)
	}
	if diff := cmp.Diff(op.CreatedAt, machine.OperationOf(again.Program(), rows[0]).CreatedAt); diff != "" {
		t.Errorf("created at (-want +got):\n%s", diff)
	}
}

func TestAFileMayHaveAnyName(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	names := []string{"a b.db", "what?.db", "mode=memory&x.db", "#1.db", "100%.db", "%41.db", "ünï'\"çödé;.db", "file:x.db", ":memory:.db", "-", "a\\b.db", "new\nline.db"}
	for _, name := range names {
		open(t, filepath.Join(folder, name), sqlitestore.Options{}).applied("prepare", request(name))
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		found := false
		for _, name := range names {
			found = found || e.Name() == name || e.Name() == name+"-wal" || e.Name() == name+"-shm"
		}
		if !found {
			t.Errorf("there is a file %q that nobody named", e.Name())
		}
	}
	for _, name := range names {
		f := open(t, filepath.Join(folder, name), sqlitestore.Options{})
		if diff := cmp.Diff([]string{name}, f.ids()); diff != "" {
			t.Errorf("%q holds (-want +got):\n%s", name, diff)
		}
	}
}

func TestARelativeNameIsInTheWorkingFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	f := open(t, "fencerow.db", sqlitestore.Options{})
	f.applied("prepare", request("a"))
	if _, err := os.Stat("fencerow.db"); err != nil || !filepath.IsAbs(f.Path()) {
		t.Errorf("the file is named %s: %v", f.Path(), err)
	}
}

// B95, beside what is damaged.
func TestWhatIsNoDatabaseIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(folder, "none", "x.db"): "does not exist; make it first",
		folder:                                "no ordinary file",
		text:                                  "no SQLite database",
		"":                                    "not the name of a file",
		":memory:":                            "not the name of a file",
		filepath.Join(folder, "nul\x00.db"):   "not the name of a file",
	} {
		_, err := sqlitestore.Open(context.Background(), path, sqlitestore.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("open %q: got %v, want an error that says %q", path, err, want)
		}
	}
	if _, err := sqlitestore.Open(context.Background(), filepath.Join(folder, "x.db"), sqlitestore.Options{BusyTimeout: time.Nanosecond}); err == nil {
		t.Error("open with a busy timeout of 1ns: got no error")
	}
}

func TestAFileIsForItsOwnerOnly(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	f.applied("prepare", request("a"))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(f.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", info.Name(), mode)
		}
	}
}

func TestAStoreSaysWhichTablesAreMissing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, file(t), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	_, applyErr := store.Apply(ctx, "prepare", request("a"))
	_, getErr := store.Get(ctx, "a")
	for what, err := range map[string]error{"fire": applyErr, "read": getErr} {
		if err == nil || !strings.Contains(err.Error(), "run the migrations") || machine.IsUnknown(err) {
			t.Errorf("%s without tables: got %v, want an error that says to run the migrations", what, err)
		}
	}
	states := func() (made []bool) {
		status, err := store.MigrationStatus(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range status {
			made = append(made, !m.At.IsZero())
		}
		return made
	}
	if diff := cmp.Diff([]bool{false}, states()); diff != "" {
		t.Errorf("made before the migration (-want +got):\n%s", diff)
	}
	for _, want := range []int{1, 0} {
		made, err := store.Migrate(ctx)
		if err != nil || len(made) != want {
			t.Errorf("migrate: made %d steps and %v, want %d", len(made), err, want)
		}
	}
	if diff := cmp.Diff([]bool{true}, states()); diff != "" {
		t.Errorf("made after the migration (-want +got):\n%s", diff)
	}
	if _, err := store.Apply(ctx, "prepare", request("a")); err != nil {
		t.Errorf("fire after the migration: %v", err)
	}
}

func TestTwoPrefixesShareOneFile(t *testing.T) {
	t.Parallel()
	path := file(t)
	one, two := open(t, path, sqlitestore.Options{}), open(t, path, sqlitestore.Options{Names: persist.Names{Prefix: `Job's "x"_`}})
	one.applied("prepare", request("a"))
	two.applied("prepare", request("b"))
	two.applied("dispatch_claim", claim("b", "w"))
	if diff := cmp.Diff([][]string{{"a"}, {"b"}}, [][]string{one.ids(), two.ids()}); diff != "" {
		t.Errorf("the operations (-want +got):\n%s", diff)
	}
}

func TestAnEventInTheCallersTransactionIsCommittedWithItsRows(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{})
	if _, err := f.DB().ExecContext(f.ctx, "CREATE TABLE orders (id TEXT)"); err != nil {
		t.Fatal(err)
	}
	errUndo := errors.New("the caller changes its mind")
	write := func(id string, end error) error {
		return f.inTx(f.ctx, func(tx *sql.Tx) error {
			inside := f.InTx(tx)
			answer, err := inside.Apply(f.ctx, "prepare", request(id))
			if err != nil || !answer.Applied {
				t.Errorf("prepare %s inside: %+v, %v", id, answer, err)
			}
			// What is refused undoes itself and nothing else.
			if _, err := inside.Apply(f.ctx, "prepare", params(id+"-no-request", map[string]any{"kind": "clip"})); err == nil {
				t.Error("prepare without a request: got no error")
			}
			rows, err := inside.Get(f.ctx, id, id+"-no-request")
			if err != nil || len(rows) != 1 {
				t.Errorf("read inside: %d rows, %v", len(rows), err)
			}
			if _, err := tx.ExecContext(f.ctx, "INSERT INTO orders VALUES (?)", id); err != nil {
				t.Error(err)
			}
			return end
		})
	}
	if err := write("kept", nil); err != nil {
		t.Fatal(err)
	}
	if err := write("undone", errUndo); !errors.Is(err, errUndo) {
		t.Fatal(err)
	}
	var orders string
	if err := f.DB().QueryRowContext(f.ctx, "SELECT group_concat(id) FROM orders").Scan(&orders); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"kept", "kept"}, append(f.ids(), orders)); diff != "" {
		t.Errorf("the operations and the caller's rows (-want +got):\n%s", diff)
	}
}
