package e2e

import (
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/provider/sandbox"
)

// quick is a remote whose jobs end soon.
var quick = sandbox.Options{Queued: 50 * time.Millisecond, Running: 100 * time.Millisecond}

func TestADatabaseThatIsDownAtStartIsNamedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Fast)
	db := server.URL()
	server.Stop(pgtest.StopFast)
	s := newSite(t, db, quick)
	s.provider()
	s.requests(3)
	status, output := s.run(time.Minute, "run", "requests.jsonl", "--provider", "api.yaml", "--out", "out")
	u, err := url.Parse(db)
	if err != nil {
		t.Fatal(err)
	}
	if status != 1 || !strings.Contains(output, u.Host) {
		t.Errorf("run ended with %d, want 1 and a message that names %s:\n%s", status, u.Host, output)
	}
	if n := len(s.remote.Requests()); n != 0 {
		t.Errorf("%d requests reached the remote without a database", n)
	}
}

// The database goes away for ten seconds in the middle. Answers that could not be stored are stored when it is back,
// under the same lease, and everything comes home (contract B9, E2; report B07).
func TestADatabaseThatGoesAwayInTheMiddle(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t)
	s := newSite(t, server.URL(), sandbox.Options{Queued: 500 * time.Millisecond, Running: 500 * time.Millisecond})
	s.provider()
	ids := s.requests(200)
	p := s.start("run", "requests.jsonl", "--provider", "api.yaml", "--out", "out", "--workers", "8", "--brake", "0", "--lease", "25s")
	for range 20 {
		<-s.posts
	}
	server.Stop(pgtest.StopImmediate)
	<-time.After(10 * time.Second)
	server.Start()
	status := s.wait(p, 2*time.Minute)
	output := p.output()
	if !strings.Contains(output, "does not") || !strings.Contains(output, "works again") {
		t.Errorf("the program does not say that its database went and came back:\n%s", tail(output))
	}
	s.check(ids)
	if status != 0 {
		t.Errorf("run ended with %d, want 0: every answer could be stored within its lease\n%s", status, tail(output))
	}
}

// A full database is said to be full; no operation is lost, and work goes on when there is room again.
func TestAFullDatabase(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("a small file system can only be mounted by root: here only the store's own test with max_page_count shows a full database")
		return
	}
	for _, db := range databases {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			small := t.TempDir()
			mount(t, small, "size=6m,mode=0777")
			url := "sqlite:" + small + "/fencerow.db"
			if db.name == "postgres" {
				url = onSmallTablespace(t, small)
			}
			s := newSite(t, url, sandbox.Options{Queued: 500 * time.Millisecond, Running: 500 * time.Millisecond})
			s.provider()
			ids := s.requests(300)
			p := s.start("run", "requests.jsonl", "--provider", "api.yaml", "--out", "out", "--brake", "0", "--workers", "8")
			for range 10 {
				<-s.posts
			}
			fill(t, small)
			awaitLine(t, p, "full", 30*time.Second)
			remount(t, small, "size=64m")
			status := s.wait(p, 2*time.Minute)
			s.check(ids)
			if status != 0 && status != 3 {
				t.Errorf("run ended with %d\n%s", status, tail(p.output()))
			}
		})
	}
}

// onSmallTablespace makes a database whose tables lie on a small file system, its log elsewhere.
func onSmallTablespace(t *testing.T, dir string) string {
	t.Helper()
	server := pgtest.NewServer(t, pgtest.Fast)
	db := server.URL()
	owner, err := os.Stat(server.DataDir())
	if err != nil {
		t.Fatal(err)
	}
	who := owner.Sys().(*syscall.Stat_t)
	if err := os.Chown(dir, int(who.Uid), int(who.Gid)); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"CREATE TABLESPACE small LOCATION '" + dir + "'",
		"ALTER DATABASE " + strings.TrimPrefix(mustURL(t, db).Path, "/") + " SET default_tablespace = 'small'",
	} {
		if out, err := exec.Command("psql", "-v", "ON_ERROR_STOP=1", "-c", sql, db).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", sql, err, out)
		}
	}
	return db
}

func mustURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func mount(t *testing.T, dir, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Fatalf("mount a small file system at %s: %v", dir, err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	for p := dir; p != "/tmp" && p != "/"; p = p[:strings.LastIndex(p, "/")] {
		_ = os.Chmod(p, 0o777) // the server is another user
	}
	_ = os.Chmod(dir, 0o777)
}

func remount(t *testing.T, dir, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, options); err != nil {
		t.Fatalf("make the file system at %s larger: %v", dir, err)
	}
}

// fill writes a file until there is no room.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(dir + "/ballast")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
}

// awaitLine waits until the program has said something.
func awaitLine(t testing.TB, p *process, part string, limit time.Duration) {
	t.Helper()
	deadline := time.After(limit)
	for {
		select {
		case line := <-p.lines:
			if strings.Contains(line, part) {
				return
			}
		case <-p.ended:
			if strings.Contains(p.output(), part) {
				return
			}
			t.Fatalf("the program ended with %d and never said %q:\n%s", p.status, part, tail(p.output()))
		case <-deadline:
			t.Fatalf("the program has not said %q within %s:\n%s", part, limit, tail(p.output()))
		}
	}
}
