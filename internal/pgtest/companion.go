package pgtest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// watch is the script of a companion's guardian: it runs the program and ends
// it when the test process is gone, as vigil does with a server.
const watch = `
trap '' HUP INT TERM
root=$1
shift
"$@" >"$root/log" 2>&1 </dev/null &
pid=$!
cat >/dev/null
kill -KILL "$pid" 2>/dev/null
wait "$pid"
cd /
rm -rf "$root"
`

// Companion is a program that runs beside a server, such as a pooler, under the
// server's account and in a folder of its own. Like a server it never outlives
// its test.
type Companion struct {
	root     string
	guardian *guardian
}

// FindCompanion looks for a program on PATH and where Debian keeps it off PATH,
// and as root on Debian installs its package. Without it the test fails.
func FindCompanion(t testing.TB, name, pack string) string {
	t.Helper()

	look := func() (string, bool) {
		for _, candidate := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
			if path, err := exec.LookPath(candidate); err == nil {
				return path, true
			}
		}

		return "", false
	}
	if path, ok := look(); ok {
		return path
	}

	unlock, err := takeTurn()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if path, ok := look(); ok {
		return path
	}
	err = installDebian(pack)
	path, ok := look()
	if !ok {
		t.Fatalf("this test needs the program %s: it is not on PATH, and getting it failed (%v); install the package %s", name, err, pack)
	}

	return path
}

// StartCompanion writes the files into a new folder and runs the program in it.
func StartCompanion(t testing.TB, files map[string]string, program string, args ...string) *Companion {
	t.Helper()

	c, err := startCompanion(files, program, args...)
	if err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	t.Cleanup(func() {
		if err := c.guardian.dismiss(); err != nil {
			t.Errorf("stop %s in %s: %v", program, c.root, err)
		}
	})

	return c
}

func startCompanion(files map[string]string, program string, args ...string) (*Companion, error) {
	who, err := serverAccount()
	if err != nil {
		return nil, err
	}
	root, err := who.makeRoot()
	if err != nil {
		return nil, err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			return nil, errors.Join(err, os.RemoveAll(root))
		}
	}

	script := append([]string{"-c", watch, "guardian", root, program}, args...)
	cmd := who.command(context.Background(), root, "/bin/sh", script...)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}

	return &Companion{root, &guardian{cmd: cmd, pipe: pipe}}, nil
}

// Log is what the program has written.
func (c *Companion) Log() string {
	text, err := os.ReadFile(filepath.Join(c.root, "log"))
	if err != nil {
		return err.Error()
	}

	return string(text)
}

// FreePort is a port of loopback that nobody listens on at the moment.
func FreePort(t testing.TB) int {
	t.Helper()

	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}

	return port
}
