package pgtest

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// adminTimeout bounds one CREATE or DROP DATABASE.
const adminTimeout = time.Minute

// errands are the sessions in which databases are made, emptied and dropped, by
// the server's address, while nobody uses them. Beginning a session costs a
// server more than such a statement does, and a package may send hundreds. They
// end with the test process. A test's own server has none: it counts its
// sessions, waits for their end or kills them.
var errands struct {
	sync.Mutex
	idle map[string][]*pgx.Conn
}

// errand runs a statement in the database that a server's address names, in a
// session that is kept for the next.
func errand(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()

	conn, err := takeErrand(ctx, server)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, statement)
	if !conn.IsClosed() {
		errands.Lock()
		defer errands.Unlock()
		if errands.idle == nil {
			errands.idle = map[string][]*pgx.Conn{}
		}
		errands.idle[server] = append(errands.idle[server], conn)
	}

	return err
}

// takeErrand gives a session that answers: a lent server may have been started
// anew since the last errand.
func takeErrand(ctx context.Context, server string) (*pgx.Conn, error) {
	for {
		errands.Lock()
		last := len(errands.idle[server]) - 1
		if last < 0 {
			errands.Unlock()

			return pgx.Connect(ctx, server)
		}
		conn := errands.idle[server][last]
		errands.idle[server] = errands.idle[server][:last]
		errands.Unlock()

		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		_ = conn.Close(ctx)
	}
}

// administer is errand in a session of its own.
func administer(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()

	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()

	_, err = conn.Exec(ctx, statement)

	return err
}
