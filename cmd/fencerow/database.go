package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fencerow/fencerow/machine"
)

const defaultDB = "sqlite:fencerow.db"

// purpose is what a verb opens the database for.
type purpose int

const (
	reading  purpose = iota // changes nothing and creates nothing
	writing                 // changes operations that must be there already
	creating                // may be the first to use the database
)

// writingUnless is for a verb that is asked only to show what it would do, or to do it.
func writingUnless(dry bool) purpose {
	if dry {
		return reading
	}
	return writing
}

// session is an open database.
type session struct {
	store   machine.Store
	machine *machine.Machine
	name    string // for people: no password in it
}

func (s *session) close() { _ = s.store.Close() }

// noDatabaseError says that there is nothing to read.
type noDatabaseError struct {
	at  address
	why string
}

func (e *noDatabaseError) Error() string {
	return fmt.Sprintf("there is no database at %s: %s; name another one with --db or $FENCEROW_DB: the one that the operations were sent with", e.at.name, e.why)
}

// address is where a database is.
type address struct {
	url    string
	sqlite string // path; "" is PostgreSQL
	name   string // for people
}

func (a *app) address() (address, error) {
	text, from := a.db, "--db"
	if text == "" {
		text, _ = a.lookup("FENCEROW_DB")
		from = "$FENCEROW_DB"
	}
	if text == "" {
		text, from = defaultDB, "--db"
	}
	switch scheme, rest, _ := strings.Cut(text, ":"); scheme {
	case "sqlite":
		path := strings.TrimPrefix(rest, "//")
		if path == "" || strings.HasPrefix(path, ":memory:") {
			return address{}, usagef("%s %q: name a file: a database that ends with the program forgets what was sent", from, text)
		}
		name := "sqlite:" + path
		if whole, err := filepath.Abs(path); err == nil && whole != path {
			name += " (" + whole + ")"
		}
		return address{url: text, sqlite: path, name: name}, nil
	case "postgres", "postgresql":
		if _, err := url.Parse(text); err != nil {
			return address{}, usagef("%s is no URL that can be read (it is not shown, since it may hold a password); special characters in a password are written %%XX", from)
		}
		return address{url: text, name: redact(text)}, nil
	}
	return address{}, usagef("%s %q: want sqlite:PATH or postgres://…", from, redact(text))
}

// redact writes a database's address without its password.
func redact(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		if scheme, _, ok := strings.Cut(text, "://"); ok {
			return scheme + "://(not shown)"
		}
		return text
	}
	if q := u.Query(); q.Has("password") || q.Has("sslpassword") {
		for _, name := range []string{"password", "sslpassword"} {
			if q.Has(name) {
				q.Set(name, "xxxxx")
			}
		}
		u.RawQuery = q.Encode()
	}
	if _, has := u.User.Password(); has || u.RawQuery != "" {
		return u.Redacted()
	}
	return text
}

// startTries is how long a database that does not answer is waited for at the start.
const startTries = 5 * time.Second

// open opens the database for a purpose, with its tables there. Whoever writes says which database it is.
func (a *app) open(ctx context.Context, why purpose, configs ...machine.Config) (*session, error) {
	return a.openUnless(ctx, why, func(string) error { return nil }, configs...)
}

// openUnless is open, but that a new database is not begun where refuse has a reason against it.
func (a *app) openUnless(ctx context.Context, why purpose, refuse func(database string) error, configs ...machine.Config) (*session, error) {
	at, err := a.address()
	if err != nil {
		return nil, err
	}
	isNew := at.sqlite != "" && !exists(at.sqlite)
	if isNew && why != creating {
		return nil, &noDatabaseError{at, "the file does not exist"}
	}
	if isNew {
		if err := at.hasFolder(); err != nil {
			return nil, err
		}
		if err := refuse(at.name); err != nil {
			return nil, err
		}
	}
	if why != reading {
		a.sayf("fencerow: using the database %s", at.name)
	}
	if isNew {
		a.sayf("fencerow: this is a new database; it knows of nothing that was sent before")
	}
	db, err := a.connect(ctx, at)
	if err != nil {
		return nil, err
	}
	if err := a.tables(ctx, db, at, why, isNew, refuse); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	config := machine.Config{}
	if len(configs) > 0 {
		config = configs[0]
	}
	m, err := machine.New(db, config)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &session{db, m, at.name}, nil
}

// tables makes the tables where there are none and the purpose allows it. An upgrade is somebody's decision.
func (a *app) tables(ctx context.Context, db database, at address, why purpose, isNew bool, refuse func(string) error) error {
	steps, err := db.status(ctx)
	if err != nil {
		return fmt.Errorf("looking for the tables in %s: %w", at.name, err)
	}
	missing := 0
	for _, s := range steps {
		if s.at.IsZero() {
			missing++
		}
	}
	switch {
	case missing == 0:
		return nil
	case missing == len(steps) && why == creating:
		if err := refuse(at.name); err != nil {
			return err
		}
		if !isNew {
			a.sayf("fencerow: it has no tables yet: they are created; it knows of nothing that was sent before")
		}
		if err := db.migrate(ctx); err != nil {
			return fmt.Errorf("creating the tables in %s: %w", at.name, err)
		}
		return nil
	case missing == len(steps):
		return &noDatabaseError{at, "it has no tables of fencerow's (with this schema and table prefix)"}
	}
	return fmt.Errorf("the tables in %s are older than this program: run %s, or take the SQL from fencerow migrate print", at.name, a.command("migrate", "up"))
}

// hasFolder reports a folder that is not there before a new database in it is spoken of: it may be a typing mistake.
func (at address) hasFolder() error {
	folder, err := filepath.Abs(filepath.Dir(at.sqlite))
	if at.sqlite == "" || err != nil || exists(folder) {
		return nil // what is wrong with it, opening tells
	}
	return fmt.Errorf("there is no database at %s, since the folder %s does not exist: make it first, or name another database with --db or $FENCEROW_DB", at.name, folder)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// connect opens the database, and tries for a while where it does not answer.
func (a *app) connect(ctx context.Context, at address) (database, error) {
	began := time.Now()
	for told := false; ; told = true {
		db, err := a.dial(ctx, at)
		if err == nil {
			return db, nil
		}
		if !mayPass(err) || ctx.Err() != nil || time.Since(began) >= startTries {
			what := "check that the server runs, and the address, the user and the network"
			if at.sqlite != "" {
				what = "check the path, its permissions and the room on the disk"
			}
			return nil, fmt.Errorf("opening the database %s: %w; %s", at.name, err, what)
		}
		if !told {
			a.sayf("fencerow: the database %s does not answer; it is tried for %s", at.name, startTries)
		}
		wait(ctx, 500*time.Millisecond)
	}
}
