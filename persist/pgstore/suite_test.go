package pgstore_test

import (
	"testing"

	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/testdata/suites"
	"github.com/fencerow/fencerow/transitions"
)

func subject(t *testing.T) machinetest.Subject {
	f := open(t, pgstore.Options{MaxConns: 4})
	return machinetest.Subject{Store: f.Store, Put: f.put, Now: f.Now}
}

func TestPostgreSQLPassesTheSuites(t *testing.T) {
	t.Parallel()
	machinetest.RunSuite(t, subject, suites.Files, transitions.MustCompile(transitions.Standard()))
}

// prepared is a store whose statements stay planned, which runs the many thousand events of a test in half the time.
func prepared(t *testing.T) machinetest.Subject {
	f := open(t, pgstore.Options{MaxConns: 4, Prepare: true})
	return machinetest.Subject{Store: f.Store, Put: f.put, Now: f.Now}
}

func TestPostgreSQLAgreesWithTheTable(t *testing.T) {
	t.Parallel()
	machinetest.Agree(t, prepared)
}

func TestPostgreSQLConforms(t *testing.T) {
	t.Parallel()
	machinetest.Run(t, prepared)
}
