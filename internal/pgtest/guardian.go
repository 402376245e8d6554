package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// guardian is a shell that waits for the test process to go away, stops the
// server and removes its folder. It learns of the end by the pipe that only
// the test process holds: however that process ends (returns, panics, is
// killed with SIGKILL), the kernel closes the pipe. A signal tied to the
// parent's death would do less: it is Linux only, it is bound to a thread, and
// it leaves the data directory lying about.
type guardian struct {
	cmd  *exec.Cmd
	pipe io.Closer
}

// vigil is the guardian's script. A frozen server is woken first: it would
// not hear that it is to stop.
const vigil = `
trap '' HUP INT TERM
cat >/dev/null
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
	kill -CONT "$pid" 2>/dev/null
	"$2" stop -D "$1/data" -m immediate -w -t 20 || kill -KILL "$pid"
fi
cd /
rm -rf "$1" || { sleep 1; rm -rf "$1"; }
`

func postGuardian(who account, found programs, root string) (*guardian, error) {
	// Not bound to any context: it has to outlive whoever asked for it.
	cmd := who.command(context.Background(), root, "/bin/sh", "-c", vigil, "guardian", root, found.path("pg_ctl"))
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("post a guardian for the test server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("post a guardian for the test server: %w", err)
	}

	return &guardian{cmd: cmd, pipe: pipe}, nil
}

// dismiss stops the server and returns when its folder is gone.
func (g *guardian) dismiss() error {
	closed := g.pipe.Close()

	// What the script tells is of no use to anybody unless it hangs.
	hung := time.AfterFunc(time.Minute, func() { _ = g.cmd.Process.Kill() })
	defer hung.Stop()

	return errors.Join(closed, g.cmd.Wait())
}
