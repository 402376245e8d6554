package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// lifecycle is what is sent for an operation, in this order: eight events in five statements.
var lifecycle = []string{
	"prepare", "dispatch_claim+submit_begin", "submit_accepted+observe_claim", "observe_succeeded+deliver_claim", "deliver_done",
}

// byHand sends the engine's statements through pgx as somebody would who knows them by heart: no machine and no store
// between, prepared as pgx prepares by itself, and of each answer only what the next statement needs is read.
type byHand struct {
	pool   *pgxpool.Pool
	steps  []step
	many   int // at once
	batch  int // operations a statement; 0: one, by the form that takes one
	sent   sent
	number atomic.Int64
}

// step is one statement: which argument stands where, and where the revision is in its answer.
type step struct {
	persist.Statement
	args     []func(*hand) any
	columns  int
	revision int
}

// hand is one operation as its holder knows it.
type hand struct {
	id, owner string
	revision  int64
}

// args are the parameters by name. What is not here is null.
var args = map[string]func(*hand) any{
	"operation_id":    func(h *hand) any { return h.id },
	"kind":            func(*hand) any { return provider },
	"provider":        func(*hand) any { return provider },
	"account":         func(*hand) any { return "" },
	"request":         func(*hand) any { return request },
	"priority":        func(*hand) any { return int64(0) },
	"wants_delivery":  func(*hand) any { return true },
	"can_investigate": func(*hand) any { return false },
	"owner":           func(h *hand) any { return h.owner },
	"ttl_ms":          func(*hand) any { return int64(45_000) },
	"then_provider":   func(*hand) any { return provider },
	"then_account":    func(*hand) any { return "" },
	"then_owner":      func(h *hand) any { return h.owner },
	"then_ttl_ms":     func(*hand) any { return int64(45_000) },
	"revision":        func(h *hand) any { return h.revision },
	"remote_job_id":   func(h *hand) any { return "job-" + h.id },
	"delay_ms":        func(*hand) any { return int64(0) },
	"snapshot":        func(*hand) any { return snapshot },
	"object_key":      func(h *hand) any { return "results/" + h.id },
	"object_sha256":   func(*hand) any { return digest },
	"object_bytes":    func(*hand) any { return int64(size) },
}

// null is the argument of a parameter that has none.
func null(*hand) any { return nil }

// oneByOne is the loop that sends one statement an event, with so many operations in flight.
func oneByOne(many int) way {
	return func(ctx context.Context, url string) (lane, error) { return newByHand(ctx, url, many, 0) }
}

func newByHand(ctx context.Context, url string, many, batch int) (*byHand, error) {
	if err := migrate(ctx, url); err != nil {
		return nil, err
	}
	h := &byHand{many: many, batch: batch}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections(many)
	config.ConnConfig.Tracer = &h.sent
	config.ConnConfig.RuntimeParams["statement_timeout"] = "5000" // as the store has it
	if h.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	return h, h.compile()
}

func migrate(ctx context.Context, url string) error {
	store, err := pgstore.Open(ctx, url, pgstore.Options{MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	_, err = store.Migrate(ctx)
	return err
}

func (h *byHand) compile() error {
	program, err := transitions.Compile(transitions.Standard())
	if err != nil {
		return err
	}
	set, err := persist.Compile(program, persist.PostgreSQL, persist.Names{})
	if err != nil {
		return err
	}
	form, before := transitions.One, 2 // applied, failed
	if h.batch > 0 {
		form, before = persist.Many, 3 // ordinal, applied, failed
	}
	for _, event := range lifecycle {
		s := step{Statement: *set.Statement(event, form), columns: before + len(program.Columns), revision: before + program.Column("revision")}
		for _, name := range s.Params {
			arg := args[name]
			if arg == nil {
				arg = null
			}
			s.args = append(s.args, arg)
		}
		h.steps = append(h.steps, s)
	}
	return nil
}

func (h *byHand) close() { h.pool.Close() }

func (h *byHand) work(ctx context.Context, length time.Duration) (tally, error) {
	if h.batch > 0 {
		return together(ctx, h.many, length, &h.sent, h.bringMany)
	}
	return together(ctx, h.many, length, &h.sent, func(ctx context.Context, who int) (int, error) {
		one := hand{id: fmt.Sprintf("op-%d", h.number.Add(1)), owner: fmt.Sprintf("bench/%d", who)}
		return 1, h.bring(ctx, &one)
	})
}

func (h *byHand) bring(ctx context.Context, one *hand) error {
	given := make([]any, 0, 16)
	for i := range h.steps {
		s := &h.steps[i]
		given = given[:0]
		for _, arg := range s.args {
			given = append(given, arg(one))
		}
		var applied bool
		into := make([]any, s.columns)
		into[0], into[s.revision] = &applied, &one.revision
		if err := h.pool.QueryRow(ctx, s.SQL, given...).Scan(into...); err != nil {
			return fmt.Errorf("%s by hand: %w", s.Event, err)
		}
		if !applied {
			return fmt.Errorf("%s by hand was denied", s.Event)
		}
	}
	return nil
}
