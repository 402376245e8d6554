package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// Options says how a store works. The zero Options is usable.
//
// Planning such a statement takes the server longer than running it; with Prepare it is planned once a connection, which
// was seen to bring two to three times the events, and to make a claim that finds nothing fifty times cheaper. It needs
// direct connections, or a pooler that follows prepared statements (PgBouncer 1.21 and newer): others answer with errors.
type Options struct {
	Names            persist.Names
	Program          *transitions.Program // nil is the standard table
	LockTimeout      time.Duration        // longest wait for a locked row; 0 is 2 s
	StatementTimeout time.Duration        // the server's bound of a statement; 0 is 5 s. New reads it from the server
	MaxConns         int32                // of Open; 0 is pgx's default
	Prepare          bool                 // keep the statements of events prepared on the server: see below
	GroupCommit      bool                 // let events that are fired at the same time travel together: see the package comment
	WakeUps          bool                 // tell other processes what becomes due, and listen: see Wakes
	Tracer           pgx.QueryTracer      // of Open; sees every statement

	alwaysGather bool          // what tests look through: a lone event too is sent in the form of those that travel together
	slow         time.Duration // 0 is slowStatement
	copyFrom     int           // 0 is manyCreated
	copyMost     int           // 0 is mostCopied
}

// mode is how the statements of events are sent.
func (o Options) mode() pgx.QueryExecMode {
	if o.Prepare {
		return pgx.QueryExecModeCacheStatement
	}
	return pgx.QueryExecModeExec
}

// The defaults of Options.
const (
	DefaultStatementTimeout = 5 * time.Second

	// cancelGrace is how long the answer to a cancel request is waited for before the connection is given up.
	cancelGrace = 500 * time.Millisecond
)

func (o Options) withDefaults() (Options, error) {
	if o.LockTimeout == 0 {
		o.LockTimeout = persist.DefaultLockTimeout
	}
	if o.StatementTimeout == 0 {
		o.StatementTimeout = DefaultStatementTimeout
	}
	if o.LockTimeout < time.Millisecond || o.LockTimeout >= o.StatementTimeout {
		return o, fmt.Errorf("open the store: lock timeout %s must be between 1ms and the statement timeout %s, so that a lock wait is reported as one; change one of them", o.LockTimeout, o.StatementTimeout)
	}
	if o.Program == nil {
		program, err := transitions.Compile(transitions.Standard())
		if err != nil {
			return o, fmt.Errorf("open the store: %w", err)
		}
		o.Program = program
	}
	return o, nil
}

// Open connects to PostgreSQL by a URL or a connection string. It does not make the tables: see Migrate.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("open the store: read the database's address: %w", err)
	}
	if o.MaxConns > 0 {
		config.MaxConns = o.MaxConns
	}
	if o.Tracer != nil {
		config.ConnConfig.Tracer = o.Tracer
	}
	config.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		// A canceled statement that the server confirms is known not to have run.
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelGrace}
	}
	pool, err := connect(ctx, config, o)
	if err != nil {
		return nil, err
	}
	s, err := New(ctx, pool, o)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.owned = true
	return s, nil
}

// parameters are what every connection asks the server for.
func parameters(o Options) map[string]string {
	return map[string]string{
		"statement_timeout":             strconv.FormatInt(o.StatementTimeout.Milliseconds(), 10),
		"default_transaction_isolation": "read committed",
	}
}

// connect makes the pool and has one connection. A pooler such as PgBouncer refuses session parameters: there they are
// left out, and New checks that the role or the database has them.
func connect(ctx context.Context, config *pgxpool.Config, o Options) (*pgxpool.Pool, error) {
	ours := map[string]string{}
	for name, value := range parameters(o) {
		if _, set := config.ConnConfig.RuntimeParams[name]; !set {
			ours[name] = value
			config.ConnConfig.RuntimeParams[name] = value
		}
	}
	pool, err := reach(ctx, config)
	if e := serverError(err); e != nil && e.Code == unsupportedParameter {
		for name := range ours {
			delete(config.ConnConfig.RuntimeParams, name)
		}
		pool, err = reach(ctx, config)
	}
	if err != nil {
		return nil, fmt.Errorf("open the store: connect to %s: %w", config.ConnConfig.Host, err)
	}
	return pool, nil
}

// unsupportedParameter is how PgBouncer answers a session parameter that it does not track.
const unsupportedParameter = "08P01"

func reach(ctx context.Context, config *pgxpool.Config) (*pgxpool.Pool, error) {
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		pool.Close()
		return nil, err
	}
	conn.Release()
	return pool, nil
}

// New uses a pool of the caller's, which it does not close. The pool's connections must have a statement_timeout and
// READ COMMITTED as their default: by their parameters, or by ALTER ROLE.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	set, err := persist.Compile(o.Program, persist.PostgreSQL, o.Names, persist.LockTimeout(o.LockTimeout))
	if err != nil {
		return nil, err
	}
	s := &Store{program: o.Program, set: set, runner: poolRunner{pool, pgx.QueryExecModeExec}, pool: pool, near: machine.NewNotifier(o.Program)}
	s.events = poolRunner{pool, o.mode()}
	s.copyFrom, s.copyMost = cmp.Or(o.copyFrom, manyCreated), cmp.Or(o.copyMost, mostCopied)
	if s.bound, err = s.checkServer(ctx, o); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	s.runner = patient{s.runner, s.bound + answerGrace}
	s.events = patient{s.events, s.bound + answerGrace}
	if o.GroupCommit {
		s.gather = newGatherer(s, pool, o)
	}
	if o.WakeUps {
		s.wake = newWaker(s, pool, o)
	}
	return s, nil
}

// oldestServer is PostgreSQL 14.
const oldestServer = 140000

const askServer = `SELECT current_user,
  current_setting('server_version_num')::integer,
  (SELECT setting::bigint FROM pg_settings WHERE name = 'statement_timeout'),
  current_setting('transaction_isolation'),
  current_setting('synchronous_commit'),
  current_setting('server_encoding')`

// checkServer holds the session against what the statements rely on, and gives its statement bound.
func (s *Store) checkServer(ctx context.Context, o Options) (time.Duration, error) {
	var role, isolation, durability, encoding string
	var version int
	var timeout int64
	_, err := s.runner.run(ctx, askServer, nil, func(r row) error {
		return r.Scan(&role, &version, &timeout, &isolation, &durability, &encoding)
	})
	if err != nil {
		return 0, fmt.Errorf("ask the server for its settings: %w", err)
	}
	alter := func(setting, value string) string {
		return fmt.Sprintf("run ALTER ROLE %s SET %s = '%s' and connect anew", pgx.Identifier{role}.Sanitize(), setting, value)
	}
	bound := time.Duration(timeout) * time.Millisecond
	switch {
	case version < oldestServer:
		return 0, fmt.Errorf("the server is version %d; version 14 or newer is needed", version/10000)
	case encoding != "UTF8":
		return 0, fmt.Errorf("the database's encoding is %s; make a database with UTF8", encoding)
	case timeout == 0:
		return 0, errors.New("the session has no statement_timeout, so that a statement could land at any later time; " +
			alter("statement_timeout", o.StatementTimeout.String()))
	case bound <= o.LockTimeout:
		return 0, fmt.Errorf("the session's statement_timeout %s does not leave room for the lock timeout %s; %s", bound, o.LockTimeout,
			alter("statement_timeout", o.StatementTimeout.String()))
	case isolation != "read committed":
		return 0, fmt.Errorf("transactions are %s; the statements rely on read committed; %s", isolation,
			alter("default_transaction_isolation", "read committed"))
	case durability == "off":
		return 0, errors.New("synchronous_commit is off: a crash of the server could forget that a request was sent; " +
			alter("synchronous_commit", "on"))
	}
	return bound, nil
}
