package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/reconcile"
)

func (a *app) reconcileVerb() *cobra.Command {
	var once bool
	var every time.Duration
	c := &cobra.Command{
		Use:   "reconcile",
		Short: "Settle what those who are gone left behind",
		Long: `Reconcile fires the events of those who are gone: lapsed submissions become uncertain, missing ids and overdue
observations likewise, late answers are attached, asked-for cancels end. It never sends anything. Any number may run.`,
		Example: `  fencerow reconcile --once`,
		Args:    exactly(),
		RunE:    func(c *cobra.Command, _ []string) error { return a.reconcile(c.Context(), once, every) },
	}
	c.Flags().BoolVar(&once, "once", false, "sweep once and end")
	c.Flags().DurationVar(&every, "every", reconcile.DefaultInterval, "time between two sweeps")
	return c
}

func (a *app) reconcile(ctx context.Context, once bool, every time.Duration) error {
	if every <= 0 {
		return usagef("--every %s: must be more than 0", every)
	}
	level := slog.LevelInfo
	if once {
		level = slog.LevelWarn
	}
	log, err := a.log(level)
	if err != nil {
		return err
	}
	s, err := a.open(ctx, writing)
	if err != nil {
		return err
	}
	defer s.close()
	r, err := reconcile.New(s.machine, reconcile.Options{Interval: every, Log: log})
	if err != nil {
		return err
	}
	if !once {
		r.Run(ctx)
		return errInterrupted
	}
	moved, err := r.Once(ctx)
	n := 0
	for _, m := range moved {
		for _, op := range m.Operations {
			n++
			if !a.json {
				fmt.Fprintf(a.stdout, "%s  %s: %s\n", m.Event, called(op.OperationID), clean(effect(op)))
			}
		}
		if a.json {
			if err := a.writeJSON(m.Operations); err != nil {
				return err
			}
		}
	}
	if err != nil {
		return fmt.Errorf("sweeping %s: %w", s.name, err)
	}
	if n == 0 && !a.json {
		fmt.Fprintln(a.stdout, "nothing to settle")
	}
	return nil
}
