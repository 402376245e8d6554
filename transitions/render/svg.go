package render

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/fencerow/fencerow/transitions"
)

// SVG draws the whole lifecycle as a picture that needs no other program, in light and in dark: from top to bottom the
// phases that an operation goes through, beside them those of doubt, with every event on its arrow or, where it stays in
// its phase, in the box.
func SVG(p *transitions.Program) string {
	all := edges(p)
	stays := map[string][]string{}
	for _, e := range all {
		if e.from == e.to {
			stays[e.from] = visible(e.events())
		}
	}
	return drawing(p, arrange(p, all, func(e edge) []string { return visible(e.events()) }, stays), everywhere(p))
}

// SVGBrief draws what a reader has to know first, as MermaidBrief does.
func SVGBrief(p *transitions.Program) string {
	return drawing(p, arrange(p, brief(p, edges(p)), func(e edge) []string { return gather(visible(e.events())) }, nil), nil)
}

// Caption says in words what SVG and SVGBrief show: the usual way through the phases.
func Caption(p *transitions.Program) string {
	var way, doubts []string
	for i := range p.Phases {
		if name := visible([]string{p.Phases[i].Name})[0]; isDoubt(&p.Phases[i]) {
			doubts = append(doubts, name)
		} else {
			way = append(way, name)
		}
	}
	text := "The lifecycle " + visible([]string{p.Name})[0] + ": " + strings.Join(way, ", ")
	if doubts != nil {
		text += "; in doubt: " + strings.Join(doubts, ", ")
	}
	return strings.NewReplacer("[", "(", "]", ")").Replace(text)
}

// style has the colors for light, and for dark by the reader's preference. Each text has a background that differs from
// it in either, so that a page that is dark by its own choice shows it too.
const style = `text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1f2328}
.name{font-size:14px;font-weight:bold}.note{fill:#59636e}
.page{fill:#ffffff}.box{fill:#f6f8fa;stroke:#59636e;stroke-width:1.5}
.sendable{fill:#ddf0ff;stroke:#0969da}.effecting{fill:#fff0d6;stroke:#bc6c00}.ended{fill:#dcf5e0;stroke:#1a7f37}.doubt{fill:#ffebe9;stroke:#cf222e}
.line{fill:none;stroke-width:1.4}.usual .line{stroke-width:2.6}.into .line{stroke-dasharray:6 3}
.usual .line{stroke:#1f2328}.other .line{stroke:#6e7781}.into .line{stroke:#cf222e}.out .line{stroke:#0969da}
.usual .tip{fill:#1f2328}.other .tip{fill:#6e7781}.into .tip{fill:#cf222e}.out .tip{fill:#0969da}
.usual text{font-weight:bold}.other text{fill:#59636e}.into text{fill:#a40e26}.out text{fill:#0550ae}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc}.note{fill:#9198a1}
.page{fill:#0d1117}.box{fill:#1c2128;stroke:#9198a1}
.sendable{fill:#0c2d4f;stroke:#4493f8}.effecting{fill:#3d2a08;stroke:#d29922}.ended{fill:#0f2f1a;stroke:#3fb950}.doubt{fill:#3c1418;stroke:#f85149}
.usual .line{stroke:#f0f6fc}.other .line{stroke:#8b949e}.into .line{stroke:#f85149}.out .line{stroke:#4493f8}
.usual .tip{fill:#f0f6fc}.other .tip{fill:#8b949e}.into .tip{fill:#f85149}.out .tip{fill:#4493f8}
.other text{fill:#9198a1}.into text{fill:#ff9d96}.out text{fill:#79c0ff}
}`

func drawing(p *transitions.Program, l *layout, always []string) string {
	var b strings.Builder
	notes := notes(always)
	width := max(l.width, legendWidth)
	for _, n := range notes {
		width = max(width, textWidth(n)+2*margin)
	}
	height := l.height + margin + lineHeight*(len(notes)+2) + margin
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\" role=\"img\">\n", width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n", escaped(Caption(p)), style)
	fmt.Fprintf(&b, "<rect class=\"page\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n<g transform=\"translate(%d)\">\n", width, height, (width-l.width)/2)
	for _, a := range l.arrows {
		drawLine(&b, a)
	}
	for _, s := range slices.Concat(l.spine, l.doubts) {
		drawBox(&b, s)
	}
	b.WriteString("</g>\n")
	y := l.height + margin + lineHeight
	legend(&b, y, (width-legendWidth)/2)
	for i, n := range notes {
		fmt.Fprintf(&b, "<text class=\"note\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", width/2, y+(i+1)*lineHeight+6, escaped(n))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func drawBox(b *strings.Builder, s *shape) {
	class := classOf(*s.phase)
	if isDoubt(s.phase) {
		class = "doubt"
	}
	fmt.Fprintf(b, "<g><title>%s</title>", escaped(s.phase.Name+": "+s.phase.True))
	fmt.Fprintf(b, "<rect class=\"box %s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"8\"/>", class, s.x, s.y, s.w, s.h)
	if isEnd(s.phase) {
		fmt.Fprintf(b, "<rect class=\"box %s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"5\"/>", class, s.x+4, s.y+4, s.w-8, s.h-8)
	}
	y := s.y + (s.h-s.content())/2 + boxPad + lineHeight - 2
	fmt.Fprintf(b, "<text class=\"name\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", s.centre(), y, escaped(visible([]string{s.phase.Name})[0]))
	for i, event := range s.stays {
		fmt.Fprintf(b, "<text class=\"note\" x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", s.centre(), y+4+(i+1)*lineHeight, escaped(event))
	}
	b.WriteString("</g>\n")
}

func drawLine(b *strings.Builder, a *arrow) {
	from := a.from
	if from == "" {
		from = "(new)"
	}
	fmt.Fprintf(b, "<g class=\"%s\"><title>%s</title>", a.class, escaped(from+" → "+a.to+": "+strings.Join(a.events(), ", ")))
	if a.from == "" {
		fmt.Fprintf(b, "<circle class=\"tip\" cx=\"%d\" cy=\"%d\" r=\"5\"/>", a.points[0].x, a.points[0].y)
	}
	end := a.points[len(a.points)-1]
	before := a.points[len(a.points)-2]
	dx, dy := sign(end.x-before.x), sign(end.y-before.y)
	points := slices.Clone(a.points)
	points[len(points)-1] = point{end.x - 6*dx, end.y - 6*dy}
	fmt.Fprintf(b, "<path class=\"line\" d=\"%s\"/>", path(points))
	fmt.Fprintf(b, "<path class=\"tip\" d=\"M%d %dL%d %dL%d %dZ\"/>\n", end.x, end.y,
		end.x-10*dx-4*dy, end.y-10*dy-4*dx, end.x-10*dx+4*dy, end.y-10*dy+4*dx)
	for i, line := range a.lines {
		fmt.Fprintf(b, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", a.at.x, a.at.y-(len(a.lines)-1-i)*lineHeight, a.anchor, escaped(line))
	}
	b.WriteString("</g>\n")
}

// path runs from point to point with round corners.
func path(points []point) string {
	const most = 6
	var b strings.Builder
	fmt.Fprintf(&b, "M%d %d", points[0].x, points[0].y)
	for i := 1; i < len(points)-1; i++ {
		before, at, after := points[i-1], points[i], points[i+1]
		r := min(most, length(before, at)/2, length(at, after)/2)
		fmt.Fprintf(&b, "L%d %dQ%d %d %d %d",
			at.x-r*sign(at.x-before.x), at.y-r*sign(at.y-before.y), at.x, at.y,
			at.x+r*sign(after.x-at.x), at.y+r*sign(after.y-at.y))
	}
	fmt.Fprintf(&b, "L%d %d", points[len(points)-1].x, points[len(points)-1].y)
	return b.String()
}

func length(a, b point) int { return max(a.x-b.x, b.x-a.x) + max(a.y-b.y, b.y-a.y) }

func sign(n int) int { return min(max(n, -1), 1) }

// legendWidth is the width of the line that says what the colors mean.
const legendWidth = 640

func legend(b *strings.Builder, y, x int) {
	x += 20
	for _, l := range []struct{ class, text string }{
		{"usual", "the usual way"}, {"into", "into doubt"}, {"out", "out of doubt"}, {"other", "other ways"},
	} {
		fmt.Fprintf(b, "<g class=\"%s\"><path class=\"line\" d=\"M%d %dh24\"/><text x=\"%d\" y=\"%d\">%s</text></g>\n", l.class, x, y-4, x+32, y, l.text)
		x += 32 + textWidth(l.text) + 28
	}
}

func notes(always []string) []string {
	if len(always) == 0 {
		return nil
	}
	return []string{"in every phase: " + strings.Join(visible(always), ", ")}
}

// visible makes every name one that can be seen, on one line.
func visible(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strings.Map(func(r rune) rune {
			switch {
			case r == '\n' || r == '\r':
				return '↵'
			case !unicode.IsPrint(r):
				return '�'
			default:
				return r
			}
		}, name)
		if strings.TrimSpace(name) == "" {
			all[i] = "∅"
		}
	}
	return all
}

func escaped(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err) // a strings.Builder takes everything
	}
	return b.String()
}
