package pgstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// Operations that an event creates, where there are many, are copied: the statement with arrays takes the server three
// times as long for each.
const (
	// manyCreated is from how many on.
	manyCreated = 200

	// What one transaction creates at most, so that each of its statements stays far below the server's statement_timeout.
	mostCopied      = 10_000
	mostCopiedBytes = 16 << 20

	// copiesAtOnce is how many transactions of a call are under way at once. More than two only wait for each other on
	// a server of a few cores, and take the pool's connections from others.
	copiesAtOnce = 2
)

// creation is one use of an event that creates very many operations. They are stored part by part; of a part all are
// stored or none.
type creation struct {
	store   *Store
	call    *call
	how     *persist.Copies
	answers []machine.Answer // a part writes those of its own places, when they are stored

	mu    sync.Mutex
	parts [][]int // places of those that are not begun
	err   error   // ends it; an *machine.UnknownError rather than another
}

// creates finds how the operations of a call are copied, nil where they are not: a caller's transaction is the caller's
// to commit, and a few are created sooner by one statement.
func (s *Store) creates(c *call) *persist.Copies {
	if s.pool == nil || !c.rule.New || len(c.sent) < s.copyFrom {
		return nil
	}
	return s.set.Copy(c.event)
}

// create creates operations by copies.
func (s *Store) create(ctx context.Context, c *call, how *persist.Copies) ([]machine.Answer, error) {
	k := &creation{store: s, call: c, how: how, answers: make([]machine.Answer, len(c.sent)), parts: parts(c, s.copyMost)}
	var workers sync.WaitGroup
	for range min(copiesAtOnce, len(k.parts)) {
		workers.Go(func() { k.work(ctx) })
	}
	workers.Wait()
	if k.err == nil {
		return k.answers, nil
	}
	stored := slices.ContainsFunc(k.answers, func(a machine.Answer) bool { return a.Applied })
	if stored && !machine.IsUnknown(k.err) {
		return nil, &machine.UnknownError{Event: c.event, Cause: k.err}
	}
	return nil, k.err
}

// parts divides a call, in the order of the ids: so two calls that create the same operations, each in several
// transactions, cannot lock each other out.
func parts(c *call, most int) [][]int {
	places := make([]int, len(c.sent))
	ids := make([]string, len(c.sent))
	for i, p := range c.sent {
		places[i], ids[i] = i, p["operation_id"].Text()
	}
	slices.SortFunc(places, func(a, b int) int { return cmp.Compare(ids[a], ids[b]) })
	var all [][]int
	begin, bytes := 0, 0
	for i, place := range places {
		w := weight(c.sent[place])
		if i > begin && (i-begin == most || bytes+w > mostCopiedBytes) {
			all = append(all, places[begin:i])
			begin, bytes = i, 0
		}
		bytes += w
	}
	return append(all, places[begin:])
}

// work does one part after the other until there is none left, or one has failed.
func (k *creation) work(ctx context.Context) {
	copier := newCopier(k)
	for {
		k.mu.Lock()
		if len(k.parts) == 0 || k.err != nil {
			k.mu.Unlock()
			return
		}
		places := k.parts[0]
		k.parts = k.parts[1:]
		k.mu.Unlock()
		if err := k.part(ctx, copier, places); err != nil {
			k.failed(err)
			return
		}
	}
}

func (k *creation) failed(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil || machine.IsUnknown(err) {
		k.err = err
	}
}

// part creates the operations at places. What a copy cannot say is asked of the statement with arrays: whether an id
// that exists has the same request, what a value is that the tables do not take, and what becomes of those that a guard
// about their parameters denies.
func (k *creation) part(ctx context.Context, by *copier, places []int) error {
	sent, err := by.copy(ctx, places)
	if errors.Is(err, errTriggered) || refusesRows(err) {
		return k.byStatement(ctx, places)
	}
	if err != nil {
		return k.store.ended(ctx, k.call, sent, err)
	}
	for i, place := range by.applied {
		k.answers[place] = machine.Answer{Applied: true, Exists: true, Row: by.rows[i]}
		if k.store.gather != nil {
			k.store.gather.answered(by.rows[i])
		}
	}
	return k.byStatement(ctx, by.denied)
}

// byStatement is the part of a call at places, in a statement with arrays.
func (k *creation) byStatement(ctx context.Context, places []int) error {
	if len(places) == 0 {
		return nil
	}
	some := &call{event: k.call.event, rule: k.call.rule, sent: make([]transitions.Params, len(places))}
	for i, place := range places {
		some.sent[i] = k.call.sent[place]
	}
	answers, err := k.store.byStatement(ctx, some)
	if err != nil {
		return err
	}
	for i, place := range places {
		k.answers[place] = answers[i]
	}
	return nil
}

// refusesRows reports whether an error is the server's word that a row cannot be stored as it was copied, or no row by
// a copy, as where row-level security applies.
func refusesRows(err error) bool {
	e := serverError(err)
	if e == nil || !provesNotRun(err) {
		return false
	}
	const unsupported, data, integrity = "0A", "22", "23" // classes: a feature, a value, a row
	return len(e.Code) == 5 && slices.Contains([]string{unsupported, data, integrity}, e.Code[:2])
}
