package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/pgtest"
	"github.com/fencerow/fencerow/machine"
)

// Two thousand operations through run with three work processes beside it, on one PostgreSQL: each request is sent
// once, and no due operation waits longer than two polling intervals while any process has a free slot. They become due
// over twenty seconds, so that it is seen how long due work is left lying, and not how fast the machine is.
func TestFourProcessesShareTwoThousandOperations(t *testing.T) {
	const workers, poll = 16, 500 * time.Millisecond
	s := newSite(t, pgtest.URL(t), quick)
	s.provider()
	ids := s.requestsDueOver(2000, 20*time.Second)
	common := []string{"--provider", "api.yaml", "--out", "out", "--workers", "16", "--poll", poll.String()}
	if status, output := s.run(time.Minute, "migrate", "up"); status != 0 {
		t.Fatalf("migrate up ended with %d\n%s", status, output)
	}
	var others []*process
	for range 3 {
		others = append(others, s.start(append([]string{"work"}, common...)...))
	}
	status, output := s.run(3*time.Minute, append([]string{"run", "requests.jsonl"}, common...)...)
	if status != 0 {
		t.Errorf("run ended with %d, want 0\n%s", status, tail(output))
	}
	for _, p := range others {
		_ = p.Process.Signal(syscall.SIGTERM)
	}
	for _, p := range others {
		if status := s.wait(p, time.Minute); status != 130 {
			t.Errorf("work ended with %d after SIGTERM, want 130\n%s", status, tail(p.output()))
		}
	}
	s.check(ids)
	counts := s.remote.Counts()
	for _, id := range ids {
		if c := counts[id]; c.Received != 1 {
			t.Errorf("%s: the remote received %d requests, want 1", id, c.Received)
		}
	}
	s.checkWaits(ids, 4*workers, 2*poll)
}

// span is a stretch of time.
type span struct{ from, to time.Time }

// checkWaits reads from history how long due operations were left lying: the longest time in which one was due, fewer
// leases were held than there are slots, and no process claimed anything. (A slot that is between two statements holds
// no lease and is not free; on a machine that is too slow for the load the claims go on, and a queue is no idleness.)
// Due times are known where an event makes its next work due at once; the first poll of an accepted job is due after
// the provider file's every.
func (s *site) checkWaits(ids []string, slots int, limit time.Duration) {
	s.Helper()
	store := s.open()
	held, waits := map[string][]span{}, map[string][]span{}
	actions := map[string]string{"dispatch_claim": "dispatch", "observe_claim": "observe", "deliver_claim": "deliver"}
	makesDue := map[string]time.Duration{"prepare": 0, "submit_accepted": 200 * time.Millisecond, "observe_succeeded": 0}
	for _, id := range ids {
		history, err := store.History(context.Background(), id)
		if err != nil {
			s.Fatal(err)
		}
		for i, e := range history {
			action, isClaim := actions[e.Event]
			if !isClaim {
				continue
			}
			held[action] = append(held[action], span{e.At, end(history, i)})
			if after, known := makesDue[history[i-1].Event]; known {
				due := later(history[i-1].At.Add(after), notBefore(s, history[i-1]))
				waits[action] = append(waits[action], span{due, e.At})
			}
		}
	}
	for action := range waits {
		free := freeSpans(held[action], slots)
		worst := time.Duration(0)
		for _, w := range waits[action] {
			for _, lying := range between(held[action], w) {
				for _, f := range free {
					worst = max(worst, earlier(lying.to, f.to).Sub(later(lying.from, f.from)))
				}
			}
		}
		s.Logf("%s: %d waits; left lying at most %s", action, len(waits[action]), worst)
		if worst > limit {
			s.Errorf("a due %s was left lying for %s while a slot was free, want at most %s", action, worst, limit)
		}
	}
}

// notBefore is the schedule that prepare stored; the zero time after any other event.
func notBefore(t testing.TB, e machine.HistoryEntry) time.Time {
	var changes struct {
		NotBefore int64 `json:"not_before"` // Unix microseconds
	}
	if err := json.Unmarshal([]byte(e.Changes), &changes); err != nil {
		t.Fatal(err)
	}
	if changes.NotBefore == 0 {
		return time.Time{}
	}
	return time.UnixMicro(changes.NotBefore)
}

// end is when the lease of the claim at i was given up. A submission holds its slot from the claim to its answer.
func end(history []machine.HistoryEntry, i int) time.Time {
	for _, e := range history[i+1:] {
		if e.Event != "submit_begin" {
			return e.At
		}
	}
	return history[i].At
}

// between cuts a wait at every claim that somebody made meanwhile.
func between(claims []span, w span) []span {
	var cuts []time.Time
	for _, c := range claims {
		if c.from.After(w.from) && c.from.Before(w.to) {
			cuts = append(cuts, c.from)
		}
	}
	slices.SortFunc(cuts, time.Time.Compare)
	var pieces []span
	from := w.from
	for _, at := range append(cuts, w.to) {
		pieces = append(pieces, span{from, at})
		from = at
	}
	return pieces
}

// freeSpans are the stretches in which fewer than slots leases were held.
func freeSpans(held []span, slots int) []span {
	type step struct {
		at time.Time
		n  int
	}
	var steps []step
	for _, h := range held {
		steps = append(steps, step{h.from, 1}, step{h.to, -1})
	}
	slices.SortFunc(steps, func(a, b step) int { return a.at.Compare(b.at) })
	var free []span
	since, n := time.Time{}, 0
	for _, st := range steps {
		was := n
		n += st.n
		switch {
		case was < slots && n >= slots:
			free = append(free, span{since, st.at})
		case was >= slots && n < slots:
			since = st.at
		}
	}
	return append(free, span{since, time.Now().Add(time.Hour)})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
