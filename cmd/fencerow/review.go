package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// reviewFlags are the flags of the verbs that decide.
type reviewFlags struct {
	decisionFlags
	remoteJobID string
	override    bool
}

func (a *app) reviewVerb() *cobra.Command {
	c := &cobra.Command{
		Use:   "review",
		Short: "Decide about operations that nobody here can know about",
		Example: `  fencerow review list
  fencerow review attach clip-001 --remote-job-id job_8f2 --seen 4.1 --reviewer ada --reason "found it in the console"`,
		Args: only,
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	c.AddCommand(
		a.reviewListVerb(),
		a.decideVerb("attach", "Give an operation the remote job that was found",
			`  fencerow review attach clip-001 --remote-job-id job_8f2 --seen 4.1 --reviewer ada --reason "found it in the console"`,
			func(ctx context.Context, m *machine.Machine, id string, d machine.Decision, f reviewFlags) (machine.Operation, error) {
				return m.ReviewAttach(ctx, id, f.remoteJobID, d)
			}),
		a.decideVerb("not-created", "State with proof that nothing was created, so that it is sent again",
			`  fencerow review not-created clip-001 --seen 4.1 --reviewer ada --reason "support confirmed: no job"`,
			func(ctx context.Context, m *machine.Machine, id string, d machine.Decision, f reviewFlags) (machine.Operation, error) {
				return m.ReviewNotCreated(ctx, id, d, f.override)
			}),
		a.decideVerb("abandon", "Give an operation up; it is never sent again",
			`  fencerow review abandon clip-001 --seen 4.1 --reviewer ada --reason "the customer has left"`,
			func(ctx context.Context, m *machine.Machine, id string, d machine.Decision, _ reviewFlags) (machine.Operation, error) {
				return m.ReviewAbandon(ctx, id, d)
			}),
		a.decideVerb("acknowledge", "Clear the marks that were seen to",
			`  fencerow review acknowledge clip-001 --seen 7.3 --reviewer ada --reason "the second job was canceled by hand"`,
			func(ctx context.Context, m *machine.Machine, id string, d machine.Decision, _ reviewFlags) (machine.Operation, error) {
				return m.ReviewAcknowledge(ctx, id, d)
			}),
	)
	return c
}

func (a *app) decideVerb(name, short, example string,
	decide func(context.Context, *machine.Machine, string, machine.Decision, reviewFlags) (machine.Operation, error)) *cobra.Command {
	var f reviewFlags
	c := &cobra.Command{
		Use: name + " ID", Short: short, Example: example, Args: exactly("ID"),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := f.decision(true)
			switch {
			case err != nil:
				return err
			case f.seen == "":
				return usagef("--seen is missing: give the R.E that review list or show printed, so that nothing is decided about a row that moved since")
			case name == "attach" && !transitions.UsableRemoteJobID(f.remoteJobID):
				return usagef("--remote-job-id %q cannot be one: want 1 to %d printable ASCII characters without a space", f.remoteJobID, transitions.MaxRemoteJobID)
			}
			return a.decided(c.Context(), args[0], func(ctx context.Context, m *machine.Machine) (machine.Operation, error) {
				return decide(ctx, m, args[0], d, f)
			})
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.reviewer, "reviewer", "", "who decides (required; kept)")
	flags.StringVar(&f.reason, "reason", "", "why (required; kept)")
	flags.StringVar(&f.seen, "seen", "", "R.E, the revision and evidence number that was looked at (required)")
	switch name {
	case "attach":
		flags.StringVar(&f.remoteJobID, "remote-job-id", "", "the remote's id of its job (required)")
	case "not-created":
		flags.BoolVar(&f.override, "override-quarantine", false, "take the risk that an old sender still sends; recorded")
	}
	return c
}

// decided fires a person's event on an operation that must be there, and says what came of it.
func (a *app) decided(ctx context.Context, id string, fire func(context.Context, *machine.Machine) (machine.Operation, error)) error {
	s, err := a.open(ctx, writing)
	if err != nil {
		return err
	}
	defer s.close()
	op, err := fire(ctx, s.machine)
	if err != nil {
		return err
	}
	if a.json {
		return a.writeJSON([]machine.Operation{op})
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", clean(id), clean(effect(op)))
	return nil
}

// sent are the phases in which a request may be at the remote and its end is waited for.
var sent = []string{transitions.Submitting, transitions.Submitted, transitions.Observing}

// effect says what an operation's next step is now.
func effect(op machine.Operation) string {
	now := standing(op, time.Now())
	asked := !op.CancelRequestedAt.IsZero()
	switch {
	case asked && op.Phase == transitions.Prepared:
		return now + "; marked as to be canceled: it is not sent"
	case asked && contains(sent, op.Phase):
		return now + "; marked as to be canceled; the remote is not asked yet: what was sent goes on"
	case op.NextAction == transitions.Dispatch:
		return now + "; the next worker sends it"
	case op.NextAction == transitions.Observe:
		return now + "; the next worker observes its remote job"
	case op.NextAction == transitions.Deliver:
		return now + "; the next worker delivers its result"
	case op.Finished():
		return now + "; nothing is left to do"
	}
	return now
}

func (a *app) reviewListVerb() *cobra.Command {
	var limit int
	var after string
	c := &cobra.Command{
		Use:   "list",
		Short: "List what waits for a reviewer: marked operations first, then uncertain ones",
		Example: `  fencerow review list
  fencerow review list --json | jq -r .uncertain_reason | sort | uniq -c`,
		Args: exactly(),
		RunE: func(c *cobra.Command, _ []string) error { return a.reviewList(c.Context(), limit, after) },
	}
	c.Flags().IntVar(&limit, "limit", defaultPage, "operations on a page")
	c.Flags().StringVar(&after, "after", "", "the next page: CREATED_AT/OPERATION_ID of the last operation of the page before")
	return c
}

func (a *app) reviewList(ctx context.Context, limit int, after string) error {
	f := listFlags{query: machine.Query{Phase: transitions.Uncertain, Limit: limit}, after: after}
	if err := f.check(); err != nil {
		return err
	}
	s, err := a.open(ctx, reading)
	if err != nil {
		return err
	}
	defer s.close()
	var waiting []machine.Operation
	if after == "" { // the marked ones are few, and stand on the first page
		if waiting, err = s.machine.List(ctx, machine.Query{Marked: true, Limit: limit}); err != nil {
			return fmt.Errorf("listing marked operations in %s: %w", s.name, err)
		}
	}
	uncertain, err := s.machine.List(ctx, f.query)
	if err != nil {
		return fmt.Errorf("listing uncertain operations in %s: %w", s.name, err)
	}
	for _, op := range uncertain {
		if !op.Marked() {
			waiting = append(waiting, op)
		}
	}
	if a.json {
		return a.writeJSON(waiting)
	}
	if len(waiting) == 0 {
		fmt.Fprintln(a.stdout, "nothing waits for a reviewer")
		return nil
	}
	if err := a.reviewTable(waiting); err != nil {
		return err
	}
	if len(uncertain) == limit {
		a.sayf("There may be more: --after %s", shellQuote(cursorText(uncertain[len(uncertain)-1])))
	}
	a.sayf("Look at one with %s; it prints the commands that decide.", a.command("show", "ID"))
	return nil
}

func (a *app) reviewTable(ops []machine.Operation) error {
	now := time.Now()
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSEEN\tPHASE\tREASON\tMARKED\tSENT\tQUARANTINE\tREMOTE JOB\tLATE REMOTE JOB")
	for _, op := range ops {
		quarantine := "over"
		if op.QuarantineUntil.After(now) {
			quarantine = "until " + stamp(op.QuarantineUntil)
		}
		if op.Phase != transitions.Uncertain {
			quarantine = ""
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cell(op.OperationID, machine.MaxName), op.Seen(), cell(op.Phase, 20),
			cell(op.UncertainReason, 30), cell(marks(op), 50), cell(stamp(op.SubmittedAt), 30), cell(quarantine, 40),
			cell(op.RemoteJobID, 40), cell(op.LateRemoteJobID, 40))
	}
	return w.Flush()
}
