package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
)

func (a *app) auditVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "audit [ID...]",
		Short: "Fold every history and compare it with its row",
		Long: `Audit reads each operation's history from its first row, holds every step against the transition table, and compares
where it ends with the row. What history does not record is left out: the request, leases and due times.
It changes nothing. Exit code 1: something is not explained by its history.`,
		Example: `  fencerow audit
  fencerow audit clip-001 --json`,
		RunE: func(c *cobra.Command, args []string) error { return a.audit(c.Context(), args) },
	}
}

// findingLine is a finding as --json writes it.
type findingLine struct {
	OperationID string `json:"operation_id"`
	Seq         int64  `json:"seq,omitempty"`
	Finding     string `json:"finding"`
}

func (a *app) audit(ctx context.Context, only []string) error {
	s, err := a.open(ctx, reading)
	if err != nil {
		return err
	}
	defer s.close()
	operations, found := 0, 0
	one := func(id string) error {
		findings, err := s.machine.Audit(ctx, id)
		if err != nil {
			return fmt.Errorf("auditing %s: %w", s.name, err)
		}
		operations++
		found += len(findings)
		return a.printFindings(findings)
	}
	if err := each(ctx, s.machine, only, one); err != nil {
		return err
	}
	if !a.json {
		fmt.Fprintf(a.stdout, "%d operations, %d findings\n", operations, found)
	}
	if found > 0 {
		return &codeError{code: exitError}
	}
	return nil
}

func (a *app) printFindings(findings []machine.Finding) error {
	if a.json {
		lines := make([]findingLine, len(findings))
		for i, f := range findings {
			lines[i] = findingLine{f.OperationID, f.Seq, f.Text}
		}
		return writeLines(a, lines)
	}
	for _, f := range findings {
		fmt.Fprintln(a.stdout, clean(f.String()))
	}
	return nil
}

// each calls do for the operations named, or for all of them, newest first and page by page.
func each(ctx context.Context, m *machine.Machine, ids []string, do func(id string) error) error {
	for _, id := range ids {
		if err := do(id); err != nil {
			return err
		}
	}
	if len(ids) > 0 {
		return nil
	}
	q := machine.Query{Limit: 500}
	for {
		page, err := m.List(ctx, q)
		if err != nil {
			return err
		}
		for _, op := range page {
			if err := do(op.OperationID); err != nil {
				return err
			}
		}
		if len(page) < q.Limit {
			return nil
		}
		last := page[len(page)-1]
		q.After = &machine.Cursor{CreatedAt: last.CreatedAt, OperationID: last.OperationID}
	}
}
