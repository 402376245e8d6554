package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/persist/sqlitestore"
)

// database is what the program needs of both stores.
type database interface {
	machine.Store
	migrate(context.Context) error
	status(context.Context) ([]step, error)
}

// step is one migration; its time is zero if it is still to be made.
type step struct {
	version int
	name    string
	at      time.Time
}

func stepOf(m persist.Migration, at time.Time) step { return step{m.Version, m.Name, at} }

func (a *app) dial(ctx context.Context, at address) (database, error) {
	if at.sqlite != "" {
		s, err := sqlitestore.Open(ctx, at.sqlite, sqlitestore.Options{Names: a.names(), Program: program()})
		if err != nil {
			return nil, err
		}
		if s.Warning() != "" {
			a.sayf("fencerow: warning: %s", s.Warning())
		}
		return lite{s}, nil
	}
	// A server that swallows packets must not make the program look hung.
	ctx, cancel := context.WithTimeout(ctx, 2*startTries)
	defer cancel()
	s, err := pgstore.Open(ctx, at.url, pgstore.Options{Names: a.names(), Program: program()})
	if err != nil {
		return nil, err
	}
	return postgres{s}, nil
}

type postgres struct{ *pgstore.Store }

func (p postgres) migrate(ctx context.Context) error {
	_, err := p.Migrate(ctx)
	return err
}

func (p postgres) status(ctx context.Context) ([]step, error) {
	all, err := p.MigrationStatus(ctx)
	steps := make([]step, len(all))
	for i, m := range all {
		steps[i] = stepOf(m.Migration, m.At)
	}
	return steps, err
}

type lite struct{ *sqlitestore.Store }

func (l lite) migrate(ctx context.Context) error {
	_, err := l.Migrate(ctx)
	return err
}

func (l lite) status(ctx context.Context) ([]step, error) {
	all, err := l.MigrationStatus(ctx)
	steps := make([]step, len(all))
	for i, m := range all {
		steps[i] = stepOf(m.Migration, m.At)
	}
	return steps, err
}

// mayPass reports whether a database that could not be opened may be there in a moment: it was not reached, it is
// starting or stopping, or it has no connection free. What a server refuses is refused again.
func mayPass(err error) bool {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return strings.HasPrefix(server.Code, "57P") || strings.HasPrefix(server.Code, "53")
	}
	var file *fs.PathError
	if errors.As(err, &file) {
		return false // it is an error of the system, which calls itself one of the network
	}
	var reach *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &reach) || errors.As(err, &network)
}
