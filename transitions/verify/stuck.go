package verify

import "github.com/fencerow/fencerow/transitions"

// fresh is the owner string of a worker that begins after everybody else is dead.
const fresh = "f!"

// stuck finds a reachable row from which no path leads to a finished operation when every worker is dead, no statement
// is under way and the remote says nothing: only time, new workers, the reconciler and a reviewer are left. It looks at
// rows and not at states, since nobody is left who believes anything.
func (x *exploration) stuck() *finding {
	e := &escape{exploration: x, reached: map[rowID]int32{}, seen: map[rowID]bool{}, before: map[rowID][]rowID{}}
	for i := range x.nodes { // in the order of the search, so that the nearest is named first
		row := x.normal(x.nodes[i].state.row)
		if _, ok := e.reached[row]; !ok {
			e.reached[row] = int32(i)
			e.see(row)
		}
	}
	dead := len(e.queue)
	ok := e.free()
	for _, row := range e.queue[:dead] {
		if !ok[row] {
			return &finding{code: "I7", node: e.reached[row]}
		}
	}
	return nil
}

// escape is the search for ways out.
type escape struct {
	*exploration
	reached map[rowID]int32 // and at which node first
	seen    map[rowID]bool
	queue   []rowID
	before  map[rowID][]rowID
}

func (e *escape) see(row rowID) {
	if !e.seen[row] {
		e.seen[row] = true
		e.queue = append(e.queue, row)
	}
}

// free lists the rows from which some way leads to a finished operation.
func (e *escape) free() map[rowID]bool {
	var open []rowID
	for at := 0; at < len(e.queue); at++ {
		row := e.queue[at]
		if e.space.facts[row].finished {
			open = append(open, row)
			continue
		}
		e.waysOut(row, func(next rowID) {
			e.before[next] = append(e.before[next], row)
			e.see(next)
		})
	}
	ok := map[rowID]bool{}
	for len(open) > 0 {
		row := open[len(open)-1]
		open = open[:len(open)-1]
		if !ok[row] {
			ok[row] = true
			open = append(open, e.before[row]...)
		}
	}
	return ok
}

// waysOut visits the rows to which somebody who is not dead can bring a row.
func (e *escape) waysOut(row rowID, visit func(rowID)) {
	m := e.model
	f := m.space.facts[row]
	visit(m.normal(m.space.later(row)))
	try := func(c *call, owner string) {
		a := m.ask(row, c, owner, f.revision, f.seq)
		if a.applied && a.broken == "" && !(m.begins(row, a.row) && e.beyond(row)) {
			visit(m.normal(a.row))
		}
	}
	all := func(calls []*call, owner string, may func(*call) bool) {
		for _, c := range calls {
			if may(c) {
				try(c, owner)
			}
		}
	}
	all(m.roles.claims, fresh, func(*call) bool { return !m.fault[NoTakeover] || f.owner == "" })
	if f.owner == fresh {
		all(m.roles.held[f.phase], fresh, func(c *call) bool { return c.needs != unclear })
	}
	all(m.roles.sweeps, "", func(*call) bool { return !m.fault[NoReconciler] })
	all(m.roles.seen, "", func(c *call) bool { return !m.fault[NoReviewer] && c.needs != overrides })
}

func (m *model) begins(from, to rowID) bool {
	return m.effecting[m.space.facts[to].phase] && !m.effecting[m.space.facts[from].phase]
}

// beyond keeps the search finite: a request is begun only where the exploration came as well, so that what counts
// requests does not grow for ever.
func (e *escape) beyond(row rowID) bool {
	if e.space.owner < 0 {
		return false
	}
	_, ok := e.reached[e.normal(e.space.with(row, func(r transitions.Row) { r[e.space.owner] = transitions.TextValue(e.owner(0)) }))]
	return !ok
}

// normal renames a row's revisions as if nobody knew an older one, and dead workers.
func (m *model) normal(row rowID) rowID {
	st := state{row: row}
	m.rank(&st)
	if owner := m.space.facts[st.row].owner; owner != "" && owner != fresh {
		return m.renamed(st.row, m.owner(0))
	}
	return st.row
}
