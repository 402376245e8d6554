package mutants

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fencerow/fencerow/examples/immediate"
	"github.com/fencerow/fencerow/examples/moderated"
	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/testdata/suites"
	"github.com/fencerow/fencerow/transitions"
)

// Standard is what the mutants of the standard table, and of its SQL, are told apart by: no name. Those of a table of
// one's own go by its name.
const Standard = ""

// Tables lists what the run is about, in its order: the standard table, then the examples.
var Tables = []string{Standard, "payout", "moderated", "immediate"}

// subject is a table whose mutants are judged, and the suites that judge them.
type subject struct {
	name    string // Standard, or that of a table of one's own
	table   transitions.Table
	program *transitions.Program

	// extended is the program that the table extends: rules that are the same there are judged there. Nil: it extends none.
	extended *transitions.Program
}

func subjectOf(name string) (subject, error) {
	tables := map[string]func() transitions.Table{
		Standard: transitions.Standard, "payout": payout.Table, "moderated": moderated.Table, "immediate": immediate.Table,
	}
	table, known := tables[name]
	if !known {
		return subject{}, fmt.Errorf("find table %q: the mutation run knows the standard one and %v", name, Tables[1:])
	}
	s := subject{name: name, table: table()}
	p, err := transitions.Compile(s.table)
	if err != nil {
		return s, err
	}
	s.program = p
	if name == "moderated" || name == "immediate" {
		s.extended, err = transitions.Compile(transitions.Standard())
	}
	return s, err
}

// folder is where the table and its suites are, from the project's root; "" where they are the standard one's.
func (s subject) folder() string {
	if s.name == Standard {
		return ""
	}
	return "examples/" + s.name
}

// suites are the suite files, of the project at root.
func (s subject) suites(root string) fs.FS {
	if s.name == Standard {
		return suites.Files
	}
	return os.DirFS(filepath.Join(root, filepath.FromSlash(s.folder()), "testdata"))
}

// judgedElsewhere reports whether an event's rule is that of the extended program.
func (s subject) judgedElsewhere(event string) bool {
	return s.extended != nil && machinetest.SameRule(s.program, s.extended, event)
}
