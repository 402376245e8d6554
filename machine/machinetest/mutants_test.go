package machinetest

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/transitions"
)

// payouts are the suite files of a table of its own, changed.
func payouts(t *testing.T, change func(text string) string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range []string{"usual.txt", "payouts.txt", "guards.txt", "generated/every-pair.txt"} {
		text, err := os.ReadFile("../../examples/payout/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: []byte(change(string(text)))}
	}
	return files
}

// withoutLines takes lines out of a text; each has to be there.
func withoutLines(t *testing.T, lines ...string) func(string) string {
	t.Helper()
	left := map[string]bool{}
	for _, line := range lines {
		left[line] = true
	}
	t.Cleanup(func() {
		for line := range left {
			t.Errorf("no file has the lines %q", line)
		}
	})
	return func(text string) string {
		for _, line := range lines {
			if strings.Contains(text, line) {
				delete(left, line)
				text = strings.Replace(text, line, "", 1)
			}
		}
		return text
	}
}

// faults are what Mutants fails on.
func faults(t *testing.T, files fstest.MapFS, o MutantOptions) []string {
	t.Helper()
	verdicts, err := judgeMutants(t.Context(), payout.Table(), files, o)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, v := range verdicts {
		if fault := v.fault(); fault != "" {
			all = append(all, fault)
		}
	}
	return all
}

func TestWhatNoCaseMissesIsNamedWithARowOnWhichItShows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lacks []string
		says  []string
	}{
		"a part of a fence": {
			[]string{"when settle_returned on a, revision 2\nthen denied revision\n"},
			[]string{"settle_returned: fence revision: every case comes out the same", "verdict: denied revision by the table, applied without"},
		},
		"a guard": {
			[]string{"when pay_not_sent on a, proof guess\nthen denied proven\n"},
			[]string{"pay_not_sent: guard proven: every case comes out the same", "verdict: denied proven by the table, applied without"},
		},
		"a way to find operations": {
			[]string{"when settle_claim takes 9\nthen took b, a\nand a has phase settling, lease_owner w2, lease_until +1m, revision 4\n" +
				"and b has lease_owner w2, lease_until +1m, revision 4\nand history of a: settle_claim sent to settling, revision 4, owner w2\n" +
				"and history of b: settle_claim settling to settling, revision 4, owner w2\n"},
			[]string{"settle_claim: form batch: every case comes out the same", "when settle_claim takes 9"},
		},
	} {
		got := faults(t, payouts(t, withoutLines(t, c.lacks...)), MutantOptions{})
		if len(got) != 1 {
			t.Errorf("a suite that lacks a case about %s: got %d faults, want one:\n%s", name, len(got), strings.Join(got, "\n"))
			continue
		}
		for _, says := range c.says {
			if !strings.Contains(got[0], says) {
				t.Errorf("a suite that lacks a case about %s: got %q, want %q in it", name, got[0], says)
			}
		}
	}
}

func TestWhatIsArguedSurvivesAndFailsWhereItIsNoticedAllTheSame(t *testing.T) {
	t.Parallel()
	without := withoutLines(t, "when settle_returned on a, revision 2\nthen denied revision\n")
	argued := func(name string) MutantOptions {
		return MutantOptions{Argued: func(m Mutant) string {
			if m.String() == name {
				return "nobody books twice"
			}
			return ""
		}}
	}
	if got := faults(t, payouts(t, without), argued("settle_returned: fence revision")); len(got) > 0 {
		t.Errorf("a survivor that is argued: got %v, want no fault", got)
	}
	got := faults(t, payouts(t, strings.Clone), argued("settle_returned: fence owner"))
	if len(got) != 1 || !strings.Contains(got[0], "though it is argued that nobody can: nobody books twice") {
		t.Errorf("what is argued and noticed: got %v, want that the argument is wrong", got)
	}
}

func TestSuitesThatTheTableItselfDoesNotPassJudgeNoMutant(t *testing.T) {
	t.Parallel()
	wrong := func(text string) string {
		return strings.Replace(text, "then denied within_limit", "then applied", 1)
	}
	if _, err := judgeMutants(t.Context(), payout.Table(), payouts(t, wrong), MutantOptions{}); err == nil || !strings.Contains(err.Error(), "have to pass on table payout itself") {
		t.Errorf("got %v, want that the suites have to pass first", err)
	}
}

// The dump of a rule leaves some things out; what is left to another program's suites must be the same in all of them.
func TestARuleThatLacksAnythingIsNotTheSame(t *testing.T) {
	t.Parallel()
	for _, table := range []transitions.Table{transitions.Standard(), payout.Table()} {
		p := transitions.MustCompile(table)
		all, err := MutantsOf(table)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if SameRule(p, m.Program, m.Event) {
				t.Errorf("%s of table %s: its rule passes for the table's", m, p.Name)
			}
		}
	}
}

func TestOnlyRulesThatAreOtherwiseThanInTheExtendedProgramAreAskedAbout(t *testing.T) {
	t.Parallel()
	other := payout.Table()
	event := other.Event("settle_booked")
	event.Doc, event.Guards = "another text", event.Guards[:0]
	verdicts, err := judgeMutants(t.Context(), payout.Table(), payouts(t, strings.Clone), MutantOptions{Extends: transitions.MustCompile(other)})
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, v := range verdicts {
		asked[v.Event] = true
	}
	if diff := cmp.Diff(map[string]bool{"settle_booked": true}, asked); diff != "" {
		t.Errorf("events that were asked about (-want +got):\n%s", diff)
	}
}

func TestNoTwoMutantsAreCalledTheSame(t *testing.T) {
	t.Parallel()
	for _, table := range []transitions.Table{transitions.Standard(), payout.Table()} {
		all, err := MutantsOf(table)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, m := range all {
			if seen[m.String()] {
				t.Errorf("table %s: two are called %s", table.Name, m)
			}
			seen[m.String()] = true
		}
	}
}

func TestATableThatDoesNotCompileHasNoMutants(t *testing.T) {
	t.Parallel()
	table := payout.Table()
	table.Phases = table.Phases[1:]
	if _, err := MutantsOf(table); err == nil || !strings.Contains(err.Error(), "list the mutants of table payout") {
		t.Errorf("got %v, want the table's findings", err)
	}
}
