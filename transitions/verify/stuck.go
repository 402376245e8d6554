package verify

// fresh is the owner string of a worker that begins after everybody else is dead.
const fresh = "f!"

// stuck finds a reachable row from which no path leads to a finished operation when every worker is dead, no statement
// is under way and the remote says nothing: only time, new workers, the reconciler and a reviewer are left. It looks at
// rows and not at states, since nobody is left who believes anything.
func (x *exploration) stuck() *finding {
	reached := map[rowID]int32{}
	for i := range x.nodes {
		if row := x.nodes[i].state.row; reached[row] == 0 {
			reached[row] = int32(i) + 1
		}
	}
	before := map[rowID][]rowID{}
	queue := make([]rowID, 0, len(reached))
	known := map[rowID]bool{}
	for i := range x.nodes { // in the order of the search, so that the nearest is named first
		if row := x.nodes[i].state.row; !known[row] {
			known[row] = true
			queue = append(queue, row)
		}
	}
	var free []rowID
	for at := 0; at < len(queue); at++ {
		row := queue[at]
		if x.space.facts[row].finished {
			free = append(free, row)
			continue
		}
		for _, next := range x.waysOut(row) {
			before[next] = append(before[next], row)
			if !known[next] {
				known[next] = true
				queue = append(queue, next)
			}
		}
	}
	ok := map[rowID]bool{}
	for len(free) > 0 {
		row := free[len(free)-1]
		free = free[:len(free)-1]
		if ok[row] {
			continue
		}
		ok[row] = true
		free = append(free, before[row]...)
	}
	for _, row := range queue {
		if at := reached[row]; at > 0 && !ok[row] {
			return &finding{code: "I7", node: at - 1}
		}
	}
	return nil
}

// waysOut are the rows to which somebody who is not dead can bring a row.
func (x *exploration) waysOut(row rowID) []rowID {
	m := x.model
	f := m.space.facts[row]
	out := []rowID{m.normal(m.space.later(row))}
	try := func(c *call, owner string) {
		if a := m.ask(row, c, owner, f.revision, f.seq); a.applied && a.broken == "" {
			out = append(out, m.normal(a.row))
		}
	}
	for _, c := range m.roles.claims {
		if !m.fault[NoTakeover] || f.owner == "" {
			try(c, fresh)
		}
	}
	if f.owner == fresh {
		for _, c := range m.roles.held[f.phase] {
			if c.needs != unclear {
				try(c, fresh)
			}
		}
	}
	if !m.fault[NoReconciler] {
		for _, c := range m.roles.sweeps {
			try(c, "")
		}
	}
	if !m.fault[NoReviewer] {
		for _, c := range m.roles.seen {
			if c.needs != overrides {
				try(c, "")
			}
		}
	}
	return out
}

// normal renames a row's revisions as if nobody knew an older one.
func (m *model) normal(row rowID) rowID {
	st := state{row: row}
	m.rank(&st)
	return st.row
}
