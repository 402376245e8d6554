package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The modules by the names that the table below uses.
const (
	pgx      = "github.com/jackc/pgx/v5"
	sqlite   = "modernc.org/sqlite"
	looplab  = "github.com/looplab/fsm"
	cobra    = "github.com/spf13/cobra"
	mpb      = "github.com/vbauerster/mpb/v8"
	yaml     = "github.com/goccy/go-yaml"
	renameio = "github.com/google/renameio/v2"
	term     = "golang.org/x/term"
	xsync    = "golang.org/x/sync"

	goCmp    = "github.com/google/go-cmp"
	rapid    = "pgregory.net/rapid"
	goleak   = "go.uber.org/goleak"
	pty      = "github.com/creack/pty"
	embedded = "github.com/fergusstrange/embedded-postgres"
)

// everything stands for all packages of the project.
const everything = "..."

// rule says what the code of one package may import, the standard library
// apart. Its tests are free: they stand outside the house and look in.
type rule struct {
	folder  string // "x/..." covers everything below x that has no line of its own
	project []string
	modules []string
	why     string
}

// house is the whole plan. Data flows from declaration to statement; a package
// imports what comes before it and never what comes after.
var house = []rule{
	{"transitions", nil, nil,
		"the declaration is read by everything, so it may depend on nothing"},
	{"transitions/render", of("transitions"), nil,
		"a picture is made from the table alone: it can be drawn without a database or an engine"},
	{"transitions/verify", of("transitions"), nil,
		"the checker proves the table; were it to run the engine it would prove the engine's bugs right"},
	{"transitions/promela", of("transitions"), nil,
		"spin's second opinion on the table is of use only as long as it shares nothing with the first"},
	{"machine", of("transitions"), of(looplab),
		"the engine interprets the table and knows of no database; looplab/fsm is its second opinion"},
	{"machine/machinetest", of("machine", "transitions"), of(goCmp, rapid),
		"callers run these suites on stores of their own, so they must know none of ours"},
	{"persist", of("transitions"), nil,
		"statements are text made from the table: without a driver their goldens run everywhere"},
	{"persist/pages", of("persist", "transitions", "transitions/render"), nil,
		"pages are made from the table and its statements: a caller generates them without a driver"},
	{"persist/pgstore", of("machine", "persist", "transitions"), of(pgx),
		"a driver is a leaf: who does not use PostgreSQL does not link it"},
	{"persist/sqlitestore", of("machine", "persist", "transitions"), of(sqlite),
		"a driver is a leaf: who does not use SQLite does not link it"},
	{"reconcile", of("machine", "transitions"), nil,
		"settling must work while every worker is dead, on any store"},
	{"worker", of("machine", "transitions"), of(xsync),
		"a worker sees the store's interface only, and never settles what it cannot know: that is reconcile's"},
	{"webhook", of("machine", "transitions"), nil,
		"a remote's call is one more caller of the engine, in whatever server it runs; how a call is read is a provider's"},
	{"worker/workertest", of("worker"), nil,
		"callers test handlers of their own with it, so it knows none of ours"},
	{"provider/httpjob", of("machine", "transitions", "worker"), of(yaml, renameio),
		"a provider is a handler of the worker: what it says is stored by others"},
	{"provider/httpjob/presets", nil, nil,
		"presets are files: who reads one needs no provider, and no engine"},
	{"provider/sandbox", nil, nil,
		"the pretended remote shares nothing with the engine, or a shared bug would hide"},
	{"cmd/fencerow", of(everything), of(pgx, sqlite, cobra, mpb, yaml, renameio, term, xsync),
		"the program is the only place where everything is wired together"},
	{"examples/...", of(everything), of(pgx, sqlite),
		"an example is a caller"},
	{"internal/...", of(everything), of(pgx, sqlite, yaml, goCmp, rapid, goleak, pty, embedded),
		"helpers of tests and generators; nothing above imports them outside its tests"},
}

// confined are modules that one file only may import, tests included.
var confined = map[string]string{
	looplab: "machine/mirror.go",
}

func of(names ...string) []string { return names }

func TestEveryPackageImportsOnlyWhatTheHousePlanAllows(t *testing.T) {
	t.Parallel()
	report(t, misplaced(goFiles(t)))
}

// misplaced names every import that the plan does not allow.
func misplaced(files []file) []string {
	var findings []string
	for _, f := range files {
		if testdata(f.folder) {
			continue
		}
		r, planned := ruleFor(f.folder)
		if !planned {
			findings = append(findings, fmt.Sprintf("%s: the house plan in internal/archtest has no line for the package %s; "+
				"add one that says what it may import and why", f.path(), f.folder))

			continue
		}
		for _, imported := range f.imports() {
			if finding := judge(f, r, imported); finding != "" {
				findings = append(findings, finding)
			}
		}
	}

	return findings
}

func judge(f file, r rule, imported string) string {
	for name, only := range confined {
		if within(imported, name) && f.path() != only && f.path() != strings.TrimSuffix(only, ".go")+"_test.go" {
			return fmt.Sprintf("%s imports %s, which only %s may", f.path(), imported, only)
		}
	}
	if f.isTest() || standard(imported) {
		return ""
	}

	if within(imported, module) {
		inner := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
		// The generators and test helpers below internal are nobody's parts.
		helper := strings.HasPrefix(inner, "internal/") && !strings.HasPrefix(f.folder, "internal/") && !slices.Contains(r.project, everything)
		if !helper && (slices.Contains(r.project, everything) || slices.Contains(r.project, inner)) {
			return ""
		}
	} else if slices.ContainsFunc(r.modules, func(m string) bool { return within(imported, m) }) {
		return ""
	}

	return fmt.Sprintf("%s imports %s; %s may not: %s", f.path(), imported, f.folder, r.why)
}

func ruleFor(folder string) (rule, bool) {
	for _, r := range house {
		if r.folder == folder {
			return r, true
		}
	}
	for _, r := range house {
		if prefix, wild := strings.CutSuffix(r.folder, "/..."); wild && strings.HasPrefix(folder, prefix+"/") {
			return r, true
		}
	}

	return rule{}, false
}

func within(imported, parent string) bool {
	return imported == parent || strings.HasPrefix(imported, parent+"/")
}

// standard: only the standard library has paths without a dot in front.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")

	return !strings.Contains(first, ".")
}

func testdata(folder string) bool {
	return folder == "testdata" || strings.HasPrefix(folder, "testdata/") || strings.Contains(folder, "/testdata")
}

func TestEveryLineOfThePlanGivesItsReason(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range house {
		if r.why == "" || seen[r.folder] {
			t.Errorf("the line for %s gives no reason or is the second one", r.folder)
		}
		seen[r.folder] = true
	}
}

func TestThePlanRefusesWhatItIsThereToRefuse(t *testing.T) {
	t.Parallel()

	for _, tc := range []struct {
		file, imports string
		refused       bool
	}{
		{"transitions/table.go", "time", false},
		{"transitions/table.go", goCmp + "/cmp", true},
		{"transitions/table_test.go", goCmp + "/cmp", false},
		{"transitions/table.go", module + "/internal/golden", true},
		{"machine/mirror.go", looplab, false},
		{"machine/machine.go", looplab, true},
		{"machine/machine_test.go", looplab, true},
		{"machine/machine.go", module + "/persist", true},
		{"persist/emit.go", pgx, true},
		{"persist/pgstore/store.go", pgx + "/pgxpool", false},
		{"persist/sqlitestore/store.go", pgx, true},
		{"reconcile/sweep.go", module + "/worker", true},
		{"reconcile/sweep.go", module + "/persist", true},
		{"worker/worker.go", module + "/reconcile", true},
		{"provider/sandbox/server.go", module + "/transitions", true},
		{"provider/httpjob/send.go", module + "/persist/pgstore", true},
		{"cmd/fencerow/main.go", module + "/persist/pgstore", false},
		{"cmd/fencerow/main.go", rapid, true},
		{"nowhere/new.go", "time", true},
	} {
		t.Run(tc.file+" imports "+tc.imports, func(t *testing.T) {
			t.Parallel()
			folder, name := path.Split(tc.file)
			f := sample(t, path.Clean(folder), name, fmt.Sprintf("package p\nimport _ %q\n", tc.imports))
			if diff := cmp.Diff(tc.refused, len(misplaced([]file{f})) > 0); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}
