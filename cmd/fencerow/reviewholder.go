package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/machine"
)

// tellOthers says which other operations have to do with the remote job that is about to be attached: a job that is
// attached to the wrong one is a result that goes to the wrong customer. What it cannot read it does not tell.
func (a *app) tellOthers(ctx context.Context, s *session, r machine.Review) error {
	op, err := s.machine.Get(ctx, r.OperationID)
	if err != nil {
		return err
	}
	row, err := s.machine.Store().Find(ctx, op.Provider, op.Account, r.RemoteJobID)
	if err != nil {
		return err
	}
	if row != nil {
		if holder := machine.OperationOf(program(), row); holder.OperationID != op.OperationID {
			a.sayf("fencerow: operation %q holds the remote job %s: %s", holder.OperationID, r.RemoteJobID, stateText(holder))
		}
	}
	entries, err := s.machine.Store().EvidenceNaming(ctx, op.Provider, op.Account, r.RemoteJobID)
	if err != nil {
		return err
	}
	var others, named []string
	for _, e := range entries {
		if e.OperationID != "" && e.OperationID != op.OperationID && !slices.Contains(others, e.OperationID) {
			others = append(others, e.OperationID)
			named = append(named, fmt.Sprintf("operation %q (%s, %s)", e.OperationID, e.Kind, stamp(e.At)))
		}
	}
	if more := len(named) - 5; more > 0 {
		named = append(named[:5], fmt.Sprintf("%d more", more))
	}
	if len(named) > 0 {
		a.sayf("fencerow: the remote job %s is named by evidence of another: %s; look with %s before you attach it here",
			r.RemoteJobID, strings.Join(named, ", "), a.command("show", "ID"))
	}
	return nil
}
