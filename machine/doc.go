// Package machine is the engine that callers embed: the verbs of an operation's life, each one event of the transition
// table, on any [Store].
package machine
