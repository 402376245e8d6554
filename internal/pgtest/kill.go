package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// dying bounds the wait for killed processes to be gone.
const dying = 10 * time.Second

// Kill9 kills the whole server at once with SIGKILL, as the kernel's
// out-of-memory killer or a pulled plug would.
func (s *Server) Kill9() {
	s.t.Helper()

	pids := s.freeze()
	s.signal(pids, syscall.SIGKILL)
	if err := awaitDeath(pids); err != nil {
		s.t.Fatal(err)
	}

	// In a container whose first process reaps nobody the dead keep their
	// process ids, and PostgreSQL would take its lock files to be a live server's.
	socket := filepath.Join(s.root, ".s.PGSQL."+strconv.Itoa(s.port))
	for _, name := range []string{filepath.Join(s.DataDir(), "postmaster.pid"), socket, socket + ".lock"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			s.t.Fatal(err)
		}
	}
}

// KillBackend kills one session's process with SIGKILL. PostgreSQL then
// throws every other session out and recovers by itself.
func (s *Server) KillBackend(pid uint32) {
	s.t.Helper()
	s.signal([]int{int(pid)}, syscall.SIGKILL)
}

// Pause freezes the server and every session: connections stay open and
// nothing answers.
func (s *Server) Pause() {
	s.t.Helper()
	s.freeze()
}

// Resume undoes Pause.
func (s *Server) Resume() {
	s.t.Helper()
	pids, err := s.processes()
	if err != nil {
		s.t.Fatal(err)
	}
	s.signal(pids, syscall.SIGCONT)
}

// PauseBackend freezes one session's process; ResumeBackend wakes it.
func (s *Server) PauseBackend(pid uint32) {
	s.t.Helper()
	s.signal([]int{int(pid)}, syscall.SIGSTOP)
}

// ResumeBackend undoes PauseBackend.
func (s *Server) ResumeBackend(pid uint32) {
	s.t.Helper()
	s.signal([]int{int(pid)}, syscall.SIGCONT)
}

// freeze stops the parent before it lists the children, so that none is born
// in between.
func (s *Server) freeze() []int {
	s.t.Helper()

	parent, err := s.postmaster()
	if err != nil {
		s.t.Fatal(err)
	}
	s.signal([]int{parent}, syscall.SIGSTOP)

	pids, err := s.processes()
	if err != nil {
		s.t.Fatal(err)
	}
	s.signal(pids, syscall.SIGSTOP)

	return pids
}

func (s *Server) signal(pids []int, sig syscall.Signal) {
	s.t.Helper()

	for _, pid := range pids {
		// A process that has just ended by itself is as good as signalled.
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			s.t.Fatalf("send %v to the PostgreSQL process %d: %v", sig, pid, err)
		}
	}
}

func (s *Server) postmaster() (int, error) {
	text, err := os.ReadFile(filepath.Join(s.DataDir(), "postmaster.pid"))
	if err != nil {
		return 0, fmt.Errorf("read the server's process id: %w; is the server down already?", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")

	return strconv.Atoi(strings.TrimSpace(first))
}

// processes lists the server's parent process and its children.
func (s *Server) processes() ([]int, error) {
	parent, err := s.postmaster()
	if err != nil {
		return nil, err
	}

	table, err := processTable()
	if err != nil {
		return nil, err
	}

	pids := []int{parent}
	for _, p := range table {
		if p.parent == parent {
			pids = append(pids, p.pid)
		}
	}

	return pids, nil
}

type process struct {
	pid, parent int
	dead        bool // ended, and nobody has asked how
}

// processTable reads /proc where there is one (small containers have no ps)
// and asks ps elsewhere.
func processTable() ([]process, error) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	if len(stats) == 0 {
		return psTable()
	}

	var table []process
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // ended since the listing
		}
		// pid (name) state ppid …; the name may hold spaces and brackets.
		pid, rest, _ := strings.Cut(string(text), " ")
		fields := strings.Fields(rest[strings.LastIndexByte(rest, ')')+1:])
		if len(fields) < 2 {
			continue
		}
		table = append(table, newProcess(pid, fields[1], fields[0]))
	}

	return table, nil
}

func psTable() ([]process, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "state=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes with ps: %w", err)
	}

	var table []process
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) >= 3 {
			table = append(table, newProcess(fields[0], fields[1], fields[2]))
		}
	}

	return table, nil
}

func newProcess(pid, parent, state string) process {
	id, _ := strconv.Atoi(pid)
	from, _ := strconv.Atoi(parent)

	return process{pid: id, parent: from, dead: strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")}
}

func awaitDeath(pids []int) error {
	for deadline := time.Now().Add(dying); ; time.Sleep(5 * time.Millisecond) {
		table, err := processTable()
		if err != nil {
			return err
		}

		living := map[int]bool{}
		for _, p := range table {
			living[p.pid] = !p.dead
		}

		left := 0
		for _, pid := range pids {
			if living[pid] {
				left++
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v for a killed PostgreSQL server: %d of its processes still live", dying, left)
		}
	}
}
