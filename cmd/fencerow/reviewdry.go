package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/fencerow/fencerow/machine"
)

// previewJSON is what a decision would do.
type previewJSON struct {
	Event       string            `json:"event"`
	OperationID string            `json:"operation_id"`
	Applied     bool              `json:"would_be_applied"`
	Failed      []string          `json:"failed"`
	Before      machine.Operation `json:"before"`
	After       machine.Operation `json:"after"`
}

// preview shows what a decision would do to the row as it is now. Where it would be denied it ends as a denial does.
func (a *app) preview(ctx context.Context, s *session, r machine.Review) error {
	p, err := s.machine.Preview(ctx, r)
	if err != nil {
		return err
	}
	denied := len(p.Failed) > 0
	if a.json {
		failed := p.Failed
		if failed == nil {
			failed = []string{}
		}
		err := writeLines(a, []previewJSON{{p.Event, r.OperationID, !denied, failed, p.Before, p.After}})
		if err == nil && denied {
			err = &codeError{code: exitError}
		}
		return err
	}
	if denied {
		a.sayf("fencerow: %s on operation %q would be denied: %s", p.Event, r.OperationID, refusal(p.Before, p.Failed, p.Now))
		a.tellGuards(p.Event, p.Failed)
		a.sayf("The row is now: %s", standing(p.Before, p.Now))
		return &codeError{code: exitError}
	}
	fmt.Fprintf(a.stdout, "%s on operation %s would be applied; nothing was changed:\n", p.Event, called(r.OperationID))
	return a.changes(p)
}

// changes prints the columns that a decision would change.
func (a *app) changes(p machine.Preview) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for i, c := range program().Columns {
		before, after := p.Before.Row()[i], p.After.Row()[i]
		if before == after || c.Name == "updated_at" {
			continue
		}
		fmt.Fprintf(w, "  %s\t%s\t→ %s\n", c.Name, valueText(before), valueText(after))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "then: %s\n", clean(effect(p.After)))
	return nil
}
