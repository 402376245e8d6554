package machine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// The defaults of a Config.
const (
	DefaultTTL = 45 * time.Second
	minTTL     = 500 * time.Millisecond
)

// Config is how a process holds leases.
type Config struct {
	// TTL is the length of a lease by the database's clock; 0 means DefaultTTL.
	TTL time.Duration
	// Margin is how long before the end of a lease its holder stops by its own clock; 0 means a tenth of TTL.
	Margin time.Duration
	// Label names the process in owner tokens, for people; empty means host name and process id. The token itself is
	// random and fresh for every claim, so that no two claims share one (reports B34, B39).
	Label string
}

// WithDefaults fills in what is not set.
func (c Config) WithDefaults() Config {
	if c.TTL == 0 {
		c.TTL = DefaultTTL
	}
	if c.Margin == 0 {
		c.Margin = c.TTL / 10
	}
	if c.Label == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown-host"
		}
		c.Label = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	return c
}

// Machine fires events. It is safe for concurrent use and holds no state of any operation: every verb is judged on
// the row itself (contract: no cached phase, no latch). Its verbs return nil where the event was applied, a
// *DeniedError, an *UnknownError, or any other error where the event provably did not run.
type Machine struct {
	store  Store
	cfg    Config
	clock  func() instant
	claims map[string]string // action → claim event
	told   func(event, id string, err error)

	notices *keyed // by operation: what remotes say of one is kept one after the other
}

// New makes a machine on a store.
func New(store Store, cfg Config) (*Machine, error) {
	cfg = cfg.WithDefaults()
	if cfg.TTL < minTTL {
		return nil, fmt.Errorf("lease of %s is too short: the least is %s", cfg.TTL, minTTL)
	}
	if cfg.Margin < 0 || cfg.Margin >= cfg.TTL/2 {
		return nil, fmt.Errorf("margin of %s does not fit a lease of %s: it must be less than half of it", cfg.Margin, cfg.TTL)
	}
	m := &Machine{notices: &keyed{}, store: store, cfg: cfg, clock: readClocks, claims: map[string]string{}, told: func(string, string, error) {}}
	for _, r := range store.Program().Rules {
		if r.IsClaim() {
			m.claims[r.Action] = r.Event
		}
	}
	return m, nil
}

// In is the same machine on another store: one that is bound to the caller's own transaction (contract C5). There an event
// is as durable as the transaction: a nil error of Begin or ClaimAndBegin allows nothing to be sent before its commit was
// seen.
func (m *Machine) In(store Store) *Machine {
	other := *m
	other.store = store
	return &other
}

// Telling is the same machine with a listener for trouble: hear is called with the error each time that an event which
// must be known to have landed is about to be tried again, and with nil when it landed after that. It is called from
// many goroutines.
func (m *Machine) Telling(hear func(event, id string, err error)) *Machine {
	other := *m
	other.told = hear
	return &other
}

// Store gives the store that the machine fires on.
func (m *Machine) Store() Store { return m.store }

// Config gives the configuration with its defaults filled in.
func (m *Machine) Config() Config { return m.cfg }

// Fire fires any event of the table by name. Params must hold operation_id. The verbs are Fire with names.
func (m *Machine) Fire(ctx context.Context, event string, params transitions.Params) (Operation, error) {
	if m.store.Program().Rule(event) == nil {
		return Operation{}, &InvalidError{"event", fmt.Sprintf("table %s has no event %q", m.store.Program().Name, event)}
	}
	answer, err := m.store.Apply(ctx, event, params)
	if err != nil {
		return Operation{}, err
	}
	return m.read(event, params["operation_id"].Text(), answer)
}

// read turns a store's answer into an operation or a denial.
func (m *Machine) read(event, id string, a Answer) (Operation, error) {
	if !a.Exists {
		return Operation{}, fmt.Errorf("%s on operation %q: %w", event, id, ErrNotFound)
	}
	op := OperationOf(m.store.Program(), a.Row)
	if !a.Applied {
		return op, &DeniedError{Event: event, OperationID: id, Failed: a.Failed, Seen: op}
	}
	return op, nil
}

// Get reads one operation; the error is ErrNotFound if there is none.
func (m *Machine) Get(ctx context.Context, id string) (Operation, error) {
	rows, err := m.store.Get(ctx, id)
	if err != nil {
		return Operation{}, err
	}
	if len(rows) == 0 {
		return Operation{}, fmt.Errorf("operation %q: %w", id, ErrNotFound)
	}
	return OperationOf(m.store.Program(), rows[0]), nil
}

// List reads a page of operations, newest first.
func (m *Machine) List(ctx context.Context, q Query) ([]Operation, error) {
	rows, err := m.store.List(ctx, q)
	if err != nil {
		return nil, err
	}
	return m.operations(rows), nil
}

func (m *Machine) operations(rows []transitions.Row) []Operation {
	ops := make([]Operation, len(rows))
	for i, row := range rows {
		ops[i] = OperationOf(m.store.Program(), row)
	}
	return ops
}

// Who is the provider and account that a worker is configured for.
type Who struct{ Provider, Account string }

// newOwner makes the token of one claim.
func (m *Machine) newOwner() string { return m.cfg.Label + "/" + rand.Text()[:16] }

// Claim takes one operation for an action.
func (m *Machine) Claim(ctx context.Context, action, id string, who Who) (*Lease, error) {
	params, event, err := m.claimParams(action, who)
	if err != nil {
		return nil, err
	}
	params["operation_id"] = transitions.TextValue(id)
	before := m.clock()
	op, err := m.Fire(ctx, event, params)
	if err != nil {
		return nil, err // an unknown claim is given up: it lapses
	}
	return m.lease(op, action, before), nil
}

// ClaimMany takes up to n due operations for an action: higher priority first, then oldest due. It never waits behind
// a locked row. An *UnknownError means that some may have been taken; they lapse.
func (m *Machine) ClaimMany(ctx context.Context, action string, who Who, n int) ([]*Lease, error) {
	params, event, err := m.claimParams(action, who)
	if err != nil {
		return nil, err
	}
	params["limit"] = transitions.IntValue(int64(n))
	before := m.clock()
	rows, err := m.store.Take(ctx, event, params)
	if err != nil {
		return nil, err
	}
	leases := make([]*Lease, len(rows))
	for i, op := range m.operations(rows) {
		leases[i] = m.lease(op, action, before)
	}
	return leases, nil
}

func (m *Machine) claimParams(action string, who Who) (transitions.Params, string, error) {
	event, ok := m.claims[action]
	if !ok {
		return nil, "", &InvalidError{"action", fmt.Sprintf("table %s has no claim for %q", m.store.Program().Name, action)}
	}
	return transitions.Params{
		"owner":    transitions.TextValue(m.newOwner()),
		"ttl_ms":   transitions.IntValue(m.cfg.TTL.Milliseconds()),
		"provider": transitions.TextValue(who.Provider),
		"account":  transitions.TextValue(who.Account),
	}, event, nil
}

func (m *Machine) lease(op Operation, action string, before instant) *Lease {
	return &Lease{
		Operation: op, Action: action, Owner: op.LeaseOwner, Revision: op.Revision,
		clock: m.clock, ends: deadline{before, m.cfg.TTL - m.cfg.Margin},
	}
}

// renewersAlone is how many leases at a time are extended by themselves.
const renewersAlone = 8

// Renew extends leases, all in one statement. The errors come in the order of the leases, nil where the lease was
// extended: a denied one is lost, an unknown one keeps its old end.
//
// One row that somebody has locked for long would take all leases of a process: where the one statement comes to no
// answer, each lease is extended by itself, for which half the time that ctx has is kept.
func (m *Machine) Renew(ctx context.Context, leases []*Lease) []error {
	if len(leases) == 0 {
		return nil
	}
	together, cancel := ctx, func() {}
	if len(leases) > 1 {
		together, cancel = halfOf(ctx)
	}
	errs, err := m.renewTogether(together, leases)
	cancel()
	if err == nil || len(leases) == 1 || ctx.Err() != nil {
		return errs
	}
	turns := make(chan struct{}, renewersAlone)
	var all sync.WaitGroup
	for i := range leases {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			one, _ := m.renewTogether(ctx, leases[i:i+1])
			errs[i] = one[0]
		})
	}
	all.Wait()
	return errs
}

// halfOf gives a context with half the time that another has left.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}

// renewTogether extends leases in one statement; the second error is of all of them.
func (m *Machine) renewTogether(ctx context.Context, leases []*Lease) ([]error, error) {
	params := make([]transitions.Params, len(leases))
	for i, l := range leases {
		params[i] = l.params()
		params[i]["ttl_ms"] = transitions.IntValue(m.cfg.TTL.Milliseconds())
	}
	before := m.clock()
	answers, err := m.store.ApplyMany(ctx, "renew", params)
	errs := make([]error, len(leases))
	for i, l := range leases {
		if err != nil {
			errs[i] = err
			continue
		}
		if _, errs[i] = m.read("renew", l.Operation.OperationID, answers[i]); errs[i] == nil {
			l.extend(before, m.cfg.TTL-m.cfg.Margin)
		}
	}
	return errs, err
}

// params binds the owner and revision that the claim returned.
func (l *Lease) params() transitions.Params {
	return transitions.Params{
		"operation_id": transitions.TextValue(l.Operation.OperationID),
		"owner":        transitions.TextValue(l.Owner),
		"revision":     transitions.IntValue(l.Revision),
	}
}

// Sweep fires one of the reconciler's events on up to limit operations and returns those that it moved (contract D1).
// Where something stands in the way of one of them, the others are moved all the same: then it gives both, those and an
// error.
func (m *Machine) Sweep(ctx context.Context, event string, limit int) ([]Operation, error) {
	r := m.store.Program().Rule(event)
	if r == nil || !r.Has(transitions.Sweep) {
		return nil, &InvalidError{"event", fmt.Sprintf("table %s has no sweep %q", m.store.Program().Name, event)}
	}
	rows, err := m.store.Take(ctx, event, transitions.Params{"limit": transitions.IntValue(int64(limit))})
	return m.operations(rows), err
}

// Sweeps lists the reconciler's events in the table's order.
func (m *Machine) Sweeps() []string {
	var names []string
	for _, r := range m.store.Program().Rules {
		if r.Has(transitions.Sweep) {
			names = append(names, r.Event)
		}
	}
	return names
}

// Landed asks history whether an event of this operation landed under a revision. False says only that it has not
// landed yet: a statement can land late, until the revision has moved on or Store.Bound has passed.
func (m *Machine) Landed(ctx context.Context, id, event string, revision int64) (bool, error) {
	entries, err := m.store.History(ctx, id)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if e.Event == event && e.Revision == revision {
			return true, nil
		}
	}
	return false, nil
}

// notRun reports whether err is an answer (applied, denied, no such operation, unusable input) or the proof that the
// event did not run; the latter may be tried again.
func notRun(err error) bool {
	var invalid *InvalidError
	if _, denied := IsDenied(err); denied || IsUnknown(err) || errors.Is(err, ErrNotFound) || errors.As(err, &invalid) {
		return false
	}
	return err != nil
}
