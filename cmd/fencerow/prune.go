package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
)

// pruneFlags say what is pruned, and where it is kept.
type pruneFlags struct {
	query   machine.PruneQuery
	limit   int
	archive string
	dryRun  bool
}

func (a *app) pruneVerb() *cobra.Command {
	var f pruneFlags
	c := &cobra.Command{
		Use:   "prune --older-than DURATION",
		Short: "Take the history and evidence of finished operations away, and keep the operations",
		Long: `Prune replaces the history of operations that ended long ago by one row, and deletes their evidence. The operations
themselves stay: a request whose id was forgotten would be sent again. What is unfinished, uncertain, abandoned, marked,
held by somebody or not delivered is left alone, whatever its age.
It works in batches; interrupted or killed it may be run again at any time.`,
		Example: `  fencerow prune --older-than 720h --dry-run
  fencerow prune --older-than 720h --archive pruned.jsonl`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("older-than") {
				return usagef("--older-than is missing: say for how long an operation must not have changed, such as 720h")
			}
			if c.Flags().Changed("limit") && f.limit < 1 {
				return usagef("--limit %d: want at least 1", f.limit)
			}
			if c.Flags().Changed("archive") && f.archive == "" {
				return usagef("--archive is empty: name a file, or leave it out to keep nothing")
			}
			return a.prune(c.Context(), f)
		},
	}
	flags := c.Flags()
	flags.DurationVar(&f.query.OlderThan, "older-than", 0, "only those that have not changed for so long, at least 1h, by the database's clock")
	flags.StringVar(&f.query.Outcome, "outcome", "", "only this outcome")
	flags.StringVar(&f.query.Kind, "kind", "", "only this kind")
	flags.StringVar(&f.query.Provider, "provider", "", "only this provider")
	flags.StringVar(&f.query.Account, "account", "", "only this account")
	flags.IntVar(&f.limit, "limit", 0, "prune at most so many (default: all)")
	flags.StringVar(&f.query.After, "after", "", "begin behind this operation id, as an interrupted prune prints it")
	flags.StringVar(&f.archive, "archive", "", "append each to this file before it is pruned, one JSON object a line, as show --json writes it")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only count; the archive is not written")
	return c
}

func (f pruneFlags) check() error {
	p := program()
	known := p.Words(p.Columns[p.Column("outcome")])
	switch {
	case f.query.Outcome == "abandoned":
		return usagef("--outcome abandoned: what was given up was sent without a known end; it is never pruned")
	case f.query.Outcome != "" && !contains(known, f.query.Outcome):
		return usagef("--outcome %q: want one of %s", f.query.Outcome, strings.Join(known, ", "))
	case f.query.OlderThan < machine.PruneAge:
		return usagef("--older-than %s: want at least %s: answers and statements may come late", f.query.OlderThan, machine.PruneAge)
	}
	return nil
}

// pruned is how far a prune has come.
type pruned struct {
	Found  int    `json:"found"`
	Pruned int    `json:"pruned"`
	Moved  int    `json:"moved"`
	After  string `json:"after"`
	Done   bool   `json:"done"`
	DryRun bool   `json:"dry_run"`
}

func (p *pruned) add(r machine.PruneResult) {
	p.Found, p.Pruned, p.Moved = p.Found+r.Found, p.Pruned+r.Pruned, p.Moved+r.Moved
	p.After, p.Done = r.After, r.Done
}

func (a *app) prune(ctx context.Context, f pruneFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	s, err := a.open(ctx, writingUnless(f.dryRun))
	if err != nil {
		return err
	}
	defer s.close()
	batch := machine.Pruning{PruneQuery: f.query, DryRun: f.dryRun}
	var archive *archiveFile
	if f.archive != "" && !f.dryRun {
		if archive, err = openArchive(f.archive); err != nil {
			return err
		}
		batch.Archive = archive
	}
	so, err := a.pruneBatches(ctx, s, batch, f)
	if archive != nil {
		err = errors.Join(err, archive.close())
	}
	if so.Pruned > 0 {
		a.stored = so.words()
	}
	if sayErr := a.sayPruned(so, f); sayErr != nil {
		return errors.Join(err, sayErr)
	}
	switch {
	case err != nil:
		a.sayGoOn(so)
		return fmt.Errorf("pruning %s: %w", s.name, err)
	case so.Done:
		return nil
	case f.limit > 0 && so.reached(f.limit):
		a.sayf("The limit of %d was reached. Run the same command again to go on.", f.limit)
		a.sayGoOn(so)
		return nil
	}
	a.sayGoOn(so)
	return errInterrupted
}

// pruneBatches does one batch after the other. What is under way when the program is asked to leave is finished.
func (a *app) pruneBatches(ctx context.Context, s *session, batch machine.Pruning, f pruneFlags) (pruned, error) {
	so := pruned{After: f.query.After, DryRun: f.dryRun}
	said := time.Now()
	for !so.Done && ctx.Err() == nil && !(f.limit > 0 && so.reached(f.limit)) {
		batch.After = so.After
		if f.limit > 0 {
			batch.Limit = min(f.limit-so.counted(), machine.PruneLimit)
		}
		r, err := s.machine.Prune(context.WithoutCancel(ctx), batch)
		if err != nil {
			return so, err
		}
		so.add(r)
		if time.Since(said) >= time.Second {
			said = time.Now()
			a.sayf("fencerow: %s so far, up to %s", so.words(), called(so.After))
		}
	}
	return so, nil
}

func (p pruned) counted() int {
	if p.DryRun {
		return p.Found
	}
	return p.Pruned
}

func (p pruned) reached(limit int) bool { return p.counted() >= limit }

func (p pruned) words() string {
	if p.DryRun {
		return fmt.Sprintf("%d operations would be pruned", p.Found)
	}
	text := fmt.Sprintf("%d operations pruned", p.Pruned)
	if p.Moved > 0 {
		text += fmt.Sprintf(", %d changed meanwhile and left alone", p.Moved)
	}
	return text
}

func (a *app) sayPruned(so pruned, f pruneFlags) error {
	if a.json {
		return writeLines(a, []pruned{so})
	}
	fmt.Fprintln(a.stdout, so.words())
	return nil
}

// sayGoOn says where it came to. The same command without it begins at the first operation, and passes by what is pruned.
func (a *app) sayGoOn(so pruned) {
	if so.After != "" {
		a.sayf("To begin where this ended: --after=%s", shellQuote(so.After))
	}
}
