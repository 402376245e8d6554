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
		Short: "End an operation that was not sent, or have the remote asked to cancel its job",
		Long: `Cancel ends an operation that was not sent. One that was sent is marked: whoever observes its job asks the remote to
cancel it, if the provider file has a cancel section, and a few times again as long as the job goes on. The outcome is
what the remote says of the job then: canceled, or succeeded if it was too late. Show ID has what the remote answered.
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
