package pgtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// childVariable makes the test binary a process that starts a server and a
// companion and then waits to be killed.
const childVariable = "FENCEROW_PGTEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}

	s, err := start([]Option{Fast})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	parent, err := s.postmaster()
	c, err2 := startCompanion(map[string]string{"minutes": "60"}, "/bin/sh", "-c", `exec sleep "$(cat minutes)m"`)
	if err := errors.Join(err, err2); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(parent, s.root, c.guardian.cmd.Process.Pid, c.root)
	select {} // until killed
}

func TestEveryCallGivesAFreshDatabaseOfTheSameServer(t *testing.T) {
	t.Parallel()

	first, second := connect(t, URL(t)), connect(t, URL(t))

	exec1(t, first, "CREATE TABLE only_here (id int)")
	if got := query[int](t, second, "SELECT count(*) FROM pg_class WHERE relname = 'only_here'"); got != 0 {
		t.Errorf("a table made in one database shows in another")
	}

	port := "SELECT inet_server_port()"
	if want, got := query[int](t, first, port), query[int](t, second, port); os.Getenv(lent) == "" && want != got {
		t.Errorf("two databases of one test process are on ports %d and %d, want one server", want, got)
	}
}

func TestADatabaseIsDroppedWithItsTestThoughASessionIsOpen(t *testing.T) {
	t.Parallel()

	outer := connect(t, URL(t))

	var name string
	var conn *pgx.Conn // which the garbage collector would close if nobody had it any more
	t.Run("inner", func(t *testing.T) {
		var err error
		if conn, err = pgx.Connect(t.Context(), URL(t)); err != nil {
			t.Fatal(err)
		}
		name = query[string](t, conn, "SELECT current_database()")
	})

	if got := query[int](t, outer, "SELECT count(*) FROM pg_database WHERE datname = '"+name+"'"); got != 0 {
		t.Errorf("the database %s is still there after its test", name)
	}
	_ = conn.Close(context.Background()) // the server has ended it
}

func TestAServerHasTheSettingsThatTheTestsCountOn(t *testing.T) {
	t.Parallel()

	s := NewServer(t, With("lock_timeout", "1234ms"))
	conn := connect(t, s.NewDatabase())

	for name, want := range map[string]string{
		"fsync": "on", "max_connections": "200", "listen_addresses": "127.0.0.1", "lock_timeout": "1234ms",
		"server_encoding": "UTF8",
	} {
		if diff := cmp.Diff(want, query[string](t, conn, "SELECT current_setting('"+name+"')")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := query[string](t, connect(t, NewServer(t, Fast).URL()), "SHOW fsync"); got != "off" {
		t.Errorf("fsync of a Fast server is %s", got)
	}
}

func TestAServerStopsAndStartsAgainAtTheSameAddress(t *testing.T) {
	t.Parallel()

	s := NewServer(t)
	exec1(t, connect(t, s.URL()), "CREATE TABLE kept AS SELECT 7 AS n")

	for _, mode := range []Mode{StopFast, StopImmediate} {
		s.Stop(mode)
		if conn, err := pgx.Connect(t.Context(), s.URL()); err == nil {
			_ = conn.Close(t.Context())
			t.Fatalf("a server stopped in mode %s takes a connection", mode)
		}
		s.Start()
		if got := query[int](t, connect(t, s.URL()), "SELECT n FROM kept"); got != 7 {
			t.Errorf("after a stop in mode %s the table holds %d, want 7", mode, got)
		}
	}
}

func TestWhatWasCommittedSurvivesAKilledServer(t *testing.T) {
	t.Parallel()

	s := NewServer(t)
	conn, open := connect(t, s.URL()), connect(t, s.URL())
	exec1(t, conn, "CREATE TABLE kept AS SELECT 7 AS n")
	exec1(t, open, "BEGIN; UPDATE kept SET n = 8") // never committed

	s.Kill9()
	if _, err := open.Exec(t.Context(), "COMMIT"); err == nil {
		t.Error("a commit on a killed server succeeded")
	}
	s.Start()

	if got := query[int](t, connect(t, s.URL()), "SELECT n FROM kept"); got != 7 {
		t.Errorf("after recovery the table holds %d, want 7", got)
	}
}

func TestAKilledBackendTakesTheOtherSessionsWithIt(t *testing.T) {
	t.Parallel()

	s := NewServer(t)
	victim, bystander := connect(t, s.URL()), connect(t, s.URL())

	s.KillBackend(victim.PgConn().PID())

	// The bystander reads until it is told; the server then recovers by itself.
	for !bystander.IsClosed() {
		_, _ = bystander.Exec(t.Context(), "SELECT pg_sleep(0.01)")
	}
	var after *pgx.Conn
	for after == nil {
		after, _ = pgx.Connect(t.Context(), s.URL())
	}
	_ = after.Close(t.Context())
}

func TestAPausedServerAnswersOnceItIsResumed(t *testing.T) {
	t.Parallel()

	s := NewServer(t)
	conn := connect(t, s.URL())

	s.Pause()
	answered := make(chan error, 1)
	go func() {
		_, err := conn.Exec(context.Background(), "SELECT 1")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("a frozen server answered: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	s.Resume()
	if err := <-answered; err != nil {
		t.Errorf("the statement failed after the pause: %v", err)
	}

	s.PauseBackend(conn.PgConn().PID())
	if got := query[int](t, connect(t, s.URL()), "SELECT 1"); got != 1 {
		t.Error("one frozen session froze another")
	}
	s.ResumeBackend(conn.PgConn().PID())
}

func TestAKilledTestProcessLeavesNoServerAndNoFolder(t *testing.T) {
	t.Parallel()

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"=1")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}

	var pid, guardian int
	var root, beside string
	if _, err := fmt.Fscan(bufio.NewReader(out), &pid, &root, &guardian, &beside); err != nil {
		t.Fatalf("the child did not say what it started: %v", err)
	}
	if err := syscall.Kill(pid, 0); err != nil {
		t.Fatalf("the child's server %d does not run: %v", pid, err)
	}
	pids := append([]int{pid, guardian}, companions(t, guardian)...)

	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()

	if err := awaitDeath(pids); err != nil {
		t.Error(err)
	}
	tick, late := time.NewTicker(10*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for _, folder := range []string{root, beside} {
		for {
			if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
				break
			}
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("the folder %s is still there", folder)
			}
		}
	}
}

// companions lists what a companion's guardian started: the program, and what
// it waits for the test with.
func companions(t *testing.T, guardian int) []int {
	t.Helper()

	for late := time.Now().Add(20 * time.Second); time.Now().Before(late); {
		table, err := processTable()
		if err != nil {
			t.Fatal(err)
		}
		var pids []int
		for _, p := range table {
			if p.parent == guardian && !p.dead {
				pids = append(pids, p.pid)
			}
		}
		if len(pids) == 2 {
			return pids
		}
	}
	t.Fatal("the child's companion does not run")

	return nil
}

func TestTheNewestSupportedVersionIsChosen(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		found []programs
		want  string
	}{
		"nothing":        {nil, ""},
		"only too old":   {[]programs{{"a", 13}}, ""},
		"numbers":        {[]programs{{"a", 9}, {"b", 14}, {"c", 17}, {"d", 16}}, "c"},
		"first of equal": {[]programs{{"a", 16}, {"b", 16}}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := newest(tc.found)
			if diff := cmp.Diff(tc.want, got.folder); diff != "" || ok != (tc.want != "") {
				t.Errorf("newest says %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestAFolderThatOthersMayNotEnterIsNotOpen(t *testing.T) {
	t.Parallel()

	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	inner := closed + "/inner"
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if open(closed) || open(inner) {
		t.Error("a folder with mode 0700, or one in it, is said to be open to all")
	}
	if !open("/") {
		t.Error("the root folder is said to be closed")
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()

	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	})

	return conn
}

func exec1(t *testing.T, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func query[T any](t *testing.T, conn *pgx.Conn, statement string) T {
	t.Helper()

	var got T
	if err := conn.QueryRow(t.Context(), statement).Scan(&got); err != nil {
		t.Fatal(err)
	}

	return got
}
