package persist

import "github.com/fencerow/fencerow/transitions"

// Statement is one event's SQL in one form. It remembers the rule that it was compiled from.
type Statement struct {
	Event  string
	Form   transitions.Form
	SQL    string
	Params []string // by name, in placeholder order
	Then   []Step   // further statements of the same transaction, in order (SQLite)
	Rule   *transitions.Rule
}

// Step is a further statement of a Statement's transaction.
type Step struct {
	What   string // "evidence", "history" or "update"
	SQL    string
	Params []string
}
