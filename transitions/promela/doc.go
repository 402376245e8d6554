// Package promela writes a compiled table as a Promela model, and has spin search it: an independent second opinion on
// the invariants of the lifecycle that are about interleavings (1 to 8). It shares no line with the engine, the stores
// or the other checker; what it has of the table it has from the Program alone.
//
// # What is modelled
//
// One operation. Its row has the columns on which some guard depends, directly or through what an event assigns (Cone);
// the others are left out. Every event is one step, written from the table's expressions: its guards, in SQL's
// three-valued logic, and its assignments. Values are small numbers: null is 255, words are numbered, remote job ids
// count from 1 and everything blank is one value. A time is the ticks from now until then, and 0 once it has passed; so
// an expression that compares two times with each other cannot be modelled and is refused.
//
// Around the row (world.pml, the same for every table): two workers that claim, begin, look at their own clock, send,
// wait, record, and note evidence when the fence refuses; who may die after any step, any number of times. A request
// that left is on its way for some ticks and arrives or does not, whoever is still there. Statements lose their answer,
// land at any later time, or land twice; claims may do so without a bound, the other statements as often as
// Options.Late says, one at a time. A worker without an answer states the same again or asks history. The remote
// answers what it likes, at last with a blank id; webhooks contradict each other; a reviewer decides about what was
// seen, and states it later. The reconciler does whatever the table gives it to do.
//
// # How the invariants are held
//
// As assertions, each named after its invariant (Invariants) and judged by books that the row does not keep: which
// requests left, which jobs the remote has, whose lease it truly is. Invariant 7, a way out that needs no dead worker,
// is the branching-time "from every state an end can be reached", which is no formula of spin's linear logic. It is
// asked where everybody is dead and nothing is in flight, which every state leads to since everybody may die at any
// time: those who come new (the table's sweeps, one worker, one reviewer) are let loose on the row, and it must be
// finished when they are done. The row is put back afterwards, so that the question changes nothing.
//
// # What keeps it finite, and small
//
// Options bound how much happens, never in which order: requests begun, the row's revision, late statements, evidence.
// Two workers in exchanged places are one state. A statement that can never apply any more, because a guard of the
// table wants a revision or an evidence_seq that only grows to be the one that was seen, is forgotten at once; where the
// table has no such guard it is kept, and Options.Unreduced keeps them all. A search that meets a limit of depth or
// memory is an error and no verdict.
//
// # What is not modelled
//
// More than one operation (but for an id that another one holds), clocks that step, the wording of answers, deliveries
// of bytes, and everything that the pure evaluation of a single event says, which is tested elsewhere. Invariants 9 and
// 10 are no matter of interleavings. That a reviewer looks at the remote after the quarantine and not before it is part
// of the world: no table can see when somebody looked (Options.LooksEarly shows what follows).
package promela
