package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
)

func (a *app) cancelVerb() *cobra.Command {
	var f decisionFlags
	c := &cobra.Command{
		Use:   "cancel ID",
		Short: "End an operation that was not sent; one that was sent is only marked",
		Long: `Cancel ends an operation that was not sent. One that was sent is only marked: the remote is not asked yet, what was
sent goes on, and the outcome is what the remote says of it. If the remote has a way to cancel the job, take that.
An uncertain one is abandoned with a review instead.`,
		Example: `  fencerow cancel clip-001 --reviewer ada --reason "ordered twice"`,
		Args:    exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := f.decision(false)
			if err != nil {
				return err
			}
			return a.decided(c.Context(), func(ctx context.Context, m *machine.Machine) (machine.Operation, error) {
				return m.Cancel(ctx, args[0], d)
			})
		},
	}
	c.Flags().StringVar(&f.reviewer, "reviewer", "", "who asks; kept")
	c.Flags().StringVar(&f.reason, "reason", "", "why; kept")
	return c
}
