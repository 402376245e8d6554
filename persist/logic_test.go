package persist_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	_ "modernc.org/sqlite" // the database that the SQLite statements are tried on

	"github.com/fencerow/fencerow/internal/byhand"
	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// database is a database of one dialect, reached without the project's stores.
type database struct {
	dialect persist.Dialect
	exec    func(sql string, args ...any) error
	failed  func(sql string, columns int, args ...any) ([]string, error) // of a statement that judges one row
}

func (d database) arguments(names []string, params transitions.Params) []any {
	args := make([]any, len(names))
	for i, n := range names {
		args[i] = byhand.Value(d.dialect, params[n])
	}
	return args
}

func postgres(t *testing.T) database {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return database{
		dialect: persist.PostgreSQL,
		exec: func(sql string, args ...any) error {
			if len(args) == 0 {
				return conn.PgConn().Exec(ctx, sql).Close()
			}
			_, err := conn.Exec(ctx, sql, args...)
			return err
		},
		failed: func(sql string, columns int, args ...any) ([]string, error) {
			var failed []string
			var applied bool
			into := append([]any{&applied, &failed}, make([]any, columns)...)
			err := conn.QueryRow(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...).Scan(into...)
			return failed, err
		},
	}
}

func sqlite(t *testing.T) database {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return database{
		dialect: persist.SQLite,
		exec: func(sql string, args ...any) error {
			_, err := db.Exec(sql, args...)
			return err
		},
		failed: func(sql string, columns int, args ...any) ([]string, error) {
			var failed string
			into := []any{new(any), &failed}
			for range columns {
				into = append(into, new(any))
			}
			if err := db.QueryRow(sql, args...).Scan(into...); err != nil || failed == "" {
				return nil, err
			}
			return strings.Split(failed, ","), nil
		},
	}
}

// create makes a program's tables with some rows in them.
func (d database) create(t *testing.T, p *transitions.Program, rows []transitions.Row) {
	t.Helper()
	migrations, err := persist.Schema(p, d.dialect, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.exec(migrations[0].SQL); err != nil {
		t.Fatal(err)
	}
	exec := func(_ context.Context, sql string, args ...any) error { return d.exec(sql, args...) }
	if err := byhand.Write(context.Background(), d.dialect, p, exec, rows...); err != nil {
		t.Fatal(err)
	}
}

// Any expression over any row means the same in both dialects as in the table: nulls, texts' order, times and all.
func TestRandomExpressionsMeanTheSameInSQL(t *testing.T) {
	t.Parallel()
	g := &expressions{rng: rand.New(rand.NewPCG(7, 11)), now: time.Now().Truncate(time.Second)}
	table := transitions.Standard()
	const events, guards = 120, 5
	for i := range events {
		e := transitions.Event{Name: fmt.Sprintf("probe_%d", i), Fence: transitions.Open, Actor: "tester", Doc: "a probe"}
		for n := range guards {
			e.Guards = append(e.Guards, transitions.Guard{Name: fmt.Sprintf("g%d", n), Expr: g.of(transitions.Bool, 4), Doc: "random"})
		}
		table.Events = append(table.Events, e)
	}
	p, err := transitions.Compile(table)
	if err != nil {
		t.Fatal(err)
	}
	g.program = p
	rows := g.rows(6)
	for _, d := range []database{postgres(t), sqlite(t)} {
		d.create(t, p, rows)
		set, err := persist.Compile(p, d.dialect, persist.Names{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Rules {
			if strings.HasPrefix(r.Event, "probe_") {
				g.compare(t, d, set.Statement(r.Event, transitions.One), rows)
			}
		}
	}
}

func (g *expressions) compare(t *testing.T, d database, s *persist.Statement, rows []transitions.Row) {
	t.Helper()
	for _, row := range rows {
		params := transitions.Params{"operation_id": row[g.program.Column("operation_id")]}
		for _, def := range s.Rule.Params {
			if def.Name != "operation_id" {
				params[def.Name] = g.value(def.Kind)
			}
		}
		want := g.program.Eval(s.Event, row, params, transitions.World{Now: g.now.UnixMicro(), Taken: g.taken(rows, row)}).Failed
		got, err := d.failed(s.SQL, len(g.program.Columns), d.arguments(s.Params, params)...)
		if err != nil {
			t.Errorf("%s: %s: %v\n%s", d.dialect, s.Event, err, s.SQL)
			return
		}
		for _, guard := range s.Rule.Guards {
			if slices.Contains(want, guard.Name) != slices.Contains(got, guard.Name) {
				t.Errorf("%s: %s of %s is said to fail: %t, want %t\nwith %v\non %v", d.dialect, guard.Expr, s.Event,
					slices.Contains(got, guard.Name), slices.Contains(want, guard.Name), params, row)
			}
		}
	}
}

// expressions makes random expressions, rows and values from pools small enough that they meet.
type expressions struct {
	rng     *rand.Rand
	now     time.Time
	program *transitions.Program
}

func (g *expressions) taken(rows []transitions.Row, row transitions.Row) func(provider, account, id string) bool {
	return func(provider, account, id string) bool {
		return slices.ContainsFunc(rows, func(other transitions.Row) bool {
			text := func(column string) string { return other[g.program.Column(column)].Text() }
			return other[g.program.Column("operation_id")] != row[g.program.Column("operation_id")] &&
				text("provider") == provider && text("account") == account && text("remote_job_id") == id && id != ""
		})
	}
}

// columnsOf are the columns of a kind that the rows vary, and parameters of the kind.
var columnsOf = map[transitions.Kind][]string{
	transitions.Text: {"object_key", "keep", "lease_owner", "remote_job_id"},
	transitions.Int:  {"priority", "object_bytes", "not_created_revision"},
	transitions.Bool: {"duplicate_suspected", "wants_delivery"},
	transitions.Time: {"lease_until", "due_at", "not_before"},
}

func (g *expressions) value(k transitions.Kind) transitions.Value {
	if g.rng.IntN(4) == 0 {
		return transitions.NullValue
	}
	switch k {
	case transitions.Text:
		pool := []string{"", " ", "x", "X", "job-1", "job-2", "a b", "\u00a0\u200b", "é", "Z", "{\"a\":1}", "it's"}
		return transitions.TextValue(pool[g.rng.IntN(len(pool))])
	case transitions.Int:
		return transitions.IntValue([]int64{-1, 0, 1, 2, 1000}[g.rng.IntN(5)])
	case transitions.Bool:
		return transitions.BoolValue(g.rng.IntN(2) == 0)
	default:
		return transitions.TimeValue(g.now.Add([]time.Duration{-7 * time.Hour, -3 * time.Hour, 3 * time.Hour, 7 * time.Hour}[g.rng.IntN(4)]))
	}
}

func (g *expressions) rows(n int) []transitions.Row {
	var rows []transitions.Row
	for i := range n {
		row := make(transitions.Row, len(g.program.Columns))
		for c, column := range g.program.Columns {
			row[c] = column.Default
			if slices.Contains(columnsOf[column.Kind], column.Name) {
				if v := g.value(column.Kind); !v.IsNull() || !column.NotNull {
					row[c] = v
				}
			}
		}
		job := transitions.NullValue
		if i%3 != 0 {
			job = transitions.TextValue(fmt.Sprintf("job-%d", i%3))
		}
		for name, v := range map[string]transitions.Value{
			"operation_id": transitions.TextValue(fmt.Sprintf("op-%d", i)), "kind": transitions.TextValue("clip"),
			"provider": transitions.TextValue("video"), "account": transitions.TextValue(strings.Repeat("x", i/3)),
			"phase": transitions.TextValue("prepared"), "request": transitions.BytesValue([]byte("{}")), "remote_job_id": job,
			"created_at": transitions.TimeValue(g.now), "updated_at": transitions.TimeValue(g.now),
		} {
			row[g.program.Column(name)] = v
		}
		rows = append(rows, row)
	}
	return rows
}

func (g *expressions) list(k transitions.Kind, depth, least int) []transitions.Expr {
	var list []transitions.Expr
	for range least + g.rng.IntN(3) {
		list = append(list, g.of(k, depth-1))
	}
	return list
}

// of makes an expression of a kind.
func (g *expressions) of(k transitions.Kind, depth int) transitions.Expr {
	if depth == 0 || g.rng.IntN(5) == 0 {
		return g.leaf(k)
	}
	switch n := g.rng.IntN(8); {
	case n == 0:
		return transitions.If(g.of(transitions.Bool, depth-1), g.of(k, depth-1), g.of(k, depth-1))
	case n == 1:
		return transitions.Coalesce(g.list(k, depth, 1)...)
	case k == transitions.Bool:
		return g.condition(depth)
	case n < 4:
		return transitions.Greatest(g.list(k, depth, 1)...)
	case n < 6:
		return transitions.Least(g.list(k, depth, 1)...)
	case k == transitions.Int:
		return transitions.Plus(g.of(k, depth-1), g.of(k, depth-1))
	case k == transitions.Time:
		return transitions.After(g.of(k, depth-1), g.of(transitions.Int, depth-1))
	default:
		return g.leaf(k)
	}
}

func (g *expressions) leaf(k transitions.Kind) transitions.Expr {
	switch n := g.rng.IntN(8); {
	case n < 3:
		return transitions.Col(columnsOf[k][g.rng.IntN(len(columnsOf[k]))])
	case n < 5:
		return transitions.Param(fmt.Sprintf("p_%s_%d", k, g.rng.IntN(2)), k)
	case k == transitions.Time:
		return transitions.Now()
	case n == 5:
		return transitions.Null()
	default:
		return transitions.Expr{Op: transitions.OpLit, Value: g.value(k)}
	}
}

func (g *expressions) condition(depth int) transitions.Expr {
	kinds := []transitions.Kind{transitions.Text, transitions.Int, transitions.Bool, transitions.Time}
	k := kinds[g.rng.IntN(len(kinds))]
	text := func() transitions.Expr { return g.of(transitions.Text, depth-1) }
	two := func(f func(a, b transitions.Expr) transitions.Expr) transitions.Expr {
		return f(g.of(k, depth-1), g.of(k, depth-1))
	}
	makers := []func() transitions.Expr{
		func() transitions.Expr { return two(transitions.Eq) },
		func() transitions.Expr { return two(transitions.Ne) },
		func() transitions.Expr { return two(transitions.Le) },
		func() transitions.Expr { return two(transitions.Lt) },
		func() transitions.Expr { return two(transitions.Same) },
		func() transitions.Expr { return transitions.And(g.list(transitions.Bool, depth, 1)...) },
		func() transitions.Expr { return transitions.Or(g.list(transitions.Bool, depth, 1)...) },
		func() transitions.Expr { return transitions.Not(g.of(transitions.Bool, depth-1)) },
		func() transitions.Expr { return transitions.IsNull(g.of(k, depth-1)) },
		func() transitions.Expr { return transitions.NotNull(g.of(k, depth-1)) },
		func() transitions.Expr { return transitions.In(text(), "x", "it's", "") },
		func() transitions.Expr { return transitions.Usable(text()) },
		func() transitions.Expr { return transitions.Blank(text()) },
		func() transitions.Expr { return transitions.Taken(text()) },
	}
	return makers[g.rng.IntN(len(makers))]()
}

// SQLite's text holds any bytes, and its functions stop at a NUL or decode what is no UTF-8.
func TestSQLiteTakesNoBytesForAUsableIDOrABlankTextThatGoDoesNot(t *testing.T) {
	t.Parallel()
	d, set := sqlite(t), compiled(t, persist.SQLite, persist.Names{})
	g := &expressions{rng: rand.New(rand.NewPCG(1, 2)), now: time.Now(), program: set.Program}
	d.create(t, set.Program, g.rows(1))
	texts := []string{"", "x", "a\x00", "\x00", "a\x00b", "\xff", "a\x80", "a\xc0\xa1", "\xc1\xa1", "a\xed\xa0\x80", "é", " ", "\u00a0", "\xa0", "\xc2",
		"\u200b", "\xe2\x80", strings.Repeat("~", 1024), strings.Repeat("~", 1025), transitions.BlankCharacters}
	for b := range 256 {
		texts = append(texts, string([]byte{byte(b)}), string([]byte{'a', byte(b)}))
	}
	for _, s := range texts {
		v := transitions.TextValue(s)
		for event, c := range map[string]struct {
			param, guard string
			want         bool
		}{
			"submit_accepted": {"remote_job_id", "remote_job_id_usable", !transitions.UsableRemoteJobID(s)},
			"review_abandon":  {"reviewer", "reviewer", transitions.IsBlank(s)},
		} {
			statement := set.Statement(event, transitions.One)
			params := transitions.Params{"operation_id": transitions.TextValue("op-0"), c.param: v}
			failed, err := d.failed(statement.SQL, len(set.Program.Columns), d.arguments(statement.Params, params)...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, slices.Contains(failed, c.guard)); diff != "" {
				t.Errorf("%.40q fails %s (-want +got):\n%s", s, c.guard, diff)
			}
		}
	}
}
