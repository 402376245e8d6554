package reports_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/internal/byhand"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// rowsPerPhase is how many rows every batch and sweep is held against, in each phase.
const rowsPerPhase = 60

// B37: a claim or a sweep that looks for its rows by itself moves those, and only those, that the same event moves by
// name: both are compiled from one list of guards, so no row is left out by one and taken by the other. A row that is
// not due yet waits (every guard of every claim and sweep, in each form; F1).
func TestB37WhatIsFoundIsWhatTheTableAllows(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, s *stand) {
		p := s.store.Program()
		rows := s.anyRows()
		s.insert(rows)
		params := transitions.Params{
			"owner": transitions.TextValue("w2"), "ttl_ms": transitions.IntValue(60_000), "provider": transitions.TextValue("video"),
			"account": transitions.TextValue(""), "limit": transitions.IntValue(10_000),
		}
		for _, rule := range p.Rules {
			if !rule.Has(transitions.Batch) && !rule.Has(transitions.Sweep) {
				continue
			}
			now := s.now()
			want := []string{}
			for _, row := range rows {
				verdict := p.Eval(rule.Event, row, params, transitions.World{Now: now.UnixMicro()})
				if verdict.Applied && awake(p, row, now) {
					want = append(want, row[p.Column("operation_id")].Text())
				}
			}
			inside, end := s.inTx()
			taken, err := inside.Take(t.Context(), rule.Event, params)
			end(false)
			if err != nil {
				t.Fatalf("%s: %v", rule.Event, err)
			}
			got := []string{}
			for _, row := range taken {
				got = append(got, machine.OperationOf(p, row).OperationID)
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what %s found (-want +got):\n%s", rule.Event, diff)
			}
			if len(want) < 3 || len(want) == len(rows) {
				t.Errorf("%s allows %d of %d rows: nothing is shown by them", rule.Event, len(want), len(rows))
			}
		}
	})
}

// awake tells whether the schedule lets a row be found: at the later of its due time and its lease's end, and where it
// has neither, at once, unless it rests.
func awake(p *transitions.Program, row transitions.Row, now time.Time) bool {
	due, lease := row[p.Column("due_at")], row[p.Column("lease_until")]
	if due.IsNull() && lease.IsNull() {
		return p.Phase(row[p.Column("phase")].Text()).Restless
	}
	for _, at := range []transitions.Value{due, lease} {
		if !at.IsNull() && at.Time().After(now) {
			return false
		}
	}
	return true
}

// usual is what a row of a phase is like that its claim takes.
var usual = map[string]map[string]string{
	transitions.Prepared:   {"next_action": transitions.Dispatch},
	transitions.Submitting: {"lease_owner": "w"},
	transitions.Submitted:  {"next_action": transitions.Observe},
	transitions.Observing:  {"next_action": transitions.Observe},
	transitions.Terminal:   {"next_action": transitions.Deliver, "outcome": "succeeded"},
	transitions.Delivering: {"next_action": transitions.Deliver, "outcome": "succeeded"},
	transitions.Uncertain:  {"next_action": transitions.Investigate},
}

// anyRows are rows as nobody would find them in one place: usual ones of every phase with some of the columns that
// guards look at changed at random, as far as the tables' constraints allow.
func (s *stand) anyRows() []transitions.Row {
	s.Helper()
	p := s.store.Program()
	memory := machine.NewMemory(p)
	random := rand.New(rand.NewPCG(37, 0))
	now := s.now().Truncate(time.Second)
	none, text, number, yes := transitions.NullValue, transitions.TextValue, transitions.IntValue, transitions.BoolValue(true)
	past, future := transitions.TimeValue(now.Add(-time.Hour)), transitions.TimeValue(now.Add(time.Hour))
	var rows []transitions.Row
	for _, phase := range p.PhaseNames() {
		for n := 0; n < rowsPerPhase; {
			id := fmt.Sprintf("%s-%03d", phase, n)
			row := make(transitions.Row, len(p.Columns))
			set := func(column string, v transitions.Value) { row[p.Column(column)] = v }
			for i, c := range p.Columns {
				row[i] = c.Default
			}
			for column, v := range map[string]transitions.Value{
				"operation_id": text(id), "kind": text("video"), "provider": text("video"), "account": text(""), "phase": text(phase),
				"request": transitions.BytesValue([]byte("{}")), "due_at": past, "created_at": past, "updated_at": past,
			} {
				set(column, v)
			}
			for column, v := range usual[phase] {
				set(column, text(v))
			}
			changes := map[string][]transitions.Value{
				"provider": {text("print")}, "account": {text("other")}, "next_action": {none, text("dispatch"), text("observe"), text("deliver")},
				"remote_job_id": {none, text("job-" + id), text("job-" + id)}, "late_remote_job_id": {text("late-" + id)},
				"lease_owner": {text("w")}, "lease_until": {past, future}, "due_at": {none, future}, "delivery_attempts": {number(8)},
				"outcome": {text("failed")}, "observe_deadline": {past, future}, "cancel_requested_at": {past},
				"duplicate_suspected": {yes}, "outcome_contradicted": {yes},
			}
			for _, column := range slices.Sorted(maps.Keys(changes)) {
				others := changes[column]
				if random.IntN(5) == 0 || column == "remote_job_id" {
					set(column, others[random.IntN(len(others))])
				}
			}
			if memory.Put(row) == nil {
				rows = append(rows, row)
				n++
			}
		}
	}
	slices.SortFunc(rows, func(a, b transitions.Row) int {
		return strings.Compare(a[p.Column("operation_id")].Text(), b[p.Column("operation_id")].Text())
	})
	return rows
}

// insert writes rows by hand.
func (s *stand) insert(rows []transitions.Row) {
	s.Helper()
	exec := func(_ context.Context, sql string, args ...any) error { return s.exec(sql, args...) }
	if err := byhand.Write(context.Background(), s.dialect(), s.store.Program(), exec, rows...); err != nil {
		s.Fatal(err)
	}
}

// plain is a value as the driver takes it.
func (s *stand) plain(v transitions.Value) any { return byhand.Value(s.dialect(), v) }

func (s *stand) dialect() persist.Dialect {
	if s.sqlite != nil {
		return persist.SQLite
	}
	return persist.PostgreSQL
}
