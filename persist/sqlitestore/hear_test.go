package sqlitestore_test

import (
	"database/sql"
	"testing"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/sqlitestore"
)

// What a transaction of the caller's leaves due is told by the caller after its commit, and not before. What shared a
// transaction with others is told like the rest.
func TestACallersTransactionIsHeardWhenItsCallerSaysSo(t *testing.T) {
	t.Parallel()
	f := open(t, file(t), sqlitestore.Options{GroupCommit: true})
	var here []machine.Wake
	defer f.Hear(func(w machine.Wake) bool { here = append(here, w); return false })()
	if err := f.inTx(f.ctx, func(tx *sql.Tx) error {
		_, err := f.InTx(tx).Apply(f.ctx, "prepare", request("a"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(here) > 0 {
		t.Errorf("%v was heard of a transaction whose end nobody had told", here)
	}
	end := machine.Wake{Action: "the end"}
	f.Wake(end)
	if _, err := f.Apply(f.ctx, "prepare", request("b")); err != nil {
		t.Fatal(err)
	}
	if len(here) != 2 || here[0] != end || here[1].OperationID != "b" {
		t.Errorf("heard %v, want the end and b", here)
	}
}
