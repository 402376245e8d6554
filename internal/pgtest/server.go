package pgtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// superuser is the one role of a server that this package starts.
const superuser = "postgres"

// Server is a PostgreSQL server that one test owns: it may do to it whatever
// an unkind night would. Its methods fail the test when they cannot do what
// they say.
type Server struct {
	t        testing.TB // nil for the server shared by a test process
	programs programs
	account  account
	root     string // owned by account; holds data and log
	port     int
	settings []string
	guardian *guardian
}

// Option changes one setting of a new server.
type Option func(*Server)

// Fast gives up durability on power loss for speed. A server killed with
// SIGKILL still comes back whole: the kernel keeps what was written.
var Fast Option = With("fsync", "off")

// With sets one parameter of postgresql.conf.
func With(name, value string) Option {
	return func(s *Server) { s.settings = append(s.settings, name+"="+value) }
}

// NewServer starts a private server that is gone when the test ends.
func NewServer(t testing.TB, options ...Option) *Server {
	t.Helper()

	s, err := start(options)
	if err != nil {
		t.Fatalf("this test needs a PostgreSQL server of its own: %v", err)
	}
	s.t = t
	t.Cleanup(func() {
		if err := s.guardian.dismiss(); err != nil {
			t.Errorf("stop the test server in %s: %v", s.root, err)
		}
	})

	return s
}

// start finds programs, makes a data directory and starts a server on it.
func start(options []Option) (*Server, error) {
	found, err := findPrograms()
	if err != nil {
		return nil, err
	}

	who, err := serverAccount()
	if err != nil {
		return nil, err
	}

	root, err := who.makeRoot()
	if err != nil {
		return nil, err
	}

	s := &Server{
		programs: found, account: who, root: root,
		settings: []string{"max_connections=200", "listen_addresses=127.0.0.1", "unix_socket_directories=" + root},
	}
	for _, option := range options {
		option(s)
	}

	// The guardian comes first, so that there is no moment at which a killed
	// test leaves something behind.
	s.guardian, err = postGuardian(who, found, root)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(root))
	}

	if err := s.initialise(); err != nil {
		return nil, errors.Join(err, s.guardian.dismiss())
	}

	return s, nil
}

func (s *Server) initialise() error {
	_, err := s.account.run(s.root, s.programs.path("initdb"), "-D", s.DataDir(), "-U", superuser,
		"--auth=trust", "--no-locale", "-E", "UTF8", "--no-sync")
	if err != nil {
		return err
	}

	// Between finding a free port and using it somebody else may take it.
	const attempts = 3
	for range attempts {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.up(); err == nil {
			return nil
		}
	}

	return err
}

// URL is the address of the server's first database. It stays the same over
// stops and starts.
func (s *Server) URL() string { return s.url("postgres") }

func (s *Server) url(database string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", superuser, s.Addr(), database)
}

// Addr is the host and port, for a test that puts a proxy in front.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// DataDir is the server's data directory.
func (s *Server) DataDir() string { return filepath.Join(s.root, "data") }

// Log is what the server has written to its log.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}

	return string(text)
}

func (s *Server) logFile() string { return filepath.Join(s.root, "log") }

// Mode is how a server is told to stop.
type Mode string

// The modes of pg_ctl stop.
const (
	StopSmart     Mode = "smart"     // waits for every session to end
	StopFast      Mode = "fast"      // ends the sessions, rolls back, checkpoints
	StopImmediate Mode = "immediate" // as a crash: recovers at the next start
)

// Stop stops the server and returns when it is down.
func (s *Server) Stop(mode Mode) {
	s.t.Helper()

	_, err := s.account.run(s.root, s.programs.path("pg_ctl"), "stop", "-D", s.DataDir(), "-m", string(mode), "-w", "-t", "60")
	if err != nil {
		s.t.Fatal(err)
	}
}

// Start starts a server that is down and returns when it takes connections:
// after a crash that is when recovery is done.
func (s *Server) Start() {
	s.t.Helper()

	if err := s.up(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) up() error {
	var flags strings.Builder
	fmt.Fprintf(&flags, "-p %d", s.port)
	for _, setting := range s.settings {
		fmt.Fprintf(&flags, " -c '%s'", setting)
	}

	_, err := s.account.run(s.root, s.programs.path("pg_ctl"), "start", "-D", s.DataDir(), "-l", s.logFile(),
		"-o", flags.String(), "-w", "-t", "60")
	if err != nil {
		return fmt.Errorf("%w; its log ends:\n%s", err, tail(s.Log(), 20))
	}

	return nil
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port on loopback: %w", err)
	}
	defer func() { _ = listener.Close() }()

	return listener.Addr().(*net.TCPAddr).Port, nil
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")

	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
