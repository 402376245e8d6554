package pgstore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// One wake-up that is too long for a notification goes without the operation's name and its kind, and takes no other with it.
func TestAWakeUpThatIsTooLongGoesWithoutItsName(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{WakeUps: true})
	l := f.listening()
	longest := strings.Repeat("<", machine.MaxName)
	long := machine.Wake{Action: transitions.Dispatch, Provider: longest, Account: longest, OperationID: longest, Kind: longest}
	short := machine.Wake{Action: long.Action, Provider: longest, Account: longest}
	f.Wake(long, end)
	var heard [2]machine.Wake
	for n := range heard {
		select {
		case heard[n] = <-l.heard:
		case <-time.After(3 * time.Second):
			t.Fatalf("only %v were heard", heard)
		}
	}
	if heard != [2]machine.Wake{short, end} && heard != [2]machine.Wake{end, short} {
		t.Errorf("heard %v", heard)
	}
}

// A pool of the caller's may have been made ready for notifications of the caller's own, and may learn only when it
// connects where to, and with what password. Who listens connects as the pool does, and hears what is for the store.
func TestAListenerOnACallersPoolConnectsAsThePoolDoes(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{})
	config, err := pgxpool.ParseConfig(f.url)
	if err != nil {
		t.Fatal(err)
	}
	port := config.ConnConfig.Port
	if n := len(config.ConnConfig.Fallbacks); n > 0 { // a server without TLS that was lent to the tests
		config.ConnConfig.TLSConfig = config.ConnConfig.Fallbacks[n-1].TLSConfig
	}
	config.ConnConfig.Port, config.ConnConfig.Fallbacks = 1, nil
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		c.Port = port
		return nil
	}
	config.ConnConfig.RuntimeParams["statement_timeout"] = "5000"
	config.ConnConfig.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) {}
	pool, err := pgxpool.NewWithConfig(f.ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s, err := pgstore.New(f.ctx, pool, pgstore.Options{WakeUps: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	ctx, stop := context.WithTimeout(f.ctx, 10*time.Second)
	defer stop()
	heard := make(chan machine.Wake, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- s.Wakes(ctx, func() { s.Wake(end) }, func(w machine.Wake) { heard <- w })
	}()
	select {
	case <-heard:
		stop()
		_ = <-ended
	case err := <-ended:
		t.Errorf("it ended: %v", err)
	}
}

// A listener of a store that was closed hears nothing that matters; its session ends with the store.
func TestAListenerEndsWithItsStore(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{WakeUps: true})
	l := f.listening()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-l.ended:
		if err == nil {
			t.Error("it ended without an error")
		}
	case <-time.After(5 * time.Second):
		t.Error("it still listens")
	}
}
