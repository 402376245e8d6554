package payout_test

import (
	"os"
	"testing"

	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/machine/machinetest"
)

// What no case misses of the table is held by nothing.
func TestEveryPartOfTheTableIsMissedByACase(t *testing.T) {
	t.Parallel()
	machinetest.Mutants(t, payout.Table(), os.DirFS("testdata"), machinetest.MutantOptions{Operands: true, Argued: argued})
}

// argued says what nobody can notice: the effect that makes a payout disputed is shared by a payer whose lease lasts and
// by the sweeps that find a lapsed one, so that each of them needs one of the two moments only.
func argued(m machinetest.Mutant) string {
	switch m.String() {
	case "pay_unclear: operand set quiet_until 2":
		return "a payer's lease ends later than now, or the fence denies the event"
	case "pay_lapsed: operand set quiet_until 1", "late_recalled: operand set quiet_until 1":
		return "a lease that lapsed ended before now, or the fence denies the event"
	}
	return ""
}
