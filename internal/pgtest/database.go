package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// lent is the environment variable that names a server to use as it is.
const lent = "FENCEROW_TEST_DATABASE_URL"

// shared is the server of this test process. Nobody stops it: its guardian
// does when the process is gone, which spares every package a TestMain.
var shared struct {
	sync.Mutex
	tried  bool
	server *Server
	err    error
}

// URL returns the address of a fresh, empty database that is dropped when the
// test ends. Its server is a Fast one: dropping a database writes everybody's
// pages, and waiting for the disk there is most of what a test would take.
func URL(t testing.TB) string {
	t.Helper()

	if server := os.Getenv(lent); server != "" {
		return freshDatabase(t, server, forget)
	}

	shared.Lock()
	if !shared.tried {
		shared.tried = true
		shared.server, shared.err = start([]Option{Fast})
	}
	server, err := shared.server, shared.err
	shared.Unlock()

	if err != nil {
		t.Fatalf("this test needs a PostgreSQL server: %v", err)
	}

	return freshDatabase(t, server.URL(), giveBack)
}

// NewDatabase returns the address of a fresh database on this server. It is
// not dropped: it goes with its server.
func (s *Server) NewDatabase() string {
	s.t.Helper()

	name := newName()
	if err := createDatabase(s.URL(), name, administer); err != nil {
		s.t.Fatal(err)
	}

	return s.url(name)
}

// freshDatabase gives the address of an empty database; after says what
// becomes of it once the test is over.
func freshDatabase(t testing.TB, server string, after func(server, name string) error) string {
	t.Helper()

	name := takeEmptied()
	made := name != ""
	if !made {
		name = newName()
	}
	address, err := urlOf(server, name)
	if err != nil {
		t.Fatal(err)
	}
	if !made {
		if err := createDatabase(server, name, errand); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := after(server, name); err != nil {
			t.Error(err)
		}
	})

	return address
}

// urlOf is the address of another database of a server. It always has a query,
// so that a test may append settings to it.
func urlOf(server, name string) (string, error) {
	address, err := url.Parse(server)
	if err != nil || (address.Scheme != "postgres" && address.Scheme != "postgresql") {
		return "", fmt.Errorf("cannot use %s: want a URL such as postgres://user@host:5432/postgres", lent)
	}
	address.Path = "/" + name
	if address.RawQuery == "" {
		address.RawQuery = "application_name=fencerow_test"
	}

	return address.String(), nil
}

// newName is unique also among test processes that share a lent server.
func newName() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // documented never to fail

	return fmt.Sprintf("fencerow_test_%d_%s", os.Getpid(), hex.EncodeToString(random[:]))
}

func createDatabase(server, name string, run func(server, statement string) error) error {
	// template0 and the C collation make a lent server sort as ours does.
	statement := fmt.Sprintf("CREATE DATABASE %s TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'",
		pgx.Identifier{name}.Sanitize())
	if err := run(server, statement); err != nil {
		return fmt.Errorf("create the test database %s: %w; check that the role may create databases", name, err)
	}

	return nil
}

// forget drops a database, and ends the session beside it.
func forget(server, name string) error {
	if address, err := urlOf(server, name); err == nil {
		leave(context.Background(), address)
	}

	return dropDatabase(server, name)
}

func dropDatabase(server, name string) error {
	// FORCE ends the sessions that a test left open: they are not worth a hang.
	statement := fmt.Sprintf("DROP DATABASE IF EXISTS %s WITH (FORCE)", pgx.Identifier{name}.Sanitize())
	if err := errand(server, statement); err != nil {
		return fmt.Errorf("drop the test database %s: %w; drop it by hand", name, err)
	}

	return nil
}
