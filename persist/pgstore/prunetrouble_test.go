package pgstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/persist/pgstore"
)

// endings brings operations to an end by their events, with evidence, and lets them be old.
func (f *fixture) endings(n int) []string {
	f.Helper()
	var ids []string
	for i := range n {
		id := fmt.Sprintf("op-%02d", i)
		ids = append(ids, id)
		f.prepared(id)
		f.applied("dispatch_claim", id, claim("w"))
		f.applied("submit_begin", id, held("w", 1))
		f.applied("evidence_noted", id, text("kind", "answer"))
		if i%3 == 0 {
			f.applied("submit_rejected", id, held("w", 1), text("reason", "rejected"))
			continue
		}
		f.applied("submit_accepted", id, held("w", 1), text("remote_job_id", "job-"+id))
		f.applied("observe_claim", id, claim("w"))
		f.applied("observe_failed", id, held("w", 2), text("reason", "it failed"))
	}
	f.exec(f.connect(), "UPDATE fencerow_operations SET updated_at = now() - interval '1 day'")
	return ids
}

// prunes prunes on and on, several at once, and ends the sessions of some, until it is stopped.
func (f *fixture) prunes(m *machine.Machine) (stop func()) {
	f.Helper()
	var all sync.WaitGroup
	killer := f.connect()
	over, end := context.WithCancel(f.ctx)
	for range 3 {
		all.Go(func() {
			for over.Err() == nil {
				q := machine.PruneQuery{OlderThan: time.Hour, Limit: 1 + rand.IntN(7)}
				for done := false; !done && over.Err() == nil; {
					r, err := m.Prune(f.ctx, machine.Pruning{PruneQuery: q})
					q.After, done = r.After, r.Done || err != nil // one that was cut off begins anew
				}
			}
		})
	}
	all.Go(func() {
		for over.Err() == nil {
			time.Sleep(5 * time.Millisecond) // sleep: trouble now and then
			_, _ = killer.Exec(f.ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query LIKE 'WITH input%' AND query LIKE '%''pruned''%' AND random() < 0.3")
		}
	})
	return func() {
		end()
		all.Wait()
	}
}

// redoOrNote redoes an operation, or notes an answer of another job on it, until it is known to be done.
func (f *fixture) redoOrNote(m *machine.Machine, id string, redo bool) {
	for range 50 {
		op, err := m.Get(f.ctx, id)
		switch {
		case err != nil:
			continue
		case redo:
			seen := machine.Seen{Revision: op.Revision, EvidenceSeq: op.EvidenceSeq}
			_, err = m.Redo(f.ctx, id, "again-"+id, machine.Decision{Reviewer: "r", Reason: "once more", Seen: seen}, machine.Risks{})
		default:
			_, err = m.Note(f.ctx, id, machine.Evidence{Kind: machine.EvidenceAccepted, RemoteJobID: "late-" + id})
		}
		if err == nil || machine.IsUnknown(err) && !redo {
			return
		}
	}
	f.Errorf("%s: its deed was not done", id)
}

// However prunes, redos and late evidence meet, and whichever prune is cut off: every history folds to its row, and
// nothing that came late is lost.
func TestPrunesMeetRedosAndLateEvidence(t *testing.T) {
	t.Parallel()
	f := open(t, pgstore.Options{MaxConns: 8, GroupCommit: true})
	m, err := machine.New(f.Store, machine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ids := f.endings(60)
	stop := f.prunes(m)
	var deeds sync.WaitGroup
	for i, id := range ids {
		deeds.Go(func() {
			time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond) // sleep: some come before, some after
			f.redoOrNote(m, id, i%2 == 0)
		})
	}
	deeds.Wait()
	stop()
	pruned := 0
	for i, id := range ids {
		if findings, err := m.Audit(f.ctx, id); err != nil || len(findings) > 0 {
			t.Errorf("%s: %v, %v", id, findings, err)
		}
		history, err := f.History(f.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if history[0].Event == machine.EventPruned {
			pruned++
		}
		want, late := "redo", i%2 == 0
		if !late {
			want = "evidence_noted"
		}
		if last := history[len(history)-1].Event; last != want {
			t.Errorf("%s: the last event is %s, want %s", id, last, want)
		}
		evidence, err := f.Evidence(f.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range evidence {
			late = late || e.RemoteJobID == "late-"+id
		}
		if !late {
			t.Errorf("%s: the evidence of another job is gone", id)
		}
	}
	t.Logf("%d of %d pruned", pruned, len(ids))
}
