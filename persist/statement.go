package persist

import (
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Statement is one event's SQL in one form. It remembers the rule that it was compiled from.
type Statement struct {
	Event  string
	Form   transitions.Form
	SQL    string
	Params []string // by name, in placeholder order
	Then   []Step   // further statements of the same transaction, in order (SQLite)
	Rule   *transitions.Rule
	Due    *Reader // of a sweep that may have to wait for some of what it finds: the ids of that; else nil (PostgreSQL)
}

// FormName is the form in which the statement names its operations, or "joined" where it fires two events on one that is
// named by its id.
func (s *Statement) FormName() string {
	if s.Rule.Then != nil {
		return "joined"
	}
	return string(s.Form)
}

// Many is the form that fires an event on several operations by id, with arrays for parameters (PostgreSQL). It is the
// stores' own: the command line lists the other forms.
const Many transitions.Form = "many"

// Gathered is the form Many for calls that came together by chance: an operation that somebody has locked is passed by,
// and answered by no row, and other locks are waited for no longer than a moment, so that no call waits for another's
// operation (PostgreSQL). It differs by that in nothing.
const Gathered transitions.Form = "gathered"

// Limit is the parameter of the forms batch and sweep: how many operations at most.
const Limit = "limit"

// Step is a further statement of a Statement's transaction.
type Step struct {
	What   string // "evidence", "history" or "update"; of the second of two joined events, "second history" and so on
	SQL    string
	Params []string
}

// Moves reports whether the step writes the row, and answers with it.
func (s *Step) Moves() bool { return strings.HasSuffix(s.What, "update") }

// Reader is a fixed statement that changes nothing.
type Reader struct {
	Name   string
	SQL    string
	Params []string
}

// Set is a compiled program: every statement that a store executes.
type Set struct {
	Dialect    Dialect
	Names      Names
	Program    *transitions.Program
	Statements []Statement // in the table's order; one, then batch or sweep
	Many       []Statement // in the table's order; none in SQLite
	Gathered   []Statement // likewise
	Copies     []Copies    // of creating events; none in SQLite
	Readers    []Reader

	// NoteUnmatched appends evidence that belongs to no operation, unless an equal one is there.
	NoteUnmatched Step

	// Prune takes the history and the evidence of finished operations away: in PostgreSQL of those that arrays name, and
	// answers with the ids of those that it did so to; in SQLite of one, where the first statement writes a row and the
	// others follow only then. nil where the table's operations cannot be pruned.
	Prune *Statement
}

// Statement finds an event's statement in a form, nil if there is none.
func (s *Set) Statement(event string, form transitions.Form) *Statement {
	list := s.Statements
	switch form {
	case Many:
		list = s.Many
	case Gathered:
		list = s.Gathered
	}
	for i := range list {
		if list[i].Event == event && list[i].Form == form {
			return &list[i]
		}
	}
	return nil
}

// Reader finds a reading statement by name, nil if there is none.
func (s *Set) Reader(name string) *Reader {
	for i := range s.Readers {
		if s.Readers[i].Name == name {
			return &s.Readers[i]
		}
	}
	return nil
}
