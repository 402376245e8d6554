package render

import (
	"cmp"
	"slices"
)

// bus is the channel of all arrows that skip phases, or go back, to one phase.
type bus struct {
	to       string
	ys       []int // where arrows come into it, and where it leads to
	end      int
	column   int
	low, top int
}

// buses are the channels, the shortest first: it runs next to the boxes. Two that do not meet share a column.
func (l *layout) buses() []*bus {
	var all []*bus
	for _, s := range l.spine {
		b := &bus{to: s.phase.Name}
		for _, from := range l.spine {
			for _, p := range l.left[from.phase.Name] {
				if p.bus == b.to {
					b.ys = append(b.ys, p.y)
					if p.in {
						b.end = p.y
					}
				}
			}
		}
		if b.ys != nil {
			b.top, b.low = slices.Min(b.ys), slices.Max(b.ys)
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b *bus) int { return cmp.Compare(a.low-a.top, b.low-b.top) })
	for i, b := range all {
		for slices.ContainsFunc(all[:i], func(o *bus) bool {
			return o.column == b.column && o.top <= b.low+lineHeight && b.top <= o.low+lineHeight
		}) {
			b.column++
		}
	}
	return all
}

// widen gives everything its place from left to right: channels, labels, the spine, labels, doubt.
func (l *layout) widen() {
	columns := 0
	for _, b := range l.buses() {
		columns = max(columns, b.column+1)
	}
	var leftLabel, rightLabel, box, before, after int
	for _, s := range l.spine {
		box = max(box, textWidth(s.phase.Name)*5/4, widest(s.stays))
		for _, p := range l.left[s.phase.Name] {
			leftLabel = max(leftLabel, widest(p.arrow.lines)+rowGap)
		}
		for _, p := range l.right[s.phase.Name] {
			rightLabel = max(rightLabel, widest(p.arrow.lines)+2*rowGap)
		}
	}
	for i := range l.spine[:max(len(l.spine)-1, 0)] {
		if a := l.between(l.spine[i], l.spine[i+1]); a != nil {
			before = max(before, widest(a.lines)+rowGap)
		}
		if a := l.between(l.spine[i+1], l.spine[i]); a != nil {
			after = max(after, widest(a.lines)+rowGap)
		}
	}
	for _, a := range l.extra {
		rightLabel = max(rightLabel, widest(a.lines)+2*rowGap)
	}
	box += 2 * boxPad
	leftLabel = max(leftLabel, before-box/2)
	rightLabel = max(rightLabel, after-box/2)
	x := margin + columns*channelWidth + leftLabel
	for _, s := range l.spine {
		s.x, s.w = x, box
	}
	x += box
	for _, d := range l.doubts {
		d.w = max(textWidth(d.phase.Name)*5/4, widest(d.stays)) + 2*boxPad
		d.x = x + rightLabel
		x = d.right()
	}
	if len(l.doubts) == 0 {
		x += rightLabel
	}
	l.width = x + margin
}

// route draws the lines, once everything has its place.
func (l *layout) route() {
	l.routeSpine()
	for _, b := range l.buses() {
		x := l.spine[0].x - l.labelSpace() - b.column*channelWidth
		for _, s := range l.spine {
			for _, p := range l.left[s.phase.Name] {
				if p.bus == b.to && !p.in {
					end := point{l.spine[0].x, b.end}
					p.arrow.points = []point{{s.x, p.y}, {x, p.y}, {x, b.end}, end}
					p.arrow.at, p.arrow.anchor = point{s.x - portPad, p.y - 5}, "end"
				}
			}
		}
	}
	for _, s := range l.spine {
		for _, p := range l.left[s.phase.Name] {
			if p.bus == "" {
				p.arrow.points = []point{{s.x - widest(p.arrow.lines) - rowGap, p.y}, {s.x, p.y}}
				p.arrow.at, p.arrow.anchor = point{s.x - portPad, p.y - 5}, "end"
			}
		}
		for _, p := range l.right[s.phase.Name] {
			l.across(p, s)
		}
	}
	for _, a := range l.extra {
		from, to := l.doubt(a.from), l.doubt(a.to)
		start := point{to.x - widest(a.lines) - 2*rowGap, a.at.y}
		if from != nil && from.x < to.x {
			start.x = from.right()
		} else if from != nil {
			start.x = from.x
		}
		end := point{to.x, a.at.y}
		if start.x > to.x {
			end.x = to.right()
		}
		a.points, a.anchor = []point{start, end}, "middle"
		a.at = point{(max(start.x, end.x) - l.gapBefore(max(start.x, end.x))/2), a.at.y - 5}
	}
}

// gapBefore is the room for labels between two columns.
func (l *layout) gapBefore(x int) int {
	for i, d := range l.doubts {
		switch {
		case d.x != x:
		case i > 0:
			return x - l.doubts[i-1].right()
		case len(l.spine) > 0:
			return x - l.spine[0].right()
		}
	}
	return 0
}

func (l *layout) labelSpace() int {
	columns := 0
	for _, b := range l.buses() {
		columns = max(columns, b.column+1)
	}
	return l.spine[0].x - margin - columns*channelWidth + channelWidth/2
}

// routeSpine draws the arrows between neighbours: down on the left with the label before it, up on the right.
func (l *layout) routeSpine() {
	const apart = 9
	for i, s := range l.spine {
		if i == 0 {
			for _, a := range l.arrows {
				if a.from == "" && a.to == s.phase.Name {
					a.points = []point{{s.centre() - apart, margin}, {s.centre() - apart, s.y}}
					a.at, a.anchor = point{s.centre() - apart - 10, (margin+s.y)/2 + (len(a.lines)-1)*lineHeight/2 + 4}, "end"
				}
			}
			continue
		}
		above := l.spine[i-1]
		middle := (above.bottom() + s.y) / 2
		if a := l.between(above, s); a != nil {
			a.points = []point{{s.centre() - apart, above.bottom()}, {s.centre() - apart, s.y}}
			a.at, a.anchor = point{s.centre() - apart - 10, middle + (len(a.lines)-1)*lineHeight/2 + 4}, "end"
		}
		if a := l.between(s, above); a != nil {
			a.points = []point{{s.centre() + apart, s.y}, {s.centre() + apart, above.bottom()}}
			a.at, a.anchor = point{s.centre() + apart + 10, middle + (len(a.lines)-1)*lineHeight/2 + 4}, "start"
		}
	}
}

// across draws an arrow between a phase of the spine and one of doubt.
func (l *layout) across(p *port, s *shape) {
	a := p.arrow
	d := l.doubt(a.to)
	if p.in {
		d = l.doubt(a.from)
	}
	a.points = []point{{s.right(), p.y}, {d.x, p.y}}
	if p.in {
		slices.Reverse(a.points)
	}
	a.at, a.anchor = point{s.right() + l.gapBefore(l.doubts[0].x)/2, p.y - 5}, "middle"
}
