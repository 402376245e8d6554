package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Where things stand in the picture, in pixels: names to the left of the axis, numbers to the right of it.
const (
	plotWidth = 1120
	plotLeft  = 300
	plotRight = 760
	plotTop   = 84
	rowHeight = 24
)

// plot draws the ratios on one logarithmic axis, each a dot for the median and a line from the least to the greatest; a
// triangle stands at the target and points to where it is met. What is no ratio is told below, in its own unit.
func plot(results []result) string {
	var ratios, others []result
	for _, r := range results {
		if r.unit == ratio {
			ratios = append(ratios, r)
		} else {
			others = append(others, r)
		}
	}
	bottom := plotTop + rowHeight*len(ratios)
	height := bottom + 60
	if len(others) > 0 {
		height += rowHeight*len(others) + 30
	}
	p := newPicture(ratios)
	p.put(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %d" font-family="sans-serif" font-size="13" fill="#222">`, plotWidth, height)
	p.put(`<title>The engine against other ways</title><rect width="100%%" height="100%%" fill="#fff"/>`)
	p.text(20, 30, `font-size="18" font-weight="bold"`, "The engine against the same work done in other ways")
	p.text(20, 52, `fill="#555"`, "dot: median; line: least to greatest; triangle: target, which points to where it is met")
	for y := plotTop; y < bottom; y += 2 * rowHeight {
		p.put(`<rect x="10" y="%d" width="%d" height="%d" fill="#f5f5f5"/>`, y, plotWidth-20, rowHeight)
	}
	p.axis(bottom)
	for i, r := range ratios {
		p.row(plotTop+rowHeight*i+rowHeight/2, r)
	}
	if len(others) > 0 {
		p.text(20, bottom+72, `font-weight="bold"`, "Measured in a unit of its own")
	}
	for i, r := range others {
		p.told(bottom+72+rowHeight*(i+1), r, plotLeft, " "+r.unit)
	}
	p.put("</svg>")
	return p.String()
}

// picture is an SVG file as it is written, with the axis's ends as powers of ten.
type picture struct {
	strings.Builder
	low, high float64
}

// newPicture has an axis that all ratios, all their targets and 1 find room on, and a little more.
func newPicture(ratios []result) *picture {
	low, high := 1.0, 1.0
	for _, r := range ratios {
		least, _, greatest := spread(r.values)
		low, high = min(low, least), max(high, greatest)
		if r.target.set() {
			low, high = min(low, r.target.bound), max(high, r.target.bound)
		}
	}
	return &picture{low: math.Log10(max(low, 1e-3)) - 0.1, high: math.Log10(high) + 0.1}
}

func (p *picture) put(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *picture) text(x, y int, style, words string) {
	p.put(`<text x="%d" y="%d" %s>%s</text>`, x, y, style, html.EscapeString(words))
}

// x is where a ratio stands.
func (p *picture) x(value float64) float64 {
	share := (math.Log10(max(value, 1e-3)) - p.low) / (p.high - p.low)
	return plotLeft + share*(plotRight-plotLeft)
}

// axis draws a line at every 1, 2 and 5 of a power of ten, and the one at 1 so that it is seen.
func (p *picture) axis(bottom int) {
	for power := math.Floor(p.low); power <= p.high; power++ {
		for _, digit := range []float64{1, 2, 5} {
			value := digit * math.Pow(10, power)
			if at := math.Log10(value); at < p.low || at > p.high {
				continue
			}
			style := `stroke="#ddd"`
			if math.Abs(value-1) < 1e-9 {
				style = `class="one" stroke="#222" stroke-width="1.5"`
			}
			p.put(`<line x1="%.1f" x2="%.1[1]f" y1="%d" y2="%d" %s/>`, p.x(value), plotTop, bottom, style)
			p.put(`<text x="%.1f" y="%d" text-anchor="middle">%g</text>`, p.x(value), bottom+18, value)
		}
	}
	p.text((plotLeft+plotRight)/2, bottom+38, `text-anchor="middle" fill="#555"`, "ratio, ours ÷ theirs (logarithmic)")
	p.text(20, plotTop-8, `fill="#555"`, "figure")
	p.text(plotRight+20, plotTop-8, `fill="#555"`, "median (least–greatest), target")
}

func (p *picture) row(y int, r result) {
	least, median, greatest := spread(r.values)
	const colour = "#1f5f99"
	p.put(`<line class="whisker" x1="%.1f" x2="%.1f" y1="%d" y2="%[3]d" stroke="%s" stroke-width="2"/>`, p.x(least), p.x(greatest), y, colour)
	if r.target.set() {
		x, tip := p.x(r.target.bound), 9.0
		if r.target.most {
			tip = -tip
		}
		p.put(`<path class="target" d="M%.1f %d L%.1f %d L%.1f %d Z" fill="#fff" stroke="#c04a00" stroke-width="1.5"/>`, x, y-7, x+tip, y, x, y+7)
	}
	p.put(`<circle class="median" cx="%.1f" cy="%d" r="4.5" fill="%s"/>`, p.x(median), y, colour)
	p.told(y+4, r, plotRight+20, "")
}

// told writes a figure's name and numbers.
func (p *picture) told(y int, r result, x int, unit string) {
	least, median, greatest := spread(r.values)
	numbers := fmt.Sprintf("%s (%s–%s)%s", short(median), short(least), short(greatest), unit)
	if judged := r.judge(); judged != "" {
		numbers += ", " + judged
	}
	p.text(20, y, "", strings.ReplaceAll(r.name, "_", " "))
	p.text(x, y, "", numbers)
}
