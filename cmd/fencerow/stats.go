package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
)

func (a *app) statsVerb() *cobra.Command {
	var watch bool
	var every time.Duration
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count operations by phase, outcome, delivery and reason, with what is due and leased",
		Example: `  fencerow stats
  fencerow stats --watch --every 5s`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if every <= 0 {
				return usagef("--every %s: must be more than 0", every)
			}
			return a.stats(c.Context(), watch, every)
		},
	}
	c.Flags().BoolVar(&watch, "watch", false, "go on until interrupted")
	c.Flags().DurationVar(&every, "every", 2*time.Second, "with --watch: time between two looks")
	return c
}

func (a *app) stats(ctx context.Context, watch bool, every time.Duration) error {
	s, err := a.open(ctx, reading)
	if err != nil {
		return err
	}
	defer s.close()
	for {
		stats, err := s.store.Stats(ctx)
		marked := 0
		if err == nil {
			marked, err = countMarked(ctx, s.machine)
		}
		if err != nil && (!watch || ctx.Err() != nil) {
			return fmt.Errorf("counting operations in %s: %w", s.name, err)
		}
		if err != nil {
			a.sayf("counting operations in %s did not work, it is tried again: %v", s.name, err)
		} else if err := a.printStats(stats, marked, watch); err != nil {
			return err
		}
		if !watch {
			return nil
		}
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-time.After(every):
		}
	}
}

// statJSON names the fields as the columns are called.
type statJSON struct {
	Phase     string     `json:"phase"`
	Outcome   *string    `json:"outcome"`
	Delivery  *string    `json:"delivery"`
	Reason    *string    `json:"uncertain_reason"`
	Count     int64      `json:"count"`
	OldestDue *time.Time `json:"oldest_due"`
	Leased    int64      `json:"leased"`
	Lapsed    int64      `json:"lapsed"`
}

func (a *app) printStats(stats []machine.Stat, marked int, watch bool) error {
	if a.json {
		encoder := json.NewEncoder(a.stdout)
		for _, s := range stats {
			line := statJSON{s.Phase, opt(s.Outcome), opt(s.Delivery), opt(s.Reason), s.Count, nil, s.Leased, s.Lapsed}
			if at := s.OldestDue.UTC(); !s.OldestDue.IsZero() {
				line.OldestDue = &at
			}
			if err := encoder.Encode(line); err != nil {
				return err
			}
		}
		if marked > 0 {
			return encoder.Encode(map[string]int{"marked": marked})
		}
		return nil
	}
	now := time.Now()
	if watch {
		fmt.Fprintf(a.stdout, "\n%s\n", stamp(now))
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PHASE\tOUTCOME\tDELIVERY\tREASON\tCOUNT\tLEASED\tLAPSED\tOLDEST DUE")
	total := int64(0)
	for _, s := range stats {
		due := stamp(s.OldestDue)
		if late := now.Sub(s.OldestDue); !s.OldestDue.IsZero() && late > 0 {
			due += fmt.Sprintf(" (%s ago)", late.Round(time.Second))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", cell(s.Phase, 20), cell(s.Outcome, 20), cell(s.Delivery, 20),
			cell(s.Reason, 30), s.Count, s.Leased, s.Lapsed, cell(due, 60))
		total += s.Count
	}
	fmt.Fprintf(w, "all\t\t\t\t%d\n", total)
	if err := w.Flush(); err != nil || marked == 0 {
		return err
	}
	more := ""
	if marked == maxMarked {
		more = " or more"
	}
	_, err := fmt.Fprintf(a.stdout, "%d%s are marked, a suspected duplicate or a contradicted outcome: %s\n", marked, more, clean(a.command("review", "list")))
	return err
}
