package pgtest

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
)

// besides are sessions in the databases that URL gives, one each, by address.
// Databases are emptied in them, and they stay for the next test: beginning a
// session costs a server more than emptying a database does.
var besides struct {
	sync.Mutex
	open map[string]*pgx.Conn
}

// Beside gives a session in a database that URL gave, past whatever is tested:
// for rows that are written by hand. It is the same for all who ask, so that
// no two may use it at once, and stays open when the test is over.
func Beside(ctx context.Context, address string) (*pgx.Conn, error) {
	besides.Lock()
	defer besides.Unlock()

	if conn := besides.open[address]; conn != nil && conn.Ping(ctx) == nil {
		return conn, nil
	}
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, err
	}
	if besides.open == nil {
		besides.open = map[string]*pgx.Conn{}
	}
	besides.open[address] = conn

	return conn, nil
}

// leave ends a database's session, if it has one.
func leave(ctx context.Context, address string) {
	besides.Lock()
	defer besides.Unlock()

	if conn := besides.open[address]; conn != nil {
		_ = conn.Close(ctx)
		delete(besides.open, address)
	}
}
