// Package hostile holds the tests that put the engine on a real PostgreSQL and take away what it would like to rely on:
// replies, connections, backends, the server, the pooler's sessions, the clock's patience. It exports nothing.
//
// They show that an answer is applied, denied, unknown or the proof that nothing ran, and never one for another; that
// an unknown answer is resolved through history; that what lands late is harmless; and that many claimers of one
// operation see one order of events.
package hostile
