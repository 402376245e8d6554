package render

import (
	"slices"
	"unicode"

	"github.com/fencerow/fencerow/transitions"
)

// The measures of the drawing, in pixels. Labels are in a monospaced font, whose widths are known without the font: no
// usual one is wider than 0.61 of its size.
const (
	lineHeight   = 15
	margin       = 18
	boxPad       = 12
	channelWidth = 14
	gapHeight    = 34 // between two boxes, beside the labels there
	portPad      = 10 // above and below what arrives at a box or leaves it
	rowGap       = 24 // from a label to the box
)

func textWidth(s string) int {
	cells := 0
	for _, r := range s {
		if cells++; unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0x1f000 {
			cells++
		}
	}
	return (cells*73 + 9) / 10 // 12 px
}

func widest(lines []string) int {
	most := 0
	for _, l := range lines {
		most = max(most, textWidth(l))
	}
	return most
}

type point struct{ x, y int }

// shape is a phase that has its place.
type shape struct {
	phase      *transitions.Phase
	stays      []string // the events that stay in it
	x, y, w, h int
}

func (s shape) bottom() int  { return s.y + s.h }
func (s shape) right() int   { return s.x + s.w }
func (s shape) centre() int  { return s.x + s.w/2 }
func (s shape) content() int { return 2*boxPad + lineHeight + 4 + len(s.stays)*lineHeight }

// arrow is an edge that has its place: its line runs from point to point, across and down only.
type arrow struct {
	edge
	class  string
	lines  []string
	points []point
	at     point // where the last line of the label stands
	anchor string
}

// port is the place at a box's side where arrows leave or arrive: one arrow, or all that come by the same channel.
type port struct {
	arrow *arrow
	bus   string // the phase that the channel leads to; "" for an arrow of its own
	in    bool
	y     int
}

func (p port) height() int {
	if p.bus != "" && p.in {
		return 2 * portPad
	}
	return len(p.arrow.lines)*lineHeight + portPad
}

// layout places the phases that an operation goes through by itself from top to bottom, in the table's order, and those
// of doubt beside them, as high as all of it: whatever leads into doubt or out of it is one straight line. What skips a
// phase or goes back runs on the other side, in a channel for each phase that it leads to.
type layout struct {
	spine, doubts []*shape
	arrows        []*arrow
	left, right   map[string][]*port // by phase
	extra         []*arrow           // between two phases of doubt
	width, height int
}

func arrange(p *transitions.Program, shown []edge, lines func(edge) []string, stays map[string][]string) *layout {
	l := &layout{left: map[string][]*port{}, right: map[string][]*port{}}
	for i := range p.Phases {
		s := &shape{phase: &p.Phases[i], stays: stays[p.Phases[i].Name]}
		if isDoubt(s.phase) {
			l.doubts = append(l.doubts, s)
		} else {
			l.spine = append(l.spine, s)
		}
	}
	all := edges(p)
	for _, e := range shown {
		if e.from != e.to {
			l.arrows = append(l.arrows, &arrow{edge: e, lines: lines(e), class: l.classOf(p, all, e)})
		}
	}
	for _, a := range l.arrows {
		l.dock(a)
	}
	for _, s := range l.spine {
		slices.SortStableFunc(l.left[s.phase.Name], func(a, b *port) int { return l.rank(s, a) - l.rank(s, b) })
	}
	l.stack()
	l.widen()
	l.route()
	return l
}

// index is the phase's place in the spine, or -1.
func (l *layout) index(phase string) int {
	return slices.IndexFunc(l.spine, func(s *shape) bool { return s.phase.Name == phase })
}

func (l *layout) doubt(phase string) *shape {
	for _, s := range l.doubts {
		if s.phase.Name == phase {
			return s
		}
	}
	return nil
}

// classOf is what an arrow is called in the legend and in the style.
func (l *layout) classOf(p *transitions.Program, all []edge, e edge) string {
	switch {
	case l.doubt(e.to) != nil:
		return "into"
	case l.doubt(e.from) != nil:
		return "out"
	case e.from == "" || e.to == next(p, all, e.from):
		return "usual"
	default:
		return "other"
	}
}

// dock gives an arrow its ports. One between neighbours in the spine needs none.
func (l *layout) dock(a *arrow) {
	from, to := l.index(a.from), l.index(a.to)
	switch {
	case from >= 0 && to >= 0 && (to-from == 1 || from-to == 1), a.from == "" && to == 0:
	case from >= 0 && to >= 0:
		l.left[a.from] = append(l.left[a.from], &port{arrow: a, bus: a.to})
		if !slices.ContainsFunc(l.left[a.to], func(p *port) bool { return p.in && p.bus == a.to }) {
			l.left[a.to] = append(l.left[a.to], &port{arrow: a, bus: a.to, in: true})
		}
	case a.from == "" && to > 0:
		l.left[a.to] = append(l.left[a.to], &port{arrow: a, in: true})
	case from >= 0:
		l.right[a.from] = append(l.right[a.from], &port{arrow: a})
	case to >= 0:
		l.right[a.to] = append(l.right[a.to], &port{arrow: a, in: true})
	default:
		l.extra = append(l.extra, a)
	}
}

// rank orders the ports of a side so that few lines cross: what goes up leaves above what goes down.
func (l *layout) rank(s *shape, p *port) int {
	switch {
	case p.in:
		return 1
	case l.index(p.bus) < l.index(s.phase.Name):
		return 0
	default:
		return 2
	}
}

// between is the arrow from one neighbour in the spine to the other, if there is one.
func (l *layout) between(from, to *shape) *arrow {
	for _, a := range l.arrows {
		if a.from == from.phase.Name && a.to == to.phase.Name {
			return a
		}
	}
	return nil
}

// stack gives everything its height.
func (l *layout) stack() {
	y := margin
	if len(l.spine) > 0 {
		for _, a := range l.arrows {
			if a.from == "" && a.to == l.spine[0].phase.Name {
				y += len(a.lines)*lineHeight + gapHeight
			}
		}
	}
	top := y
	for i, s := range l.spine {
		if i > 0 {
			labels := 0
			for _, a := range []*arrow{l.between(l.spine[i-1], s), l.between(s, l.spine[i-1])} {
				if a != nil {
					labels = max(labels, len(a.lines))
				}
			}
			y += gapHeight + labels*lineHeight
		}
		s.y, s.h = y, max(s.content(), side(l.left[s.phase.Name]), side(l.right[s.phase.Name]))
		settle(s, l.left[s.phase.Name])
		settle(s, l.right[s.phase.Name])
		y = s.bottom()
	}
	for _, a := range l.extra {
		y += len(a.lines)*lineHeight + portPad
		a.at.y = y
		y += portPad
	}
	for _, d := range l.doubts {
		d.y, d.h = top, max(y-top, d.content())
		y = max(y, d.bottom())
	}
	l.height = y
}

func side(ports []*port) int {
	h := 2 * portPad
	for _, p := range ports {
		h += p.height()
	}
	return h
}

// settle spreads the ports over a box's side.
func settle(s *shape, ports []*port) {
	y := s.y + portPad + (s.h-side(ports))/2
	for _, p := range ports {
		y += p.height()
		p.y = y - portPad/2
		if p.bus != "" && p.in {
			p.y = y - portPad
		}
	}
}
