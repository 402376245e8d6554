package machinetest

import (
	"slices"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// hears tells what is told while work goes on.
func (s *suite) hears(h machine.Hearer, work func()) []machine.Wake {
	s.Helper()
	var all []machine.Wake
	stop := h.Hear(func(w machine.Wake) bool {
		all = append(all, w)
		return false
	})
	defer stop()
	work()
	return all
}

func hearsWhatIsDue(s *suite) {
	h, ok := s.Store.(machine.Hearer)
	if !ok {
		return // a store need not tell
	}
	dispatch := machine.Wake{Action: transitions.Dispatch, Provider: provider, Account: account, Kind: "clip"}
	named := dispatch
	named.OperationID = "a"
	observe := dispatch
	observe.Action = transitions.Observe
	prepare := func(id string, more ...values) func() {
		return func() { s.must("prepare", id, slices.Concat([]values{request}, more)...) }
	}
	s.put(s.row("free", transitions.Prepared, values{"revision": 0}), s.row("lost", transitions.Uncertain), s.row("gone", transitions.Uncertain, values{"late_remote_job_id": "job-late", "due_at": s.now.Add(-time.Minute)}),
		s.row("done", transitions.Terminal, values{"outcome": "failed"}))
	for _, c := range []struct {
		what string
		work func()
		want []machine.Wake
	}{
		{"a prepared operation is named", prepare("a"), []machine.Wake{named}},
		{"one that is there is not told again", func() { s.fire("prepare", "a", request) }, nil},
		{"what is due later is not told", prepare("then", values{"not_before": s.now.Add(time.Hour)}), nil},
		{"what repeats another has no name", prepare("again", values{"redo_of": "done"}), []machine.Wake{dispatch}},
		{"what a holder does it goes on with itself", func() {
			s.must("dispatch_claim", "a", claiming)
			s.must("renew", "a", values{"owner": "w2", "revision": 1, "ttl_ms": 120_000})
			s.must("submit_begin", "a", values{"owner": "w2", "revision": 1})
		}, nil},
		{"what a holder leaves to others", func() {
			s.must("submit_accepted", "a", values{"owner": "w2", "revision": 1, "remote_job_id": "job-a"})
		}, []machine.Wake{observe}},
		{"what a holder gives up has no name", func() {
			s.must("dispatch_claim", "free", claiming, values{"owner": "w3"})
			s.must("release", "free", values{"owner": "w3", "revision": 1})
		}, []machine.Wake{dispatch}},
		{"what is noted of what somebody holds", func() {
			s.must("observe_claim", "a", claiming)
			s.must("evidence_noted", "a", values{"kind": "note", "raw": []byte("still there")})
		}, nil},
		{"a reviewer's decision", func() {
			s.must("review_attach", "lost", values{"revision": 3, "evidence_seq": 0, "reviewer": "ann", "reason": "found", "remote_job_id": "job-1"})
		}, []machine.Wake{observe}},
		{"a sweep", func() { s.take("evidence_attach", 10) }, []machine.Wake{observe}},
	} {
		s.same(c.what, c.want, s.hears(h, c.work))
	}
	hearsOfMany(s, h, dispatch)
	hearsUntilTaken(s, h)
}

// Of several in one call it may be told together, without their names.
func hearsOfMany(s *suite, h machine.Hearer, want machine.Wake) {
	all := s.hears(h, func() {
		answers, err := s.Store.ApplyMany(s.ctx, "prepare", []transitions.Params{
			params(request, values{"operation_id": "b"}), params(request, values{"operation_id": "c"}),
		})
		if err != nil || !answers[0].Applied || !answers[1].Applied {
			s.Fatalf("prepare two at once: %+v, %v", answers, err)
		}
	})
	for i := range all {
		all[i] = all[i].Unnamed()
	}
	s.same("what is due of two in one call", []machine.Wake{want}, slices.Compact(all))
}

// Who takes what is named takes it for all, and who has stopped hears nothing.
func hearsUntilTaken(s *suite, h machine.Hearer) {
	var first, second int
	stop := h.Hear(func(w machine.Wake) bool {
		first++
		return w.OperationID == "taken"
	})
	all := s.hears(h, func() {
		s.must("prepare", "taken", request)
		s.must("prepare", "left", request)
		second = first
		stop()
		s.must("prepare", "last", request)
	})
	s.same("heard by the first while it listens, and at all", []int{2, 2}, []int{second, first})
	s.same("heard by the second", 2, len(all))
}
