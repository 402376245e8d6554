// Command cmd is the mutation run: see package mutants. It judges every mutant of the standard table, then those of each
// example; "worker" is what it starts itself as.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/fencerow/fencerow/internal/mutants"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		table := mutants.Standard
		if len(os.Args) > 2 {
			table = os.Args[2]
		}
		os.Args = os.Args[:1]
		mutants.Worker(table, mutants.ModelChecker)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	parallel := flag.Int("parallel", 2, "how many mutants are judged at once")
	only := flag.String("only", "", "a pattern: only the mutants whose ID it matches")
	again := flag.Bool("again", false, "judge anew what survived")
	deep := flag.Bool("deep", false, "also take single operands out of guards, assignments and conditions")
	state := flag.String("state", "bin/mutants.state", "the file with what is known so far; tables of one's own have theirs beside it")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	var lines, failures []string
	for _, table := range mutants.Tables {
		all, err := mutants.All(table)
		if err != nil {
			return err
		}
		var chosen []mutants.Mutant
		whole := map[string]bool{} // by what the mutants are of: whether all are chosen
		for _, m := range all {
			if m.Deep() && !*deep {
				continue
			}
			wanted := pattern.MatchString(m.ID)
			if before, seen := whole[m.Of]; !m.Deep() {
				whole[m.Of] = wanted && (before || !seen)
			}
			if wanted {
				chosen = append(chosen, m)
			}
		}
		if len(chosen) == 0 {
			continue
		}
		verdicts, err := mutants.Run(ctx, chosen, mutants.Options{
			Root: root, Table: table, State: beside(*state, table), Parallel: *parallel, Again: *again, Log: os.Stderr,
		})
		if err != nil {
			return err
		}
		o := mutants.Outcome{Table: table, Mutants: chosen, Verdicts: verdicts}
		if err := keep(o, root, whole); err != nil {
			return err
		}
		lines, failures = append(lines, o.Line()), append(failures, o.Failures()...)
	}
	for _, f := range failures {
		fmt.Fprintln(os.Stderr, f)
	}
	fmt.Println(strings.Join(lines, "\n"))
	if len(failures) > 0 {
		return fmt.Errorf("the mutation run found %d things to see to; they are listed above, and in bin/mutants*.md", len(failures))
	}
	return nil
}

// beside is the name of a table's own file: that of the standard table is called as it is said.
func beside(name, table string) string {
	if table == mutants.Standard {
		return name
	}
	ext := filepath.Ext(name)
	return strings.TrimSuffix(name, ext) + "-" + table + ext
}

// keep writes a table's report, and what is kept of a whole run: of the standard table where all was judged, of the
// others by what their mutants are of.
func keep(o mutants.Outcome, root string, whole map[string]bool) error {
	if err := os.WriteFile(filepath.Join(root, "bin", beside("mutants.md", o.Table)), []byte(o.Report()), 0o644); err != nil {
		return err
	}
	switch {
	case o.Table != mutants.Standard:
		return o.KeepOwn(root, whole)
	case whole[mutants.Table] && whole[mutants.Postgres] && whole[mutants.SQLite]:
		return o.Last(true).Keep(root)
	}
	return nil
}
