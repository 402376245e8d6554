package verify

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/fencerow/fencerow/transitions"
)

// The clock stands still at now; what moves is how far ahead of it the row's times are.
const (
	now    = int64(1_700_000_000_000_000)
	tickMs = int64(3_600_000)
	tick   = tickMs * 1000
)

// rowID is an interned row.
type rowID int32

// facts are what the steps ask of a row, read once.
type facts struct {
	phase    uint8
	revision int64
	seq      int64
	owner    string
	live     bool // the lease has not ended
	ended    bool // the outcome is set
	finished bool
}

// space holds every row that was met, and what every call did to it.
type space struct {
	p       *transitions.Program
	keep    [][]int // of each phase, the columns that make a difference
	ranked  []int   // of them, those that count revisions
	rows    []transitions.Row
	facts   []facts
	ids     map[string]rowID
	verdict []map[uint32]answer // of each row, by the call: one map of all missed the cache at every question
	ticked  []rowID             // the row one tick later, -1: not worked out yet
	reranks map[reranking]rowID
	buf     []byte

	phase, revision, seq, owner, until, outcome, next int
}

func newSpace(p *transitions.Program, unreduced bool) *space {
	s := &space{p: p, ids: map[string]rowID{}, reranks: map[reranking]rowID{}}
	s.phase, s.revision, s.seq = p.Column("phase"), p.Column("revision"), p.Column("evidence_seq")
	s.owner, s.until = p.Column("lease_owner"), p.Column("lease_until")
	s.outcome, s.next = p.Column("outcome"), p.Column("next_action")
	for i, c := range p.Columns {
		if i == s.revision || countsRevisions(p, c.Name) {
			s.ranked = append(s.ranked, i)
		}
	}
	relevant := relevance(p)
	anywhere := map[string]bool{}
	for _, in := range relevant {
		maps.Copy(anywhere, in)
	}
	for _, in := range relevant {
		if unreduced {
			in = anywhere
		}
		var keep []int
		for i, c := range p.Columns {
			if in[c.Name] {
				keep = append(keep, i)
			}
		}
		s.keep = append(s.keep, keep)
	}
	return s
}

// countsRevisions reports whether a column holds a revision of the row: it is assigned nothing else.
func countsRevisions(p *transitions.Program, col string) bool {
	found := false
	for _, r := range p.Rules {
		for _, set := range r.Sets {
			if set.Col != col {
				continue
			}
			x := set.Expr
			if x.Op == transitions.OpPlus {
				x = x.Args[0]
			}
			if x.Op != transitions.OpCol || x.Name != "revision" {
				return false
			}
			found = true
		}
	}
	return found
}

// intern gives a row's number: what nothing depends on is left out, and what has passed is equal.
func (s *space) intern(row transitions.Row) rowID {
	canonical := make(transitions.Row, len(row))
	s.buf = s.buf[:0]
	for _, i := range s.keep[s.phaseOf(row)] {
		v := row[i]
		if v.Kind() == transitions.Time && v.Micros() < now {
			v = transitions.MicrosValue(now)
		}
		canonical[i] = v
		s.buf = append(s.buf, byte(v.Kind()))
		switch v.Kind() {
		case transitions.Text, transitions.Bytes:
			s.buf = binary.AppendUvarint(s.buf, uint64(len(v.Text())))
			s.buf = append(s.buf, v.Text()...)
		case transitions.NoKind:
		default:
			s.buf = binary.AppendVarint(s.buf, v.Int())
		}
	}
	if id, ok := s.ids[string(s.buf)]; ok {
		return id
	}
	for i, c := range s.p.Columns { // what the guards do not depend on must still be there
		if canonical[i].IsNull() && c.NotNull {
			canonical[i] = anything(c.Kind)
		}
	}
	id := rowID(len(s.rows))
	s.ids[string(s.buf)] = id
	s.rows = append(s.rows, canonical)
	s.ticked = append(s.ticked, -1)
	s.facts = append(s.facts, s.read(canonical))
	return id
}

func (s *space) phaseOf(row transitions.Row) int {
	return slices.IndexFunc(s.p.Phases, func(ph transitions.Phase) bool { return ph.Name == row[s.phase].Text() })
}

func (s *space) read(row transitions.Row) facts {
	f := facts{phase: uint8(s.phaseOf(row)), revision: row[s.revision].Int()}
	if s.seq >= 0 {
		f.seq = row[s.seq].Int()
	}
	if s.owner >= 0 {
		f.owner = row[s.owner].Text()
	}
	if s.until >= 0 {
		f.live = !row[s.until].IsNull() && row[s.until].Micros() > now
	}
	f.ended = s.outcome >= 0 && !row[s.outcome].IsNull()
	f.finished = f.ended && (s.next < 0 || row[s.next].IsNull())
	return f
}

// anything is some value of a kind.
func anything(k transitions.Kind) transitions.Value {
	switch k {
	case transitions.Text:
		return transitions.TextValue("x")
	case transitions.Bytes:
		return transitions.BytesValue([]byte("x"))
	case transitions.Int:
		return transitions.IntValue(1)
	case transitions.Bool:
		return transitions.BoolValue(false)
	case transitions.Time:
		return transitions.MicrosValue(now)
	default:
		panic(fmt.Sprintf("there is no value of kind %s", k))
	}
}

// later is the row one tick later.
func (s *space) later(id rowID) rowID {
	if s.ticked[id] < 0 {
		row := slices.Clone(s.rows[id])
		for i, v := range row {
			if v.Kind() == transitions.Time && v.Micros() > now {
				row[i] = transitions.MicrosValue(v.Micros() - tick)
			}
		}
		s.ticked[id] = s.intern(row)
	}
	return s.ticked[id]
}

// with is the row with some columns changed.
func (s *space) with(id rowID, change func(transitions.Row)) rowID {
	row := slices.Clone(s.rows[id])
	change(row)
	return s.intern(row)
}

// reranking is a row whose counters are renamed; owners are renamed with them when workers change places.
type reranking struct {
	row   rowID
	ranks [4]int8
	seq   int8
	owner byte
}
