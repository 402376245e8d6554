package machine

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Finding is something that an operation's history does not explain.
type Finding struct {
	OperationID string
	Seq         int64 // of the history row at fault; 0: the row itself
	Text        string
}

// String writes the finding on one line.
func (f Finding) String() string {
	if f.Seq == 0 {
		return fmt.Sprintf("operation %q: %s", f.OperationID, f.Text)
	}
	return fmt.Sprintf("operation %q, history %d: %s", f.OperationID, f.Seq, f.Text)
}

// auditTries bounds how often a row that moves under the audit is read again.
const auditTries = 5

// Audit folds an operation's history from its first row, holds every step against the table, and compares the end with
// the row (lifecycle, invariant 9). What history does not record is left out: the request, leases and due times. A history
// that was pruned begins with EventPruned, which only an operation that may be pruned can have.
func (m *Machine) Audit(ctx context.Context, id string) ([]Finding, error) {
	for try := 1; ; try++ {
		before, err := m.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		history, err := m.store.History(ctx, id)
		if err != nil {
			return nil, err
		}
		after, err := m.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if before.Revision == after.Revision && before.UpdatedAt.Equal(after.UpdatedAt) || try == auditTries {
			return audit(m.store.Program(), after, history), nil
		}
	}
}

// audit is the pure part.
func audit(p *transitions.Program, op Operation, history []HistoryEntry) []Finding {
	f := fold{program: p, id: op.OperationID, row: make(transitions.Row, len(p.Columns))}
	for i, c := range p.Columns {
		f.row[i] = c.Default
	}
	if len(history) == 0 {
		f.find(0, "it has no history")
		return f.findings
	}
	for i, e := range history {
		f.step(e, i == 0)
	}
	for i, c := range p.Columns {
		if (c.Quiet && c.Name != "phase" && c.Name != "revision") || f.row[i] == op.row[i] {
			continue
		}
		f.find(0, fmt.Sprintf("%s is %s; its history folds to %s", c.Name, op.row[i], f.row[i]))
	}
	return f.findings
}

type fold struct {
	program  *transitions.Program
	id       string
	row      transitions.Row
	findings []Finding
}

func (f *fold) find(seq int64, text string) {
	f.findings = append(f.findings, Finding{f.id, seq, text})
}

func (f *fold) column(name string) *transitions.Value { return &f.row[f.program.Column(name)] }

// step holds one history row against the table and applies what it records.
func (f *fold) step(e HistoryEntry, first bool) {
	phase, revision := f.column("phase"), f.column("revision")
	r := f.program.Rule(e.Event)
	switch {
	case r == nil && e.Event == EventPruned:
		f.pruned(e, first)
	case r == nil:
		f.find(e.Seq, fmt.Sprintf("the table has no event %q", e.Event))
	case r.New != first:
		f.find(e.Seq, fmt.Sprintf("%s is the first event or not, against the table", e.Event))
	case !first && e.From != phase.Text():
		f.find(e.Seq, fmt.Sprintf("%s left %q, and the event before it led to %q", e.Event, e.From, phase.Text()))
	case !first && (!r.Leaves(e.From) || r.Lands(e.From) != e.To):
		f.find(e.Seq, fmt.Sprintf("%s went from %q to %q, against the table", e.Event, e.From, e.To))
	case !first && e.Revision != revision.Int()+bumps(r):
		f.find(e.Seq, fmt.Sprintf("%s led to revision %d from %d, against the table", e.Event, e.Revision, revision.Int()))
	}
	*phase, *revision = transitions.TextValue(e.To), transitions.IntValue(e.Revision)
	changes, err := decodeChanges(f.program, e.Changes)
	if err != nil {
		f.find(e.Seq, err.Error())
	}
	for name, v := range changes {
		*f.column(name) = v
	}
	if r == nil && e.Event == EventPruned && CheckPrunable(f.program) == nil && !settled(f.program, f.row) {
		f.find(e.Seq, "it was pruned, and by what is left of its history it was not finished, or its end was not known")
	}
}

// pruned holds the row that stands for a pruned history against what Prune writes.
func (f *fold) pruned(e HistoryEntry, first bool) {
	err := CheckPrunable(f.program)
	switch {
	case err != nil:
		f.find(e.Seq, fmt.Sprintf("it was pruned, and cannot have been: %v", err))
	case !first:
		f.find(e.Seq, "it was pruned, and what happened before is there all the same")
	case e.From != "":
		f.find(e.Seq, fmt.Sprintf("it was pruned, and left %q; what stands for a history leaves nothing", e.From))
	}
}

func bumps(r *transitions.Rule) int64 {
	for _, s := range r.Sets {
		if s.Col == "revision" {
			return 1
		}
	}
	return 0
}

// decodeChanges reads a history row's changes: times in Unix microseconds, bytes in hex.
func decodeChanges(p *transitions.Program, text string) (map[string]transitions.Value, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf("its changes are no JSON object: %w", err)
	}
	out := map[string]transitions.Value{}
	for name, raw := range object {
		i := p.Column(name)
		if i < 0 {
			return nil, fmt.Errorf("its changes name %q, which is no column", name)
		}
		v, err := decodeChange(p.Columns[i].Kind, raw)
		if err != nil {
			return nil, fmt.Errorf("its change of %s: %w", name, err)
		}
		out[name] = v
	}
	return out, nil
}

func decodeChange(kind transitions.Kind, raw any) (transitions.Value, error) {
	switch v := raw.(type) {
	case nil:
		return transitions.NullValue, nil
	case bool:
		return transitions.BoolValue(v), nil
	case json.Number:
		n, err := v.Int64()
		switch kind {
		case transitions.Time:
			return transitions.MicrosValue(n), err
		case transitions.Bool: // SQLite's JSON writes truth values as numbers
			return transitions.BoolValue(n != 0), err
		default:
			return transitions.IntValue(n), err
		}
	case string:
		if kind == transitions.Bytes {
			b, err := hex.DecodeString(v)
			return transitions.BytesValue(b), err
		}
		return transitions.TextValue(v), nil
	default:
		return transitions.NullValue, fmt.Errorf("%v is of no known kind", raw)
	}
}
