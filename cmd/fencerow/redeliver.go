package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
)

func (a *app) redeliverVerb() *cobra.Command {
	var f decisionFlags
	c := &cobra.Command{
		Use:   "redeliver ID",
		Short: "Deliver a result again: one that failed to be, or one that was lost",
		Long: `Redeliver has the next worker fetch the result again, from the first attempt on, and put it below its --out. Nothing
is sent. It is for a delivery that failed, and for a file that is not where it had been delivered to any more.`,
		Example: `  fencerow redeliver clip-001 --reviewer ada --reason "the disk has room again"`,
		Args:    exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := f.decision(false)
			if err != nil {
				return err
			}
			return a.decided(c.Context(), func(ctx context.Context, m *machine.Machine) (machine.Operation, error) {
				if f.seen == "" { // a delivery repeats freely: what is there now is what is meant
					op, err := m.Get(ctx, args[0])
					if err != nil {
						return op, err
					}
					d.Seen = op.Seen()
				}
				return m.Redeliver(ctx, args[0], d)
			})
		},
	}
	c.Flags().StringVar(&f.reviewer, "reviewer", "", "who asks; kept")
	c.Flags().StringVar(&f.reason, "reason", "", "why; kept")
	c.Flags().StringVar(&f.seen, "seen", "", "R.E, the revision and evidence number that was looked at (default: what is there now)")
	return c
}
