package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// obtaining bounds the installation: `go test` gives a package ten minutes.
const obtaining = 5 * time.Minute

// obtain gets server programs onto a machine that has none. The packages of
// one `go test ./...` run at the same time, so they take turns, and whoever
// comes second finds what the first has installed.
func obtain() (programs, error) {
	unlock, err := takeTurn()
	if err != nil {
		return programs{}, err
	}
	defer unlock()

	if found, ok := newest(onMachine()); ok {
		return found, nil
	}

	aptErr := installDebian("postgresql")
	if aptErr == nil {
		if found, ok := newest(onMachine()); ok {
			return found, nil
		}
		aptErr = fmt.Errorf("install the package postgresql: it brought no version from %d on", oldest)
	}

	found, err := download()
	if err != nil {
		return programs{}, errors.Join(aptErr, err)
	}

	return found, nil
}

func takeTurn() (func(), error) {
	name := filepath.Join(os.TempDir(), "fencerow-pgtest-"+strconv.Itoa(os.Getuid())+".lock")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("take turns at installing PostgreSQL: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("take turns at installing PostgreSQL: lock %s: %w", name, err), file.Close())
	}

	return func() { _ = file.Close() }, nil
}

// installDebian installs one of the distribution's packages. That of the
// server also starts a cluster of its own on most machines; it is on another
// port and in another folder, so it is left alone.
func installDebian(pack string) error {
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		return fmt.Errorf("install %s: no apt-get here", pack)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("install %s with apt-get: not root", pack)
	}

	ctx, cancel := context.WithTimeout(context.Background(), obtaining)
	defer cancel()

	for _, args := range [][]string{
		{"-q", "update"},
		{"-q", "-y", "--no-install-recommends", "install", pack},
	} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("run apt-get %s: %w: %s", args[len(args)-1], err, tail(string(out), 5))
		}
	}

	return nil
}

// download fetches a build. The module only offers to start a server too, and
// as root it cannot; all that is wanted are the programs it unpacks before.
func download() (programs, error) {
	home, err := downloads()
	if err != nil {
		return programs{}, err
	}

	port, err := freePort()
	if err != nil {
		return programs{}, err
	}

	scratch := filepath.Join(home, "scratch")
	server := embedded.NewDatabase(embedded.DefaultConfig().
		Version(embedded.V17).
		Port(uint32(port)).
		CachePath(home).
		BinariesPath(home).
		RuntimePath(scratch).
		Logger(io.Discard))

	startErr := server.Start()
	if startErr == nil {
		startErr = server.Stop()
	}
	_ = os.RemoveAll(scratch)

	found, err := inspect(filepath.Join(home, "bin"))
	if err != nil {
		return programs{}, fmt.Errorf("download a build of PostgreSQL: %w", errors.Join(startErr, err))
	}

	return found, nil
}

// downloads is kept between runs, in a place that the server's account can
// reach: a home folder of root's is closed to it.
func downloads() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil || os.Geteuid() == 0 {
		base = "/var/cache"
	}

	home := filepath.Join(base, "fencerow-pgtest")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", fmt.Errorf("make a folder for a downloaded PostgreSQL: %w", err)
	}

	return home, nil
}
