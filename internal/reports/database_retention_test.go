package reports_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/internal/storetest"
	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// B89: a sweep that deleted old data took the evidence of what was under review with it, and nothing could decide about it
// any more. A prune leaves what is uncertain alone however old it is, with its attempts and its evidence, and a reviewer
// decides about it afterwards as before. (What else it leaves alone is in machinetest.)
func TestB89AnUncertainOperationOutlivesEveryPruneAndCanStillBeDecided(t *testing.T) {
	t.Parallel()
	for name, open := range storetest.Each(transitions.MustCompile(transitions.Standard())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := open(t)
			ctx := context.Background()
			m, err := machine.New(subject.Store, machine.Config{})
			must(t, err)
			for _, id := range []string{"found", "given up"} {
				uncertainFor(t, m, subject, id, 400*24*time.Hour)
			}
			history, err := m.Store().History(ctx, "found")
			must(t, err)
			evidence, err := m.Store().Evidence(ctx, "found")
			must(t, err)
			for range 2 {
				r, err := m.Prune(ctx, machine.Pruning{PruneQuery: machine.PruneQuery{OlderThan: 24 * time.Hour}})
				if want := (machine.PruneResult{After: "given up", Done: true}); err != nil || r != want {
					t.Fatalf("the prune: %+v, %v, want %+v", r, err, want)
				}
			}
			later, err := m.Store().History(ctx, "found")
			must(t, err)
			if diff := cmp.Diff(history, later); diff != "" || len(later) < 4 {
				t.Errorf("its history (-before +after):\n%s", diff)
			}
			kept, err := m.Store().Evidence(ctx, "found")
			must(t, err)
			if diff := cmp.Diff(evidence, kept); diff != "" || len(kept) != 1 {
				t.Errorf("its evidence (-before +after):\n%s", diff)
			}
			decision := machine.Decision{Reviewer: "r", Reason: "looked at the remote"}
			decides := map[string]func(d machine.Decision) (machine.Operation, error){
				"found":    func(d machine.Decision) (machine.Operation, error) { return m.ReviewAttach(ctx, "found", "job-1", d) },
				"given up": func(d machine.Decision) (machine.Operation, error) { return m.ReviewAbandon(ctx, "given up", d) },
			}
			for id, decide := range decides {
				op, err := m.Get(ctx, id)
				must(t, err)
				decision.Seen = op.Seen()
				if _, err := decide(decision); err != nil {
					t.Errorf("deciding about what was %s: %v", id, err)
				}
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// uncertainFor makes an operation whose answer was lost, and of which somebody noted something, so long ago.
func uncertainFor(t *testing.T, m *machine.Machine, subject machinetest.Subject, id string, age time.Duration) {
	t.Helper()
	ctx := context.Background()
	_, err := m.Prepare(ctx, machine.Request{OperationID: id, Kind: "clip", Request: []byte("{}")})
	must(t, err)
	lease, err := m.Claim(ctx, transitions.Dispatch, id, machine.Who{Provider: "clip"})
	must(t, err)
	_, err = m.Begin(ctx, lease)
	must(t, err)
	_, err = m.Unknown(ctx, lease, "no_response", "the connection was reset")
	must(t, err)
	_, err = m.Note(ctx, id, machine.Evidence{Kind: "note", Raw: []byte("a gateway was down")})
	must(t, err)
	op, err := m.Get(ctx, id)
	must(t, err)
	row := append(transitions.Row(nil), op.Row()...)
	row[subject.Store.Program().Column("updated_at")] = transitions.TimeValue(time.Now().Add(-age).UTC().Truncate(time.Second))
	must(t, subject.Put(ctx, row))
}

// B89, the other side: what deletes is the prune alone. No statement of an event does, in any form, dialect or step.
func TestB89NoStatementOfAnEventDeletesAnything(t *testing.T) {
	program := transitions.MustCompile(transitions.Standard())
	for _, dialect := range []persist.Dialect{persist.PostgreSQL, persist.SQLite} {
		set, err := persist.Compile(program, dialect, persist.Names{})
		if err != nil {
			t.Fatal(err)
		}
		statements := append(append(append([]persist.Statement(nil), set.Statements...), set.Many...), set.Gathered...)
		if len(statements) < len(program.Rules) {
			t.Fatalf("%s: %d statements for %d events", dialect, len(statements), len(program.Rules))
		}
		for _, s := range statements {
			texts := []string{s.SQL}
			for _, step := range s.Then {
				texts = append(texts, step.SQL)
			}
			for _, text := range texts {
				for _, word := range []string{"DELETE", "TRUNCATE", "DROP"} {
					if strings.Contains(strings.ToUpper(text), word+" ") {
						t.Errorf("%s: %s, form %s: %s:\n%s", dialect, s.Event, s.Form, word, text)
					}
				}
			}
		}
		operations := `"fencerow_operations"`
		for _, step := range append([]persist.Step{{SQL: set.Prune.SQL}}, set.Prune.Then...) {
			for _, word := range []string{"DELETE FROM " + operations, "UPDATE " + operations, "TRUNCATE", "DROP"} {
				if strings.Contains(step.SQL, word) {
					t.Errorf("%s: a prune does %s, and would forget an id:\n%s", dialect, word, step.SQL)
				}
			}
		}
	}
}
