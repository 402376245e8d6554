package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// Options says how a store works. The zero Options is usable.
type Options struct {
	Names       persist.Names
	Program     *transitions.Program // nil is the standard table
	BusyTimeout time.Duration        // longest wait for a transaction of another process, or of this one; 0 is 5 s
	Readers     int                  // connections that read; 0 is 4

	// GroupCommit lets events that are fired at the same time share a transaction: see the package comment.
	GroupCommit bool

	driver       string // what tests look through
	alwaysGather bool   // likewise: a lone event too goes the way of those that share a transaction
}

// The defaults of Options.
const (
	DefaultBusyTimeout = 5 * time.Second
	defaultReaders     = 4
)

func (o Options) withDefaults() (Options, error) {
	if o.BusyTimeout == 0 {
		o.BusyTimeout = DefaultBusyTimeout
	}
	if o.BusyTimeout < time.Millisecond {
		return o, fmt.Errorf("the busy timeout %s is shorter than 1ms; give other processes time to commit", o.BusyTimeout)
	}
	if o.Readers == 0 {
		o.Readers = defaultReaders
	}
	if o.driver == "" {
		o.driver = "sqlite"
	}
	if o.Program == nil {
		program, err := transitions.Compile(transitions.Standard())
		if err != nil {
			return o, err
		}
		o.Program = program
	}
	return o, nil
}

// Open opens the database file at a path, and creates an empty one if there is none: Created tells. It does not make
// the tables: see Migrate.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	set, err := persist.Compile(o.Program, persist.SQLite, o.Names)
	if err != nil {
		return nil, err
	}
	path, created, err := create(path)
	if err != nil {
		return nil, err
	}
	s := &Store{program: o.Program, set: set, path: path, created: created, busy: o.BusyTimeout, warning: networkWarning(path)}
	s.near = machine.NewNotifier(o.Program)
	if o.GroupCommit {
		s.gather = &gatherer{store: s, always: o.alwaysGather}
	}
	if s.writer, err = connect(o.driver, address(path, o.BusyTimeout, true), 1); err != nil {
		return nil, err
	}
	if s.reader, err = connect(o.driver, address(path, o.BusyTimeout, false), o.Readers); err != nil {
		return nil, err
	}
	if err := s.checkMode(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	if s.opened, err = os.Stat(path); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// create makes sure of the file, and tells whether nothing was in it. The file is for its owner only: it holds requests
// and what the remote answered.
func create(path string) (absolute string, created bool, err error) {
	if path == "" || path == ":memory:" || strings.ContainsRune(path, 0) {
		return "", false, errors.New("this is not the name of a file; operations must outlive the process (for tests there is machine.NewMemory)")
	}
	absolute, err = filepath.Abs(path)
	if err != nil {
		return "", false, err
	}
	if err := orphaned(absolute); err != nil {
		return "", false, err
	}
	file, err := os.OpenFile(absolute, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return absolute, true, file.Close()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("the folder %s does not exist; make it first: %w", filepath.Dir(absolute), err)
	}
	if !errors.Is(err, fs.ErrExist) {
		return "", false, err
	}
	info, err := os.Stat(absolute)
	switch {
	case err != nil:
		return "", false, err
	case !info.Mode().IsRegular():
		return "", false, errors.New("this is no ordinary file; name a file")
	}
	return absolute, info.Size() == 0, nil
}

// orphaned refuses a log whose database is gone: SQLite would delete it, and with it the memory of what was sent. A
// database that somebody makes at this moment has no log before there is something in its file.
func orphaned(path string) error {
	log, err := os.Stat(path + "-wal")
	if err != nil || log.Size() == 0 {
		return nil
	}
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return fmt.Errorf("there is no database beside its log %s-wal, which holds events that nothing else remembers; put the database back, or move the log away", path)
	}
	return nil
}

// address writes the driver's address of a file. The path is escaped as a URL's is, so that a ?, # or % in it stays
// part of the name.
func address(path string, busy time.Duration, writes bool) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	query := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds()),
		"foreign_keys(1)",
	}}
	if writes {
		query["_pragma"] = append(query["_pragma"], "journal_mode(WAL)", "synchronous(FULL)")
		query.Set("_txlock", "immediate") // a transaction that reads first and then writes would fail, not wait
	} else {
		query["_pragma"] = append(query["_pragma"], "query_only(1)")
	}
	return "file://" + (&url.URL{Path: path}).EscapedPath() + "?" + query.Encode()
}

func connect(driver, address string, connections int) (*pool, error) {
	db, err := sql.Open(driver, address)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return &pool{db: db, prepared: map[string]*sql.Stmt{}}, nil
}

// checkMode has a first connection and holds it against what durability rests on.
func (s *Store) checkMode(ctx context.Context) error {
	var mode string
	var synchronous int
	err := s.writer.db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode)
	if err == nil {
		err = s.writer.db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&synchronous)
	}
	switch {
	case err != nil:
		return s.explained(ctx, err)
	case mode != "wal":
		return fmt.Errorf("its journal mode is %s and cannot be WAL here; use a file system of this machine", mode)
	case synchronous != 2:
		return fmt.Errorf("synchronous is %d, want 2 (FULL): a loss of power could forget that a request was sent", synchronous)
	}
	return nil
}

// Created tells whether Open found no database and began an empty one: one without memory of what was sent.
func (s *Store) Created() bool { return s.created }

// Path is the file's absolute name.
func (s *Store) Path() string { return s.path }

// Warning says what is doubtful about the place of the file, "" if nothing is.
func (s *Store) Warning() string { return s.warning }

// DB gives the pool of the one connection that writes, for transactions of the caller's own: see InTx. While such a
// transaction is open, or rows of it are, the store's own events wait for their end, up to Options.BusyTimeout.
func (s *Store) DB() *sql.DB { return s.writer.db }

// Close closes the file. Transactions that are under way end first.
func (s *Store) Close() error {
	if s.tx != nil {
		return nil
	}
	// The writer goes last: the connection that closes last folds the WAL into the file.
	return errors.Join(s.reader.close(), s.writer.close())
}
