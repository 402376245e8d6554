// Package worker drives operations through their life: a dispatcher that sends requests, an observer that reads what
// became of them, a deliverer that brings results home, and an investigator that looks for the remote jobs of uncertain
// operations, each a loop over batch claims.
//
// It guarantees that a request leaves only after its intent is durable under this process's own unexpired lease, at
// most once a claim; that a handler's context ends at the lease's own deadline unless it was renewed; that whatever
// end nobody classified, a panic included, is uncertain; and that an answer is stored or, where the database is away
// for good, written to the log with the operation, the revision and the remote job id.
//
// It does not guarantee that a handler sends nothing on its own account: a Handler that sends twice is sent twice.
//
// A process needs one Worker per provider and account. Any number of processes may share a database; none is a leader.
package worker
