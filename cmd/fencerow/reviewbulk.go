package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
)

// bulkFlags select what a decision with --all is about.
type bulkFlags struct {
	all   bool
	limit int
	reviewSelection
}

const defaultBulk = 500

func (f *bulkFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.all, "all", false, "decide about all that are uncertain for one reason and of one kind, one by one, and bound to what the list shows now")
	c.Flags().IntVar(&f.limit, "limit", defaultBulk, "with --all: decide about at most so many; the same command goes on")
	f.reviewSelection.add(c, "where-reason")
}

// selects reports whether a flag was given that only --all looks at.
func (f bulkFlags) selects() bool {
	return f.query != (machine.ReviewQuery{}) || f.olderThan != 0 || f.newerThan != 0 || f.limit != 0 && f.limit != defaultBulk
}

func (f reviewFlags) decisionOfAll(choice string) (machine.Bulk, error) {
	b := machine.Bulk{Choice: choice, Reviewer: f.reviewer, Reason: f.reason, Limit: f.bulk.limit, DryRun: f.dryRun, DespiteCandidates: f.despite}
	if choice == machine.ChoiceAttach {
		return b, usagef("--all: a remote job belongs to one operation; attach them one by one")
	}
	if _, err := f.decision(true); err != nil {
		return b, err
	}
	switch {
	case f.seen != "":
		return b, usagef("--seen is about one operation; with --all each decision is bound to what the list shows as it is made")
	case f.override:
		return b, usagef("--override-quarantine is about one operation: with --all those in quarantine are left alone")
	case f.bulk.query.Reason == "":
		return b, usagef("--where-reason is missing: one decision about many is about one reason of uncertainty; review list shows them")
	case f.bulk.query.Kind == "":
		return b, usagef("--kind is missing: one decision about many is about one kind")
	case f.bulk.limit < 1:
		return b, usagef("--limit %d: want at least 1", f.bulk.limit)
	}
	err := f.bulk.check("where-reason")
	b.Query = f.bulk.query
	return b, err
}

// decideAll makes one decision about many operations and says how far it came. Run again, it goes on.
func (a *app) decideAll(ctx context.Context, choice string, f reviewFlags) error {
	b, err := f.decisionOfAll(choice)
	if err != nil {
		return err
	}
	s, err := a.open(ctx, writingUnless(f.dryRun))
	if err != nil {
		return err
	}
	defer s.close()
	told := time.Now()
	b.Progress = func(r machine.BulkResult) {
		if time.Since(told) >= time.Second {
			told = time.Now()
			a.sayf("fencerow: %s so far", a.bulkWords(r, f.dryRun))
		}
	}
	result, err := s.machine.DecideAll(ctx, b)
	if !f.dryRun {
		a.stored = a.bulkWords(result, false)
	}
	if sayErr := a.sayBulk(choice, result, f, err != nil); sayErr != nil {
		return errors.Join(err, sayErr)
	}
	if err != nil {
		return fmt.Errorf("deciding about many in %s: %w; what is said above was decided, and the same command goes on", s.name, err)
	}
	if len(result.Denied) > 0 {
		return &codeError{code: exitError}
	}
	return nil
}

func (a *app) bulkWords(r machine.BulkResult, dry bool) string {
	verb := "decided"
	if dry {
		verb = "would be decided"
	}
	return fmt.Sprintf("%d %s, %d denied", r.Decided, verb, len(r.Denied))
}

// mostDenied bounds how many denials are told one by one.
const mostDenied = 20

func (a *app) sayBulk(choice string, r machine.BulkResult, f reviewFlags, stopped bool) error {
	if a.json {
		return writeLines(a, []bulkJSON{bulkOf(choice, r, f.dryRun)})
	}
	line := "review " + strings.ReplaceAll(choice, "_", "-") + ": " + a.bulkWords(r, f.dryRun)
	if !stopped {
		line += fmt.Sprintf(", %d left", r.Left)
	}
	fmt.Fprintln(a.stdout, line)
	if r.Decided == 0 && len(r.Denied) == 0 && len(r.Kept) == 0 && !stopped {
		fmt.Fprintln(a.stdout, "  nothing of this selection is uncertain: is its kind spelled as review list has it?")
	}
	for i, d := range r.Denied {
		if i == mostDenied {
			fmt.Fprintf(a.stdout, "  and %d more were denied\n", len(r.Denied)-i)
			break
		}
		fmt.Fprintf(a.stdout, "  denied: %s, by %s; %s\n", called(d.OperationID), strings.Join(d.Failed, ", "), clean(d.Changed()))
	}
	for _, guard := range slices.Sorted(maps.Keys(r.Kept)) {
		fmt.Fprintf(a.stdout, "  left alone: %d by %s%s\n", r.Kept[guard], guard, whyKept(guard, r))
	}
	if r.Left > 0 && !stopped && !f.dryRun && r.Decided == f.bulk.limit {
		a.sayf("The limit of %d was reached. Run the same command again to go on.", f.bulk.limit)
	}
	return nil
}

// candidateWords say what stands against a decision that nothing was created.
const candidateWords = "the remote has told of jobs that nobody here knows, and one may be it: see fencerow review unmatched, and look at the remote"

func whyKept(guard string, r machine.BulkResult) string {
	switch guard {
	case "quarantine_over":
		return ": an old sender might still send, of the first of them until " + stamp(r.From)
	case "no_late_remote_job_id":
		return ": a remote job came to light of each; look at them one by one"
	case "no_remote_job_id":
		return ": each has a remote job; look at them one by one"
	case "lease_vacant":
		return ": somebody looks at them just now"
	case "no_mark":
		return ": each is marked; look at them one by one"
	case machine.KeptFound:
		return ": an investigator found a job of each that it could not attach; look at them one by one"
	case machine.NoCandidate:
		return ": " + candidateWords + "; if none of them is one of these, say --despite-candidates"
	}
	return ""
}

// bulkJSON tells how far a decision about many came.
type bulkJSON struct {
	Event   string         `json:"event"`
	DryRun  bool           `json:"dry_run"`
	Decided int            `json:"decided"`
	Denied  []deniedJSON   `json:"denied"`
	Kept    map[string]int `json:"left_alone"`
	From    *time.Time     `json:"first_quarantine_until"`
	Left    int64          `json:"left"`
}

type deniedJSON struct {
	OperationID string   `json:"operation_id"`
	Failed      []string `json:"failed"`
	Changed     string   `json:"changed"`
}

func bulkOf(choice string, r machine.BulkResult, dry bool) bulkJSON {
	out := bulkJSON{"review_" + choice, dry, r.Decided, []deniedJSON{}, r.Kept, optTime(r.From), r.Left}
	for _, d := range r.Denied {
		out.Denied = append(out.Denied, deniedJSON{d.OperationID, d.Failed, d.Changed()})
	}
	return out
}
