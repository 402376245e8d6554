// Command bench measures the engine against the same work done in other ways, on one PostgreSQL server that it starts
// itself, with the server's default durability. It is a module of its own, so that what the engine is measured against
// is nobody's dependency.
//
// Two ways of a figure run in turn, and what is told is their ratio, pair by pair: a machine's speed drifts, and an
// absolute number is its machine's. Each figure is a line: its name, what it counts, the median, the least and the
// greatest of the pairs, and the target where there is one. A table for documents and a picture are made on demand.
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

// note tells whoever waits what takes long; it is no part of the output.
func note(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// command is what the command line asks for.
type command struct {
	options
	only, profile, markdown, plot string
	list                          bool
}

func parse(args []string, out io.Writer) (command, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	c := command{options: options{out: out}}
	flags.IntVar(&c.pairs, "pairs", 5, "how many pairs of runs a figure is the median of")
	flags.DurationVar(&c.length, "length", 2*time.Second, "how long one run lasts")
	flags.BoolVar(&c.rates, "rates", false, "also tell each way's operations a second, with the least and the greatest")
	flags.BoolVar(&c.long, "long", false, "also measure the figures that take many minutes each")
	flags.IntVar(&c.lifecycles, "lifecycles", 1_000_000, "after how many whole lifecycles the growth of the table is judged")
	flags.StringVar(&c.markdown, "markdown", "", "also write the figures to a file as a Markdown table")
	flags.StringVar(&c.plot, "plot", "", "also draw the figures into an SVG file")
	flags.StringVar(&c.only, "only", "", "a pattern: only the figures whose name it matches")
	flags.StringVar(&c.profile, "cpuprofile", "", "write this program's CPU profile to a file; the server's is not in it")
	flags.BoolVar(&c.list, "list", false, "list the figures and what they compare, and measure nothing")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if c.pairs < 1 || c.length <= 0 || c.lifecycles < 1 || flags.NArg() > 0 {
		return c, fmt.Errorf("want -pairs and -lifecycles of at least 1, -length above 0 and no argument; got %d, %d, %s and %q",
			c.pairs, c.lifecycles, c.length, flags.Args())
	}
	return c, nil
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	chosen, err := c.choose()
	if err != nil {
		return err
	}
	if c.list {
		for _, f := range chosen {
			says := f.says
			if f.long {
				says += " (only with -long)"
			}
			fmt.Fprintf(out, "%-40s %s\n", f.name, says)
		}
		return nil
	}
	var life lifetime
	defer life.end()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("start the server: %v", p)
		}
	}()
	c.server = pgtest.NewServer(&life)
	if c.profile != "" {
		file, err := os.Create(c.profile)
		if err != nil {
			return fmt.Errorf("write the profile: %w", err)
		}
		defer func() { _ = file.Close() }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return fmt.Errorf("write the profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	return c.measure(ctx, chosen)
}

// choose gives the figures that are asked for. A list has the long ones in it.
func (c command) choose() ([]figure, error) {
	pattern, err := regexp.Compile(c.only)
	if err != nil {
		return nil, fmt.Errorf("read -only: %w", err)
	}
	var chosen []figure
	long := 0
	for _, f := range figures {
		switch {
		case !pattern.MatchString(f.name):
		case f.long && !c.long && !c.list:
			long++
		default:
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 && long > 0 {
		return nil, fmt.Errorf("what is called %q takes many minutes, and is measured only with -long", c.only)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no figure is called %q; -list lists them", c.only)
	}
	return chosen, nil
}

// measure tells each figure as soon as it is known. What was measured before an error is written too.
func (c command) measure(ctx context.Context, chosen []figure) (err error) {
	var results []result
	defer func() { err = errors.Join(err, c.write(results)) }()
	for _, f := range chosen {
		measured, err := f.measure(ctx, c.options)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		for _, r := range measured {
			r.print(c.out, c.rates)
		}
		results = append(results, measured...)
	}
	return nil
}

func (c command) write(results []result) error {
	for _, file := range []struct {
		name string
		make func([]result) string
	}{{c.markdown, markdown}, {c.plot, plot}} {
		if file.name == "" || len(results) == 0 {
			continue
		}
		if err := os.WriteFile(file.name, []byte(file.make(results)), 0o644); err != nil {
			return fmt.Errorf("write the figures: %w", err)
		}
	}
	return nil
}
