package machinetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// The names that the suite's rows share.
const (
	provider = "video"
	account  = "main"
)

// reporter is a test, or one trial of a property.
type reporter interface {
	Helper()
	Log(args ...any)
	Logf(format string, args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// suite is one subtest's store with short words for what every subtest does.
type suite struct {
	reporter
	Subject
	ctx context.Context
	p   *transitions.Program
	now time.Time // the database's clock at the start, in whole seconds

	only []string // the events that are fired; nil: all
}

// fires reports whether an event is one of those that are fired.
func (s *suite) fires(r *transitions.Rule) bool {
	return len(s.only) == 0 || slices.Contains(s.only, r.Event)
}

func newSuite(t *testing.T, subject Subject) *suite {
	t.Helper()
	ctx := context.Background()
	now, err := subject.Now(ctx)
	if err != nil {
		t.Fatalf("read the database's clock: %v", err)
	}
	return &suite{reporter: t, Subject: subject, ctx: ctx, p: subject.Store.Program(), now: now.UTC().Truncate(time.Second)}
}

// values are columns or parameters by name, in Go's own types.
type values map[string]any

// value turns a Go value into one of the kind that the table wants.
func value(v any) transitions.Value {
	switch v := v.(type) {
	case nil:
		return transitions.NullValue
	case string:
		return transitions.TextValue(v)
	case []byte:
		return transitions.BytesValue(v)
	case int:
		return transitions.IntValue(int64(v))
	case int64:
		return transitions.IntValue(v)
	case bool:
		return transitions.BoolValue(v)
	case time.Time:
		return transitions.TimeValue(v)
	case transitions.Value:
		return v
	default:
		panic(fmt.Sprintf("no column holds a %T", v))
	}
}

func params(sets ...values) transitions.Params {
	p := transitions.Params{}
	for _, set := range sets {
		for name, v := range set {
			p[name] = value(v)
		}
	}
	return p
}

// row is a hand-made row in a phase, as it would be found there, with changes.
func (s *suite) row(id, phase string, changes ...values) transitions.Row {
	s.Helper()
	row := blankRow(s.p)
	set := func(vs values) {
		for name, v := range vs {
			i := s.p.Column(name)
			if i < 0 {
				s.Fatalf("the table has no column %q", name)
			}
			row[i] = value(v)
		}
	}
	set(values{
		"operation_id": id, "kind": "clip", "provider": provider, "account": account, "phase": phase,
		"request": []byte(`{"prompt":"a fence"}`), "revision": 3, "due_at": s.now.Add(-time.Minute),
		"created_at": s.now.Add(-time.Hour), "updated_at": s.now.Add(-time.Hour),
	})
	set(usual[phase])
	if phase == transitions.Submitted || phase == transitions.Observing {
		set(values{"remote_job_id": "job-" + id})
	}
	for _, c := range changes {
		set(c)
	}
	return row
}

// usual is what a row in a phase looks like.
var usual = map[string]values{
	transitions.Prepared:   {"next_action": transitions.Dispatch},
	transitions.Submitting: {"attempts": 1, "due_at": nil},
	transitions.Submitted:  {"next_action": transitions.Observe, "attempts": 1},
	transitions.Observing:  {"next_action": transitions.Observe, "attempts": 1},
	transitions.Terminal:   {"outcome": "succeeded", "attempts": 1, "due_at": nil},
	transitions.Delivering: {"next_action": transitions.Deliver, "attempts": 1, "outcome": "succeeded", "delivery": "pending", "delivery_attempts": 1},
	transitions.Uncertain:  {"next_action": transitions.Review, "attempts": 1, "due_at": nil, "uncertain_reason": "no_response"},
}

// blankRow is every column's default.
func blankRow(p *transitions.Program) transitions.Row {
	row := make(transitions.Row, len(p.Columns))
	for i, c := range p.Columns {
		row[i] = c.Default
	}
	return row
}

// leased is a lease that lasts for an hour, held by w under the revision that row gives.
func (s *suite) leased() values {
	return values{"lease_owner": "w", "lease_until": s.now.Add(time.Hour)}
}

// lapsed is a lease that ended an hour ago.
func (s *suite) lapsed() values {
	return values{"lease_owner": "w", "lease_until": s.now.Add(-time.Hour)}
}

// held is what the holder of leased binds.
var held = values{"owner": "w", "revision": 3}

// claiming is what a worker claims with.
var claiming = values{"owner": "w2", "ttl_ms": 60_000, "provider": provider, "account": account}

func (s *suite) put(rows ...transitions.Row) {
	s.Helper()
	if err := s.Put(s.ctx, rows...); err != nil {
		s.Fatalf("write rows by hand: %v", err)
	}
}

// fire fires an event and gives the answer, whatever it is.
func (s *suite) fire(event, id string, sets ...values) machine.Answer {
	s.Helper()
	answer, err := s.Store.Apply(s.ctx, event, params(append(sets, values{"operation_id": id})...))
	if err != nil {
		s.Fatalf("fire %s on %s: %v", event, id, err)
	}
	return answer
}

// must fires an event that has to be applied, and gives the row afterwards.
func (s *suite) must(event, id string, sets ...values) machine.Operation {
	s.Helper()
	answer := s.fire(event, id, sets...)
	if !answer.Applied {
		s.Fatalf("%s on %s was not applied: exists %t, failed %v", event, id, answer.Exists, answer.Failed)
	}
	return machine.OperationOf(s.p, answer.Row)
}

// denied fires an event that has to be denied because of exactly these guards, and holds the row against change.
func (s *suite) denied(event, id string, guards []string, sets ...values) {
	s.Helper()
	before := s.get(id)
	answer := s.fire(event, id, sets...)
	s.same("applied, exists and the guards that failed",
		machine.Answer{Exists: true, Failed: guards},
		machine.Answer{Applied: answer.Applied, Exists: answer.Exists, Failed: answer.Failed})
	s.same("the row as it was seen", s.readable(before), s.readable(answer.Row))
	s.same("the row after a denial", s.readable(before), s.readable(s.get(id)))
}

func (s *suite) get(id string) transitions.Row {
	s.Helper()
	rows, err := s.Store.Get(s.ctx, id)
	if err != nil {
		s.Fatalf("read %s: %v", id, err)
	}
	if len(rows) != 1 {
		s.Fatalf("read %s: got %d rows, want 1", id, len(rows))
	}
	return rows[0]
}

func (s *suite) op(id string) machine.Operation {
	s.Helper()
	return machine.OperationOf(s.p, s.get(id))
}

func (s *suite) history(id string) []machine.HistoryEntry {
	s.Helper()
	entries, err := s.Store.History(s.ctx, id)
	if err != nil {
		s.Fatalf("read the history of %s: %v", id, err)
	}
	return entries
}

func (s *suite) evidence(id string) []machine.EvidenceEntry {
	s.Helper()
	entries, err := s.Store.Evidence(s.ctx, id)
	if err != nil {
		s.Fatalf("read the evidence of %s: %v", id, err)
	}
	return entries
}

// take fires a claim or a sweep and gives the ids of what it moved.
func (s *suite) take(event string, limit int, sets ...values) []string {
	s.Helper()
	rows, err := s.Store.Take(s.ctx, event, params(append(sets, values{"limit": limit})...))
	if err != nil {
		s.Fatalf("take by %s: %v", event, err)
	}
	return s.ids(rows)
}

func (s *suite) ids(rows []transitions.Row) []string {
	ids := []string{}
	for _, row := range rows {
		ids = append(ids, row[s.p.Column("operation_id")].Text())
	}
	return ids
}

// readable writes a row's columns that are not null, so that a difference names the column.
func (s *suite) readable(row transitions.Row) map[string]string {
	out := map[string]string{}
	for i, v := range row {
		if !v.IsNull() {
			out[s.p.Columns[i].Name] = v.String()
		}
	}
	return out
}

// columns reads some columns of an operation.
func (s *suite) columns(row transitions.Row, like values) map[string]string {
	out := map[string]string{}
	for name := range like {
		out[name] = row[s.p.Column(name)].String()
	}
	return out
}

// has holds some columns of an operation's row against what they should be.
func (s *suite) has(id string, want values) {
	s.Helper()
	expected := map[string]string{}
	for name, v := range want {
		expected[name] = value(v).String()
	}
	s.same(id, expected, s.columns(s.get(id), want))
}

func (s *suite) same(what string, want, got any) {
	s.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
