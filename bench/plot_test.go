package main

import (
	"encoding/xml"
	"strconv"
	"strings"
	"testing"
)

// element is what the picture is made of.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Words    string     `xml:",chardata"`
	Elements []element  `xml:",any"`
}

func (e element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (e element) number(t *testing.T, name string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(e.attr(name), 64)
	if err != nil {
		t.Fatalf("%s of %v: %v", name, e, err)
	}
	return x
}

// read gives the picture's elements by class, and all its words.
func read(t *testing.T, svg string) (byClass map[string][]element, words []string) {
	t.Helper()
	var root element
	if err := xml.Unmarshal([]byte(svg), &root); err != nil {
		t.Fatalf("the picture is no XML: %v\n%s", err, svg)
	}
	byClass = map[string][]element{}
	for _, e := range root.Elements {
		byClass[e.attr("class")] = append(byClass[e.attr("class")], e)
		words = append(words, e.Words)
	}
	return byClass, words
}

func TestThePictureHoldsEachFigure(t *testing.T) {
	byClass, words := read(t, plot(some))
	all := strings.Join(words, "\n") + "\n"
	for _, want := range []string{
		"16 in flight\n15.0 (12.0–16.0), at least 15, met\n", "claim\n1.40 (1.20–1.60), at most 1.2, not met\n", "wal\n0.05 (0.05–0.05)\n",
		"empty\n0.20 (0.10–0.25) ms, at most 0.2, met\n",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	for class, want := range map[string]int{"median": 3, "whisker": 3, "target": 2, "one": 1} {
		if got := len(byClass[class]); got != want {
			t.Errorf("%d of %s, want %d", got, class, want)
		}
	}
}

func TestThePictureIsTrueToTheNumbers(t *testing.T) {
	byClass, _ := read(t, plot(some))
	one := byClass["one"][0].number(t, "x1")
	for i, r := range some[:3] {
		_, median, _ := spread(r.values)
		dot, whisker := byClass["median"][i].number(t, "cx"), byClass["whisker"][i]
		if from, to := whisker.number(t, "x1"), whisker.number(t, "x2"); from > dot || dot > to {
			t.Errorf("%s: the median stands at %v, outside %v to %v", r.name, dot, from, to)
		}
		if (dot > one) != (median > 1) {
			t.Errorf("%s: a median of %v stands at %v, and 1 at %v", r.name, median, dot, one)
		}
		if dot < plotLeft || dot > plotRight {
			t.Errorf("%s: the median stands at %v, off the axis", r.name, dot)
		}
	}
}

func TestAPictureOfNoRatioIsWellFormed(t *testing.T) {
	r := some[3]
	r.unit = "ms <&>"
	if _, words := read(t, plot([]result{r})); !strings.Contains(strings.Join(words, " "), "0.20 (0.10–0.25) ms <&>") {
		t.Errorf("want the figure in its own unit, got %q", words)
	}
}
