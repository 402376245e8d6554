package mutants

import (
	"fmt"

	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/transitions"
)

// part is a mutant of the table, and the program without the part.
type part struct {
	Mutant
	program *transitions.Program
}

// partsOf lists every part of a table that can be taken away.
func partsOf(table transitions.Table) ([]part, error) {
	listed, err := machinetest.MutantsOf(table)
	if err != nil {
		return nil, err
	}
	var all []part
	for _, m := range listed {
		all = append(all, part{Mutant{
			ID: fmt.Sprintf("table %s", m), Of: Table, Event: m.Event, Kind: m.Kind, In: m.In, Text: m.Text,
		}, m.Program})
	}
	return all, nil
}
