package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// What every way stores of an operation.
var (
	request  = []byte(`{"prompt":"a fence in the evening, seen from the road","seconds":8}`)
	snapshot = []byte(`{"status":"succeeded","url":"https://remote.invalid/results/1"}`)
)

const (
	provider = "video"
	digest   = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	size     = 1 << 20
)

// engine brings operations through by the machine's verbs. The provider answers at once.
type engine struct {
	store  *pgstore.Store
	verbs  *machine.Machine
	many   int
	apart  bool // a statement an event: nothing is joined
	sent   sent
	number atomic.Int64
}

// byEngine is the engine with so many operations in flight.
func byEngine(many int, o pgstore.Options) way {
	return func(ctx context.Context, url string) (lane, error) {
		e := &engine{many: many}
		o.MaxConns = connections(many)
		o.Tracer = &e.sent
		var err error
		if e.store, err = pgstore.Open(ctx, url, o); err != nil {
			return nil, err
		}
		if _, err := e.store.Migrate(ctx); err != nil {
			return nil, err
		}
		e.verbs, err = machine.New(e.store, machine.Config{Label: "bench"})
		return e, err
	}
}

// byEngineApart is the engine with a statement for every event.
func byEngineApart(many int, o pgstore.Options) way {
	return func(ctx context.Context, url string) (lane, error) {
		l, err := byEngine(many, o)(ctx, url)
		if err == nil {
			l.(*engine).apart = true
		}
		return l, err
	}
}

// connections is how many connections so many in flight get: more than a few a core only wait for each other.
func connections(many int) int32 { return int32(min(many+1, 16)) }

func (e *engine) close() { _ = e.store.Close() }

func (e *engine) work(ctx context.Context, length time.Duration) (tally, error) {
	return together(ctx, e.many, length, &e.sent, func(ctx context.Context, _ int) (int, error) {
		return 1, e.bring(ctx, fmt.Sprintf("op-%d", e.number.Add(1)))
	})
}

// bring is the whole lifecycle of one operation: eight events, in five statements.
func (e *engine) bring(ctx context.Context, id string) error {
	if e.apart {
		return e.bringApart(ctx, id)
	}
	who := machine.Who{Provider: provider}
	prepared, err := e.verbs.Prepare(ctx, machine.Request{OperationID: id, Kind: provider, Request: request, WantsDelivery: true})
	if err != nil {
		return err
	}
	l, err := e.verbs.ClaimAndBegin(ctx, prepared.Operation, who)
	if err != nil {
		return err
	}
	if _, l, err = e.verbs.AcceptedAndClaim(ctx, l, "job-"+id, nil, who); err != nil {
		return err
	}
	if _, l, err = e.verbs.SucceededAndClaim(ctx, l, snapshot, "", who); err != nil {
		return err
	}
	_, err = e.verbs.Delivered(ctx, l, "results/"+id, digest, size)
	return err
}

// bringApart is the same with a statement for every event.
func (e *engine) bringApart(ctx context.Context, id string) error {
	who := machine.Who{Provider: provider}
	if _, err := e.verbs.Prepare(ctx, machine.Request{OperationID: id, Kind: provider, Request: request, WantsDelivery: true}); err != nil {
		return err
	}
	l, err := e.verbs.Claim(ctx, transitions.Dispatch, id, who)
	if err != nil {
		return err
	}
	if _, err := e.verbs.Begin(ctx, l); err != nil {
		return err
	}
	if _, err := e.verbs.Accepted(ctx, l, "job-"+id, nil, 0); err != nil {
		return err
	}
	if l, err = e.verbs.Claim(ctx, transitions.Observe, id, who); err != nil {
		return err
	}
	if _, err := e.verbs.Observed(ctx, l, "succeeded", snapshot, ""); err != nil {
		return err
	}
	if l, err = e.verbs.Claim(ctx, transitions.Deliver, id, who); err != nil {
		return err
	}
	_, err = e.verbs.Delivered(ctx, l, "results/"+id, digest, size)
	return err
}
