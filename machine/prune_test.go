package machine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/examples/immediate"
	"github.com/fencerow/fencerow/examples/moderated"
	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/internal/storetest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/transitions"
)

// bare is a table of columns alone, as a table of one's own may have other ones than the standard.
func bare(t *testing.T, missing string, outcomes ...string) *transitions.Program {
	t.Helper()
	p, err := transitions.CompileUnchecked(transitions.Table{
		Name:    "bare",
		Columns: slices.DeleteFunc(transitions.StandardColumns(), func(c transitions.Column) bool { return c.Name == missing }),
		Phases:  []transitions.Phase{{Name: "prepared"}, {Name: "terminal", HasOutcome: true}},
		Actions: []transitions.Action{{Name: "dispatch"}}, Outcomes: outcomes, Reasons: []string{"none"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whether an operation is finished is read off the standard columns: on every store a table that lacks one of them is
// refused with its name, and so is one with an event that history would take for a prune.
func TestATableThatCannotTellWhatIsFinishedIsNotPruned(t *testing.T) {
	t.Parallel()
	named := transitions.Standard()
	for i := range named.Events {
		if named.Events[i].Name == "renew" {
			named.Events = append(named.Events, named.Events[i])
			named.Events[len(named.Events)-1].Name = machine.EventPruned
		}
	}
	programs := map[string]*transitions.Program{"event": transitions.MustCompile(named), "outcome": bare(t, "", "succeeded", "given_up")}
	for _, column := range []string{"outcome", "delivery", "remote_job_id", "late_remote_job_id", "evidence_seq", "duplicate_suspected", "outcome_contradicted"} {
		programs["without "+column] = bare(t, column, "succeeded", "abandoned")
	}
	for missing, p := range programs {
		field := strings.TrimPrefix(missing, "without ")
		for name, open := range storetest.Each(p) {
			t.Run(missing+" "+name, func(t *testing.T) {
				t.Parallel()
				m := machineOn(t, open(t).Store)
				_, err := m.Prune(context.Background(), machine.Pruning{PruneQuery: machine.PruneQuery{OlderThan: time.Hour}})
				var invalid *machine.InvalidError
				if !errors.As(err, &invalid) || invalid.Field != field {
					t.Errorf("want an *InvalidError of %s, got %v", field, err)
				}
				p := m.Store().(machine.Pruner)
				if _, err := p.Prune(context.Background(), machine.PruneQuery{}, []machine.Prunable{{OperationID: "a"}}); !errors.As(err, &invalid) {
					t.Errorf("deleting at once: want an *InvalidError, got %v", err)
				}
			})
		}
	}
}

// A table that extends the standard one is pruned as it is, on every store, and one whose words are all its own is not.
func TestATableThatExtendsTheStandardIsPruned(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if err := machine.CheckPrunable(transitions.MustCompile(payout.Table())); err == nil || !strings.Contains(err.Error(), "no outcome abandoned") {
		t.Errorf("payout: got %v", err)
	}
	for _, table := range []transitions.Table{moderated.Table(), immediate.Table()} {
		p := transitions.MustCompile(table)
		for name, open := range storetest.Each(p) {
			t.Run(table.Name+" "+name, func(t *testing.T) {
				t.Parallel()
				subject := open(t)
				m := machineOn(t, subject.Store)
				put := func(row transitions.Row, values map[string]transitions.Value) {
					for column, v := range values {
						row[p.Column(column)] = v
					}
					must(t, subject.Put(ctx, row))
				}
				row := make(transitions.Row, len(p.Columns))
				for i, c := range p.Columns {
					row[i] = c.Default
				}
				text, old := transitions.TextValue, transitions.TimeValue(time.Now().Add(-2*time.Hour).Truncate(time.Second))
				put(row, map[string]transitions.Value{
					"operation_id": text("a"), "kind": text("clip"), "provider": text("clip"), "account": text(""), "phase": text(transitions.Terminal),
					"outcome": text("succeeded"), "request": transitions.BytesValue([]byte("{}")), "created_at": old, "updated_at": old,
				})
				op, err := m.Note(ctx, "a", machine.Evidence{Kind: "note", Raw: []byte("x")})
				must(t, err)
				put(slices.Clone(op.Row()), map[string]transitions.Value{"updated_at": old})
				r, err := m.Prune(ctx, machine.Pruning{PruneQuery: machine.PruneQuery{OlderThan: time.Hour}})
				if err != nil || r.Pruned != 1 {
					t.Errorf("pruned %+v, %v", r, err)
				}
				if findings, err := m.Audit(ctx, "a"); err != nil || len(findings) > 0 {
					t.Errorf("the audit found %v, %v", findings, err)
				}
			})
		}
	}
}

func machineOn(t *testing.T, s machine.Store) *machine.Machine {
	t.Helper()
	m, err := machine.New(s, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAPruneOfWhatMayStillBeAnsweredIsRefused(t *testing.T) {
	t.Parallel()
	store := machine.NewMemory(transitions.MustCompile(transitions.Standard()))
	for field, c := range map[string]struct {
		store machine.Store
		query machine.PruneQuery
	}{
		"older than": {store, machine.PruneQuery{OlderThan: machine.PruneAge - 1}},
		"limit":      {store, machine.PruneQuery{OlderThan: machine.PruneAge, Limit: -1}},
		"store":      {struct{ machine.Store }{store}, machine.PruneQuery{OlderThan: machine.PruneAge}},
	} {
		_, err := machineOn(t, c.store).Prune(context.Background(), machine.Pruning{PruneQuery: c.query})
		var invalid *machine.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("want an *InvalidError of %s, got %v", field, err)
		}
	}
}

// tampered is a store whose histories are what somebody made of them.
type tampered struct {
	machine.Store
	history func([]machine.HistoryEntry) []machine.HistoryEntry
}

func (s tampered) History(ctx context.Context, id string) ([]machine.HistoryEntry, error) {
	entries, err := s.Store.History(ctx, id)
	return s.history(entries), err
}

// Invariant 9: what stands for a history may only be its beginning, and only that of an operation that was finished.
func TestTheAuditFindsAPruneThatCannotHaveBeen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := transitions.MustCompile(transitions.Standard())
	subject := machinetest.MemorySubject(p)
	m := machineOn(t, subject.Store)
	who := machine.Who{Provider: "clip"}
	_, err := m.Prepare(ctx, machine.Request{OperationID: "a", Kind: "clip", Request: []byte("{}")})
	must(t, err)
	lease, err := m.Claim(ctx, transitions.Dispatch, "a", who)
	must(t, err)
	_, err = m.Begin(ctx, lease)
	must(t, err)
	op, err := m.Rejected(ctx, lease, "no")
	must(t, err)
	whole, err := m.Store().History(ctx, "a")
	must(t, err)
	row := slices.Clone(op.Row())
	row[p.Column("updated_at")] = transitions.TimeValue(time.Now().Add(-2 * time.Hour))
	must(t, subject.Put(ctx, row))
	r, err := m.Prune(ctx, machine.Pruning{PruneQuery: machine.PruneQuery{OlderThan: time.Hour}})
	if err != nil || r.Pruned != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	for what, c := range map[string]struct {
		history func([]machine.HistoryEntry) []machine.HistoryEntry
		want    string
	}{
		"nothing": {func(h []machine.HistoryEntry) []machine.HistoryEntry { return h }, ""},
		"a prune after a history": {func(h []machine.HistoryEntry) []machine.HistoryEntry { return slices.Concat(whole, h) },
			"what happened before is there all the same"},
		"a prune that left a phase": {func(h []machine.HistoryEntry) []machine.HistoryEntry { h[0].From = "observing"; return h },
			`left "observing"`},
		"a prune of what was uncertain": {func(h []machine.HistoryEntry) []machine.HistoryEntry {
			h[0].Changes = strings.Replace(h[0].Changes, `"outcome":"rejected"`, `"uncertain_reason":"no_response"`, 1)
			return h
		}, "it was not finished"},
		"a prune of what was given up": {func(h []machine.HistoryEntry) []machine.HistoryEntry {
			h[0].Changes = strings.Replace(h[0].Changes, `rejected`, `abandoned`, 1)
			return h
		}, "its end was not known"},
		"a prune of what had work to do": {func(h []machine.HistoryEntry) []machine.HistoryEntry {
			h[0].Changes = strings.Replace(h[0].Changes, `{`, `{"next_action":"deliver",`, 1)
			return h
		}, "it was not finished"},
	} {
		findings, err := machineOn(t, tampered{subject.Store, c.history}).Audit(ctx, "a")
		must(t, err)
		var texts []string
		for _, f := range findings {
			texts = append(texts, f.Text)
		}
		if all := strings.Join(texts, "\n"); c.want == "" && all != "" || !strings.Contains(all, c.want) {
			t.Errorf("%s: want a finding that says %q: %s", what, c.want, cmp.Diff(c.want, all))
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
