package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

func (a *app) redoVerb() *cobra.Command {
	var f reviewFlags
	var as string
	c := &cobra.Command{
		Use:   "redo ID",
		Short: "Prepare a new operation with the request of one that failed, was rejected or was abandoned",
		Long: `Redo prepares a new operation with the same request, linked to the old one, which stays as it is. The old one
has failed, was rejected or was abandoned; of an abandoned one it needs what review not-created needs.`,
		Example: `  fencerow redo clip-001 --as clip-001-b --reviewer ada --reason "the model works again"`,
		Args:    exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := f.decision(true)
			switch {
			case err != nil:
				return err
			case transitions.IsBlank(as):
				return usagef("--as is missing: give the new operation an id of its own")
			case as == args[0]:
				return usagef("--as %q is the old operation's id: give the new one an id of its own", as)
			}
			return a.redo(c.Context(), args[0], as, d, machine.Risks{Override: f.override, DespiteCandidates: f.despite})
		},
	}
	flags := c.Flags()
	flags.StringVar(&as, "as", "", "id of the new operation (required)")
	flags.StringVar(&f.reviewer, "reviewer", "", "who decides (required; kept)")
	flags.StringVar(&f.reason, "reason", "", "why (required; kept)")
	flags.BoolVar(&f.override, "override-quarantine", false, "of an abandoned one: take the risk that an old sender still sends; recorded")
	flags.BoolVar(&f.despite, "despite-candidates", false, "of an abandoned one: take the risk that a job of which the remote told, and that nobody here knows, is its own; recorded")
	return c
}

func (a *app) redo(ctx context.Context, id, as string, d machine.Decision, risks machine.Risks) error {
	s, err := a.open(ctx, writing)
	if err != nil {
		return err
	}
	defer s.close()
	done, err := s.machine.Redo(ctx, id, as, d, risks)
	if err != nil {
		return err
	}
	a.stored = called(as) + " repeats " + called(id)
	if a.json {
		return a.writeJSON([]machine.Operation{done.Operation})
	}
	fmt.Fprintf(a.stdout, "%s repeats %s: %s\n", called(as), called(id), clean(effect(done.Operation)))
	return nil
}
