package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// reviewFlags are the flags of the verbs that decide.
type reviewFlags struct {
	decisionFlags
	remoteJobID string
	keep        []string
	provider    string // the file, of attach
	override    bool
	despite     bool
	dryRun      bool
	bulk        bulkFlags
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
		a.reviewUnmatchedVerb(),
		a.decideVerb(machine.ChoiceAttach, "Give an operation the remote job that was found",
			`Attach gives an uncertain operation the remote job that somebody found; it is observed then. Where the provider file
builds an address from values of the submission's answer (submit.keep), give those of this job with --keep: without them
it could never be observed. --provider FILE checks that before anything is changed.`,
			`  fencerow review attach clip-001 --remote-job-id job_8f2 --seen 4.1 --reviewer ada --reason "found it in the console"
  fencerow review attach clip-002 --remote-job-id 9c1 --keep status_url=https://queue.example.com/9c1/status \
    --provider video.yaml --seen 3.0 --reviewer ada --reason "found it in the console"`),
		a.decideVerb(machine.ChoiceNotCreated, "State with proof that nothing was created, so that it is sent again",
			`Not-created states that somebody has proof that the remote created nothing: the request is sent again. Look at the
remote after the quarantine is over: before that an old sender might still send. Where the remote has told of jobs that
nobody here knows it is denied, until somebody has looked at them and says --despite-candidates. With --all it decides about every
operation of one reason and kind whose quarantine is over.`,
			`  fencerow review not-created clip-001 --seen 4.1 --reviewer ada --reason "support confirmed: no job"
  fencerow review not-created --all --where-reason no_response --kind video --reviewer ada --reason "the provider's log of last night has none of them"`),
		a.decideVerb(machine.ChoiceAbandon, "Give an operation up; it is never sent again",
			`Abandon gives an operation up: it is never sent again, and whether a remote job exists stays unknown. What comes to
light later marks it. With --all it decides about every operation of one reason and kind that nothing came to light of.`,
			`  fencerow review abandon clip-001 --seen 4.1 --reviewer ada --reason "the customer has left"
  fencerow review abandon --all --where-reason no_response --kind video --limit 500 --reviewer ada --reason "the batch was ordered elsewhere"`),
		a.decideVerb(machine.ChoiceAcknowledge, "Clear the marks that were seen to",
			"Acknowledge clears the marks of an operation, which is left as it is. Evidence that comes later marks it again.",
			`  fencerow review acknowledge clip-001 --seen 7.3 --reviewer ada --reason "the second job was canceled by hand"`),
	)
	return c
}

func (a *app) decideVerb(choice, short, long, example string) *cobra.Command {
	var f reviewFlags
	name := strings.ReplaceAll(choice, "_", "-")
	c := &cobra.Command{
		Use: name + " ID", Short: short, Long: long, Example: example,
		Args: func(c *cobra.Command, args []string) error {
			if !f.bulk.all {
				return exactly("ID")(c, args)
			}
			if len(args) > 0 {
				return usagef("--all decides about a selection: leave %q out, or --all", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if f.bulk.all {
				return a.decideAll(c.Context(), choice, f)
			}
			r, err := f.review(choice, args[0])
			if err != nil {
				return err
			}
			return a.decide(c.Context(), r, f)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.reviewer, "reviewer", "", "who decides (required; kept)")
	flags.StringVar(&f.reason, "reason", "", "why (required; kept)")
	flags.StringVar(&f.seen, "seen", "", "R.E, the revision and evidence number that was looked at (required)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what it would do, and change nothing")
	switch choice {
	case machine.ChoiceAttach:
		flags.StringVar(&f.remoteJobID, "remote-job-id", "", "the remote's id of its job (required)")
		flags.StringArrayVar(&f.keep, "keep", nil, "NAME=VALUE, a value of this job that the provider file keeps; repeatable")
		flags.StringVar(&f.provider, "provider", "", "provider file to check the kept values by")
		flags.BoolVar(&f.bulk.all, "all", false, "")
		_ = flags.MarkHidden("all") // it is refused with the reason
	case machine.ChoiceNotCreated:
		flags.BoolVar(&f.override, "override-quarantine", false, "take the risk that an old sender still sends; recorded")
		flags.BoolVar(&f.despite, "despite-candidates", false, "take the risk that a job of which the remote told, and that nobody here knows, is this one's; recorded")
		f.bulk.add(c)
	case machine.ChoiceAbandon:
		f.bulk.add(c)
	}
	return c
}

// review reads a decision about one operation from the flags.
func (f reviewFlags) review(choice, id string) (machine.Review, error) {
	d, err := f.decision(true)
	r := machine.Review{Choice: choice, OperationID: id, Decision: d, RemoteJobID: f.remoteJobID, Override: f.override, DespiteCandidates: f.despite}
	switch {
	case err != nil:
		return r, err
	case f.bulk.selects():
		return r, usagef("--where-reason, --kind, --provider, --account and the like select for --all, which is not given")
	case f.seen == "":
		return r, usagef("--seen is missing: give the R.E that review list or show printed, so that nothing is decided about a row that moved since")
	case choice == machine.ChoiceAttach && f.remoteJobID == placeholderID:
		return r, usagef("--remote-job-id %s is the word of the printed command: put the remote's id of its job there", f.remoteJobID)
	case choice == machine.ChoiceAttach && !transitions.UsableRemoteJobID(f.remoteJobID):
		return r, usagef("--remote-job-id %q cannot be one: want 1 to %d printable ASCII characters without a space", f.remoteJobID, transitions.MaxRemoteJobID)
	}
	r.Keep, err = keptValues(f.keep)
	return r, err
}

func keptValues(pairs []string) (map[string]string, error) {
	keep := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		_, twice := keep[name]
		switch {
		case !ok || transitions.IsBlank(name) || transitions.IsBlank(value):
			return nil, usagef("--keep %q: want NAME=VALUE", pair)
		case twice:
			return nil, usagef("--keep %s is given twice", name)
		}
		keep[name] = value
	}
	return keep, nil
}

// decide fires a decision, or shows what it would do.
func (a *app) decide(ctx context.Context, r machine.Review, f reviewFlags) error {
	s, err := a.open(ctx, writingUnless(f.dryRun))
	if err != nil {
		return err
	}
	defer s.close()
	if r.Choice == machine.ChoiceAttach {
		if err := a.checkKept(ctx, s, r, f.provider); err != nil {
			return err
		}
		if err := a.tellOthers(ctx, s, r); err != nil {
			return err
		}
	}
	if f.dryRun {
		return a.preview(ctx, s, r)
	}
	op, err := s.machine.Decide(ctx, r)
	if err != nil {
		return err
	}
	return a.sayEffect(op)
}

// checkKept refuses to attach a job that could never be observed, as far as that can be told. Nothing was changed then.
func (a *app) checkKept(ctx context.Context, s *session, r machine.Review, file string) error {
	op, err := s.machine.Get(ctx, r.OperationID)
	if err != nil {
		return err
	}
	kept := op.KeptOf(r.RemoteJobID, r.Keep)
	if file == "" {
		if op.Keep != "" && len(kept) == 0 {
			a.sayf("fencerow: the values that were kept of its other remote job are not this one's, and are dropped; where the provider file builds addresses from them, give this job's with --keep")
		}
		return nil
	}
	spec, err := a.provider(file)
	if err != nil {
		return err
	}
	if op.Kind != spec.Kind || op.Provider != spec.Provider() || op.Account != spec.Account {
		return usagef("--provider %s describes %s; operation %q is of kind %s, provider %s, account %s: give the file that it was sent with",
			file, providerWords(spec), op.OperationID, op.Kind, op.Provider, op.Account)
	}
	if err := spec.CheckKept(op.OperationID, r.RemoteJobID, kept); err != nil {
		return usagef("%w; give it with --keep NAME=VALUE. Nothing was changed", err)
	}
	return nil
}

// decided fires a person's event on an operation that must be there, and says what came of it.
func (a *app) decided(ctx context.Context, fire func(context.Context, *machine.Machine) (machine.Operation, error)) error {
	s, err := a.open(ctx, writing)
	if err != nil {
		return err
	}
	defer s.close()
	op, err := fire(ctx, s.machine)
	if err != nil {
		return err
	}
	return a.sayEffect(op)
}

func (a *app) sayEffect(op machine.Operation) error {
	a.stored = called(op.OperationID) + " is " + effect(op)
	if a.json {
		return a.writeJSON([]machine.Operation{op})
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", called(op.OperationID), clean(effect(op)))
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
		return now + "; marked as to be canceled; the next worker asks the remote if the provider file says how, and the remote's status decides"
	case op.NextAction == transitions.Dispatch && (op.Marked() || op.LateRemoteJobID != ""):
		return now + "; it is not sent: the reconciler gives it to a reviewer"
	case op.NextAction == transitions.Dispatch:
		return now + "; the next worker sends it"
	case op.NextAction == transitions.Observe:
		return now + "; the next worker observes its remote job"
	case op.NextAction == transitions.Deliver:
		return now + "; the next worker delivers its result"
	case op.Phase == transitions.Uncertain && op.LateRemoteJobID != "" && op.RemoteJobID == "" && !op.Marked():
		return now + "; the reconciler attaches remote job " + op.LateRemoteJobID + ", if no other operation holds it: abandon it or attach another before, if it is not the one"
	case op.Finished():
		return now + "; nothing is left to do"
	}
	return now
}
