package machinetest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/testdata/suites"
	"github.com/fencerow/fencerow/transitions"
)

func standardSuites(t *testing.T) *suiteSet {
	t.Helper()
	set, err := readSuites(suites.Files, transitions.MustCompile(transitions.Standard()))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// elsewhere are clauses of the contract's parts A to D that do not speak of rows; docs/suites.md says what holds them.
var elsewhere = []string{"A4", "A7", "A9", "A10", "B7", "B9", "B10", "C5"}

func TestEveryClauseAboutRowsHasCasesThatNameIt(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, f := range standardSuites(t).files {
		for _, c := range f.cases {
			for _, clause := range c.clauses {
				named[clause] = true
			}
		}
	}
	for part, clauses := range map[string]int{"A": 10, "B": 10, "C": 6, "D": 4} {
		for n := 1; n <= clauses; n++ {
			clause := fmt.Sprintf("%s%d", part, n)
			if named[clause] == slices.Contains(elsewhere, clause) {
				t.Errorf("clause %s: named by a case %t; want it named by a case, or listed as one that does not speak of rows", clause, named[clause])
			}
		}
	}
}

func TestEveryGuardOfTheStandardTableIsHeldByACase(t *testing.T) {
	t.Parallel()
	set := standardSuites(t)
	for _, rule := range set.program.Rules {
		for _, guard := range rule.Guards {
			without, err := set.program.Without(rule.Event, guard.Name)
			if err != nil {
				t.Fatal(err)
			}
			if !set.tells(t, without, rule.Event) {
				t.Errorf("%s without its guard %s: every case comes out the same; add one that this guard alone decides", rule.Event, guard.Name)
			}
		}
	}
}

// tells reports whether a case that fires an event comes out otherwise on a memory store of another program.
func (s *suiteSet) tells(t *testing.T, p *transitions.Program, event string) bool {
	t.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, f := range s.files {
		for n, c := range f.cases {
			fires := slices.ContainsFunc(c.steps, func(step *storyStep) bool {
				return slices.ContainsFunc(step.fired, func(f firing) bool { return f.rule.Event == event })
			})
			if !fires {
				continue
			}
			store := machine.NewMemory(p, machine.MemoryClock(func() time.Time { return now }))
			g := newStage(t.Context(), s, Subject{Store: store, Put: puts(store), Now: func(context.Context) (time.Time, error) { return now, nil }})
			told := false
			if err := g.play(c, n, func(string, ...any) { told = true }); err != nil || told {
				return true
			}
		}
	}
	return false
}

func TestAMistakeInASuiteIsToldWithItsLine(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	for text, want := range map[string]string{
		"title\ngiven a preparde\nwhen renew on a\nthen applied\n": `a.txt:2: table standard has no phase "preparde"`,
		"title\n\n  phase x\n":                                                        "a.txt:3: an indented line goes on with nothing",
		"title\nwhen renwe on a\n":                                                    `a.txt:2: table standard has no event "renwe"`,
		"title\nwhen renew on a, proof x\n":                                           `a.txt:2: renew takes no parameter "proof"`,
		"title\nwhen renew takes 2\n":                                                 "a.txt:2: renew finds no rows by itself",
		"title\ngiven a prepared, attempts many\n":                                    "a.txt:2: attempts: many is no whole number",
		"title\ngiven a prepared, due_at 10m\nwhen renew on a\n":                      "a.txt:2: due_at: 10m is no time",
		"title\ngiven a prepared, keep \"x\nwhen renew on a\n":                        `a.txt:2: keep: "x is no quoted text`,
		"title\nwhen renew on a\nthen denied owner and applied\n":                     "a.txt:3: 2 results for 1 events",
		"title\nwhen renew on a\nthen granted\n":                                      `a.txt:3: "granted" is no result`,
		"title\nwhen renew on a\nthen applied\nand a has phases x\n":                  `a.txt:4: table standard has no column "phases"`,
		"title\nwhen renew on a\nthen applied\nand history of a: renew x\n":           `a.txt:4: history "renew x"`,
		"title\nwhen at once\n  renew on a\n":                                         "a.txt:2: at once there are 1 events",
		"title\ngiven a prepared\n":                                                   `a.txt:1: "title": nothing happens`,
		"title\ngiven a prepared\nwhen 1h passes\n":                                   `a.txt:1: "title": nothing happens in the end`,
		"title\ngiven a prepared\nwhen an hour passes\n":                              `a.txt:3: "when an hour passes": want how long`,
		"title\ngiven a prepared\nwhen -1h passes\n":                                  `a.txt:3: "when -1h passes": want how long`,
		"title\ngiven a prepared\nwhen 1h passes\nthen applied\n":                     `a.txt:4: "then" comes after time that passes`,
		"usually prepraed, attempts 1\n":                                              "a.txt:1:",
		"title\ngiven a prepared, attempts 1, attempts 2\nwhen renew on a\n":          "a.txt:2: attempts is given twice",
		"# a comment\n\ntitle\ngiven a prepared\ngiven a prepared\nwhen renew on a\n": "a.txt:5: two rows are called a",
	} {
		_, err := readSuites(fstest.MapFS{"a.txt": {Data: []byte(text)}}, p)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %s", text, err, want)
		}
	}
}

const usualInTests = "usually, kind clip, provider video, account main, request x, revision 3, due_at -1m\nusually observing, next_action observe, remote_job_id \"job-{name}\"\n\n"

func TestWhatIsNotAsTheFileSaysIsTold(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	begin := usualInTests + "a case\ngiven a observing, lease_owner w, lease_until +1h\nwhen observe_canceled on a, owner w, revision 3\n"
	good := "then applied\nand a has phase terminal, next_action null, lease_owner null, lease_until null, due_at null, outcome canceled\nand history of a: observe_canceled observing to terminal, revision 3, owner w\n"
	for name, c := range map[string]struct {
		then string
		told bool
	}{
		"as it is":                    {good, false},
		"a denial":                    {"then denied owner\n", true},
		"another value":               {strings.Replace(good, "canceled", "failed", 1), true},
		"a column is left out":        {strings.Replace(good, ", due_at null", "", 1), true},
		"a column too many":           {strings.Replace(good, "due_at null", "due_at null, attempts 1", 1), true},
		"another revision in history": {strings.Replace(good, "revision 3", "revision 4", 1), true},
		"no history is said":          {good[:strings.Index(good, "and history")] + "and no history\n", true},
		"nothing is said of history":  {good[:strings.Index(good, "and history")], true},
		"evidence that there is not":  {good + "and evidence of a: kind x\n", true},
	} {
		set, err := readSuites(fstest.MapFS{"a.txt": {Data: []byte(begin + c.then)}}, p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		subject, told := MemorySubject(p), ""
		g := newStage(t.Context(), set, subject)
		if err := g.play(set.files[0].cases[0], 0, func(format string, args ...any) { told += fmt.Sprintf(format, args...) }); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if (told != "") != c.told || c.told && !strings.Contains(told, "a.txt:6") {
			t.Errorf("%s: told %q, want something with its line: %t", name, told, c.told)
		}
	}
}

func TestTheRewriterFillsInWhatComesAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	name := filepath.Join(t.TempDir(), "a.txt")
	begun := usualInTests + "# about renewals\na case\n# of w\ngiven a observing, lease_owner w,\n  lease_until +1h\nwhen renew on a, owner w, revision 3, ttl_ms 7200000\nwhen renew on a, owner w, revision 2\nthen applied\n\nanother\ngiven a observing\nwhen renew on a\n"
	want := usualInTests + "# about renewals\na case\n# of w\ngiven a observing, lease_owner w,\n  lease_until +1h\nwhen renew on a, owner w, revision 3, ttl_ms 7200000\nthen applied\nand a has lease_until +2h\nand no history\nwhen renew on a, owner w, revision 2\nthen denied revision\n\nanother\ngiven a observing\nwhen renew on a\nthen denied owner, revision, lease_live\n"
	for _, text := range []string{begun, want} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := RewriteSuite(filepath.Dir(name), p); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("rewritten (-want +got):\n%s", diff)
		}
	}
}

func TestEveryAssignmentOfTheStandardTableIsHeldByACase(t *testing.T) {
	t.Parallel()
	set := standardSuites(t)
	for _, rule := range set.program.Rules {
		for _, assigned := range rule.Sets {
			if assigned.Col == "updated_at" {
				continue
			}
			without, err := set.program.WithoutSet(rule.Event, assigned.Col)
			if err != nil {
				t.Fatal(err)
			}
			if !set.tells(t, without, rule.Event) {
				t.Errorf("%s without setting %s: every case comes out the same; add one in which it shows", rule.Event, assigned.Col)
			}
		}
	}
}

// mislabeled is a store that says that it is of the standard table, and is of another.
type mislabeled struct {
	*machine.Memory
	program *transitions.Program
}

func (m mislabeled) Program() *transitions.Program { return m.program }

// heard is a reporter that keeps what it is told.
type heard struct {
	reporter
	said string
}

func (h *heard) Helper()                           {}
func (h *heard) Logf(string, ...any)               {}
func (h *heard) Errorf(format string, args ...any) { h.said += fmt.Sprintf(format, args...) }

func TestAStoreThatDisagreesIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		event, guard string
		battery      func(*suite, *transitions.Rule)
	}{
		{"renew", "lease_live", func(s *suite, r *transitions.Rule) { s.everyFenceOf(0, r) }},
		{"submit_accepted", "revision", func(s *suite, r *transitions.Rule) { s.everyFenceOf(0, r) }},
		{"review_not_created", "quarantine_over", func(s *suite, r *transitions.Rule) {
			g := generatorFor(s.p, r)
			g.now = s.now
			s.fireAll(g, s.trialsOf(g))
		}},
	} {
		other, err := transitions.MustCompile(transitions.Standard()).Without(c.event, c.guard)
		if err != nil {
			t.Fatal(err)
		}
		subject := MemorySubject(other)
		subject.Store = mislabeled{subject.Store.(*machine.Memory), transitions.MustCompile(transitions.Standard())}
		s := newSuite(t, subject)
		h := &heard{reporter: t}
		s.reporter = h
		if c.battery(s, s.p.Rule(c.event)); !strings.Contains(h.said, c.event) {
			t.Errorf("a store whose %s lacks the guard %s passes", c.event, c.guard)
		}
	}
}

// twice is a store that gives what it takes twice.
type twice struct{ machine.Store }

func (s twice) Take(ctx context.Context, event string, params transitions.Params) ([]transitions.Row, error) {
	rows, err := s.Store.Take(ctx, event, params)
	return append(rows, rows...), err
}

func TestAStoreThatGivesAnOperationToTwoIsFound(t *testing.T) {
	t.Parallel()
	subject := MemorySubject(transitions.MustCompile(transitions.Standard()))
	subject.Store = twice{subject.Store}
	s := newSuite(t, subject)
	h := &heard{reporter: t}
	s.reporter = h
	if everyTake(t, s); !strings.Contains(h.said, "what dispatch_claim takes of a page") {
		t.Errorf("a store that takes everything twice passes: %q", h.said)
	}
}

func TestTheTestsThatTheDocumentationNamesAreThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/suites.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, name := range regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(string(text), -1) {
		named[name[1]] = true
	}
	for _, clause := range elsewhere {
		if !strings.Contains(string(text), "\n| "+clause+" ") {
			t.Errorf("docs/suites.md does not say what holds clause %s", clause)
		}
	}
	err = filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := os.ReadFile(name)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
			delete(named, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range named {
		t.Errorf("docs/suites.md names %s, which is nowhere", name)
	}
}
