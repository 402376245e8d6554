package mutants

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// client is the driver's end of a worker.
type client struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *os.File
	replies *json.Decoder
}

// startWorker starts a worker for a table in the project's root, of a program that was built with the overlay.
func startWorker(program, root, table string, env []string, log io.Writer) (*client, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	cmd := exec.Command(program, "worker", table)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	_ = write.Close()
	if err != nil {
		_ = read.Close()
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	return &client{cmd: cmd, in: in, out: read, replies: json.NewDecoder(bufio.NewReader(read))}, nil
}

// ask sends a request and waits for the answer. After an error the worker is of no more use.
func (c *client) ask(r request, within time.Duration) (reply, error) {
	var a reply
	if err := json.NewEncoder(c.in).Encode(r); err != nil {
		return a, fmt.Errorf("ask a worker: %w", err)
	}
	if err := c.out.SetReadDeadline(time.Now().Add(within)); err != nil {
		return a, fmt.Errorf("ask a worker: %w", err)
	}
	if err := c.replies.Decode(&a); err != nil {
		return a, fmt.Errorf("wait for a worker's answer, %s at most: %w", within, err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("a worker says: %s", a.Error)
	}
	return a, nil
}

// end ends the worker.
func (c *client) end() {
	_ = c.in.Close()
	gone := time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) })
	_ = c.cmd.Wait()
	gone.Stop()
	_ = c.out.Close()
}
