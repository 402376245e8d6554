package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// oldest is the oldest version of PostgreSQL that the project supports.
const oldest = 14

// chosen is the environment variable that names the folder of server programs,
// for a run against one particular version.
const chosen = "FENCEROW_TEST_PG_BIN"

// programs is a folder that holds initdb, pg_ctl and postgres.
type programs struct {
	folder  string
	version int // major
}

func (p programs) path(name string) string { return filepath.Join(p.folder, name) }

// folders are where the distributions put the programs, most of them off PATH.
var folders = []string{
	"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
	"/usr/pgsql-*/bin",                  // PGDG packages on Red Hat
	"/usr/libexec/postgresql*",          // Alpine
	"/usr/local/pgsql/bin",              // built by hand
	"/opt/homebrew/opt/postgresql*/bin", // Homebrew on ARM
	"/usr/local/opt/postgresql*/bin",    // Homebrew on Intel
}

// findPrograms looks in the order that the package comment states.
func findPrograms() (programs, error) {
	if folder := os.Getenv(chosen); folder != "" {
		found, err := inspect(folder)
		if err != nil {
			return programs{}, fmt.Errorf("use the server programs of %s: %w", chosen, err)
		}

		return found, nil
	}

	if found, ok := newest(onMachine()); ok {
		return found, nil
	}

	found, err := obtain()
	if err != nil {
		return programs{}, fmt.Errorf("look for PostgreSQL %d or later on this machine: none on PATH nor where packages put it, "+
			"and getting one failed (%w); install the package postgresql, or set %s to a server where databases may be created",
			oldest, err, lent)
	}

	return found, nil
}

func onMachine() []programs {
	var candidates []string
	if onPath, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(onPath); err == nil {
			candidates = append(candidates, filepath.Dir(real))
		}
	}
	for _, pattern := range folders {
		matches, _ := filepath.Glob(pattern)
		candidates = append(candidates, matches...)
	}

	var found []programs
	for _, folder := range candidates {
		if p, err := inspect(folder); err == nil {
			found = append(found, p)
		}
	}

	return found
}

// newest picks the highest version that is not too old; the first of equals.
func newest(found []programs) (programs, bool) {
	best := programs{}
	for _, p := range found {
		if p.version >= oldest && p.version > best.version {
			best = p
		}
	}

	return best, best.folder != ""
}

var versionLine = regexp.MustCompile(`^postgres \(PostgreSQL\) (\d+)`)

func inspect(folder string) (programs, error) {
	for _, name := range []string{"initdb", "pg_ctl", "postgres"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return programs{}, fmt.Errorf("look for %s: %w", name, err)
		}
	}

	out, err := exec.Command(filepath.Join(folder, "postgres"), "--version").Output()
	if err != nil {
		return programs{}, fmt.Errorf("ask postgres for its version: %w", err)
	}
	match := versionLine.FindSubmatch(out)
	if match == nil {
		return programs{}, errors.New("ask postgres for its version: got " + strconv.Quote(string(out)))
	}
	version, err := strconv.Atoi(string(match[1]))

	return programs{folder: folder, version: version}, err
}
