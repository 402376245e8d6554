package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// reviewSelection are the flags that select among what waits for a reviewer.
type reviewSelection struct {
	query                machine.ReviewQuery
	olderThan, newerThan time.Duration
}

func (f *reviewSelection) add(c *cobra.Command, reason string) {
	flags := c.Flags()
	flags.StringVar(&f.query.Reason, reason, "", "only this reason of uncertainty")
	flags.StringVar(&f.query.Kind, "kind", "", "only this kind")
	flags.StringVar(&f.query.Provider, "provider", "", "only this provider")
	flags.StringVar(&f.query.Account, "account", "", "only this account")
	flags.DurationVar(&f.olderThan, "older-than", 0, "only those prepared at least so long ago")
	flags.DurationVar(&f.newerThan, "newer-than", 0, "only those prepared at most so long ago")
}

func (f *reviewSelection) check(reason string) error {
	known := program().Words(program().Columns[program().Column("uncertain_reason")])
	switch {
	case f.query.Reason != "" && !contains(known, f.query.Reason):
		return usagef("--%s %q: want one of %s", reason, f.query.Reason, words(known))
	case f.olderThan < 0:
		return usagef("--older-than %s: must not be negative", f.olderThan)
	case f.newerThan < 0:
		return usagef("--newer-than %s: must not be negative", f.newerThan)
	}
	f.query.MinAge, f.query.MaxAge = f.olderThan, f.newerThan
	return nil
}

func (a *app) reviewListVerb() *cobra.Command {
	var f reviewSelection
	var limit int
	var after string
	c := &cobra.Command{
		Use:   "list",
		Short: "List what waits for a reviewer: suspected duplicates, then contradicted outcomes, then what nobody can know",
		Long: `List shows what only a person can settle, with what is known of it and what each choice would come to now. The
oldest come first. docs/review.md tells how to look, and what each choice risks.`,
		Example: `  fencerow review list
  fencerow review list --reason no_response --provider video
  fencerow review list --json | jq -r .uncertain_reason | sort | uniq -c`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check("reason"); err != nil {
				return err
			}
			if limit < 1 {
				return usagef("--limit %d: want at least 1", limit)
			}
			f.query.Limit = limit
			if after != "" {
				place, err := machine.ParseReviewCursor(after)
				if err != nil {
					return usagef("--after: %w", err)
				}
				f.query.After = place
			}
			return a.reviewList(c.Context(), f.query, after)
		},
	}
	f.add(c, "reason")
	c.Flags().IntVar(&limit, "limit", defaultPage, "operations on a page")
	c.Flags().StringVar(&after, "after", "", "the next page: the cursor of the last operation of the page before")
	return c
}

func (a *app) reviewList(ctx context.Context, q machine.ReviewQuery, after string) error {
	s, err := a.open(ctx, reading)
	if err != nil {
		return err
	}
	defer s.close()
	page, err := s.machine.Reviews(ctx, q)
	if err != nil {
		return fmt.Errorf("listing what waits for a reviewer in %s: %w", s.name, err)
	}
	if a.json {
		return a.reviewJSON(page)
	}
	ops := page.Operations
	if len(ops) == 0 {
		nothing := "nothing waits for a reviewer"
		if after != "" || q != (machine.ReviewQuery{Limit: q.Limit}) {
			nothing = "nothing more of this selection waits for a reviewer"
		}
		fmt.Fprintln(a.stdout, nothing)
		return nil
	}
	for i, w := range ops {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		for _, line := range a.waitingText(w, page.Now) {
			fmt.Fprintln(a.stdout, clean(line))
		}
	}
	if len(ops) == q.Limit {
		if err := a.sayMore(ctx, s, q, ops); err != nil {
			return err
		}
	}
	a.sayf("Look at one with %s; it prints the commands that decide.", a.command("show", "ID"))
	return nil
}

// sayMore tells how much there is, and how the next page is had.
func (a *app) sayMore(ctx context.Context, s *session, q machine.ReviewQuery, ops []machine.Waiting) error {
	q.After = machine.ReviewCursor{}
	all, err := s.machine.Store().ReviewCount(ctx, q)
	if err != nil {
		return fmt.Errorf("counting what waits for a reviewer in %s: %w", s.name, err)
	}
	a.sayf("%d of the %d that wait. The next page, if there is one: --after %s", len(ops), all, shellQuote(ops[len(ops)-1].Cursor().String()))
	return nil
}

// waitingText tells of an operation that waits: what it is about on the first line, then what is known, then the choices.
func (a *app) waitingText(w machine.Waiting, now time.Time) []string {
	var lines []string
	add := func(name, text string) {
		if text != "" {
			lines = append(lines, fmt.Sprintf("  %-12s %s", name, text))
		}
	}
	lines = append(lines, headline(w, now))
	if why := unlike(w.Why, w.UncertainReason); why != "" {
		add("because", cell(why, longValue))
	}
	add("sent", sentText(w))
	add("looked", lookedText(w, now))
	if ids := w.RemoteJobIDs(); len(ids) > 0 {
		add(plural(len(ids), "remote job"), strings.Join(ids, " and "))
	}
	for _, line := range candidateText(w, now) {
		add("candidate", line)
	}
	for _, line := range relationText(w) {
		add("redo", line)
	}
	if hidden := w.EvidenceSeq - int64(len(w.Evidence)); hidden > 0 && len(w.Evidence) > 0 {
		add("evidence", fmt.Sprintf("%d earlier ones, which show has", hidden))
	}
	for _, e := range w.Evidence {
		add("evidence", traceText(e))
	}
	add("choices", strings.Join(choiceTexts(w, now), "; "))
	return lines
}

func headline(w machine.Waiting, now time.Time) string {
	state := w.Phase
	if w.UncertainReason != "" {
		state += ", " + w.UncertainReason
	}
	if w.Outcome != "" {
		state += ", outcome " + w.Outcome
	}
	if w.Marked() {
		state = strings.ToUpper(strings.ReplaceAll(marks(w.Operation), "_", " ")) + ": " + state
	}
	return fmt.Sprintf("%s  %s  for %s  seen %s", called(w.OperationID), cell(state, 200), span(now.Sub(w.Since)), w.Seen())
}

func sentText(w machine.Waiting) string {
	if w.Sent.At.IsZero() {
		return "never"
	}
	text := stamp(w.Sent.At)
	if w.Sent.Owner != "" {
		text += fmt.Sprintf(" by %s under revision %d", cell(w.Sent.Owner, 100), w.Sent.Revision)
	}
	return fmt.Sprintf("%s, attempt %d, kind %s, provider %s, account %s", text, w.Attempts, cell(w.Kind, 60), cell(w.Provider, 60), cell(w.Account, 100))
}

// lookedText is what an investigator came to, and when one looks again.
func lookedText(w machine.Waiting, now time.Time) string {
	var parts []string
	if !w.Looked.At.IsZero() {
		parts = append(parts, stamp(w.Looked.At)+": "+cell(cmp.Or(w.Looked.Detail, w.Looked.Reason), longValue))
	}
	if w.NextAction == transitions.Investigate && !w.DueAt.IsZero() {
		parts = append(parts, "an investigator looks "+map[bool]string{true: "next", false: "again"}[len(parts) == 0]+" in "+span(w.DueAt.Sub(now)))
	}
	return strings.Join(parts, "; ")
}

func candidateText(w machine.Waiting, now time.Time) []string {
	var lines []string
	for _, c := range w.Candidates {
		lines = append(lines, fmt.Sprintf("%s: the remote called about it %s ago (%s), and no operation holds it", cell(c.RemoteJobID, 100), span(now.Sub(c.Last)), cell(c.Said, 20)))
	}
	return lines
}

// relationText tells what an operation repeats, and what repeats it; and where both may exist.
func relationText(w machine.Waiting) []string {
	var lines []string
	if w.RedoOf != "" {
		line := "repeats " + called(w.RedoOf)
		if o := w.Original; o != nil {
			line += ", which is " + stateText(*o)
			if o.Marked() || o.LateRemoteJobID != "" {
				line += ": IT HAS A REMOTE JOB AFTER ALL"
			}
		}
		lines = append(lines, line)
	}
	if r := w.Redone; r != nil {
		line := "repeated by " + called(r.OperationID) + ", which is " + stateText(*r)
		if w.Marked() && !r.Finished() {
			line += ": BOTH MAY BE PAID FOR"
		}
		lines = append(lines, line)
	}
	return lines
}

func stateText(op machine.Operation) string {
	parts := []string{op.Phase}
	if op.Outcome != "" {
		parts = append(parts, op.Outcome)
	}
	if op.Marked() {
		parts = append(parts, marks(op))
	}
	return strings.Join(parts, ", ")
}

// traceText is a piece of evidence on one short line.
func traceText(e machine.EvidenceEntry) string {
	text := cell(e.Kind, 60)
	if e.RemoteJobID != "" {
		text += " " + cell(e.RemoteJobID, 100)
	}
	if e.Revision != 0 {
		text += fmt.Sprintf(", revision %d", e.Revision)
	}
	text += ", " + stamp(e.At)
	if len(e.Detail) > 0 {
		text += ": " + bytesText(e.Detail)
	}
	if e.Omitted > 0 {
		text += fmt.Sprintf(" (%d more bytes)", e.Omitted)
	}
	return text
}

// choiceTexts say what each choice would come to now. A choice that is none for such an operation is left out.
func choiceTexts(w machine.Waiting, now time.Time) []string {
	var texts []string
	for _, c := range w.Choices {
		if c.Refused != nil && (contains(c.Refused, "phase") || contains(c.Refused, "marked")) {
			continue
		}
		texts = append(texts, strings.ReplaceAll(c.Name, "_", "-")+" "+refusal(w.Operation, c.Refused, now))
	}
	return texts
}

// refusal says why a choice is refused now, in words that tell what to do.
func refusal(op machine.Operation, guards []string, now time.Time) string {
	if len(guards) == 0 {
		return "allowed"
	}
	var why []string
	for _, guard := range guards {
		switch guard {
		case "quarantine_over":
			why = append(why, "quarantine "+until(op.QuarantineUntil, now))
		case "lease_vacant":
			why = append(why, "somebody looks at it "+until(op.LeaseUntil, now))
		case "no_remote_job_id":
			why = append(why, "it has the remote job "+cell(op.RemoteJobID, 100))
		case machine.NoCandidate:
			why = append(why, candidateWords)
		case "no_late_remote_job_id":
			why = append(why, "the remote job "+cell(op.LateRemoteJobID, 100)+" came to light")
		default:
			why = append(why, guard)
		}
	}
	return "refused (" + strings.Join(why, ", ") + ")"
}

// until writes a time to come, with how long that is.
func until(t, now time.Time) string {
	text := t.UTC().Format("15:04:05Z")
	if t.UTC().Format(time.DateOnly) != now.UTC().Format(time.DateOnly) {
		text = stamp(t)
	}
	return fmt.Sprintf("until %s, in %s", text, span(t.Sub(now)))
}

// span writes a length of time for people.
func span(d time.Duration) string {
	d = max(0, d).Round(time.Second)
	if days := d / (24 * time.Hour); days > 0 {
		return fmt.Sprintf("%dd%dh", days, (d-days*24*time.Hour)/time.Hour)
	}
	return d.String()
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
