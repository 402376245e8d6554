package mutants

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/internal/mutants/clause"
	"github.com/fencerow/fencerow/internal/mutants/cut"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist"
)

// What a mutant is a mutant of.
const (
	Table    = "table"
	Postgres = string(persist.PostgreSQL)
	SQLite   = string(persist.SQLite)
)

// Mutant is one thing taken away.
type Mutant struct {
	ID    string // unique
	Own   string `json:",omitempty"` // the table that it is of; Standard for the standard one
	Of    string // Table, Postgres or SQLite
	Event string // "" of what belongs to none
	Form  string // of the statement; "" in the table
	Cuts  []cut.Cut
	Kind  string // a clause.Kind, or the kind of a part
	In    string // where in its statement: the part of a WITH, or what a further step writes
	Text  string // what is taken away
}

// Deep reports whether the mutant takes away a part of an expression rather than a whole guard, assignment or clause.
func (m Mutant) Deep() bool {
	return m.Kind == machinetest.PartOperand || m.Kind == string(clause.Part)
}

// All lists every mutant of a table and of its SQL: first the table's, in its order, then each dialect's.
func All(table string) ([]Mutant, error) {
	s, err := subjectOf(table)
	if err != nil {
		return nil, fmt.Errorf("list the mutants: %w", err)
	}
	listed, err := s.parts()
	if err != nil {
		return nil, fmt.Errorf("list the mutants: %w", err)
	}
	var all []Mutant
	for _, part := range listed {
		all = append(all, part.Mutant)
	}
	for _, d := range []persist.Dialect{persist.PostgreSQL, persist.SQLite} {
		of, err := s.ofDialect(d)
		if err != nil {
			return nil, fmt.Errorf("list the mutants: %w", err)
		}
		all = append(all, of...)
	}
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.ID] {
			return nil, fmt.Errorf("list the mutants: two are called %s", m.ID)
		}
		seen[m.ID] = true
	}
	return all, nil
}

// ofDialect lists the mutants of the statements of a dialect, and of its readers. The readers of a table of one's own,
// and what notes evidence of no operation, are left to the standard's: no event is theirs, and no suite reads by them.
func (s subject) ofDialect(d persist.Dialect) ([]Mutant, error) {
	set, err := persist.Compile(s.program, d, persist.Names{})
	if err != nil {
		return nil, err
	}
	var all []Mutant
	for _, list := range [][]persist.Statement{set.Statements, set.Many} {
		for _, statement := range list {
			if s.judgedElsewhere(statement.Event) {
				continue
			}
			of, err := ofStatement(s.name, d, statement)
			if err != nil {
				return nil, err
			}
			all = append(all, of...)
		}
	}
	if s.name != Standard {
		return all, nil
	}
	apart := map[string]string{cut.Name(string(d), "note_unmatched"): set.NoteUnmatched.SQL}
	for _, r := range set.Readers {
		apart[cut.Name(string(d), "reader", r.Name)] = r.SQL
	}
	for _, name := range slices.Sorted(maps.Keys(apart)) {
		t, err := readText(name, apart[name])
		if err != nil {
			return nil, err
		}
		for _, c := range t.cuts {
			all = append(all, t.mutant(c, Mutant{Of: string(d), Form: apartForm}))
		}
	}
	return all, nil
}

// apartForm is the form of statements that are no event's: the readers, and what notes evidence of no operation.
const apartForm = "apart"

// text is one SQL text of a statement: its first, or that of a further step.
type text struct {
	name, step string
	cuts       []clause.Cut
}

func readText(name, sql string) (text, error) {
	cuts, err := clause.Of(sql)
	if err != nil {
		return text{}, fmt.Errorf("%s: %w", name, err)
	}
	return text{name: name, cuts: cuts}, nil
}

// mutant is a cut of the text by itself.
func (t text) mutant(c clause.Cut, m Mutant) Mutant {
	m.ID = t.name + ": " + c.ID
	m.Cuts = []cut.Cut{{Statement: t.name, ID: c.ID}}
	m.Kind, m.Text = string(c.Kind), c.Text
	m.In = strings.TrimSpace(m.In + " " + t.step + " " + c.In)
	return m
}

// ofStatement lists the mutants of one statement. A guard that the statement looks at a second time, after it has locked
// the row or in a further step of its transaction, is cut out of all looks at once: any one of them is enough, which is
// why there are two.
func ofStatement(own string, d persist.Dialect, s persist.Statement) ([]Mutant, error) {
	name := cut.Name(own, string(d), s.Event, string(s.Form))
	main, err := readText(name, s.SQL)
	if err != nil {
		return nil, err
	}
	texts := []text{main}
	for _, then := range s.Then {
		t, err := readText(cut.Name(name, then.What), then.SQL)
		if err != nil {
			return nil, err
		}
		t.step = then.What
		texts = append(texts, t)
	}
	looks := looksOf(d, s)
	base := Mutant{Own: own, Of: string(d), Event: s.Event, Form: string(s.Form)}
	var all []Mutant
	for _, t := range texts {
		for _, c := range t.cuts {
			guard, part, second := looks.second(t, c)
			if !second {
				all = append(all, t.mutant(c, base))
				continue
			}
			if looks.toldBefore(t, texts) {
				continue // with the second look before this one
			}
			m := t.mutant(c, base)
			if m.Cuts, err = looks.all(texts, guard, part); err != nil {
				return nil, err
			}
			m.ID += " and wherever else it is looked at"
			all = append(all, m)
		}
	}
	return all, nil
}

// Used is the name by which the use of the mutant's statement is noted: a further step is used with its statement.
func (m Mutant) Used() string {
	if m.Form == apartForm {
		return m.Cuts[0].Statement
	}
	return cut.Name(m.Own, m.Of, m.Event, m.Form)
}
