package payout_test

import (
	"testing"

	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/internal/storetest"
	"github.com/fencerow/fencerow/machine/machinetest"
	tr "github.com/fencerow/fencerow/transitions"
)

// everyOperator is the payout's table with events that no bookkeeper wants: together they use every operator of the
// expressions, on every kind, with operands that may be null.
func everyOperator() tr.Table {
	table := payout.Table()
	text, number, truth, moment, raw := tr.Param("text", tr.Text), tr.Param("number", tr.Int), tr.Param("truth", tr.Bool), tr.Param("moment", tr.Time), tr.Param("raw", tr.Bytes)
	to, amount, date, ledger := tr.Col("to"), tr.Col("amount_cents"), tr.Col("value_date"), tr.Col("ledger")
	late := tr.Col("late_remote_job_id")
	table.Columns = append(table.Columns,
		tr.Column{Name: "odd_text", Kind: tr.Text}, tr.Column{Name: "odd_number", Kind: tr.Int}, tr.Column{Name: "Odd Truth", Kind: tr.Bool},
		tr.Column{Name: "odd_moment", Kind: tr.Time}, tr.Column{Name: "odd_raw", Kind: tr.Bytes, Default: tr.BytesValue([]byte{0, '\''})},
		tr.Column{Name: "flag", Kind: tr.Bool, NotNull: true, Default: tr.BoolValue(true)})
	guard := func(name string, e tr.Expr) tr.Guard { return tr.Guard{Name: name, Expr: e} }
	set := func(column string, e tr.Expr) tr.Effect {
		return tr.Effect{Name: "set " + column, Sets: []tr.Set{{Col: column, Expr: e}}}
	}
	odd := func(name string, guards []tr.Guard, effects ...tr.Effect) {
		table.Events = append(table.Events, tr.Event{
			Name: name, From: []string{payout.Settling}, Fence: tr.Held, Guards: guards, Effects: effects, Actor: "nobody",
			Notes: tr.Notes{Reason: text, Unless: []tr.Expr{tr.And(truth, tr.Ne(amount, number))}, Evidence: &tr.EvidenceRow{
				When: tr.Or(truth, tr.IsNull(ledger)), Kind: tr.Str("odd"), RemoteJobID: tr.Null(), Detail: raw, Revision: number, Owner: tr.Null(),
			}},
		})
	}
	odd("odd_guards", []tr.Guard{
		guard("eq", tr.Or(tr.Eq(to, text), tr.Eq(ledger, raw), tr.Eq(amount, number), tr.Eq(tr.Col("Odd Truth"), truth))),
		guard("ne", tr.Not(tr.And(tr.Ne(to, text), tr.Ne(ledger, raw), tr.Ne(date, moment)))),
		guard("lt", tr.Or(tr.Lt(to, text), tr.Le(text, to), tr.Lt(ledger, raw), tr.IsNull(text))),
		guard("same", tr.Or(tr.Same(ledger, raw), tr.Same(date, moment), tr.Same(late, text), tr.Not(tr.Same(tr.Col("Odd Truth"), truth)))),
		guard("in", tr.Or(tr.In(text, "x", "it's", `a\b`), tr.Not(tr.In(tr.Col("odd_text"), "x")), tr.NotNull(tr.Col("odd_text")))),
		guard("flag", tr.Or(tr.Col("flag"), tr.Not(tr.Col("Odd Truth")))),
		guard("blank", tr.Or(tr.Not(tr.Blank(text)), tr.Blank(tr.Col("odd_text")), tr.Usable(to), tr.Usable(text))),
		guard("nested", tr.Not(tr.Or(tr.And(truth, tr.Not(truth))))),
	})
	odd("odd_effects", nil,
		set("odd_text", tr.If(truth, tr.Coalesce(text, late, tr.Null()), tr.If(tr.IsNull(text), tr.Null(), tr.Least(text, to)))),
		set("odd_number", tr.Greatest(number, tr.Plus(amount, number), tr.Col("odd_number"))),
		set("Odd Truth", tr.Or(tr.Col("Odd Truth"), tr.Lt(number, amount), tr.And(truth))),
		set("odd_moment", tr.Least(moment, date, tr.After(date, number), tr.After(tr.Now(), tr.Num(3_600_000)))),
		set("odd_raw", tr.Coalesce(raw)),
		set("value_date", tr.Greatest(moment)),
		set("ledger", tr.If(tr.Same(ledger, raw), tr.Null(), tr.Coalesce(ledger, raw))))
	return table
}

// The payout's own events are among those that are compared.
func TestEveryOperatorMeansTheSameOnEveryStore(t *testing.T) {
	t.Parallel()
	p, err := tr.Compile(everyOperator())
	if err != nil {
		t.Fatal(err)
	}
	for name, newStore := range storetest.Each(p) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machinetest.Agree(t, newStore)
		})
	}
}
