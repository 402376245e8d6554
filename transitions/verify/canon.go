package verify

import (
	"bytes"
	"slices"

	"github.com/fencerow/fencerow/transitions"
)

// canonical gives the state that stands for every state that nothing can tell from this one. Three things are done, the
// last two of which Bound.Unreduced leaves out:
//
//   - Revisions and evidence numbers become their rank among those that anybody still knows. Sound because they are only
//     compared with each other and raised to one more than the row's.
//   - A holder that is superseded for ever is forgotten, unless it can still send or has an answer to tell: each of its
//     events would be denied. Only where every holder's event asks for the revision.
//   - Workers that changed places are the same. Their owner strings change places in the row as well.
func (m *model) canonical(st state) state {
	if !m.bound.Unreduced {
		m.forgetDead(&st)
	}
	m.rank(&st)
	if !m.bound.Unreduced {
		st = m.sorted(st)
	}
	return st
}

func (m *model) forgetDead(st *state) {
	row := m.space.facts[st.row]
	for i := range st.workers {
		w := &st.workers[i]
		switch w.pc {
		case idle:
			continue
		case late:
			*w = worker{pc: late, rev: w.rev, answer: w.answer}
			continue
		case holds, unsure:
			if !m.sendable[w.phase] && !m.effecting[w.phase] {
				w.left = 0
			}
		}
		if m.rereads() || !m.fenced || int64(w.rev) == row.revision || w.pc == sending || m.maySend(w) {
			continue
		}
		if w.answer >= accepted && !(w.pc == unsure && w.has(landed)) {
			*w = worker{pc: late, rev: w.rev, answer: w.answer}
		} else {
			*w = worker{}
		}
	}
	for i := range st.stray {
		if z := &st.stray[i]; z.on && m.fenced && int64(z.rev) != row.revision {
			*z = stray{}
		}
	}
	if len(m.fault) == 0 {
		m.forgetCounts(st)
		m.forgetEnded(st, row.phase)
	}
}

// forgetCounts drops what no request that may still be sent will ask for.
func (m *model) forgetCounts(st *state) {
	senders := m.bound.Begins - int(st.begins)
	for i := range st.workers {
		w := &st.workers[i]
		if w.pc == holds && (m.effecting[w.phase] || m.sendable[w.phase]) && w.answer == notSent || w.pc == unsure {
			senders++
		}
	}
	st.slack = min(st.slack, uint8(senders))
	if int(st.begins) == m.bound.Begins {
		st.known = false
	}
}

// forgetEnded drops what makes no difference once no request can be begun any more.
func (m *model) forgetEnded(st *state, phase uint8) {
	onWay := st.air[0] > 0 || st.air[1] > 0
	for i := range st.workers {
		w := &st.workers[i]
		if w.pc == late && !m.telling[phase] && len(m.roles.reports) > 0 {
			*w = worker{} // a webhook's word counts the same
		}
		onWay = onWay || w.pc == sending || m.maySend(w)
	}
	if m.resends[phase] {
		return
	}
	st.begins, st.slack, st.known = uint8(m.bound.Begins), 0, false
	if !onWay {
		st.jobs, st.mistakes = min(st.jobs, 1), 0
	}
}

// rereads reports whether a fault lets a worker go on after its lease was superseded.
func (m *model) rereads() bool {
	return m.fault[DeniedRereads] || m.fault[AdoptsRevision] || m.fault[SendsFirst] || m.fault[ClaimByOwner]
}

// maySend reports whether a worker may still let a request leave, whatever became of its lease.
func (m *model) maySend(w *worker) bool {
	if w.left == 0 && !m.fault[NoOwnDeadline] {
		return false
	}
	switch w.pc {
	case holds:
		return m.effecting[w.phase] && w.answer == notSent
	case unsure:
		to := m.calls[w.call].rule.To
		return (w.has(landed) || m.fault[AssumesBegun]) && to != "" && m.effecting[m.phaseNumber(to)] || m.effecting[w.phase] && w.answer == notSent
	default:
		return false
	}
}

// rank renames revisions and evidence numbers.
func (m *model) rank(st *state) {
	s := m.space
	row := s.rows[st.row]
	var known [16]int64
	n := 0
	add := func(v int64) { known[n] = v; n++ }
	for _, col := range s.ranked {
		if !row[col].IsNull() {
			add(row[col].Int())
		}
	}
	for _, w := range st.workers {
		if w.pc != idle {
			add(int64(w.rev))
		}
	}
	for _, z := range st.stray {
		if z.on {
			add(int64(z.rev))
		}
	}
	seq, seen := s.facts[st.row].seq, int64(0)
	if st.reviewer.looked {
		add(int64(st.reviewer.rev))
		if int64(st.reviewer.seq) < seq {
			seen, seq = 0, 1
		} else {
			seen, seq = 0, 0
		}
	} else {
		seq = 0
	}
	slices.Sort(known[:n])
	ranks := slices.Compact(known[:n])
	of := func(v int64) int64 {
		i, _ := slices.BinarySearch(ranks, v)
		return int64(i)
	}
	for i := range st.workers {
		if w := &st.workers[i]; w.pc != idle {
			w.rev = uint8(of(int64(w.rev)))
		}
	}
	for i := range st.stray {
		if z := &st.stray[i]; z.on {
			z.rev = uint8(of(int64(z.rev)))
		}
	}
	if st.reviewer.looked {
		st.reviewer.rev, st.reviewer.seq = uint8(of(int64(st.reviewer.rev))), uint8(seen)
	}
	st.row = m.ranked(st.row, of, seq)
}

// ranked is the row with its revisions renamed.
func (m *model) ranked(id rowID, of func(int64) int64, seq int64) rowID {
	s := m.space
	key := reranking{row: id, seq: int8(seq)}
	row := s.rows[id]
	same := s.facts[id].seq == seq
	for i, col := range s.ranked {
		key.ranks[i] = -1
		if !row[col].IsNull() {
			v := of(row[col].Int())
			key.ranks[i] = int8(v)
			same = same && v == row[col].Int()
		}
	}
	if same {
		return id
	}
	if to, ok := s.reranks[key]; ok {
		return to
	}
	to := s.with(id, func(row transitions.Row) {
		for i, col := range s.ranked {
			if key.ranks[i] >= 0 {
				row[col] = transitions.IntValue(int64(key.ranks[i]))
			}
		}
		if s.seq >= 0 {
			row[s.seq] = transitions.IntValue(seq)
		}
	})
	s.reranks[key] = to
	return to
}

// sorted gives the least of the states in which workers changed places, and strays.
func (m *model) sorted(st state) state {
	best := m.straysSorted(st)
	for _, places := range placings[m.bound.Workers] {
		if next := m.straysSorted(m.placed(&st, places)); m.less(&next, &best) {
			best = next
		}
	}
	return best
}

// placings are the ways in which workers can change places.
var placings = [maxWorkers + 1][][maxWorkers]uint8{
	2: {{1, 0, 2}},
	3: {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}},
}

func (m *model) placed(st *state, places [maxWorkers]uint8) state {
	next := *st
	for i, to := range places {
		next.workers[to] = st.workers[i]
	}
	for i := range next.stray {
		if z := &next.stray[i]; z.on {
			z.who = places[z.who]
		}
	}
	if !m.bound.ReusedOwners {
		if owner := m.space.facts[st.row].owner; owner != "" {
			next.row = m.renamed(st.row, m.owner(int(places[owner[1]-'1'])))
		}
	}
	return next
}

func (m *model) renamed(id rowID, owner string) rowID {
	s := m.space
	if s.facts[id].owner == owner {
		return id
	}
	key := reranking{row: id, owner: owner[len(owner)-1]}
	if to, ok := s.reranks[key]; ok {
		return to
	}
	to := s.with(id, func(row transitions.Row) { row[s.owner] = transitions.TextValue(owner) })
	s.reranks[key] = to
	return to
}

func (m *model) straysSorted(st state) state {
	a, b := &st.stray[0], &st.stray[1]
	if m.bound.Statements > 1 && bytes.Compare(a.key(), b.key()) > 0 {
		*a, *b = *b, *a
	}
	return st
}

func (z *stray) key() []byte {
	on := byte(0)
	if z.on {
		on = 1
	}
	return []byte{on, byte(z.call >> 8), byte(z.call), z.who, z.rev, z.flags}
}

func (w *worker) key() uint64 {
	return uint64(w.pc)<<56 | uint64(w.phase)<<48 | uint64(w.rev)<<40 | uint64(w.left)<<32 | uint64(w.answer)<<28 |
		uint64(w.flight)<<24 | uint64(w.flags)<<20 | uint64(w.call)
}

// less orders states that differ by the places of their workers only.
func (m *model) less(a, b *state) bool {
	for i := range m.bound.Workers {
		if x, y := a.workers[i].key(), b.workers[i].key(); x != y {
			return x < y
		}
	}
	for i := range m.bound.Statements {
		if c := bytes.Compare(a.stray[i].key(), b.stray[i].key()); c != 0 {
			return c < 0
		}
	}
	return a.row < b.row
}
