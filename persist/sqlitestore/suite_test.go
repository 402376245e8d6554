package sqlitestore_test

import (
	"testing"

	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist/sqlitestore"
	"github.com/fencerow/fencerow/testdata/suites"
	"github.com/fencerow/fencerow/transitions"
)

func subject(t *testing.T) machinetest.Subject {
	f := open(t, file(t), sqlitestore.Options{})
	return machinetest.Subject{Store: f.Store, Put: f.put, Now: f.Now}
}

func TestSQLitePassesTheSuites(t *testing.T) {
	t.Parallel()
	machinetest.RunSuite(t, subject, suites.Files, transitions.MustCompile(transitions.Standard()))
}

func TestSQLiteAgreesWithTheTable(t *testing.T) {
	t.Parallel()
	machinetest.Agree(t, subject)
}
