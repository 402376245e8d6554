// Command cmd is the mutation run: see package mutants. Without arguments it judges every mutant; "list" lists them;
// "worker" is what it starts itself as.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/fencerow/fencerow/internal/mutants"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Args = os.Args[:1]
		mutants.Worker(mutants.ModelChecker)
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
	state := flag.String("state", "bin/mutants.state", "the file with what is known so far")
	flag.Parse()
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	all, err := mutants.All()
	if err != nil {
		return err
	}
	var chosen []mutants.Mutant
	for _, m := range all {
		if pattern.MatchString(m.ID) && (*deep || !m.Deep()) {
			chosen = append(chosen, m)
		}
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	verdicts, err := mutants.Run(ctx, chosen, mutants.Options{Root: root, State: *state, Parallel: *parallel, Again: *again, Log: os.Stderr})
	if err != nil {
		return err
	}
	return tell(mutants.Outcome{Mutants: chosen, Verdicts: verdicts}, root, *only == "" && !*deep)
}

// tell writes the report, and what is kept of a whole run; the run's line comes last.
func tell(o mutants.Outcome, root string, whole bool) error {
	if err := os.WriteFile(filepath.Join(root, "bin", "mutants.md"), []byte(o.Report()), 0o644); err != nil {
		return err
	}
	if whole {
		if err := o.Last(true).Keep(root); err != nil {
			return err
		}
	}
	failures := o.Failures()
	for _, f := range failures {
		fmt.Fprintln(os.Stderr, f)
	}
	fmt.Println(o)
	if len(failures) > 0 {
		return fmt.Errorf("the mutation run found %d things to see to; they are listed above, and in bin/mutants.md", len(failures))
	}
	return nil
}
