package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/persist/sqlitestore"
)

// place is a database with a way to it that can be cut.
type place struct {
	url       string // past the way
	cutURL    string // the way
	cut, heal func()
}

var places = []struct {
	name string
	make func(t testing.TB) *place
}{
	{"sqlite", sqlitePlace},
	{"postgres", postgresPlace},
}

// sqlitePlace is a file that is moved away and back.
func sqlitePlace(t testing.TB) *place {
	path := filepath.Join(t.TempDir(), "fencerow.db")
	move := func(from, to string) func() {
		return func() {
			if err := os.Rename(from, to); err != nil {
				t.Error(err)
			}
		}
	}
	return &place{
		url: "sqlite:" + path, cutURL: "sqlite:" + path,
		cut: move(path, path+".away"), heal: move(path+".away", path),
	}
}

// postgresPlace is a server behind a proxy that lets nothing pass for a while.
func postgresPlace(t testing.TB) *place {
	url := pgtest.URL(t)
	proxy, through := pgproxy.New(t, url)
	return &place{
		url: url, cutURL: through, heal: proxy.Heal,
		cut: func() {
			proxy.Choose(func(string) pgproxy.Fate { return pgproxy.CutRequest })
			proxy.CutAll()
		},
	}
}

// exec runs a statement past the program. It waits for no other process: what one holds that is stopped it holds for
// as long as it is.
func (s *site) exec(statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if path, ok := strings.CutPrefix(s.db, "sqlite:"); ok {
		store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{BusyTimeout: 100 * time.Millisecond})
		if err != nil {
			return err
		}
		defer func() { _ = store.Close() }()
		_, err = store.DB().ExecContext(ctx, statement)
		return err
	}
	conn, err := pgx.Connect(ctx, s.db)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, "SET lock_timeout = '1s'; "+statement)
	return err
}

// freeze stops a process where it keeps nobody out: one that is stopped in the middle of SQLite's one write holds the
// file's lock for as long as it sleeps, so it is let go on and stopped anew.
func (s *site) freeze(p *process) {
	s.Helper()
	for range 20 {
		_ = p.Process.Signal(syscall.SIGSTOP)
		for !p.stands() {
			<-time.After(time.Millisecond)
		}
		if s.exec("UPDATE fencerow_operations SET priority = priority") == nil {
			return
		}
		_ = p.Process.Signal(syscall.SIGCONT)
		<-time.After(100 * time.Millisecond) // it writes what it was writing
	}
	s.Fatalf("the process holds the database whenever it is stopped\n%s", tail(p.output()))
}

// stands reports whether every thread of a process that was told to stop has done so: one in the middle of a system
// call ends that first.
func (p *process) stands() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.Process.Pid))
	for _, thread := range threads {
		var text []byte
		if text, err = os.ReadFile(thread); err != nil {
			return false // it has just ended
		}
		_, state, _ := bytes.Cut(text, []byte(") "))
		if !bytes.HasPrefix(state, []byte("T")) {
			return false
		}
	}
	return err == nil && len(threads) > 0
}
