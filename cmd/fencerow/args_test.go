package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/provider/sandbox"
)

func TestAWrongCommandLineEndsWithTwoNamesTheFaultAndChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCLI(t).withRemote(sandbox.Options{})
	good := c.file("in.jsonl", request("a", "none"))
	bad := c.file("bad.jsonl", request("a", "none")+"{\n")
	empty := c.file("empty.yaml", "")
	before := entries(t, c.dir)
	for name, r := range map[string]struct {
		args []string
		want string
	}{
		"verb":              {[]string{"fly"}, `unknown verb "fly"`},
		"verb of a verb":    {[]string{"review", "fly"}, `unknown verb "fencerow review fly"`},
		"verb left out":     {[]string{"migrate"}, "fencerow migrate: say which one"},
		"flag":              {[]string{"list", "--fly"}, "unknown flag: --fly"},
		"argument missing":  {[]string{"show"}, "ID is missing"},
		"one too many":      {[]string{"show", "a", "b"}, `unexpected argument "b"`},
		"no provider":       {[]string{"run", good}, "--provider is missing"},
		"provider absent":   {[]string{"run", good, "--provider", "none.yaml"}, "--provider: open none.yaml"},
		"provider wrong":    {[]string{"run", good, "--provider", empty}, "empty.yaml:1"},
		"input absent":      {[]string{"run", "none.jsonl", "--provider", c.spec}, "opening the input: open none.jsonl"},
		"input wrong":       {[]string{"run", bad, "--provider", c.spec}, "bad.jsonl:2: invalid JSON"},
		"lease too short":   {[]string{"run", good, "--provider", c.spec, "--lease", "5s"}, "do not fit into a lease of 5s"},
		"lease no time":     {[]string{"run", good, "--provider", c.spec, "--lease", "long"}, `invalid argument "long" for "--lease"`},
		"no workers":        {[]string{"run", good, "--provider", c.spec, "--workers", "0"}, "--workers 0: want at least 1"},
		"brake":             {[]string{"run", good, "--provider", c.spec, "--brake", "-1"}, "--brake -1"},
		"give up":           {[]string{"run", good, "--provider", c.spec, "--give-up", "0s"}, "--give-up 0s"},
		"log level":         {[]string{"run", good, "--provider", c.spec, "--log-level", "loud"}, `--log-level "loud"`},
		"db":                {[]string{"run", good, "--provider", c.spec, "--db", "mysql://u:secret@h/d"}, `--db "mysql://u:xxxxx@h/d": want sqlite:PATH or postgres://`},
		"db in memory":      {[]string{"list", "--db", "sqlite::memory:"}, "forgets what was sent"},
		"phase":             {[]string{"list", "--phase", "done"}, `--phase "done": want one of prepared, submitting`},
		"cursor":            {[]string{"list", "--after", "yesterday"}, `--after "yesterday"`},
		"limit":             {[]string{"list", "--limit", "0"}, "--limit 0"},
		"no reviewer":       {[]string{"review", "abandon", "a", "--reason", "x", "--seen", "1.0"}, "--reviewer is missing"},
		"blank reason":      {[]string{"review", "abandon", "a", "--reviewer", "x", "--reason", " ", "--seen", "1.0"}, "--reason is missing"},
		"no seen":           {[]string{"review", "abandon", "a", "--reviewer", "x", "--reason", "y"}, "--seen is missing"},
		"odd seen":          {[]string{"review", "abandon", "a", "--reviewer", "x", "--reason", "y", "--seen", "1"}, `read seen "1"`},
		"seen below zero":   {[]string{"review", "abandon", "a", "--reviewer", "x", "--reason", "y", "--seen", "-1.1"}, `--seen "-1.1"`},
		"evidence below":    {[]string{"redeliver", "a", "--seen", "1.-1"}, `--seen "1.-1"`},
		"a pasted reviewer": {[]string{"review", "abandon", "a", "--reviewer", "YOU", "--reason", "y", "--seen", "1.0"}, "these are the words of the printed command"},
		"a pasted reason":   {[]string{"review", "not-created", "a", "--reviewer", "x", "--reason", "WHY", "--seen", "1.0"}, "these are the words of the printed command"},
		"a pasted job":      {[]string{"review", "attach", "a", "--reviewer", "x", "--reason", "y", "--seen", "1.0", "--remote-job-id", "ID"}, "the word of the printed command"},
		"no remote job":     {[]string{"review", "attach", "a", "--reviewer", "x", "--reason", "y", "--seen", "1.0", "--remote-job-id", " "}, "--remote-job-id"},
		"redo as itself":    {[]string{"redo", "a", "--as", "a", "--reviewer", "x", "--reason", "y"}, "--as"},
		"fault":             {[]string{"sandbox", "--faults", "fire"}, `--faults: reading the faults: there is no fault "fire"`},
		"dialect":           {[]string{"transitions", "sql", "--dialect", "mysql"}, `--dialect "mysql"`},
	} {
		got := c.run(r.args...)
		if got.code != exitUsage || !strings.Contains(got.stderr, r.want) || got.stdout != "" {
			t.Errorf("%s: want exit code 2 and %q, got %d and %q, stdout %q", name, r.want, got.code, got.stderr, got.stdout)
		}
	}
	if diff := cmp.Diff(before, entries(t, c.dir)); diff != "" {
		t.Errorf("something was written: %s", diff)
	}
	if n := c.received(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestEveryVerbHasHelpWithAnExample(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	var each func(*cobra.Command, []string)
	each = func(command *cobra.Command, path []string) {
		for _, sub := range command.Commands() {
			if sub.Name() == "help" || sub.Name() == "completion" {
				continue
			}
			words := append(path[:len(path):len(path)], sub.Name())
			r := c.want(exitOK, append(words, "--help")...)
			c.contains(r.stdout, "Usage:", "Examples:\n  fencerow "+strings.Join(words, " "))
			each(sub, words)
		}
	}
	each((&app{}).root(), nil)
}

func TestVerbsThatAreNotBuiltAreNotInTheHelp(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	help := c.want(exitOK, "--help").stdout + c.want(exitOK, "transitions", "--help").stdout
	for _, name := range []string{"console"} {
		if strings.Contains(help, "\n  "+name+" ") {
			t.Errorf("the help lists %s, which is not built", name)
		}
	}
}

func TestTheVersionNamesTheProgramAndItsGo(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	c.contains(c.want(exitOK, "--version").stdout, "fencerow ", " go1.")
}

func TestReadingVerbsDoNotCreateADatabase(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	seen := []string{"--seen", "1.0", "--reviewer", "x", "--reason", "y"}
	for _, args := range [][]string{
		{"list"}, {"show", "a"}, {"stats"}, {"review", "list"}, {"migrate", "status"}, {"reconcile", "--once"},
		{"cancel", "a"}, {"redeliver", "a"}, {"redo", "a", "--as", "b", "--reviewer", "x", "--reason", "y"},
		append([]string{"review", "abandon", "a"}, seen...),
	} {
		r := c.want(exitError, args...)
		c.contains(r.stderr, "there is no database at "+c.db, "name another one with --db")
		if strings.Contains(r.stderr, "fencerow run") || strings.Contains(r.stderr, "migrate up") {
			t.Errorf("it is told to begin another memory: %s", r.stderr)
		}
	}
	if diff := cmp.Diff([]string{c.dir}, entries(t, c.dir)); diff != "" {
		t.Error(diff)
	}
}

func TestNoPasswordOfADatabaseIsShown(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	for _, url := range []string{
		"postgres://u:hunter2@127.0.0.1:1/d", "postgres://u@127.0.0.1:1/d?password=hunter2", "postgres://u:hun ter2@127.0.0.1:1/d",
	} {
		r := c.run("migrate", "up", "--db", url)
		if r.code == exitOK || strings.Contains(r.stderr, "hunter2") || strings.Contains(r.stderr, "hun ter2") {
			t.Errorf("%s: exit code %d, %s", url, r.code, r.stderr)
		}
	}
}

func TestTextOfStrangersIsHarmlessOnATerminal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain – ünïcode 漢字":  "plain – ünïcode 漢字",
		"\x1b[31mred\x07":     `\x1b[31mred\a`,
		"a\u202eb\u2066c":     `a\u202eb\u2066c`,
		"zero\u200bwidth":     `zero\u200bwidth`,
		"a\nb\tc\r":           `a\nb\tc\r`,
		"bad\xff":             `bad\xff`,
		"\u3164\u115f\ufe0f":  `\u3164\u115f\ufe0f`,
		"tag\U000e0041\u00ad": `tag\U000e0041\u00ad`,
		"c1 \u009b31m":        `c1 \u009b31m`,
	} {
		if diff := cmp.Diff(want, clean(in)); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	}
}

func TestACommandToCopyIsQuotedForAShell(t *testing.T) {
	t.Parallel()
	a := &app{db: "sqlite:my db.db", prefix: "x_"}
	want := `fencerow show 'it'\''s' --db 'sqlite:my db.db' --table-prefix x_`
	if diff := cmp.Diff(want, a.commandOn("it's", []string{"show"})); diff != "" {
		t.Error(diff)
	}
}
