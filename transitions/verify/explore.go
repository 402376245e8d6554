package verify

import (
	"fmt"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// Report is what an exploration came to.
type Report struct {
	Table    string
	Bound    Bound
	States   int // that differ, after the reductions
	Steps    int // taken between them
	Rows     int // that differ, of the operation
	Depth    int // of the longest shortest path
	Complete bool
	Silent   []string // events that were applied nowhere: what they do was not judged
	Elapsed  time.Duration
	Broken   *Violation // nil: nothing within the bound breaks an invariant
}

// node is a state that was met, and whence.
type node struct {
	state  state
	parent int32
}

// Check explores a compiled table within a bound and gives the shortest story that breaks an invariant, if there is
// one. Of invariant 7 it gives a state without a way out. A report that is not Complete says nothing about what was not
// explored. The error is about the bound or a table that cannot be explored, never about what was found.
func Check(p *transitions.Program, b Bound) (*Report, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	if b.States == 0 {
		b.States = 20_000_000
	}
	m := newModel(p, b)
	born, err := m.born()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	x := &exploration{model: m, seen: newVisited()}
	report := &Report{Table: p.Name, Bound: b}
	found := x.run(born)
	report.States, report.Steps, report.Rows, report.Depth = len(x.nodes), x.steps, len(m.space.rows), x.depth
	report.Complete = !x.capped && found == nil
	for _, r := range p.Rules {
		if !r.New && !m.applied[r.Event] {
			report.Silent = append(report.Silent, r.Event)
		}
	}
	if found == nil && m.fired("I7") {
		found = x.stuck()
	}
	if found != nil {
		if report.Broken, err = x.tell(found); err != nil {
			return nil, err
		}
	}
	report.Elapsed = time.Since(began)
	return report, nil
}

// exploration is a breadth-first search: the first state that breaks an invariant is one of the nearest.
type exploration struct {
	*model
	nodes  []node
	seen   *visited
	steps  int
	depth  int
	capped bool
}

// finding is where an invariant was broken: by a step from a node, or in it.
type finding struct {
	code Code
	node int32
	step *step // nil: in the node itself
}

func (x *exploration) run(born []rowID) *finding {
	for _, row := range born {
		x.add(x.canonical(state{row: row, slack: 1}), -1)
	}
	for level, end := 0, len(x.nodes); level < len(x.nodes); x.depth++ {
		for ; level < end; level++ {
			if found := x.expand(int32(level)); found != nil {
				return found
			}
			if len(x.nodes) > x.bound.States {
				x.capped = true
				return nil
			}
		}
		end = len(x.nodes)
	}
	return nil
}

func (x *exploration) expand(at int32) (found *finding) {
	from := x.nodes[at].state
	x.successors(&from, func(s step, next *state) {
		x.steps++
		if s.broken != "" {
			if x.fired(s.broken) {
				if found == nil {
					found = &finding{code: s.broken, node: at, step: &s}
				}
				return
			}
		}
		if next.jobs > 2*x.maxJobs() { // only where requests are sent past every bound, and nobody looks for that
			x.capped = true
			return
		}
		x.add(x.canonical(*next), at)
	})
	return found
}

func (x *exploration) add(st state, parent int32) {
	if x.seen.add(&st, x.nodes) {
		x.nodes = append(x.nodes, node{st, parent})
	}
}

// path lists the states from the beginning to a node.
func (x *exploration) path(at int32) []state {
	var path []state
	for ; at >= 0; at = x.nodes[at].parent {
		path = append(path, x.nodes[at].state)
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return path
}

// String is the report as a person reads it.
func (r *Report) String() string {
	s := fmt.Sprintf("table %s: %s\n%d states, %d steps, %d rows, depth %d, %s", r.Table, r.Bound, r.States, r.Steps, r.Rows, r.Depth,
		r.Elapsed.Round(time.Millisecond))
	switch {
	case r.Broken != nil:
		return s + "\n" + r.Broken.String()
	case !r.Complete:
		return s + "\nnot complete: the cap of states was reached; nothing is known of what was not explored"
	default:
		if len(r.Silent) > 0 {
			s += "\nnever applied, and so not judged: " + strings.Join(r.Silent, ", ")
		}
		return s + "\ncomplete: nothing breaks an invariant within this bound"
	}
}
