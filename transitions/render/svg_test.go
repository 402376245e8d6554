package render_test

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/examples/payout"
	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/render"
)

// group is a box with its texts, or an arrow with its label.
type group struct {
	Class   string `xml:"class,attr"`
	Title   string `xml:"title"`
	Rects   []rect `xml:"rect"`
	Texts   []text `xml:"text"`
	Circles []struct {
		X int `xml:"cx,attr"`
		Y int `xml:"cy,attr"`
	} `xml:"circle"`
	Paths []struct {
		Class string `xml:"class,attr"`
		D     string `xml:"d,attr"`
	} `xml:"path"`
}

type rect struct {
	X int `xml:"x,attr"`
	Y int `xml:"y,attr"`
	W int `xml:"width,attr"`
	H int `xml:"height,attr"`
}

type text struct {
	Class  string `xml:"class,attr"`
	X      int    `xml:"x,attr"`
	Y      int    `xml:"y,attr"`
	Anchor string `xml:"text-anchor,attr"`
	Text   string `xml:",chardata"`
}

// area is what the text covers, in a font as wide as monospaced ones are.
func (t text) area() rect {
	w := (len([]rune(t.Text))*74 + 9) / 10
	x := map[string]int{"": t.X, "start": t.X, "middle": t.X - w/2, "end": t.X - w}[t.Anchor]
	return rect{x, t.Y - 10, w, 12}
}

func (r rect) meets(o rect) bool {
	return r.X < o.X+o.W && o.X < r.X+r.W && r.Y < o.Y+o.H && o.Y < r.Y+r.H
}

// touches reports whether a point lies on the border.
func (r rect) touches(p point) bool {
	across := p.x >= r.X && p.x <= r.X+r.W
	down := p.y >= r.Y && p.y <= r.Y+r.H
	return across && down && (p.x == r.X || p.x == r.X+r.W || p.y == r.Y || p.y == r.Y+r.H)
}

type point struct{ x, y int }

var (
	pair  = regexp.MustCompile(`(-?\d+) (-?\d+)`)
	curve = regexp.MustCompile(`Q(-?\d+ -?\d+) (-?\d+ -?\d+)`)
)

// points are those that a path goes through, its round corners taken for sharp ones.
func points(d string) []point {
	var all []point
	for _, m := range pair.FindAllStringSubmatch(curve.ReplaceAllString(d, "L$1"), -1) {
		x, _ := strconv.Atoi(m[1])
		y, _ := strconv.Atoi(m[2])
		all = append(all, point{x, y})
	}
	return all
}

// picture is an SVG as a reader sees it.
type picture struct {
	Width int `xml:"width,attr"`
	Body  struct {
		Groups []group `xml:"g"`
	} `xml:"g"`
	Notes []text `xml:"text"`
}

func see(t *testing.T, svg string) (p picture, boxes, arrows []group) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := decoder.Token()
		if err != nil {
			t.Fatalf("the picture has no body: %v", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "svg":
			for _, a := range start.Attr {
				if a.Name.Local == "width" {
					p.Width, _ = strconv.Atoi(a.Value)
				}
			}
		case "g":
			if err := decoder.DecodeElement(&p.Body, &start); err != nil {
				t.Fatal(err)
			}
			for _, g := range p.Body.Groups {
				if g.Class == "" {
					boxes = append(boxes, g)
				} else {
					arrows = append(arrows, g)
				}
			}
			p.Notes = notesOf(t, decoder)
			return p, boxes, arrows
		}
	}
}

// notesOf are the texts below the drawing.
func notesOf(t *testing.T, decoder *xml.Decoder) []text {
	t.Helper()
	var notes []text
	for {
		token, err := decoder.Token()
		if err != nil {
			return notes
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			var n text
			if err := decoder.DecodeElement(&n, &start); err != nil {
				t.Fatal(err)
			}
			notes = append(notes, n)
		}
	}
}

// drawn gives the edges that the lines show: from the box that a line begins at, or from a dot, to the box that its tip
// touches, with the texts of its label.
func drawn(t *testing.T, svg string) []string {
	t.Helper()
	p, boxes, arrows := see(t, svg)
	at := func(q point) string {
		for _, b := range boxes {
			if b.Rects[0].touches(q) {
				return b.Texts[0].Text
			}
		}
		t.Errorf("no box is at %v", q)
		return "?"
	}
	var edges []string
	for _, a := range arrows {
		var from string
		if len(a.Circles) == 0 {
			from = at(points(a.Paths[0].D)[0])
		}
		to := at(points(a.Paths[1].D)[0])
		for _, label := range a.Texts {
			edges = append(edges, from+" "+label.Text+" "+to)
		}
	}
	for _, b := range boxes {
		for _, stays := range b.Texts[1:] {
			edges = append(edges, b.Texts[0].Text+" "+stays.Text+" "+b.Texts[0].Text)
		}
		for _, n := range p.Notes {
			if every, found := strings.CutPrefix(n.Text, "in every phase: "); found {
				for event := range strings.SplitSeq(every, ", ") {
					edges = append(edges, b.Texts[0].Text+" "+event+" "+b.Texts[0].Text)
				}
			}
		}
	}
	slices.Sort(edges)
	return edges
}

// pictured are tables of every shape: with one phase of doubt, with three, with none, and with names like syntax.
func pictured(t *testing.T) map[string]transitions.Table {
	t.Helper()
	hard, _ := awkward()
	tables := map[string]transitions.Table{"standard": transitions.Standard(), "payout": payout.Table(), "awkward": noPhaseWords(hard)}
	for _, rule := range transitions.SafetyRules() {
		if rule.Code == "FR011" || rule.Code == "FR013" { // a phase that nothing leads to; phases of doubt among themselves
			tables[rule.Title] = rule.Example()
		}
	}
	sure := transitions.Standard()
	for i := range sure.Phases {
		if sure.Phases[i].Name == transitions.Uncertain {
			sure.Phases[i].Restless = true
		}
	}
	tables["without doubt"] = sure
	return tables
}

func TestThePictureHasExactlyTheEdgesOfTheTable(t *testing.T) {
	t.Parallel()
	for name, table := range pictured(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := transitions.CompileUnchecked(table)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(declared(table), drawn(t, render.SVG(p))); diff != "" {
				t.Errorf("the picture has other edges (-table +picture):\n%s", diff)
			}
		})
	}
}

func TestNothingInThePictureLiesOnSomethingElse(t *testing.T) {
	t.Parallel()
	for name, table := range pictured(t) {
		p, err := transitions.CompileUnchecked(table)
		if err != nil {
			t.Fatal(err)
		}
		for form, svg := range map[string]string{"whole": render.SVG(p), "brief": render.SVGBrief(p)} {
			t.Run(name+", "+form, func(t *testing.T) {
				t.Parallel()
				for _, overlap := range overlaps(t, svg) {
					t.Error(overlap)
				}
			})
		}
	}
}

// overlaps names every label that lies on another, on a line or on a box.
func overlaps(t *testing.T, svg string) []string {
	t.Helper()
	p, boxes, arrows := see(t, svg)
	var found []string
	var labels []text
	for _, a := range arrows {
		labels = append(labels, a.Texts...)
	}
	for i, l := range labels {
		for _, o := range labels[:i] {
			if l.area().meets(o.area()) {
				found = append(found, fmt.Sprintf("the labels %s and %s lie on each other", l.Text, o.Text))
			}
		}
		for _, b := range boxes {
			if l.area().meets(b.Rects[0]) {
				found = append(found, fmt.Sprintf("the label %s lies on the box %s", l.Text, b.Texts[0].Text))
			}
		}
		for _, a := range arrows {
			line := points(a.Paths[0].D)
			for j := range line[1:] {
				if l.area().meets(segment(line[j], line[j+1])) {
					found = append(found, fmt.Sprintf("the label %s lies on the line of %s", l.Text, a.Title))
				}
			}
		}
		if r := l.area(); r.X < 0 || r.X+r.W > p.Width {
			found = append(found, fmt.Sprintf("the label %s is cut off", l.Text))
		}
	}
	for _, b := range boxes {
		for _, inside := range b.Texts {
			if r := inside.area(); r.X < b.Rects[0].X || r.X+r.W > b.Rects[0].X+b.Rects[0].W || r.Y < b.Rects[0].Y || inside.Y > b.Rects[0].Y+b.Rects[0].H {
				found = append(found, fmt.Sprintf("the text %s is larger than its box", inside.Text))
			}
		}
	}
	return found
}

func segment(a, b point) rect {
	return rect{min(a.x, b.x), min(a.y, b.y), max(a.x, b.x) - min(a.x, b.x) + 1, max(a.y, b.y) - min(a.y, b.y) + 1}
}

// A repository's page shows a picture 830 pixels wide at most; a wider one is shrunk, and its text with it.
func TestThePicturesAreShownInFullWidth(t *testing.T) {
	t.Parallel()
	for _, table := range []transitions.Table{transitions.Standard(), payout.Table()} {
		p := transitions.MustCompile(table)
		for _, svg := range []string{render.SVG(p), render.SVGBrief(p)} {
			if p, _, _ := see(t, svg); p.Width < 300 || p.Width > 830 {
				t.Errorf("a picture of %s is %d wide, want at most 830", table.Name, p.Width)
			}
		}
	}
}

// The way that an operation takes when all goes well is one straight line downwards.
func TestTheUsualWayGoesStraightDown(t *testing.T) {
	t.Parallel()
	_, boxes, arrows := see(t, render.SVGBrief(standard()))
	var order []string
	for _, b := range boxes {
		order = append(order, b.Texts[0].Text)
	}
	want := []string{"prepared", "submitting", "submitted", "observing", "terminal", "delivering", "uncertain"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("the boxes stand in another order (-want +got):\n%s", diff)
	}
	for i, b := range boxes[1:6] {
		if above := boxes[i].Rects[0]; b.Rects[0].X != above.X || b.Rects[0].Y <= above.Y+above.H {
			t.Errorf("%s does not stand below %s", want[i+1], want[i])
		}
	}
	usual := map[int]bool{}
	for _, a := range arrows {
		if line := points(a.Paths[0].D); a.Class == "usual" && line[1].y > line[0].y {
			usual[line[0].x], usual[line[1].x] = true, true
		}
	}
	if len(usual) != 1 {
		t.Errorf("the usual way goes by %d columns, want 1", len(usual))
	}
}
