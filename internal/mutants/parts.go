package mutants

import (
	"github.com/fencerow/fencerow/internal/mutants/cut"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/transitions"
)

// part is a mutant of the table, and the program without the part.
type part struct {
	Mutant
	program *transitions.Program
}

// parts lists every part of a table that can be taken away, and is judged here.
func (s subject) parts() ([]part, error) {
	listed, err := machinetest.MutantsOf(s.table)
	if err != nil {
		return nil, err
	}
	var all []part
	for _, m := range listed {
		if s.judgedElsewhere(m.Event) {
			continue
		}
		all = append(all, part{Mutant{
			ID: cut.Name(s.name, Table, m.String()), Own: s.name, Of: Table, Event: m.Event, Kind: m.Kind, In: m.In, Text: m.Text,
		}, m.Program})
	}
	return all, nil
}
