package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
)

// app is one run of the program: where it reads and writes, and the flags that every verb has.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr *console
	lookup func(string) (string, bool)

	db, schema, prefix string
	json               bool
	logLevel           string

	stored string // what this run has changed, for when it cannot be printed
}

// run is the whole program but for the process around it. The context's end asks it to drain and leave.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, lookup func(string) (string, bool)) int {
	out := &output{out: stdout}
	a := &app{stdin: stdin, stdout: out, stderr: &console{out: stderr}, lookup: lookup}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	return a.checked(out, err, a.leave(ctx, err))
}

// checked tells that not all could be printed, and what was stored all the same.
func (a *app) checked(out *output, err error, code int) int {
	if out.err == nil {
		return code
	}
	if !errors.Is(err, out.err) {
		a.sayf("fencerow: writing to standard output: %v", out.err)
	}
	if a.stored != "" {
		a.sayf("fencerow: it was stored all the same: %s", a.stored)
	}
	return exitError
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "fencerow",
		Short: "Send each request once, and know what became of it",
		Long: `Fencerow drives requests that cost money, cannot be taken back and have no idempotency key.
A request is not sent a second time unless somebody has recorded proof that the first created nothing;
what cannot be known waits for a reviewer.`,
		Example: `  fencerow demo
  fencerow run requests.jsonl --provider video.yaml --out results
  fencerow review list`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown verb %q; fencerow --help lists them", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("fencerow {{.Version}}\n")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%v; %s --help shows the flags", err, c.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVar(&a.db, "db", "", "database: sqlite:PATH or postgres://… (default $FENCEROW_DB, else "+defaultDB+")")
	flags.StringVar(&a.schema, "schema", "", "schema of the tables (default: the database's own)")
	flags.StringVar(&a.prefix, "table-prefix", "", "what the tables' names begin with (default fencerow_)")
	flags.BoolVar(&a.json, "json", false, "one JSON object a line, fields named as the columns")
	flags.StringVar(&a.logLevel, "log-level", "", "debug, info, warn or error (default warn; work: info)")
	root.AddCommand(
		a.runVerb(), a.prepareVerb(), a.workVerb(), a.demoVerb(), a.sandboxVerb(), a.migrateVerb(),
		a.listVerb(), a.showVerb(), a.reviewVerb(), a.reconcileVerb(),
		a.cancelVerb(), a.redeliverVerb(), a.redoVerb(), a.statsVerb(), a.auditVerb(), a.pruneVerb(), a.transitionsVerb(),
	)
	return root
}

// The exit codes.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2 // the command line or an input file is wrong; nothing was changed
	exitUnfinished  = 3 // run: some did not end with a delivered success
	exitInterrupted = 130
)

// codeError ends the program with a code; a nil err was told already.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &codeError{exitUsage, fmt.Errorf(format, args...)}
}

func usage(err error) error { return &codeError{exitUsage, err} }

// errInterrupted ends the program after a clean drain.
var errInterrupted = &codeError{code: exitInterrupted}

// leave tells an error and gives the exit code.
func (a *app) leave(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	code := exitError
	var coded *codeError
	switch {
	case errors.As(err, &coded):
		code, err = coded.code, coded.err
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		code, err = exitInterrupted, nil
	}
	if err != nil {
		a.tell(err)
	}
	return code
}

// tell writes an error, and for a denial what the row is now.
func (a *app) tell(err error) {
	if denied, ok := machine.IsDenied(err); ok {
		a.tellDenied(denied)
		return
	}
	for i, line := range strings.Split(err.Error(), "\n") {
		if i == 0 {
			line = "fencerow: " + line
		}
		a.sayf("%s", line)
	}
}

// sayf writes a line for a person to stderr, harmless on a terminal whatever it quotes.
func (a *app) sayf(format string, args ...any) {
	fmt.Fprintln(a.stderr, clean(fmt.Sprintf(format, args...)))
}

// log makes the logger of the libraries.
func (a *app) log(level slog.Level) (*slog.Logger, error) {
	if a.logLevel != "" {
		if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
			return nil, usagef("--log-level %q: want debug, info, warn or error", a.logLevel)
		}
	}
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: level})), nil
}

// exactly is the check of a verb that takes named arguments and nothing else.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%s: %s is missing; %s --help shows how it is used", c.CommandPath(), names[len(args)], c.CommandPath())
		case len(args) > len(names):
			return usagef("%s: unexpected argument %q; %s --help shows how it is used", c.CommandPath(), args[len(names)], c.CommandPath())
		}
		return nil
	}
}

// only is the check of a verb that has verbs of its own.
func only(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("unknown verb %q; %s --help lists them", c.CommandPath()+" "+args[0], c.CommandPath())
	}
	return usagef("%s: say which one; %s --help lists them", c.CommandPath(), c.CommandPath())
}

// version tells what the build recorded of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown " + runtime.Version()
	}
	text := info.Main.Version
	if text == "" {
		text = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(text, s.Value[:min(12, len(s.Value))]) {
			text += " " + s.Value
		}
	}
	return text + " " + runtime.Version()
}
