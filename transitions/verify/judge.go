package verify

import (
	"github.com/fencerow/fencerow/transitions"
)

// answer is what came of it.
type answer struct {
	row     rowID // afterwards
	applied bool
	broken  Code // what the event broke, whoever fired it
}

// ask evaluates a call on a row. What every event has to keep is judged here, once for each row and call.
func (m *model) ask(row rowID, c *call, owner string, rev, seq int64) answer {
	r := c.rule
	if !c.owner {
		owner = ""
	}
	if !c.revision {
		rev = -1
	}
	if !c.seq {
		seq = 0
	}
	s := m.space
	q := uint32(c.number)<<20 | m.owners[owner]<<16 | uint32(rev+1)<<8 | uint32(seq)
	for len(s.verdict) <= int(row) {
		s.verdict = append(s.verdict, nil)
	}
	if a, ok := s.verdict[row][q]; ok {
		return a
	}
	v := m.p.Eval(r.Event, s.rows[row], m.bind(c, owner, rev, seq), world)
	a := answer{row: row, applied: v.Applied}
	if v.Applied {
		m.applied[r.Event] = true
		a.row = s.intern(v.Row)
		a.broken = m.judgeEvent(c, row, a.row, v)
	} else if isEvidence(r) {
		a.broken = "I8"
	}
	if s.verdict[row] == nil {
		s.verdict[row] = map[uint32]answer{}
	}
	s.verdict[row][q] = a
	return a
}

var world = transitions.World{Now: now, Taken: func(_, _, id string) bool { return id == theirs }}

// bind completes a call's parameters.
func (m *model) bind(c *call, owner string, rev, seq int64) transitions.Params {
	params := transitions.Params{}
	for name, v := range c.params {
		params[name] = v
	}
	for _, d := range c.rule.Params {
		switch d.Name {
		case "owner":
			params[d.Name] = transitions.OptText(owner)
		case "revision":
			if rev >= 0 {
				params[d.Name] = transitions.IntValue(rev)
			}
		case "evidence_seq":
			params[d.Name] = transitions.IntValue(seq)
		}
	}
	return params
}

// judgeEvent holds one event against the invariants that speak of one event on one row.
func (m *model) judgeEvent(c *call, before, after rowID, v transitions.Verdict) Code {
	s, r := m.space, c.rule
	b, a := s.facts[before], s.facts[after]
	old, row := s.rows[before], s.rows[after]
	switch {
	case isEvidence(r) && m.moved(r, before, after):
		return "I8"
	case b.ended && (!a.ended || old[s.outcome] != row[s.outcome]),
		b.ended && r.Uses("snapshot") && assigns(r, "snapshot"),
		m.hasOutcome[b.phase] && !m.hasOutcome[a.phase]:
		return "I3"
	case r.Fence == transitions.Held && s.owner >= 0 && !b.live:
		return "I4"
	case r.Fence != transitions.Held && r.Fence != transitions.Remote && b.live && m.takes(r):
		return "I4a"
	case m.storesBlank(old, row), r.Action == transitions.Observe && !m.holdsID(old):
		return "I5"
	case m.storesTheirs(old, row):
		return "B8"
	case m.sendable[a.phase] && !m.sendable[b.phase] && !m.mayReturn(r, b):
		return "I6"
	case !m.folds(before, v):
		return "I9"
	case c.says == "a blank reviewer" && (r.Fence == transitions.Noticed || r.Fence == transitions.Seen && !b.ended):
		return "D3"
	}
	return ""
}

// moved reports whether an event did more than count and mark.
func (m *model) moved(r *transitions.Rule, before, after rowID) bool {
	b, a := m.space.facts[before], m.space.facts[after]
	return b.phase != a.phase || b.revision != a.revision || b.owner != a.owner || b.live != a.live || b.ended != a.ended ||
		assigns(r, "remote_job_id") || assigns(r, "outcome")
}

// takes reports whether an event ends or replaces the lease that somebody else holds.
func (m *model) takes(r *transitions.Rule) bool {
	return assigns(r, "lease_owner") || assigns(r, "lease_until") || assigns(r, "revision")
}

func assigns(r *transitions.Rule, col string) bool {
	for _, s := range r.Sets {
		if s.Col == col {
			return true
		}
	}
	return false
}

func (m *model) id(row transitions.Row) transitions.Value {
	if i := m.p.Column("remote_job_id"); i >= 0 {
		return row[i]
	}
	return transitions.NullValue
}

func (m *model) holdsID(row transitions.Row) bool {
	return m.p.Column("remote_job_id") < 0 || transitions.UsableRemoteJobID(m.id(row).Text())
}

func (m *model) storesBlank(old, row transitions.Row) bool {
	v := m.id(row)
	return v != m.id(old) && !v.IsNull() && !transitions.UsableRemoteJobID(v.Text())
}

func (m *model) storesTheirs(old, row transitions.Row) bool {
	v := m.id(row)
	return v != m.id(old) && v.Text() == theirs
}

// mayReturn: a sender by its own word, or a reviewer where nothing is on the wire any more.
func (m *model) mayReturn(r *transitions.Rule, b facts) bool {
	return r.Fence == transitions.Held && m.effecting[b.phase] || r.Fence == transitions.Seen && !m.effecting[b.phase]
}

// folds reports whether history explains the row: what the entry records are all that changed, quiet columns apart.
func (m *model) folds(before rowID, v transitions.Verdict) bool {
	folded := append(transitions.Row(nil), m.space.rows[before]...)
	if v.Entry != nil {
		for _, c := range v.Entry.Changes {
			folded[m.p.Column(c.Column)] = c.Value
		}
		folded[m.space.phase] = transitions.TextValue(v.Entry.To)
		folded[m.space.revision] = transitions.IntValue(v.Entry.Revision)
	}
	for i, c := range m.p.Columns {
		if c.Quiet && i != m.space.phase && i != m.space.revision || c.Name == "snapshot" {
			continue
		}
		if folded[i] != v.Row[i] {
			return false
		}
	}
	return true
}
