package persist_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

func TestWhatCannotBeCompiledIsRefusedWithWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change  func(*transitions.Program)
		dialect persist.Dialect
		names   persist.Names
		want    string
	}{
		{nil, "oracle", persist.Names{}, `dialect "oracle" is not known; use "postgres" or "sqlite"`},
		{nil, persist.PostgreSQL, persist.Names{Prefix: strings.Repeat("x", 33)}, "choose a shorter one"},
		{nil, persist.PostgreSQL, persist.Names{Schema: strings.Repeat("x", 64)}, "choose a shorter one"},
		{nil, persist.SQLite, persist.Names{Schema: "a\x00b"}, "leave it out"},
		{func(p *transitions.Program) { p.Columns[p.Column("priority")].Kind = transitions.Text }, persist.PostgreSQL, persist.Names{}, "column priority is text; make it int"},
		{func(p *transitions.Program) { p.Columns[p.Column("keep")].Name = "judged_at" }, persist.PostgreSQL, persist.Names{}, "rename it"},
		{func(p *transitions.Program) { p.Columns[p.Column("keep")].Name = "given_owner" }, persist.PostgreSQL, persist.Names{}, "rename one"},
	} {
		p := standard(t)
		p.Columns = slices.Clone(p.Columns)
		if c.change != nil {
			c.change(p)
		}
		_, err := persist.Compile(p, c.dialect, c.names)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error that says %q", err, c.want)
		}
		if _, schemaErr := persist.Schema(p, c.dialect, c.names); schemaErr == nil {
			t.Errorf("the tables of what does not compile (%s) were written", c.want)
		}
	}
}

func TestNamesAreQuotedWhereverTheyStand(t *testing.T) {
	t.Parallel()
	n := persist.Names{Schema: `my "own" Schema`, Prefix: `Job's "x"_`}
	for _, d := range dialects {
		set := compiled(t, d, n)
		for _, s := range set.Statements {
			texts := []string{s.SQL}
			for _, step := range s.Then {
				texts = append(texts, step.SQL)
			}
			for _, text := range texts {
				if strings.Contains(text, "fencerow_") {
					t.Errorf("%s of %s speaks of a table that is not there:\n%s", s.Form, s.Event, text)
				}
			}
			if !strings.Contains(s.SQL, `"my ""own"" Schema"."Job's ""x""_operations"`) {
				t.Errorf("%s of %s does not name its table:\n%s", s.Form, s.Event, s.SQL)
			}
		}
	}
}

func TestEveryStatementIsFoundByItsEventAndForm(t *testing.T) {
	t.Parallel()
	for _, d := range dialects {
		set := compiled(t, d, persist.Names{})
		for _, r := range set.Program.Rules {
			for _, form := range append(slices.Clone(r.Forms), persist.Many, persist.Gathered) {
				s := set.Statement(r.Event, form)
				if (form == persist.Many || form == persist.Gathered) && d == persist.SQLite {
					if s != nil {
						t.Errorf("sqlite has %s of form %s", r.Event, form)
					}
					continue
				}
				if s == nil || s.Rule != r || s.Form != form {
					t.Errorf("%s: %s of form %s is %+v", d, r.Event, form, s)
				}
			}
		}
		if set.Statement("nothing", transitions.One) != nil || set.Reader("nothing") != nil {
			t.Errorf("%s has a statement that nobody declared", d)
		}
	}
}

// What holds of the form many holds of this one: it has no golden of its own.
func TestGatheredCallsDifferFromManyInPassingLockedRowsByAndWaitingLess(t *testing.T) {
	t.Parallel()
	set := compiled(t, persist.PostgreSQL, persist.Names{})
	for i, gathered := range set.Gathered {
		want := set.Many[i]
		want.Form = persist.Gathered
		want.SQL = strings.Replace(want.SQL, "'lock_timeout', '2000ms'", "'lock_timeout', '100ms'", 1)
		if !want.Rule.New {
			want.SQL = strings.Replace(want.SQL, "FOR UPDATE OF o\n", "FOR UPDATE OF o SKIP LOCKED\n", 1)
		}
		if diff := cmp.Diff(want.SQL, gathered.SQL); diff != "" || gathered.Event != want.Event || gathered.Form != want.Form || !slices.Equal(gathered.Params, want.Params) {
			t.Errorf("%s (-want +got):\n%s", want.Event, diff)
		}
		if !want.Rule.New && !strings.Contains(gathered.SQL, "SKIP LOCKED") {
			t.Errorf("%s waits for locked rows:\n%s", want.Event, gathered.SQL)
		}
	}
	short, err := persist.Compile(set.Program, persist.PostgreSQL, persist.Names{}, persist.LockTimeout(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if sql := short.Gathered[0].SQL; !strings.Contains(sql, "'20ms'") {
		t.Errorf("it waits longer than a store with a shorter lock timeout:\n%s", sql)
	}
	if len(set.Gathered) != len(set.Many) {
		t.Errorf("%d gathered forms of %d", len(set.Gathered), len(set.Many))
	}
}

// The numbers of the placeholders are the places in the list of parameters; nothing is left over.
func TestParametersAreListedInPlaceholderOrder(t *testing.T) {
	t.Parallel()
	set := compiled(t, persist.PostgreSQL, persist.Names{})
	s := set.Statement("observe_claim", transitions.One)
	if diff := cmp.Diff([]string{"operation_id", "provider", "account", "owner", "ttl_ms"}, s.Params); diff != "" {
		t.Errorf("observe_claim (-want +got):\n%s", diff)
	}
	batch := compiled(t, persist.SQLite, persist.Names{}).Statement("observe_claim", transitions.Batch)
	want := [][]string{
		{"provider", "account", "owner", "ttl_ms", "limit"},
		{"provider", "account", "owner", "ttl_ms", "limit", "operation_id"},
		{"provider", "account", "owner", "ttl_ms", "limit", "operation_id"},
	}
	if diff := cmp.Diff(want, [][]string{batch.Params, batch.Then[0].Params, batch.Then[1].Params}); diff != "" {
		t.Errorf("observe_claim by batch (-want +got):\n%s", diff)
	}
}

func TestTheLockTimeoutIsPartOfTheStatement(t *testing.T) {
	t.Parallel()
	set, err := persist.Compile(standard(t), persist.PostgreSQL, persist.Names{}, persist.LockTimeout(750*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	if s := set.Statement("renew", transitions.One); !strings.Contains(s.SQL, "'750ms'") {
		t.Errorf("the statement does not bound its lock wait:\n%s", s.SQL)
	}
}

// Only the database knows of other operations.
func TestAnEventThatAsksOfOtherOperationsIsNotCopied(t *testing.T) {
	t.Parallel()
	table := transitions.Standard()
	for i := range table.Events {
		if e := &table.Events[i]; e.Name == "prepare" {
			e.Guards = append(e.Guards, transitions.Guard{Name: "free", Expr: transitions.Not(transitions.Taken(transitions.Param("detail", transitions.Text)))})
		}
	}
	p, err := transitions.Compile(table)
	if err != nil {
		t.Fatal(err)
	}
	set, err := persist.Compile(p, persist.PostgreSQL, persist.Names{})
	if err != nil {
		t.Fatal(err)
	}
	if set.Copy("prepare") != nil {
		t.Error("it is copied, and nobody asks the database")
	}
	if compiled(t, persist.PostgreSQL, persist.Names{}).Copy("prepare") == nil || compiled(t, persist.SQLite, persist.Names{}).Copy("prepare") != nil {
		t.Error("the standard prepare is not copied to PostgreSQL alone")
	}
}
