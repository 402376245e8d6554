// Package transitions declares, checks, compiles and evaluates the lifecycle of operations that must not be sent twice.
//
// A [Table] is plain data: phases, events, fences, guards and effects. [Standard] declares the standard lifecycle, the
// only place that says what moves an operation. [Compile] checks a table and turns it into a [Program], which
// everything else reads: the SQL of both dialects, the in-memory store, denials, CHECK constraints, documents,
// diagrams, suites and the model checker. [Program.Eval] is the meaning of the table, as a pure function.
//
// The package guarantees that a compiled table has no finding of [Check]. It does not talk to a database, knows no
// clock and starts nothing; it imports the standard library only, so that anybody can read a table.
package transitions
