// Command bench measures the engine against the same work done in other ways, on one PostgreSQL server that it starts
// itself, with the server's default durability. It is a module of its own, so that what the engine is measured against
// is nobody's dependency.
//
// Two ways of a figure run in turn, and what is told is their ratio, pair by pair: a machine's speed drifts, and an
// absolute number is its machine's. Each figure is a line: its name, what it counts, the median, and the least and the
// greatest of the pairs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	o := options{out: out}
	flags.IntVar(&o.pairs, "pairs", 5, "how many pairs of runs a figure is the median of")
	flags.DurationVar(&o.length, "length", 2*time.Second, "how long one run lasts")
	flags.BoolVar(&o.rates, "rates", false, "also tell each way's operations a second, with the least and the greatest")
	only := flags.String("only", "", "a pattern: only the figures whose name it matches")
	profile := flags.String("cpuprofile", "", "write this program's CPU profile to a file; the server's is not in it")
	list := flags.Bool("list", false, "list the figures and what they compare, and measure nothing")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	if o.pairs < 1 || o.length <= 0 || flags.NArg() > 0 {
		return fmt.Errorf("want -pairs of at least 1, -length above 0 and no argument; got %d, %s and %q", o.pairs, o.length, flags.Args())
	}
	var chosen []figure
	for _, f := range figures {
		if pattern.MatchString(f.name) {
			chosen = append(chosen, f)
		}
	}
	if *list {
		for _, f := range chosen {
			fmt.Fprintf(out, "%-40s %s\n", f.name, f.says)
		}
		return nil
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no figure is called %q; -list lists them", *only)
	}
	var life lifetime
	defer life.end()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("start the server: %v", p)
		}
	}()
	o.server = pgtest.NewServer(&life)
	if *profile != "" {
		file, err := os.Create(*profile)
		if err != nil {
			return fmt.Errorf("write the profile: %w", err)
		}
		defer func() { _ = file.Close() }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return fmt.Errorf("write the profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	for _, f := range chosen {
		if err := f.measure(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return nil
}
