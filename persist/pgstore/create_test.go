package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/testdata/suites"
	"github.com/fencerow/fencerow/transitions"
)

// never is more operations than any test creates.
const never = 1_000_000

func copying(o pgstore.Options) pgstore.Options { return pgstore.Copying(o, 1, 10) }
func arrays(o pgstore.Options) pgstore.Options  { return pgstore.Copying(o, never, never) }

// copied is a store that copies whatever an event creates, one operation too.
type copied struct{ *pgstore.Store }

func (c copied) Apply(ctx context.Context, event string, params transitions.Params) (machine.Answer, error) {
	answers, err := c.ApplyMany(ctx, event, []transitions.Params{params})
	if err != nil {
		return machine.Answer{}, err
	}
	return answers[0], nil
}

func copyingSubject(t *testing.T) machinetest.Subject {
	f := open(t, copying(pgstore.Options{MaxConns: 4, Prepare: true}))
	return machinetest.Subject{Store: copied{f.Store}, Put: f.put, Now: f.Now}
}

// Only what creates an operation is copied; whatever happens to a row afterwards is held of stores that copy nothing, and
// that the rows are the same ones below.
func TestWhatIsCopiedAgreesWithTheTable(t *testing.T) {
	t.Parallel()
	machinetest.Agree(t, copyingSubject, "prepare")
}

func TestWhatIsCopiedPassesTheSuitesThatPrepare(t *testing.T) {
	t.Parallel()
	preparing := fstest.MapFS{}
	for _, name := range []string{"usual.txt", "dispatch.txt"} {
		text, err := suites.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		preparing[name] = &fstest.MapFile{Data: text}
	}
	machinetest.RunSuite(t, copyingSubject, preparing, transitions.MustCompile(transitions.Standard()))
}

// many are requests of every kind, in no order of their ids, with what JSON and PostgreSQL treat specially.
func many(n int) []transitions.Params {
	texts := []string{"", "a", `with "quotes" and \`, "line\nend\t\x01\x1f\x7f", "NUL\x00here", "not \xff UTF-8", "ünï\u2028code\u00a0𝄞", "</script>&"}
	var all []transitions.Params
	for i := range n {
		p := params(request(fmt.Sprintf("op-%03d", (i*7)%n)), num("priority", int64(i%5)-2), text("detail", texts[i%len(texts)]))
		p["request"] = transitions.BytesValue([]byte(strings.Repeat("\x00\xff", i%3)))
		switch i % 4 {
		case 1:
			p["not_before"] = transitions.TimeValue(time.Date(9999, 1, 2, 3, 4, 5, 678_000, time.UTC))
			p["account"] = transitions.TextValue(texts[i%len(texts)])
		case 2:
			p["not_before"] = transitions.TimeValue(time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC))
			p["kind"] = transitions.TextValue(texts[i%len(texts)])
			p["redo_of"] = transitions.TextValue(fmt.Sprintf("before-%d", i))
			p["can_investigate"] = transitions.BoolValue(true)
		case 3:
			p = params(p, num("quarantine_ms", transitions.MaxNatural), num("observe_deadline_ms", 0))
			p["wants_delivery"] = transitions.BoolValue(true)
		}
		all = append(all, p)
	}
	return all
}

// tables gives all that is stored of operations and history but for the moments of it, a line a row.
func (f *fixture) tables(names persist.Names) []string {
	f.Helper()
	prefix := names.Prefix
	if prefix == "" {
		prefix = persist.DefaultPrefix
	}
	table := func(name string) string {
		if names.Schema == "" {
			return pgx.Identifier{prefix + name}.Sanitize()
		}
		return pgx.Identifier{names.Schema, prefix + name}.Sanitize()
	}
	rows, err := f.connect().Query(f.ctx, fmt.Sprintf(`SELECT (to_jsonb(o) - '{created_at,updated_at,due_at,wake_at}'::text[])::text
	|| (created_at = updated_at)::text || (due_at = greatest(created_at, not_before))::text || (wake_at = due_at)::text AS line
FROM %s AS o
UNION ALL
SELECT (to_jsonb(h) - '{seq,at,changes}'::text[])::text || h.changes::text || (h.at = o.created_at)::text
FROM %s AS h JOIN %s AS o USING (operation_id)
ORDER BY line`, table("operations"), table("history"), table("operations")))
	if err != nil {
		f.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		f.Fatal(err)
	}
	return lines
}

// plainly is an answer without the moments in it.
func (f *fixture) plainly(answers []machine.Answer) []string {
	var lines []string
	for _, a := range answers {
		row := map[string]string{}
		if a.Row != nil {
			row = f.still(a.Row)
		}
		lines = append(lines, fmt.Sprint(a.Applied, a.Exists, a.Failed, row))
	}
	return lines
}

func TestCopiesLeaveAndAnswerWhatArraysDo(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]pgstore.Options{
		"plain": {}, "prepared": {Prepare: true}, "gathered": {GroupCommit: true}, "one connection": {MaxConns: 1},
		"awkward names": {Names: persist.Names{Schema: `my "own" Schema`, Prefix: `Job's "x"_`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, got := open(t, arrays(o)), open(t, copying(o))
			asked := many(95)
			wants, err := want.ApplyMany(want.ctx, "prepare", asked)
			must(t, err)
			gots, err := got.ApplyMany(got.ctx, "prepare", asked)
			must(t, err)
			if diff := cmp.Diff(want.plainly(wants), got.plainly(gots)); diff != "" {
				t.Errorf("the answers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.tables(o.Names), got.tables(o.Names)); diff != "" {
				t.Errorf("the tables (-want +got):\n%s", diff)
			}
			for i, a := range gots {
				stored, err := got.Get(got.ctx, asked[i]["operation_id"].Text())
				must(t, err)
				if diff := cmp.Diff(fmt.Sprint(stored), fmt.Sprint([]transitions.Row{a.Row})); diff != "" {
					t.Errorf("what is stored, against the answer (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestWhereAnIDExistsTheAnswersAreThoseOfArrays(t *testing.T) {
	t.Parallel()
	want, got := open(t, arrays(pgstore.Options{})), open(t, copying(pgstore.Options{}))
	asked := many(36)
	other := params(asked[17])
	other["request"] = transitions.BytesValue([]byte("another"))
	answers := map[*fixture][]string{}
	for _, f := range []*fixture{want, got} {
		f.fire("prepare", asked[17]["operation_id"].Text(), other)
		all, err := f.ApplyMany(f.ctx, "prepare", asked)
		must(t, err)
		again, err := f.ApplyMany(f.ctx, "prepare", asked)
		must(t, err)
		answers[f] = append(f.plainly(all), f.plainly(again)...)
		if all[17].Applied || !slices.Equal(all[17].Failed, []string{"new"}) || !all[16].Applied {
			t.Errorf("the id that exists was answered %+v, another %+v", all[17], all[16])
		}
	}
	if diff := cmp.Diff(answers[want], answers[got]); diff != "" {
		t.Errorf("the answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.tables(persist.Names{}), got.tables(persist.Names{})); diff != "" {
		t.Errorf("the tables (-want +got):\n%s", diff)
	}
}

func TestPreparingManyTellsAConflictAmongThem(t *testing.T) {
	t.Parallel()
	f := open(t, copying(pgstore.Options{}))
	verbs, err := machine.New(f.Store, machine.Config{})
	must(t, err)
	requests := make([]machine.Request, 25)
	for i := range requests {
		requests[i] = machine.Request{OperationID: fmt.Sprintf("op-%d", i), Kind: "video", Request: []byte("{}")}
	}
	_, err = verbs.Prepare(f.ctx, machine.Request{OperationID: "op-7", Kind: "video", Request: []byte("another")})
	must(t, err)
	prepared, err := verbs.PrepareMany(f.ctx, requests)
	must(t, err)
	for i, p := range prepared {
		var conflict *machine.ConflictError
		if errors.As(p.Err, &conflict) != (i == 7) || p.Created != (i != 7) {
			t.Errorf("op-%d: created %t, %v", i, p.Created, p.Err)
		}
	}
}

func TestADeniedOneAmongManyIsAnsweredAsByArrays(t *testing.T) {
	t.Parallel()
	want, got := open(t, arrays(pgstore.Options{})), open(t, copying(pgstore.Options{}))
	asked := append(many(25), request(" "), request("\u00a0"))
	answers := map[*fixture][]string{}
	for _, f := range []*fixture{want, got} {
		all, err := f.ApplyMany(f.ctx, "prepare", asked)
		must(t, err)
		answers[f] = f.plainly(all)
		if diff := cmp.Diff([]string{"operation_id"}, all[25].Failed); diff != "" || all[25].Exists {
			t.Errorf("the blank id (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(answers[want], answers[got]); diff != "" {
		t.Errorf("the answers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.tables(persist.Names{}), got.tables(persist.Names{})); diff != "" {
		t.Errorf("the tables (-want +got):\n%s", diff)
	}
}

// The server's word about a value is the statement's own. Where nothing of the call was stored that is known.
func TestAValueThatTheTablesRefuseIsToldAsByArrays(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]transitions.Params{
		"a null":          {"kind": transitions.NullValue},
		"too great":       num("quarantine_ms", transitions.MaxNatural+1),
		"a far time":      {"not_before": transitions.MicrosValue(-1 << 62)},
		"no time at all":  {"not_before": transitions.MicrosValue(1<<63 - 1)},
		"one redo of two": text("redo_of", "before"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := []transitions.Params{request("a"), params(request("b"), bad), params(request("c"), bad)}
			want, got := open(t, arrays(pgstore.Options{})), open(t, copying(pgstore.Options{}))
			_, wanted := want.ApplyMany(want.ctx, "prepare", asked)
			_, err := got.ApplyMany(got.ctx, "prepare", asked)
			if wanted == nil || err == nil || machine.IsUnknown(err) || err.Error() != wanted.Error() {
				t.Errorf("got %v, want %v", err, wanted)
			}
			if left := got.tables(persist.Names{}); len(left) > 0 {
				t.Errorf("there is left: %v", left)
			}
		})
	}
}

func TestWhereOnePartIsStoredAndAnotherIsNotTheCallIsUnknown(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Copying(pgstore.Options{MaxConns: 1}, 1, 10))
	asked := many(30)
	bad := slices.Clone(asked)
	for i, p := range bad {
		if p["operation_id"].Text() == "op-025" {
			bad[i] = params(p, num("quarantine_ms", -1))
		}
	}
	_, err := f.ApplyMany(f.ctx, "prepare", bad)
	var invalid *machine.InvalidError
	if !machine.IsUnknown(err) || !errors.As(err, &invalid) || invalid.Field != "quarantine_ms" {
		t.Errorf("got %v, want that it is not known, for the sake of a value", err)
	}
	answers, err := f.ApplyMany(f.ctx, "prepare", asked)
	must(t, err)
	var applied []bool
	for _, a := range answers {
		applied = append(applied, a.Applied)
	}
	if !slices.Contains(applied, true) || !slices.Contains(applied, false) || len(f.tables(persist.Names{})) != 60 {
		t.Errorf("again with a good value: applied %v, %d rows", applied, len(f.tables(persist.Names{})))
	}
}

func TestATriggerThatChangesRowsIsHeededInTheAnswers(t *testing.T) {
	t.Parallel()
	f := open(t, copying(pgstore.Options{}))
	f.exec(f.connect(), `CREATE FUNCTION raise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.priority := 42; RETURN NEW; END $$`)
	f.exec(f.connect(), `CREATE TRIGGER raise BEFORE INSERT ON fencerow_operations FOR EACH ROW EXECUTE FUNCTION raise()`)
	answers, err := f.ApplyMany(f.ctx, "prepare", many(12))
	must(t, err)
	for _, a := range answers {
		if got := machine.OperationOf(f.Program(), a.Row).Priority; got != 42 {
			t.Errorf("the answer has priority %d, the row 42", got)
		}
	}
}

// C5: what a caller's transaction creates is the caller's to commit.
func TestInACallersTransactionNothingIsCopied(t *testing.T) {
	t.Parallel()
	f := open(t, copying(pgstore.Options{}))
	tx, err := f.connect().Begin(f.ctx)
	must(t, err)
	_, err = f.InTx(tx).ApplyMany(f.ctx, "prepare", many(12))
	must(t, err)
	must(t, tx.Rollback(f.ctx))
	if left := f.tables(persist.Names{}); len(left) > 0 {
		t.Errorf("after the caller's rollback there is left: %v", left)
	}
}

// copies keeps the tables that were copied into.
type copies struct {
	recorder
	tables sync.Map
}

func (c *copies) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceCopyFromStartData) context.Context {
	c.tables.Store(strings.Join(d.TableName, "."), len(d.ColumnNames))
	return ctx
}
func (c *copies) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}

func TestATracerSeesWhatIsCopied(t *testing.T) {
	t.Parallel()
	tracer := &copies{}
	f := open(t, copying(pgstore.Options{Tracer: tracer}))
	_, err := f.ApplyMany(f.ctx, "prepare", many(12))
	must(t, err)
	for _, table := range []string{"fencerow_operations", "fencerow_history"} {
		if n, ok := tracer.tables.Load(table); !ok || n.(int) < 10 {
			t.Errorf("it saw %v columns copied into %s", n, table)
		}
	}
}
