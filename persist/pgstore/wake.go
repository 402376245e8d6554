package pgstore

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/machine"
)

const (
	// wakePause is the least time between two of a process's notifications: a commit that notifies takes a lock of the
	// whole server (PostgreSQL, async.c), so that a busy process sends a few with much in them.
	wakePause = 10 * time.Millisecond

	// wakeBytes is what a notification may carry (PostgreSQL, NOTIFY: shorter than 8000 bytes).
	wakeBytes = 7999

	// wakePatience bounds a notification: a late hint is none.
	wakePatience = 2 * time.Second

	// stillThere is how often a listener asks whether its session is alive: a connection that is half open says nothing.
	stillThere = 30 * time.Second
)

// notify waits for no disk: what a crash of the server loses of it is a hint. The setting ends with the statement.
const notify = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, due) FROM unnest($2::text[]) AS due"

// waker tells other processes what became due, in statements of its own: a notification inside a transition's statement
// would make every such commit wait for every other's.
type waker struct {
	pool    *pgxpool.Pool
	mode    pgx.QueryExecMode
	channel string
	near    *machine.Notifier
	self    string // who tells

	mu      sync.Mutex
	due     map[machine.Wake]machine.Wake // by what they are without a name; what came alone keeps its name
	flying  bool
	closed  bool
	flights sync.WaitGroup
	ctx     context.Context // ends with the store
	end     context.CancelFunc
}

func newWaker(s *Store, pool *pgxpool.Pool, o Options) *waker {
	w := &waker{pool: pool, mode: o.mode(), near: s.near, self: rand.Text(), channel: wakeChannel(s), due: map[machine.Wake]machine.Wake{}}
	w.ctx, w.end = context.WithCancel(context.Background())
	return w
}

// wakeChannel is one to each set of tables of a database; a name of PostgreSQL's has 63 bytes.
func wakeChannel(s *Store) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%q %q", s.set.Names.Schema, s.set.Names.Prefix)
	return fmt.Sprintf("fencerow_%016x", h.Sum64())
}

// Hear is machine.Hearer's. It needs no Options.WakeUps.
func (s *Store) Hear(heard func(machine.Wake) bool) (stop func()) { return s.near.Hear(heard) }

// Wake tells those who hear this store, and with Options.WakeUps other processes, that work is due: for events that were
// fired in a transaction of the caller's, after its commit (see machine.Due). It waits for nothing.
func (s *Store) Wake(due ...machine.Wake) { s.wake.tell(s.near.Tell(due...)...) }

// tell is for what nobody in this process took.
func (w *waker) tell(due ...machine.Wake) {
	if w == nil || len(due) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	for _, wake := range due {
		w.gather(wake)
	}
	if len(w.due) > 0 && !w.flying {
		w.flying = true
		w.flights.Go(w.fly)
	}
}

// gather adds a wake-up to those that are to be sent. It is named while it is the only one of its kind: of many, whoever
// works takes as many as it has slots for by one statement, which is cheaper than one by one.
func (w *waker) gather(wake machine.Wake) {
	common := wake.Unnamed()
	if was, there := w.due[common]; there && was != wake {
		wake = common
	}
	w.due[common] = wake
}

// fly sends what has gathered until there is nothing left. What cannot be sent is dropped: those who listen poll too.
func (w *waker) fly() {
	for {
		w.mu.Lock()
		if len(w.due) == 0 {
			w.flying = false
			w.mu.Unlock()
			return
		}
		var payloads []string
		for _, wake := range w.due {
			payloads = append(payloads, word{wake, w.self}.String())
		}
		clear(w.due)
		w.mu.Unlock()
		ctx, cancel := context.WithTimeout(w.ctx, wakePatience)
		_, _ = w.pool.Exec(ctx, notify, w.mode, w.channel, payloads)
		cancel()
		select {
		case <-w.ctx.Done():
		case <-time.After(wakePause):
		}
	}
}

// word is what is sent of a wake-up.
type word struct {
	machine.Wake
	From string `json:",omitempty"` // the store that tells
}

// String is a word as it is sent, without the operation's name where that is too long, and without its kind where it still
// is.
func (w word) String() string {
	text, _ := json.Marshal(w) // of strings: there is no error
	for _, long := range []*string{&w.OperationID, &w.Kind} {
		if len(text) > wakeBytes {
			*long = ""
			text, _ = json.Marshal(w)
		}
	}
	return string(text)
}

// news gives the wake-up of a notification; anybody may notify, and what is no wake-up is none of ours. What this store
// tells itself those who hear it have heard by then.
func (w *waker) news(said string) (machine.Wake, bool) {
	var got word
	if json.Unmarshal([]byte(said), &got) != nil || got.From == w.self && w.near.Heard() {
		return machine.Wake{}, false
	}
	return got.Wake, true
}

// close sends what has gathered, which may be what a process left to others as it was shut down, and then ends what listens.
func (w *waker) close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.flights.Wait()
	w.end()
}

// Wakes listens for what other processes make due, on a connection of its own. Without Options.WakeUps it does not. A
// pooler in transaction mode takes the LISTEN and delivers nothing: so it calls ready when it has heard itself, and gives
// up where it does not. Listen on a direct connection there.
func (s *Store) Wakes(ctx context.Context, ready func(), heard func(machine.Wake)) error {
	if s.wake == nil {
		return fmt.Errorf("listen for wake-ups: the store was opened without them: %w", errors.ErrUnsupported)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.wake.ctx, cancel)() // closing the store ends it too
	pool := s.pool.Config()
	config := pool.ConnConfig.Copy()
	if pool.BeforeConnect != nil { // it may bring a password that is fresh
		if err := pool.BeforeConnect(ctx, config); err != nil {
			return fmt.Errorf("listen for wake-ups: connect: %w", err)
		}
	}
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler { // there is no statement to cancel
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
	}
	config.OnNotification = nil // a caller's own for its pool would get what is waited for here
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("listen for wake-ups: connect: %w", err)
	}
	defer leave(conn)
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{s.wake.channel}.Sanitize()); err != nil {
		return fmt.Errorf("listen for wake-ups: %w", err)
	}
	if err := s.wake.hearsItself(ctx, conn); err != nil {
		s.wake.unlisten(conn)
		return fmt.Errorf("listen for wake-ups: %w", err)
	}
	ready()
	for {
		said, err := s.wake.next(ctx, conn)
		if err != nil {
			return fmt.Errorf("listen for wake-ups: %w", err)
		}
		if wake, ok := s.wake.news(said); ok {
			heard(wake)
		}
	}
}

// hearsItself sends what only this listener knows, as wake-ups are sent, and waits until it comes. A worker that took
// silence for quiet would ask the database less often for nothing.
func (w *waker) hearsItself(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, wakePatience)
	defer cancel()
	mine := "heard " + rand.Text() // no JSON: it is nobody's wake-up
	if _, err := w.pool.Exec(ctx, notify, w.mode, w.channel, []string{mine}); err != nil {
		return fmt.Errorf("send one to itself: %w", err)
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("what was sent did not come within %s; a pooler in transaction mode delivers nothing: give the store the server's own address, or leave wake-ups off: %w", wakePatience, err)
		}
		if err != nil || n.Payload == mine {
			return err
		}
	}
}

// unlisten keeps a pooler in transaction mode from lending a session that listens to others. It is likely to give the
// session that was used last.
func (w *waker) unlisten(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelGrace)
	defer cancel()
	_, _ = conn.Exec(ctx, "UNLISTEN "+pgx.Identifier{w.channel}.Sanitize())
}

// next waits for a notification, and asks now and then whether there is still somebody who could send one.
func (w *waker) next(ctx context.Context, conn *pgx.Conn) (string, error) {
	for {
		waiting, cancel := context.WithTimeout(ctx, stillThere)
		n, err := conn.WaitForNotification(waiting)
		over := waiting.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case err == nil:
			return n.Payload, nil
		case !over:
			return "", err
		}
		asking, cancel := context.WithTimeout(ctx, wakePatience)
		err = conn.Ping(asking)
		cancel()
		if err != nil {
			return "", err
		}
	}
}
