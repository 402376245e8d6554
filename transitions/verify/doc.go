// Package verify explores a compiled table: every order in which workers that crash, pause and resume, statements whose
// reply is lost, which arrive late or twice, leases that end, a reconciler, a reviewer, a webhook and a remote can come
// together, up to a bound that it states. What is explored is transitions.Program.Eval, the meaning that the SQL of both
// dialects is held against; nothing of the table is written again here.
//
// A run that finds nothing proves that no reachable state within the bound breaks an invariant (docs/lifecycle.md; the
// list is Invariants). It proves nothing beyond the bound, about code that does not do what this package says a worker
// does, about two operations at once, or about a database that loses what it acknowledged. A run that finds something
// gives the shortest story that leads there.
//
// # What is a state
//
// One operation's row (the columns that guards depend on), what each worker believes, at most one statement that is
// under way without its sender, the requests that are under way without their sender, what the reviewer looked at, and
// counters: jobs at the remote, requests begun, decisions that were mistaken.
//
// Times are counted in ticks from now, and what has passed is equal: a lease lasts for one tick, a tick may pass at any
// moment, and any number of steps may happen in between. So a lease ends at any time, and what is promised to last
// longer than something else does. Revisions and evidence numbers are kept as their order only, since nothing but
// equality and order is ever asked of them: claims, takeovers, crashes and evidence are therefore not bounded at all.
package verify
