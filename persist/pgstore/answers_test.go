package pgstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// recorder keeps what was sent.
type recorder struct {
	mu   sync.Mutex
	sent []string
}

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, d.SQL)
	return ctx
}
func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestWhatIsSentIsWhatTheCompilerWrote(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	f := open(t, pgstore.Options{Tracer: r})
	set, err := persist.Compile(f.Program(), persist.PostgreSQL, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]persist.Statement{set.Statements, set.Many} {
		for _, s := range list {
			r.sent = nil
			both := []transitions.Params{request("a"), request("b")}
			switch s.Form {
			case transitions.One:
				_, err = f.Apply(f.ctx, s.Event, both[0])
			case persist.Many:
				_, err = f.ApplyMany(f.ctx, s.Event, both)
			default:
				_, err = f.Take(f.ctx, s.Event, num("limit", 1))
			}
			if err != nil {
				t.Errorf("%s, form %s: %v", s.Event, s.Form, err)
			}
			if diff := cmp.Diff([]string{s.SQL}, r.sent); diff != "" {
				t.Errorf("%s, form %s (-want +got):\n%s", s.Event, s.Form, diff)
			}
		}
	}
}

// Acceptance 2: each id is refused with its reason, and stored nowhere.
func TestWhatIsNotUsableIsNeverStoredAsARemoteJobID(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.prepared("a")
	f.applied("dispatch_claim", "a", claim("w"))
	f.applied("submit_begin", "a", held("w", 1))
	for _, id := range []string{
		"", " ", "a b", " a", "a ", "\t", "a\n", "\u00a0", "\u200b", "\ufeff", "a\u00ad", "\u3164", "\u202e", "é", "\x7f", "\x01",
		"a\x00", "\x00", "\xff", "a\xc0\x80", strings.Repeat("x", 1025), strings.Repeat("x", 70_000),
	} {
		answer := f.fire("submit_accepted", "a", held("w", 1), text("remote_job_id", id))
		if diff := cmp.Diff([]string{"remote_job_id_usable"}, answer.Failed); diff != "" {
			t.Errorf("the id %.40q (-want +got):\n%s", id, diff)
		}
	}
	if answer := f.fire("submit_accepted", "a", held("w", 1)); !slices.Equal(answer.Failed, []string{"remote_job_id_usable"}) {
		t.Errorf("no id at all: %v", answer.Failed)
	}
	longest := strings.Repeat("~", 1024)
	if got := f.applied("submit_accepted", "a", held("w", 1), text("remote_job_id", longest)); got.RemoteJobID != longest {
		t.Errorf("the longest id came back as %.40q", got.RemoteJobID)
	}
}

func TestBlankIsJudgedAsTheTableJudgesIt(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.prepared("a")
	texts := []string{"", "x", "\u00a0x\u200b", "\u200bé", "null", "0", "\\", "'", "\u0085\u00ad", "\u2065", transitions.BlankCharacters}
	for _, c := range transitions.BlankCharacters {
		texts = append(texts, string(c)+" "+string(c))
	}
	for _, s := range texts {
		failed := f.fire("review_abandon", "a", text("reviewer", s)).Failed
		if got, want := slices.Contains(failed, "reviewer"), transitions.IsBlank(s); got != want {
			t.Errorf("%q is blank: %t, the table says %t", s, got, want)
		}
	}
}

func TestEvidenceThatTextCannotHoldIsKeptAsBytes(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.prepared("a")
	raw := transitions.Params{"raw": transitions.BytesValue([]byte("body"))}
	for _, id := range []string{"a\x00b", "\xff\xfe"} {
		f.applied("evidence_noted", "a", text("kind", "accepted"), text("remote_job_id", id))
		f.applied("evidence_noted", "a", text("kind", "accepted"), text("remote_job_id", id), raw, text("reason", "\xff"))
	}
	entries, err := f.Evidence(f.ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.RemoteJobID+"|"+string(e.Detail))
	}
	if diff := cmp.Diff([]string{"|a\x00b", "|body", "|\xff\xfe", "|body"}, got); diff != "" {
		t.Errorf("the evidence (-want +got):\n%s", diff)
	}
	history, err := f.History(f.ctx, "a")
	if err != nil || len(history) != 5 || history[2].Detail != `remote job id "a\x00b"` {
		t.Errorf("the history is %+v with %v, want the id in the second note's detail", history, err)
	}
	if op := f.op("a"); op.LateRemoteJobID != "" || op.EvidenceSeq != 4 {
		t.Errorf("the row holds the late id %q after %d notes", op.LateRemoteJobID, op.EvidenceSeq)
	}
}

func TestAnOperationIsRedoneOnce(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	f.applied("prepare", "b", request("b"), text("redo_of", "a"))
	_, err := f.Apply(f.ctx, "prepare", params(request("c"), text("redo_of", "a")))
	var invalid *machine.InvalidError
	if !errors.As(err, &invalid) || invalid.Field != "redo_of" || machine.IsUnknown(err) {
		t.Errorf("redo it again: got %v, want an error about redo_of", err)
	}
}

func TestNoSuchOperationIsAnsweredByNoRow(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	set, err := persist.Compile(f.Program(), persist.PostgreSQL, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	conn := f.connect()
	for _, s := range set.Statements {
		if s.Form != transitions.One || s.Rule.New {
			continue
		}
		rows, err := conn.Query(f.ctx, s.SQL, append([]any{pgx.QueryExecModeExec, "nobody"}, make([]any, len(s.Params)-1)...)...)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows.Next() {
			n++
		}
		if rows.Close(); rows.Err() != nil || n != 0 {
			t.Errorf("%s: %d rows and %v, want none", s.Event, n, rows.Err())
		}
	}
}

// Every bound that is hit is told as what it is, and none of them is an unknown answer (A9).
func TestABoundThatIsHitProvesThatNothingRan(t *testing.T) {
	t.Parallel()
	lock := func(f *fixture) { f.exec(f.connect(), "BEGIN; "+lockRow) }
	for name, c := range map[string]struct {
		options pgstore.Options
		prepare func(*fixture)
		within  time.Duration // of the caller's context, 0 for no bound
		want    string
	}{
		"the lock wait":             {pgstore.Options{LockTimeout: 50 * time.Millisecond}, lock, 0, "lock wait"},
		"the caller's deadline":     {patient, lock, 100 * time.Millisecond, "deadline"},
		"a table that is not there": {patient, func(f *fixture) { f.exec(f.connect(), "DROP TABLE fencerow_operations") }, 0, "migrations"},
		"a trigger that refuses": {patient, func(f *fixture) {
			f.exec(f.connect(), `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'closed on Sundays'; END $$`)
			f.exec(f.connect(), `CREATE CONSTRAINT TRIGGER refuse AFTER UPDATE ON fencerow_operations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`)
		}, 0, "closed on Sundays"},
		"a trigger that swallows": {patient, func(f *fixture) {
			f.exec(f.connect(), `CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`)
			f.exec(f.connect(), `CREATE TRIGGER swallow BEFORE UPDATE ON fencerow_operations FOR EACH ROW EXECUTE FUNCTION swallow()`)
		}, 0, "trigger"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := open(t, c.options)
			f.prepared("a")
			c.prepare(f)
			ctx := f.ctx
			if c.within > 0 {
				bounded, cancel := context.WithTimeout(f.ctx, c.within)
				defer cancel()
				ctx = bounded
			}
			_, err := f.Apply(ctx, "dispatch_claim", params(claim("w"), text("operation_id", "a")))
			if err == nil || machine.IsUnknown(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error that says %q", err, c.want)
			}
			if c.within > 0 && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v is not the context's error", err)
			}
		})
	}
}

func TestASessionThatEndsDuringAStatementLeavesItUnknown(t *testing.T) {
	t.Parallel()
	f := open(t, patient)
	f.prepared("a")
	other, watcher := f.connect(), f.connect()
	f.exec(other, "BEGIN; "+lockRow)
	failed := make(chan error, 1)
	go func() {
		_, err := f.Apply(f.ctx, "dispatch_claim", params(claim("w"), text("operation_id", "a")))
		failed <- err
	}()
	f.until("the claim waits", func() bool { return f.waiters(watcher) == 1 })
	f.exec(watcher, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
	if err := <-failed; !machine.IsUnknown(err) {
		t.Errorf("got %v, want an unknown answer", err)
	}
}

func TestAServerThatCannotBeReachedProvesThatNothingRan(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := f.Apply(f.ctx, "dispatch_claim", params(claim("w"), text("operation_id", "a")))
	if err == nil || machine.IsUnknown(err) {
		t.Errorf("got %v, want a plain error", err)
	}
	_, err = pgstore.Open(f.ctx, "postgres://nobody@127.0.0.1:1/none?sslmode=disable", pgstore.Options{})
	if err == nil || !strings.Contains(err.Error(), "connect to 127.0.0.1") {
		t.Errorf("open a server that is not there: got %v", err)
	}
}
