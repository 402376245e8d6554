package hostile_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/pgproxy"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
	"github.com/fencerow/fencerow/transitions"
)

// bounded are the bounds of a store whose calls are given up soon; not so soon that a busy machine has not answered.
var bounded = pgstore.Options{LockTimeout: time.Second, StatementTimeout: 8 * time.Second, MaxConns: 6}

// trial is one deed under one fate.
type trial struct {
	deed
	fate pgproxy.Fate
	*wire
	problems []string
}

func (tr *trial) problem(format string, args ...any) {
	tr.problems = append(tr.problems, fmt.Sprintf(format, args...))
}

// Every event under every fate of its statement: the answer is never applied or denied where nobody can know, the
// database holds what the fate let through, callers' verbs find out, and what lands late changes nothing
// (lifecycle, "Three answers, never two"; reports B71 and B101).
func TestEveryEventUnderEveryFateIsUnknownAndThenResolved(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	var trials []*trial
	for _, deed := range deeds {
		for _, fate := range pgproxy.Fates {
			trials = append(trials, &trial{deed: deed, fate: fate, wire: d.wire(bounded)})
			if deed.event == "submit_begin" || deed.event == "submit_accepted" {
				prepared := bounded
				prepared.Prepare = true
				trials = append(trials, &trial{deed: deed, fate: fate, wire: d.wire(prepared)})
			}
		}
	}
	// They mostly wait for answers that never come, so that many can wait together; not all, since those that gave up at
	// the same moment would all begin new sessions, and a busy server would not have begun the last of them in time.
	var busy sync.WaitGroup
	places := make(chan struct{}, 16)
	for i, tr := range trials {
		places <- struct{}{}
		busy.Go(func() {
			defer func() { <-places }()
			tr.sentOnce(fmt.Sprintf("once-%d", i))
			tr.untilKnown(fmt.Sprintf("known-%d", i))
		})
	}
	busy.Wait()
	for _, tr := range trials {
		t.Run(name(tr.event, " in form ", tr.form, ", ", tr.fate, map[bool]string{true: ", prepared"}[tr.o.Prepare]), func(t *testing.T) {
			for _, p := range tr.problems {
				t.Error(p)
			}
		})
	}
}

// sentOnce sends the statement once, through the store.
func (tr *trial) sentOnce(id string) {
	s := tr.stage(tr.deed, id)
	tr.arm(tr.event, tr.form, tr.fate)
	defer tr.proxy.HoldCancels()() // else what is late may be canceled before it lands
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() {
		select {
		case <-tr.proxy.Met(): // and its caller gives up
			cancel()
		case <-ctx.Done():
		}
	}()
	applied, err := tr.fire(ctx, tr.wire, s)
	if got := tr.proxy.Counts()[tr.fate]; got != 1 {
		tr.problem("%d statements met their fate, want 1", got)
	}
	if !machine.IsUnknown(err) || applied {
		tr.problem("the store says applied %t, %v; want an unknown answer", applied, err)
	}
	want := 0
	if tr.fate.Runs() {
		want = 1
	}
	if got := tr.count(tr.database, s); got != want {
		tr.problem("it landed %d times, want %d", got, want)
	}
	if landed := tr.proxy.Land(); landed > 0 {
		want++
	}
	if got := tr.count(tr.database, s); got != want {
		tr.problem("it landed %d times once what was late had arrived, want %d", got, want)
	}
	if want > 0 {
		tr.explained(s)
	}
}

// untilKnown calls the verb, which comes back only when it knows.
func (tr *trial) untilKnown(id string) {
	if tr.verb == nil {
		return
	}
	s := tr.stage(tr.deed, id)
	tr.arm(tr.event, tr.form, tr.fate)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := tr.verb(ctx, tr.wire, s); err != nil {
		tr.problem("the verb says %v, want that it landed", err)
		return
	}
	before, history := tr.op(s.id), tr.history(s.id)
	if got := tr.count(tr.database, s); got != 1 {
		tr.problem("it landed %d times by the time that the verb knew, want 1", got)
	}
	tr.proxy.Land()
	if !slices.Equal(before.Row(), tr.op(s.id).Row()) || history != tr.history(s.id) {
		tr.problem("what landed late changed the row or its history: it was %s at revision %d", before.Phase, before.Revision)
	}
	tr.explained(s)
}

func (tr *trial) history(id string) int {
	entries, err := tr.calm.History(context.Background(), id)
	if err != nil {
		tr.problem("%v", err)
	}
	return len(entries)
}

func (tr *trial) explained(s subject) {
	findings, err := tr.database.engine.Audit(context.Background(), s.id)
	if err != nil || len(findings) > 0 {
		tr.problem("its history does not explain the row: %v, %v", findings, err)
	}
}

// A reply that never comes costs the pool no place: the one connection of this store is free again at once, to ask
// history with (A8).
func TestALostReplyTakesNoPlaceInThePool(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	w := d.wire(pgstore.Options{MaxConns: 1})
	l := d.at(transitions.Prepared, "a", "video")
	w.arm("submit_begin", transitions.One, pgproxy.NeverForward)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-w.proxy.Met(); cancel() }()
	if _, err := w.store.Apply(ctx, "submit_begin", fence(l)); !machine.IsUnknown(err) {
		t.Fatalf("the store says %v, want an unknown answer", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if landed, err := w.engine.Landed(soon, "a", "submit_begin", l.Revision); landed || err != nil {
		t.Errorf("history says %t, %v; want that it has not landed", landed, err)
	}
}
