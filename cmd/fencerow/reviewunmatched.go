package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
)

// unmatchedFlags select among the evidence that belongs to no operation.
type unmatchedFlags struct {
	provider, account string
	matched           bool
	limit             int
	after             int64
}

// unmatchedJSON is a piece of evidence that belongs to no operation.
type unmatchedJSON struct {
	Seq         int64     `json:"seq"`
	At          time.Time `json:"at"`
	Provider    string    `json:"provider"`
	Account     string    `json:"account"`
	Kind        string    `json:"kind"`
	RemoteJobID *string   `json:"remote_job_id"`
	Holder      *string   `json:"holder"`
	Told        bool      `json:"told"`
}

func (a *app) reviewUnmatchedVerb() *cobra.Command {
	var f unmatchedFlags
	c := &cobra.Command{
		Use:   "unmatched",
		Short: "List what remotes told of jobs that no operation here is known to have, newest first",
		Long: `Unmatched lists the evidence that belongs to no operation: a remote called about a job that nobody here knows. It may be
the job of an uncertain operation, whose list entry calls it a candidate; another system's of the same account; or one
that was bought twice. --matched shows those too whose job an operation holds, or was told of, by now.`,
		Example: `  fencerow review unmatched --provider video
  fencerow review unmatched --json | jq -r .remote_job_id | sort -u`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			switch {
			case f.limit < 1:
				return usagef("--limit %d: want at least 1", f.limit)
			case f.after < 0:
				return usagef("--after %d: want the number of the last line of the page before", f.after)
			}
			return a.reviewUnmatched(c.Context(), f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.provider, "provider", "", "only this provider")
	flags.StringVar(&f.account, "account", "", "only this account")
	flags.BoolVar(&f.matched, "matched", false, "those too whose job an operation holds or was told of by now")
	flags.IntVar(&f.limit, "limit", defaultPage, "lines on a page")
	flags.Int64Var(&f.after, "after", 0, "the next page: the number of the last line of the page before")
	return c
}

func (a *app) reviewUnmatched(ctx context.Context, f unmatchedFlags) error {
	s, err := a.open(ctx, reading)
	if err != nil {
		return err
	}
	defer s.close()
	page, err := f.page(ctx, s.machine.Store())
	if err != nil {
		return fmt.Errorf("listing the evidence of no operation in %s: %w", s.name, err)
	}
	if a.json {
		lines := []unmatchedJSON{}
		for _, u := range page {
			lines = append(lines, unmatchedJSON{u.Seq, u.At.UTC(), u.Provider, u.Account, u.Kind, opt(u.RemoteJobID), opt(u.Holder), u.Told})
		}
		return writeLines(a, lines)
	}
	if len(page) == 0 {
		fmt.Fprintln(a.stdout, "no remote told of a job that nobody here knows")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NUMBER\tTOLD\tPROVIDER\tACCOUNT\tSAID\tREMOTE JOB\tKNOWN TO")
	for _, u := range page {
		known := ""
		switch {
		case u.Holder != "":
			known = called(u.Holder) + " holds it"
		case u.Told:
			known = "an operation was told of it"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", u.Seq, stamp(u.At), cell(u.Provider, 40), cell(u.Account, 40), cell(u.Kind, 30), cell(u.RemoteJobID, 100), known)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(page) == f.limit {
		a.sayf("There may be more: --after %d", page[len(page)-1].Seq)
	}
	return nil
}

// page reads pages until enough of what is selected was met.
func (f unmatchedFlags) page(ctx context.Context, store machine.Reader) ([]machine.Unmatched, error) {
	var selected []machine.Unmatched
	q := machine.UnmatchedQuery{Newest: true, After: f.after, Limit: 500}
	for {
		page, err := store.Unmatched(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, u := range page {
			q.After = u.Seq
			if f.provider != "" && u.Provider != f.provider || f.account != "" && u.Account != f.account || !f.matched && (u.Holder != "" || u.Told) {
				continue
			}
			if selected = append(selected, u); len(selected) == f.limit {
				return selected, nil
			}
		}
		if len(page) < q.Limit {
			return selected, nil
		}
	}
}
