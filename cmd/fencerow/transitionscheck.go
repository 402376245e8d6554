package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/verify"
)

// checkFlags are what transitions check explores.
type checkFlags struct {
	bound   verify.Bound
	without []string
	suite   string
}

func (a *app) transitionsCheckVerb() *cobra.Command {
	f := checkFlags{bound: verify.Usual()}
	c := &cobra.Command{
		Use:   "check",
		Short: "Check the table's safety rules, and run the model checker on it",
		Long: `Check the table's safety rules, and explore every order in which workers that crash and pause, statements that are
lost, late or repeated, leases that end, a reconciler, a reviewer, a webhook and a remote can come together.

The owner strings of the workers are distinct in one exploration and the same in another. Without --without this takes
some tens of seconds and a few hundred megabytes.`,
		Example: `  fencerow transitions check
  fencerow transitions check --without submit_begin.lease_live --without submit_begin.owner
  fencerow transitions check --without review_not_created.quarantine_over --suite story.txt`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.transitionsCheck(f) },
	}
	flags := c.Flags()
	flags.IntVar(&f.bound.Workers, "workers", f.bound.Workers, "workers at once, 1 to 3")
	flags.IntVar(&f.bound.Begins, "begins", f.bound.Begins, "requests begun, 1 to 3")
	flags.IntVar(&f.bound.Statements, "statements", f.bound.Statements, "statements that are late or repeated at a time, 0 to 2")
	flags.IntVar(&f.bound.Mistakes, "mistakes", f.bound.Mistakes, "mistaken decisions, 0 or 1")
	flags.StringArrayVar(&f.without, "without", nil, "take a guard away first, to see what it is for: EVENT.GUARD")
	flags.StringVar(&f.suite, "suite", "", "write the story that was found to this file, as a suite without outcomes")
	return c
}

func (a *app) transitionsCheck(f checkFlags) error {
	p, findings, err := without(f.without)
	if err != nil {
		return err
	}
	if err := a.sayFindings(findings); err != nil {
		return err
	}
	broken := len(findings) > 0
	for _, reused := range []bool{false, true} {
		f.bound.ReusedOwners = reused
		r, err := verify.Check(p, f.bound)
		if err != nil {
			return usage(err)
		}
		if err := a.sayReport(r); err != nil {
			return err
		}
		if r.Broken == nil && !r.Complete {
			return fmt.Errorf("explore table %s: not complete after %d states; take a smaller bound", p.Name, r.States)
		}
		if r.Broken != nil {
			broken = true
			if err := writeSuite(f.suite, r.Broken); err != nil {
				return err
			}
			break
		}
	}
	if broken {
		return errors.New("the table does not hold")
	}
	return nil
}

// without is the standard table with guards taken away, and what the safety rules say of it.
func without(names []string) (*transitions.Program, []transitions.Finding, error) {
	table := transitions.Standard()
	var fences [][2]string
	for _, name := range names {
		event, guard, ok := strings.Cut(name, ".")
		at := slices.IndexFunc(table.Events, func(e transitions.Event) bool { return e.Name == event })
		if !ok || at < 0 {
			return nil, nil, usage(fmt.Errorf("--without %s: want EVENT.GUARD of the table, such as submit_begin.no_mark", name))
		}
		e := &table.Events[at]
		own := func(g transitions.Guard) bool { return g.Name == guard }
		if slices.ContainsFunc(e.Guards, own) {
			e.Guards = slices.DeleteFunc(slices.Clone(e.Guards), own)
		} else {
			fences = append(fences, [2]string{event, guard}) // the phase's guard, or its fence's: no row says it
		}
	}
	findings := transitions.Check(table)
	p, err := transitions.CompileUnchecked(table)
	for _, f := range fences {
		if err == nil {
			p, err = p.Without(f[0], f[1])
		}
	}
	if err != nil {
		return nil, nil, usage(fmt.Errorf("--without: %w", err))
	}
	return p, findings, nil
}

// sayFindings prints what the safety rules found, and where their codes are explained.
func (a *app) sayFindings(findings []transitions.Finding) error {
	for _, f := range findings {
		var err error
		if a.json {
			err = json.NewEncoder(a.stdout).Encode(map[string]string{"code": f.Code, "row": f.Row, "finding": f.Text, "fix": f.Fix, "page": f.Page()})
		} else {
			_, err = fmt.Fprintln(a.stdout, f)
		}
		if err != nil {
			return err
		}
	}
	if len(findings) == 0 || a.json {
		return nil
	}
	_, err := fmt.Fprintf(a.stdout, "what each code means, and an example that breaks it: %s\n\n", transitions.CodesPage)
	return err
}

// checkReport is a report as JSON.
type checkReport struct {
	Table     string   `json:"table"`
	Bound     string   `json:"bound"`
	States    int      `json:"states"`
	Steps     int      `json:"steps"`
	Depth     int      `json:"depth"`
	Complete  bool     `json:"complete"`
	Silent    []string `json:"never_applied,omitempty"`
	ElapsedMs int64    `json:"elapsed_ms"`
	Broken    string   `json:"broken,omitempty"`
	Says      string   `json:"says,omitempty"`
	Story     []string `json:"story,omitempty"`
}

func (a *app) sayReport(r *verify.Report) error {
	if !a.json {
		_, err := fmt.Fprintln(a.stdout, r)
		return err
	}
	out := checkReport{Table: r.Table, Silent: r.Silent, Bound: r.Bound.String(), States: r.States, Steps: r.Steps, Depth: r.Depth,
		Complete: r.Complete, ElapsedMs: r.Elapsed.Milliseconds()}
	if r.Broken != nil {
		out.Broken, out.Says, out.Story = string(r.Broken.Invariant.Code), r.Broken.Invariant.Says, r.Broken.Story
	}
	return json.NewEncoder(a.stdout).Encode(out)
}

func writeSuite(path string, v *verify.Violation) error {
	if path == "" {
		return nil
	}
	text := v.Suite("the story of "+string(v.Invariant.Code), program())
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the suite: %w", err)
	}
	return nil
}
