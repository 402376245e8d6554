package machine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// Memory is a Store in memory: it interprets the program with Eval, one event at a time. It is the reference that the
// SQL stores are held against, and what a caller's unit tests want. What it holds ends with the process, so it must
// not drive requests that cost money.
type Memory struct {
	program *transitions.Program
	near    *Notifier
	now     func() time.Time

	mu        sync.Mutex
	rows      map[string]transitions.Row
	holders   map[remoteJob]string // operation ids by the remote job that they hold
	redone    map[string]string    // operation ids by the operation that they redo
	history   map[string][]HistoryEntry
	evidence  map[string][]EvidenceEntry
	unmatched []EvidenceEntry               // of no operation
	naming    map[remoteJob][]EvidenceEntry // all evidence, by the remote job that it names
	noted     int64                         // the last sequence number of history and evidence
}

var (
	_ Store  = (*Memory)(nil)
	_ Hearer = (*Memory)(nil)
)

type remoteJob struct{ provider, account, id string }

// MemoryOption changes how a Memory works.
type MemoryOption func(*Memory)

// MemoryClock lets a Memory read another clock than time.Now. Inside testing/synctest the default is already the
// bubble's own.
func MemoryClock(now func() time.Time) MemoryOption { return func(m *Memory) { m.now = now } }

// NewMemory makes an empty store of a program's operations.
func NewMemory(p *transitions.Program, options ...MemoryOption) *Memory {
	m := &Memory{
		program: p, near: NewNotifier(p), now: time.Now,
		rows: map[string]transitions.Row{}, holders: map[remoteJob]string{}, redone: map[string]string{},
		history: map[string][]HistoryEntry{}, evidence: map[string][]EvidenceEntry{},
		naming: map[remoteJob][]EvidenceEntry{},
	}
	for _, o := range options {
		o(m)
	}
	return m
}

// Program is the table that the store interprets.
func (m *Memory) Program() *transitions.Program { return m.program }

// Bound is 0: nothing outlives its call.
func (m *Memory) Bound() time.Duration { return 0 }

// Close does nothing: the operations stay readable.
func (m *Memory) Close() error { return nil }

// Now reads the clock that leases and due times are judged by.
func (m *Memory) Now(ctx context.Context) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, fmt.Errorf("read the clock: %w", err)
	}
	return m.moment(), nil
}

func (m *Memory) moment() time.Time { return m.now().Truncate(time.Microsecond).UTC() }

// Apply fires an event on one operation.
func (m *Memory) Apply(ctx context.Context, event string, params transitions.Params) (Answer, error) {
	answers, err := m.ApplyMany(ctx, event, []transitions.Params{params})
	if err != nil {
		return Answer{}, err
	}
	return answers[0], nil
}

// Hear is Hearer's.
func (m *Memory) Hear(heard func(Wake) bool) (stop func()) { return m.near.Hear(heard) }

// Wake is Hearer's.
func (m *Memory) Wake(due ...Wake) { m.near.Tell(due...) }

// ApplyMany fires an event on several operations, each judged on its own; either all of it is kept or, after an error,
// nothing.
func (m *Memory) ApplyMany(ctx context.Context, event string, params []transitions.Params) ([]Answer, error) {
	rule, err := m.ruleOf(ctx, event, params...)
	if err != nil {
		return nil, err
	}
	answers, err := m.applyMany(rule, params)
	m.near.Answered(rule, answers...)
	return answers, err
}

func (m *Memory) applyMany(rule *transitions.Rule, params []transitions.Params) ([]Answer, error) {
	named := map[string]bool{}
	for _, p := range params {
		id := p["operation_id"].Text()
		if named[id] {
			return nil, &InvalidError{Field: "operation_id", Text: fmt.Sprintf("%q is named twice for one %s; fire it once an operation", id, rule.Event)}
		}
		named[id] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	answers := make([]Answer, len(params))
	writes := make([]write, 0, len(params))
	for i, p := range params {
		answer, w, err := m.judge(rule, p)
		if err != nil {
			return nil, err
		}
		answers[i] = answer
		if w != nil {
			writes = append(writes, *w)
		}
	}
	for _, w := range writes {
		m.keep(w)
	}
	return answers, nil
}

// Take fires a claim or a sweep on up to limit operations that are due.
func (m *Memory) Take(ctx context.Context, event string, params transitions.Params) ([]transitions.Row, error) {
	rule, err := m.ruleOf(ctx, event, params)
	if err != nil {
		return nil, err
	}
	if !rule.Has(transitions.Batch) && !rule.Has(transitions.Sweep) {
		return nil, &InvalidError{Field: "event", Text: event + " names its operation; it cannot find one by itself"}
	}
	taken, err := m.take(rule, params)
	m.near.Applied(rule, taken...)
	return taken, err
}

func (m *Memory) take(rule *transitions.Rule, params transitions.Params) ([]transitions.Row, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	limit := params["limit"].Int()
	var taken []transitions.Row
	for _, id := range m.wakeful(rule) {
		if int64(len(taken)) >= limit {
			break
		}
		one := maps.Clone(params)
		one["operation_id"] = transitions.TextValue(id)
		answer, w, err := m.judge(rule, one)
		if err != nil {
			return nil, err
		}
		if answer.Applied {
			m.keep(*w)
			taken = append(taken, answer.Row)
		}
	}
	return taken, nil
}

// wakeAt is the later of schedule and lease; for a row that was made by hand with neither, in a phase to which somebody
// must come back, when it was made.
func (m *Memory) wakeAt(row transitions.Row) transitions.Value {
	wake := m.get(row, "lease_until")
	if due := m.get(row, "due_at"); wake.IsNull() || !due.IsNull() && due.Micros() > wake.Micros() {
		wake = due
	}
	if wake.IsNull() && slices.Contains(m.program.RestlessPhases(), m.get(row, "phase").Text()) {
		wake = m.get(row, "created_at")
	}
	return wake
}

// wakeful lists the operations whose schedule and lease both lie in the past, in the order in which they are served.
func (m *Memory) wakeful(rule *transitions.Rule) []string {
	type candidate struct {
		id             string
		priority, wake int64
	}
	now := m.moment().UnixMicro()
	var found []candidate
	for id, row := range m.rows {
		wake := m.wakeAt(row)
		if wake.IsNull() || wake.Micros() > now {
			continue
		}
		c := candidate{id: id, wake: wake.Micros()}
		if rule.Has(transitions.Batch) {
			c.priority = m.get(row, "priority").Int()
		}
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.wake, b.wake), cmp.Compare(a.id, b.id))
	})
	ids := make([]string, len(found))
	for i, c := range found {
		ids[i] = c.id
	}
	return ids
}

// ruleOf finds an event's rule and refuses parameters that no database would take.
func (m *Memory) ruleOf(ctx context.Context, event string, params ...transitions.Params) (*transitions.Rule, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("fire %s: not begun: %w", event, err)
	}
	rule := m.program.Rule(event)
	if rule == nil {
		return nil, &InvalidError{Field: "event", Text: fmt.Sprintf("table %s has no event %q", m.program.Name, event)}
	}
	for _, p := range params {
		for _, d := range rule.Params {
			if k := p[d.Name].Kind(); k != transitions.NoKind && k != d.Kind {
				return nil, &InvalidError{Field: d.Name, Text: fmt.Sprintf("is of kind %s; %s takes %s", k, event, d.Kind)}
			}
		}
	}
	return rule, nil
}

// write is what an applied event leaves behind.
type write struct {
	verdict transitions.Verdict
	at      time.Time
}

// judge evaluates an event on the operation that params name, and changes nothing yet.
func (m *Memory) judge(rule *transitions.Rule, params transitions.Params) (Answer, *write, error) {
	id, now := params["operation_id"].Text(), m.moment()
	row := m.rows[id]
	switch {
	case rule.New && row != nil:
		return Answer{Exists: true, Failed: []string{"new"}, Row: slices.Clone(row)}, nil, nil
	case !rule.New && row == nil:
		return Answer{}, nil, nil
	}
	v := m.program.Eval(rule.Event, row, params, transitions.World{Now: now.UnixMicro(), Taken: m.takenBut(id)})
	answer := Answer{Applied: v.Applied, Exists: v.Applied || row != nil, Failed: v.Failed}
	if answer.Exists {
		answer.Row = slices.Clone(v.Row)
	}
	if !v.Applied {
		return answer, nil, nil
	}
	if err := m.constrain(v.Row); err != nil {
		return Answer{}, nil, fmt.Errorf("fire %s on operation %q: %w", rule.Event, id, err)
	}
	return answer, &write{v, now}, nil
}

func (m *Memory) takenBut(id string) func(provider, account, remoteID string) bool {
	return func(provider, account, remoteID string) bool {
		holder, ok := m.holders[remoteJob{provider, account, remoteID}]
		return ok && holder != id
	}
}

// keep writes what an event left behind.
func (m *Memory) keep(w write) {
	v := w.verdict
	id := m.get(v.Row, "operation_id").Text()
	m.place(v.Row)
	m.record(id, v, w.at)
	if v.Then != nil && v.Then.Applied {
		m.record(id, *v.Then, w.at)
	}
}

// record writes the evidence and the history of an event.
func (m *Memory) record(id string, v transitions.Verdict, at time.Time) {
	if e := v.Evidence; e != nil {
		m.noted++
		entry := EvidenceEntry{
			Seq: m.noted, OperationID: id,
			Provider: m.get(v.Row, "provider").Text(), Account: m.get(v.Row, "account").Text(),
			Kind: e.Kind.Text(), Revision: e.Revision.Int(), Owner: e.Owner.Text(),
			RemoteJobID: e.RemoteJobID.Text(), Detail: e.Detail.Bytes(), At: at,
		}
		m.evidence[id] = append(m.evidence[id], entry)
		if entry.RemoteJobID != "" {
			m.naming[named(entry)] = append(m.naming[named(entry)], entry)
		}
	}
	if e := v.Entry; e != nil {
		m.noted++
		m.history[id] = append(m.history[id], HistoryEntry{
			Seq: m.noted, OperationID: id, Event: e.Event, From: e.From, To: e.To,
			Owner: e.Owner.Text(), Revision: e.Revision, Reason: e.Reason.Text(), Reviewer: e.Reviewer.Text(),
			Detail: e.Detail.Text(), Changes: string(transitions.AppendChanges(nil, e.Changes)), At: at,
		})
	}
}

// place puts a row where the old one was, and keeps the indexes.
func (m *Memory) place(row transitions.Row) {
	id := m.get(row, "operation_id").Text()
	if old := m.rows[id]; old != nil {
		if job := m.jobOf(old); m.holders[job] == id {
			delete(m.holders, job)
		}
		delete(m.redone, m.get(old, "redo_of").Text())
	}
	m.rows[id] = slices.Clone(row)
	if job := m.jobOf(row); job.id != "" {
		m.holders[job] = id
	}
	if of := m.get(row, "redo_of").Text(); of != "" {
		m.redone[of] = id
	}
}

func (m *Memory) jobOf(row transitions.Row) remoteJob {
	return remoteJob{m.get(row, "provider").Text(), m.get(row, "account").Text(), m.get(row, "remote_job_id").Text()}
}

// get reads a column, null if the table has no such column.
func (m *Memory) get(row transitions.Row, column string) transitions.Value {
	if i := m.program.Column(column); i >= 0 {
		return row[i]
	}
	return transitions.NullValue
}

// Put places a hand-made row, whatever was there before, as an UPDATE by hand would: no event, no fence, no history.
// The constraints of the SQL stores' tables hold here too. It is for tests.
func (m *Memory) Put(row transitions.Row) error {
	if len(row) != len(m.program.Columns) {
		return fmt.Errorf("put a row: it has %d columns, the table %d", len(row), len(m.program.Columns))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.constrain(row); err != nil {
		return fmt.Errorf("put operation %q: %w", m.get(row, "operation_id").Text(), err)
	}
	m.place(row)
	return nil
}
