package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progress shows where the operations are.
type progress interface {
	show(counts)
	close() // leaves the last state standing
}

// newProgress shows live lines to somebody who watches, and plain ones to a file.
func (a *app) newProgress() progress {
	if watched(a.stderr.out, a.lookup) {
		return newLive(a.stderr)
	}
	return &plain{out: a.stderr, now: time.Now}
}

// plain writes a line when something has changed, at most one a second.
type plain struct {
	out     io.Writer
	now     func() time.Time
	last    time.Time
	current counts
	written counts
}

func (p *plain) show(c counts) {
	p.current = c
	if p.now().Sub(p.last) >= time.Second {
		p.write()
	}
}

func (p *plain) close() { p.write() }

func (p *plain) write() {
	if p.current == p.written {
		return
	}
	var b strings.Builder
	for _, l := range p.current.lines() {
		fmt.Fprintf(&b, "%s %d  ", l.name, l.count)
	}
	fmt.Fprintf(p.out, "%sof %d\n", b.String(), p.current.total)
	p.written, p.last = p.current, p.now()
}

type progressLine struct {
	name  string
	count int
}

func (c counts) lines() []progressLine {
	return []progressLine{
		{"prepared", c.prepared}, {"submitting", c.submitting}, {"submitted", c.observing},
		{"delivering", c.delivering}, {"done", c.done}, {"uncertain", c.uncertain},
	}
}

// live keeps one line a phase at the end of the terminal; what else is written goes above.
type live struct {
	console *console
	bars    *mpb.Progress
	lines   []*mpb.Bar

	mu      sync.Mutex
	current counts
}

const barWidth = 30

func newLive(c *console) *live {
	l := &live{console: c}
	l.bars = mpb.NewWithContext(context.Background(), mpb.WithOutput(c.out), mpb.WithRefreshRate(150*time.Millisecond))
	for i, line := range l.current.lines() {
		// Counts go up and down, so no line is ever complete by itself: its total is 0 and it draws its own bar.
		l.lines = append(l.lines, l.bars.New(0, mpb.NopStyle(), mpb.PrependDecorators(
			decor.Any(func(decor.Statistics) string { return l.line(line.name, i) }),
		)))
	}
	c.divert(l.bars)
	return l
}

func (l *live) line(name string, i int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	count, filled := l.current.lines()[i].count, 0
	if l.current.total > 0 {
		filled = (count*barWidth + l.current.total - 1) / l.current.total
	}
	return fmt.Sprintf("%-11s %7d of %d  %s", name, count, l.current.total, strings.Repeat("█", filled))
}

func (l *live) show(c counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = c
}

func (l *live) close() {
	for _, bar := range l.lines {
		bar.Abort(false)
	}
	l.bars.Wait()
	l.console.divert(nil)
}
