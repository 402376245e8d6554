package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
)

const defaultPage = 100

// listFlags are what list selects by.
type listFlags struct {
	query     machine.Query
	olderThan time.Duration
	newerThan time.Duration
	after     string
}

func (a *app) listVerb() *cobra.Command {
	var f listFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "List operations, newest first",
		Example: `  fencerow list --phase uncertain
  fencerow list --outcome failed --newer-than 24h
  fencerow list --json --limit 1000 | jq -r .operation_id`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.list(c.Context(), f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.query.Phase, "phase", "", "only this phase")
	flags.StringVar(&f.query.Outcome, "outcome", "", "only this outcome")
	flags.StringVar(&f.query.Delivery, "delivery", "", "only this state of delivery: pending, delivered or failed")
	flags.StringVar(&f.query.Reason, "reason", "", "only this reason of uncertainty")
	flags.StringVar(&f.query.Kind, "kind", "", "only this kind")
	flags.StringVar(&f.query.Provider, "provider", "", "only this provider")
	flags.StringVar(&f.query.Account, "account", "", "only this account")
	flags.BoolVar(&f.query.Marked, "marked", false, "only those with a mark that waits for a reviewer")
	flags.DurationVar(&f.olderThan, "older-than", 0, "only those prepared at least so long ago")
	flags.DurationVar(&f.newerThan, "newer-than", 0, "only those prepared at most so long ago")
	flags.IntVar(&f.query.Limit, "limit", defaultPage, "operations on a page")
	flags.StringVar(&f.after, "after", "", "the next page: CREATED_AT/OPERATION_ID of the last operation of the page before")
	return c
}

func (a *app) list(ctx context.Context, f listFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	s, err := a.open(ctx, reading)
	if err != nil {
		return err
	}
	defer s.close()
	ops, err := s.machine.List(ctx, f.query)
	if err != nil {
		return fmt.Errorf("listing operations in %s: %w", s.name, err)
	}
	if a.json {
		return a.writeJSON(ops)
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tPHASE\tOUTCOME\tDELIVERY\tREASON\tMARKED\tKIND\tREMOTE JOB\tATTEMPTS\tCREATED")
	for _, op := range ops {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", called(op.OperationID), cell(op.Phase, 20),
			cell(op.Outcome, 20), cell(op.Delivery, 20), cell(op.UncertainReason, 30), cell(marks(op), 50),
			cell(op.Kind, 30), cell(op.RemoteJobID, 40), op.Attempts, stamp(op.CreatedAt))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(ops) == f.query.Limit {
		a.sayf("There may be more: --after %s", shellQuote(cursorText(ops[len(ops)-1])))
	}
	return nil
}

// check holds the words of the flags against the table's, and reads the cursor.
func (f *listFlags) check() error {
	p := program()
	for _, w := range []struct{ flag, value, column string }{
		{"--phase", f.query.Phase, "phase"}, {"--outcome", f.query.Outcome, "outcome"},
		{"--delivery", f.query.Delivery, "delivery"}, {"--reason", f.query.Reason, "uncertain_reason"},
	} {
		known := p.Words(p.Columns[p.Column(w.column)])
		if w.value != "" && !contains(known, w.value) {
			return usagef("%s %q: want one of %s", w.flag, w.value, strings.Join(known, ", "))
		}
	}
	switch {
	case f.query.Limit < 1:
		return usagef("--limit %d: want at least 1", f.query.Limit)
	case f.olderThan < 0:
		return usagef("--older-than %s: must not be negative", f.olderThan)
	case f.newerThan < 0:
		return usagef("--newer-than %s: must not be negative", f.newerThan)
	}
	f.query.MinAge, f.query.MaxAge = f.olderThan, f.newerThan
	if f.after == "" {
		return nil
	}
	at, id, _ := strings.Cut(f.after, "/")
	created, err := time.Parse(time.RFC3339Nano, at)
	if err != nil || id == "" {
		return usagef("--after %q: want CREATED_AT/OPERATION_ID, as list prints it", f.after)
	}
	f.query.After = &machine.Cursor{CreatedAt: created, OperationID: id}
	return nil
}

func cursorText(op machine.Operation) string {
	return op.CreatedAt.Format(time.RFC3339Nano) + "/" + op.OperationID
}

// writeJSON writes operations one a line.
func (a *app) writeJSON(ops []machine.Operation) error { return writeLines(a, ops) }

// writeLines writes values as JSON, one a line.
func writeLines[T any](a *app, values []T) error {
	encoder := json.NewEncoder(a.stdout)
	for _, v := range values {
		if err := encoder.Encode(v); err != nil {
			return err
		}
	}
	return nil
}
