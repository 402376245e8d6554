package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencerow/fencerow/internal/input"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/provider/httpjob"
	"github.com/fencerow/fencerow/transitions"
)

// dryRun says what a run would do. It creates no database.
func (a *app) dryRun(ctx context.Context, in *input.File, spec *httpjob.Spec, f *runFlags) error {
	b := &batch{app: a, spec: spec, in: in, stored: map[string]stored{}}
	unsettled, others := 0, 0
	s, err := a.open(ctx, reading)
	var none *noDatabaseError
	switch {
	case errors.As(err, &none):
		if err := none.at.hasFolder(); err != nil {
			return err
		}
		if err := b.refuseForgotten(f.out, none.at.name); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "would create the database %s\n", clean(none.at.name))
	case err != nil:
		return err
	default:
		defer s.close()
		b.machine = s.machine
		if err := b.known(ctx); err != nil {
			return err
		}
		if err := b.refuseForgotten(f.out, s.name); err != nil {
			return err
		}
		track := newTracker(s.machine, in.Items)
		if err := track.look(ctx); err != nil {
			return fmt.Errorf("reading how far the operations are: %w", err)
		}
		for _, p := range track.places {
			if !p.settled() {
				unsettled++
			}
		}
		if others, err = b.others(ctx); err != nil {
			return err
		}
		b.warnLooks(track)
		fmt.Fprintf(a.stdout, "would use the database %s\n", clean(s.name))
	}
	fmt.Fprintf(a.stdout, "would prepare %d operations (%s); %d are known already, %d of them not settled\n",
		len(in.Items)-len(b.stored), clean(providerWords(spec)), len(b.stored), unsettled)
	b.warn()
	if others > 0 {
		fmt.Fprintf(a.stdout, "would send %s operations more that others prepared for this provider and account: %s\n",
			upTo(others), clean(a.command("list", "--phase", transitions.Prepared, "--provider", spec.Provider(), "--account", spec.Account)))
	}
	sends := "no bound on sends"
	if f.maxSends > 0 {
		sends = fmt.Sprintf("at most %d sends", f.maxSends)
	}
	fmt.Fprintf(a.stdout, "would then send with %d workers, %s; nothing was prepared and nothing was sent\n", f.workers, sends)
	return nil
}

// manyOthers is how many operations of other inputs are counted.
const manyOthers = 1000

func upTo(n int) string {
	if n >= manyOthers {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprint(n)
}

// others counts the operations that are not of the input and that a run would send: a process takes whatever is prepared
// for its provider and account.
func (b *batch) others(ctx context.Context) (int, error) {
	n := 0
	q := machine.Query{Phase: transitions.Prepared, Kind: b.spec.Kind, Provider: b.spec.Provider(), Account: b.spec.Account}
	err := eachOf(ctx, b.machine, q, func(op machine.Operation) bool {
		if _, ours := b.stored[op.OperationID]; !ours {
			n++
		}
		return n < manyOthers
	})
	if err != nil {
		return 0, fmt.Errorf("counting what others prepared: %w", err)
	}
	return n, nil
}
