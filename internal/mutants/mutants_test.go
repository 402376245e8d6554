package mutants

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/internal/golden"
	"github.com/fencerow/fencerow/internal/mutants/clause"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/transitions"
)

const root = "../.."

func listed(t *testing.T) []Mutant {
	t.Helper()
	all, err := All(Standard) // every cut is seen to change its statement, and no two are called the same
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestEveryPartOfTheTableCanBeTakenAway(t *testing.T) {
	t.Parallel()
	standard, err := subjectOf(Standard)
	if err != nil {
		t.Fatal(err)
	}
	p, taken := standard.program, map[string]bool{}
	listed, err := standard.parts()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range listed {
		if m.Kind == machinetest.PartGuard || m.Kind == machinetest.PartFence {
			taken[m.Event+" "+m.In] = true
		}
		if m.Kind == machinetest.PartSet {
			taken[m.Event+" = "+m.In] = true
		}
	}
	for _, r := range p.Rules {
		for _, g := range r.Guards {
			if !taken[r.Event+" "+g.Name] {
				t.Errorf("no mutant is without guard %s of %s", g.Name, r.Event)
			}
		}
		for _, s := range r.Sets {
			if !taken[r.Event+" = "+s.Col] {
				t.Errorf("no mutant is without the assignment of %s by %s", s.Col, r.Event)
			}
		}
	}
}

func TestEveryStatementHasMutantsOfWhatItIsMadeOf(t *testing.T) {
	t.Parallel()
	kinds := map[string]map[string]bool{}
	for _, m := range listed(t) {
		if kinds[m.Of] == nil {
			kinds[m.Of] = map[string]bool{}
		}
		kinds[m.Of][m.Kind] = true
	}
	for of, want := range map[string][]clause.Kind{
		Postgres: {clause.Where, clause.On, clause.Guard, clause.Assign, clause.Insert, clause.Change, clause.Order, clause.Limit, clause.Lock,
			clause.SkipLocked, clause.Materialized, clause.Arm, clause.Step, clause.From, clause.Conflict, clause.Returning},
		SQLite: {clause.Where, clause.On, clause.Guard, clause.Assign, clause.Insert, clause.Change, clause.Order, clause.Limit, clause.Index, clause.Returning},
	} {
		for _, kind := range want {
			if !kinds[of][string(kind)] {
				t.Errorf("no mutant of %s is without a clause of the kind %q", of, kind)
			}
		}
	}
}

// A guard that is judged in several places is one mutant in all of them.
func TestAGuardIsCutOutOfEveryLook(t *testing.T) {
	t.Parallel()
	looks := map[string]int{}
	for _, m := range listed(t) {
		if len(m.Cuts) > 1 {
			looks[m.Of+" "+m.Event+" "+m.Form]++
		}
	}
	p := transitions.MustCompile(transitions.Standard())
	for _, r := range p.Rules {
		for _, statement := range []struct{ of, form string }{{SQLite, "one"}, {SQLite, "batch"}, {SQLite, "sweep"}, {Postgres, "batch"}, {Postgres, "sweep"}} {
			if !r.New && len(r.Guards) > 0 && r.Has(transitions.Form(statement.form)) && looks[statement.of+" "+r.Event+" "+statement.form] < len(r.Guards) {
				t.Errorf("%s %s %s has %d guards, and %d are cut out of every look", statement.of, r.Event, statement.form, len(r.Guards),
					looks[statement.of+" "+r.Event+" "+statement.form])
			}
		}
	}
}

func TestTheOverlayFollowsThePackage(t *testing.T) {
	t.Parallel()
	if _, err := WriteOverlay(root, t.TempDir()); err != nil {
		t.Error(err)
	}
	other := t.TempDir()
	if err := os.Mkdir(filepath.Join(other, "persist"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"emit.go", "statement.go"} {
		if err := os.WriteFile(filepath.Join(other, "persist", name), []byte("package persist\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := WriteOverlay(other, t.TempDir()); err == nil || !strings.Contains(err.Error(), "has no function") {
		t.Errorf("of a package that has no such function: got %v, want an error that says so", err)
	}
}

// Each guard and each part of a fence, in milliseconds each.
func TestEveryGuardIsMissedByACaseAboutItsEvent(t *testing.T) {
	t.Parallel()
	j, err := newJudge(Standard, root, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range j.parts {
		if m.Kind != machinetest.PartGuard && m.Kind != machinetest.PartFence {
			continue
		}
		heard := false
		about := func(c machinetest.Case) bool {
			for _, event := range c.Events {
				if event == m.Event {
					return true
				}
			}
			return false
		}
		if _, err := j.suite.Play(t.Context(), inMemory(m.program), about, func(machinetest.Fault) bool { heard = true; return false }); err != nil {
			t.Fatal(err)
		}
		if !heard {
			t.Errorf("%s: no case comes out otherwise", m.ID)
		}
	}
}

// sampled takes every so many of the mutants of SQL that a suite has to kill: those of clauses that are there for two
// sessions or for a plan are left to the whole run.
func sampled(all []Mutant, each int) []Mutant {
	var some []Mutant
	n := 0
	for _, m := range all {
		switch clause.Kind(m.Kind) {
		case clause.Guard, clause.Assign, clause.Insert, clause.Change, clause.Step, clause.Where:
			if m.Of == Table || m.Deep() || m.Form == apartForm || m.Form == "batch" || m.Form == "sweep" || m.In == "seen" || argument(m, Verdict{}) != nil || strings.HasPrefix(m.In, "update") {
				continue
			}
			if n++; n%each == 0 {
				some = append(some, m)
			}
		}
	}
	return some
}

func TestASampleOfTheMutantsOfSQLIsKilled(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	some := sampled(listed(t), 97)
	var log strings.Builder
	verdicts, err := Run(t.Context(), some, Options{Root: folder, State: filepath.Join(t.TempDir(), "state"), Parallel: 2, Quick: true, Log: &log})
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	of := map[string]int{}
	for i, v := range verdicts {
		of[some[i].Of]++
		if !v.Killed() {
			t.Errorf("survived: %s (%s) %s", v.ID, some[i].Text, v.Error)
		}
	}
	t.Logf("mutants of each: %v", of)
	if of[Postgres] < 10 || of[SQLite] < 5 {
		t.Errorf("the sample is too small: %v", of)
	}
}

func TestAStoppedRunGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "state")
	s, err := openState(name, "these sources")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.add(stateLine{Verdict: &Verdict{ID: "a", Killer: BySuite}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.file.WriteString(`{"Verdict":{"ID":"b","Kil`); err != nil { // killed while it wrote
		t.Fatal(err)
	}
	if err := s.file.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sources string
		known   map[string]bool
	}{
		{"these sources", map[string]bool{"a": true, "b": false}},
		{"other sources", map[string]bool{"a": false, "b": false}},
	} {
		s, err := openState(name, c.sources)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for id := range c.known {
			_, got[id] = s.verdict(id)
		}
		if diff := cmp.Diff(c.known, got); diff != "" {
			t.Errorf("known of %s (-want +got):\n%s", c.sources, diff)
		}
		if err := s.file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARunFailsOnWhatNobodyArguesAndOnWhatIsArguedWrongly(t *testing.T) {
	t.Parallel()
	prepared := Mutant{ID: "sqlite prepare one update: insert 13", Of: SQLite, Event: "prepare", Form: "one", Kind: "insert", Text: "revision = 0"}
	other := Mutant{ID: "sqlite renew one: guard 2", Of: SQLite, Event: "renew", Form: "one", Kind: "guard", Text: "owner"}
	for name, c := range map[string]struct {
		mutant  Mutant
		verdict Verdict
		fails   string
	}{
		"killed":               {other, Verdict{ID: other.ID, Killer: BySuite}, ""},
		"survived":             {other, Verdict{ID: other.ID}, "nobody argues it"},
		"survived, argued":     {prepared, Verdict{ID: prepared.ID}, ""},
		"killed, argued":       {prepared, Verdict{ID: prepared.ID, Killer: BySuite}, "though it is argued"},
		"shown to be the same": {other, Verdict{ID: other.ID, Same: "the same program"}, ""},
		"not judged":           {other, Verdict{ID: other.ID, Error: "the worker ended"}, "not judged"},
		"never tried":          {other, Verdict{}, "not judged"},
	} {
		failures := strings.Join(Outcome{Mutants: []Mutant{c.mutant}, Verdicts: []Verdict{c.verdict}}.Failures(), "\n")
		if (failures == "") != (c.fails == "") || !strings.Contains(failures, c.fails) {
			t.Errorf("%s: got %q, want %q", name, failures, c.fails)
		}
	}
}

func TestTheDocumentTellsOfTheLastRunAndOfEveryArgument(t *testing.T) {
	l, err := ReadLastRun(root)
	if err != nil {
		t.Fatal(err)
	}
	own, err := ReadOwnRuns(root)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, filepath.Join(root, "docs", "mutants.md"), []byte(Document(l, own)))
}
