// Package payout shows a lifecycle of one's own: payouts that a bank takes once and books days later. The table is
// plain data; the stores, the machine's claims and sweeps, the suites and the agreement battery work with it as they do
// with the standard one. Its rules are told in testdata, in suite files that run on all three stores.
//
// Differently from the standard lifecycle a payout is not delivered but settled: the bank says at once that it took the
// order, and much later that it was booked, or that the beneficiary's bank sent the money back.
//
// Its page, its pictures and its statements lie beside it, in payout.md; go generate writes them.
package payout

//go:generate go run ./generate
