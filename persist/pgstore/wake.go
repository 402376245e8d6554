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
	"github.com/fencerow/fencerow/transitions"
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
	columns struct{ action, due, updated, provider, account, id, kind, redoOf int }

	mu      sync.Mutex
	due     map[machine.Wake]machine.Wake // by what they are without a name; what came alone keeps its name
	flying  bool
	closed  bool
	flights sync.WaitGroup
	ctx     context.Context // ends with the store
	end     context.CancelFunc
}

func newWaker(s *Store, pool *pgxpool.Pool, o Options) *waker {
	w := &waker{pool: pool, mode: o.mode(), channel: wakeChannel(s), due: map[machine.Wake]machine.Wake{}}
	p := s.program
	c := &w.columns
	c.id, c.kind, c.redoOf = p.Column("operation_id"), p.Column("kind"), p.Column("redo_of")
	for name, at := range map[string]*int{"next_action": &c.action, "due_at": &c.due, "updated_at": &c.updated, "provider": &c.provider, "account": &c.account} {
		*at = p.Column(name)
		if *at < 0 {
			return nil // a table without them has nothing to tell
		}
	}
	w.ctx, w.end = context.WithCancel(context.Background())
	return w
}

// wakeChannel is one to each set of tables of a database; a name of PostgreSQL's has 63 bytes.
func wakeChannel(s *Store) string {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%q %q", s.set.Names.Schema, s.set.Names.Prefix)
	return fmt.Sprintf("fencerow_%016x", h.Sum64())
}

// Wake tells other processes that work is due: for events that were fired in a transaction of the caller's, after its
// commit. Without Options.WakeUps it tells nobody. It waits for nothing.
func (s *Store) Wake(due ...machine.Wake) {
	if s.wake != nil {
		s.wake.tell(due...)
	}
}

// told looks at what an event left. Who holds a lease goes on by itself; only what others made due is told.
func (w *waker) told(r *transitions.Rule, rows ...transitions.Row) {
	if w == nil || r.Fence == transitions.Held || r.IsClaim() {
		return
	}
	var due []machine.Wake
	for _, row := range rows {
		if wake, ok := w.of(row); ok {
			due = append(due, wake)
		}
	}
	w.tell(due...)
}

func (w *waker) tell(due ...machine.Wake) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wake := range due {
		w.gather(wake)
	}
	if len(w.due) > 0 && !w.flying && !w.closed {
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

// of tells whether work on an operation is due at the moment of the event that left it so, by the database's clock.
func (w *waker) of(row transitions.Row) (machine.Wake, bool) {
	c := w.columns
	if row == nil || row[c.action].IsNull() || row[c.due].IsNull() || row[c.due].Micros() > row[c.updated].Micros() {
		return machine.Wake{}, false
	}
	wake := machine.Wake{Action: row[c.action].Text(), Provider: row[c.provider].Text(), Account: row[c.account].Text()}
	// What repeats an operation is looked at before it is begun: it is not for who takes it by its name.
	if wake.Action == transitions.Dispatch && c.id >= 0 && c.kind >= 0 && (c.redoOf < 0 || row[c.redoOf].IsNull()) {
		wake.OperationID, wake.Kind = row[c.id].Text(), row[c.kind].Text()
	}
	return wake, true
}

// fly sends what has gathered until there is nothing left. What cannot be sent is dropped: those who listen poll too.
func (w *waker) fly() {
	for {
		w.mu.Lock()
		if len(w.due) == 0 || w.closed {
			w.flying = false
			w.mu.Unlock()
			return
		}
		var payloads []string
		for _, wake := range w.due {
			payloads = append(payloads, payload(wake))
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

// payload is a wake-up as it is sent, without the name where that is too long.
func payload(wake machine.Wake) string {
	text, _ := json.Marshal(wake) // of strings: there is no error
	if len(text) > wakeBytes {
		text, _ = json.Marshal(wake.Unnamed())
	}
	return string(text)
}

func (w *waker) close() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.end()
	w.flights.Wait()
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
		var wake machine.Wake
		if json.Unmarshal([]byte(said), &wake) == nil { // anybody may notify; what is no wake-up is none of ours
			heard(wake)
		}
	}
}

// hearsItself sends what only this listener knows, as wake-ups are sent, and waits until it comes. A worker that took
// silence for quiet would ask the database less often for nothing.
func (w *waker) hearsItself(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, wakePatience)
	defer cancel()
	word := "heard " + rand.Text() // no JSON: it is nobody's wake-up
	if _, err := w.pool.Exec(ctx, notify, w.mode, w.channel, []string{word}); err != nil {
		return fmt.Errorf("send one to itself: %w", err)
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil && ctx.Err() != nil {
			return fmt.Errorf("what was sent did not come within %s; a pooler in transaction mode delivers nothing: give the store the server's own address, or leave wake-ups off: %w", wakePatience, err)
		}
		if err != nil || n.Payload == word {
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
