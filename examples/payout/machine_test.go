package payout_test

import (
	"context"
	"testing"

	"github.com/fencerow/fencerow/internal/storetest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/reconcile"
	"github.com/fencerow/fencerow/transitions"
)

// The verbs of machine.Machine that name events of the standard table are for that table. Everything else goes by the
// table's own words: claims by its actions, sweeps by its events, and Fire.
func TestTheMachineClaimsSweepsAndAuditsPayouts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	m, err := machine.New(storetest.InSQLite(t, program).Store, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []string{"p-1", "p-2"} {
		if _, err := m.Fire(ctx, "draft", transitions.Params{
			"operation_id": transitions.TextValue(number), "provider": transitions.TextValue("bank"), "account": transitions.TextValue("main"),
			"order": transitions.BytesValue([]byte("<pay/>")), "to": transitions.TextValue("DE02 1203"), "amount_cents": transitions.IntValue(125_000),
		}); err != nil {
			t.Fatal(err)
		}
	}
	bank := machine.Who{Provider: "bank", Account: "main"}
	lease, err := m.Claim(ctx, "pay", "p-1", bank)
	if err != nil {
		t.Fatal(err)
	}
	if errs := m.Renew(ctx, []*machine.Lease{lease}); errs[0] != nil {
		t.Fatal(errs[0])
	}
	rest, err := m.ClaimMany(ctx, "pay", bank, 10)
	if err != nil || len(rest) != 1 || rest[0].Operation.OperationID != "p-2" {
		t.Fatalf("claim the rest: got %d leases and %v, want one, on p-2", len(rest), err)
	}
	if _, err := m.Claim(ctx, "dispatch", "p-1", bank); err == nil {
		t.Error("claim by an action that the table has not: got no error")
	}
	held := transitions.Params{"operation_id": transitions.TextValue("p-1"), "owner": transitions.TextValue(lease.Owner), "revision": transitions.IntValue(lease.Revision)}
	op, err := m.Fire(ctx, "pay_begin", held)
	if err != nil || op.Phase != "sending" || op.Column("amount_cents").Int() != 125_000 {
		t.Fatalf("begin: got phase %q, %s cents and %v", op.Phase, op.Column("amount_cents"), err)
	}
	if _, err := reconcile.New(m, reconcile.Options{}); err != nil {
		t.Errorf("a reconciler of payouts: %v", err)
	}
	swept, err := m.Sweep(ctx, "pay_lapsed", 10)
	if err != nil || len(swept) != 0 {
		t.Errorf("sweep over a live lease: got %d payouts and %v, want none", len(swept), err)
	}
	for _, number := range []string{"p-1", "p-2"} {
		findings, err := m.Audit(ctx, number)
		if err != nil || len(findings) != 0 {
			t.Errorf("audit %s: got %v and %v, want no findings", number, findings, err)
		}
	}
}
