package reports_test

import (
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
	"github.com/fencerow/fencerow/transitions/render"
)

// named is the standard table with some names replaced; what compares with those is left out.
func named(t *testing.T, names map[string]string) *transitions.Program {
	t.Helper()
	table := transitions.Standard()
	rename := func(name *string) {
		if other, ok := names[*name]; ok {
			*name = other
		}
	}
	for i := range table.Phases {
		rename(&table.Phases[i].Name)
	}
	for i := range table.Events {
		e := &table.Events[i]
		rename(&e.Name)
		rename(&e.To)
		e.From = slices.Clone(e.From)
		for j := range e.From {
			rename(&e.From[j])
		}
	}
	p, err := transitions.CompileUnchecked(table)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ways are the edges of a program that a diagram draws as arrows or loops: all but those of every phase.
func ways(p *transitions.Program) []string {
	var all []string
	for _, r := range p.Rules {
		for _, from := range p.PhaseNames() {
			if !r.New && !r.Any && r.Leaves(from) {
				all = append(all, from+" | "+r.Event+" | "+r.Lands(from))
			}
		}
		if r.New {
			all = append(all, " | "+r.Event+" | "+r.To)
		}
	}
	slices.Sort(all)
	return all
}

var dotEdge = regexp.MustCompile(`^    ("(?:[^"\\]|\\.)*") -> ("(?:[^"\\]|\\.)*") \[label=("(?:[^"\\]|\\.)*")\];$`)
var dotNode = regexp.MustCompile(`^    "(?:[^"\\]|\\.)*" \[(?:[a-z]+=(?:"(?:[^"\\]|\\.)*"|[a-z0-9]+)(?:, )?)+\];$`)

// fromDOT reads a Graphviz text by the grammar of its quoted strings. A line that is neither a node, an edge nor the
// frame fails the test. The events of an edge are told apart by the lengths that the table gives them: see split.
func fromDOT(t *testing.T, text string, events []string) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var all []string
	for _, line := range lines[1 : len(lines)-1] {
		m := dotEdge.FindStringSubmatch(line)
		switch {
		case m != nil:
			for _, event := range split(t, unquoted(m[3]), events) {
				all = append(all, unquoted(m[1])+" | "+event+" | "+unquoted(m[2]))
			}
		case !dotNode.MatchString(line) && !slices.Contains([]string{
			`    rankdir=TB;`, `    edge [fontname=Helvetica, fontsize=10];`,
			`    node [shape=box, style="rounded,filled", fillcolor=white, fontname=Helvetica];`,
		}, line):
			t.Errorf("Graphviz cannot read the line %q", line)
		}
	}
	slices.Sort(all)
	return all
}

func unquoted(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(s[1 : len(s)-1])
}

// split takes a label of lines apart into events, some of which have a line break themselves.
func split(t *testing.T, label string, events []string) []string {
	t.Helper()
	if slices.Contains(events, label) {
		return []string{label}
	}
	for _, e := range events {
		if rest, ok := strings.CutPrefix(label, e+"\n"); ok {
			return append([]string{e}, split(t, rest, events)...)
		}
	}
	t.Errorf("the label %q is not made of events", label)
	return nil
}

var (
	mermaidState = regexp.MustCompile(`^    state "([^"]*)" as ([A-Za-z0-9_]+)$`)
	mermaidArrow = regexp.MustCompile(`^    (\[\*\]|[A-Za-z0-9_]+) --> ([A-Za-z0-9_]+): (.+)$`)
	mermaidOther = regexp.MustCompile(`^(stateDiagram-v2|    direction TB|    classDef .*|    %% .*|    [A-Za-z0-9_]+ --> \[\*\]|    class [A-Za-z0-9_]+ [a-z]+|)$`)
	mermaidChar  = regexp.MustCompile(`#(\d+);`)
)

// fromMermaid reads a state diagram. A line that Mermaid would not understand fails the test.
func fromMermaid(t *testing.T, text string) []string {
	t.Helper()
	plain := func(s string) string {
		return html.UnescapeString(mermaidChar.ReplaceAllString(s, "&#$1;"))
	}
	phase := map[string]string{"[*]": ""}
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch m, s := mermaidArrow.FindStringSubmatch(line), mermaidState.FindStringSubmatch(line); {
		case s != nil:
			inside := strings.Split(s[1], "<br/>")
			phase[s[2]] = plain(inside[0])
			for _, event := range inside[min(2, len(inside)):] {
				all = append(all, plain(inside[0])+" | "+plain(event)+" | "+plain(inside[0]))
			}
		case m != nil:
			for event := range strings.SplitSeq(m[3], "<br/>") {
				all = append(all, phase[m[1]]+" | "+plain(event)+" | "+phase[m[2]])
			}
		case !mermaidOther.MatchString(line):
			t.Errorf("Mermaid cannot read the line %q", line)
		}
	}
	slices.Sort(all)
	return all
}

// B105: names with quotation marks, line breaks, colons, arrows, keywords and letters of other scripts leave both texts
// readable, and the edges that are read from them are the table's own (render.DOT and render.Mermaid escape; one arrow
// joins two phases).
func TestB105DiagramsWithHardNamesHaveTheTablesEdges(t *testing.T) {
	t.Parallel()
	p := named(t, map[string]string{
		transitions.Uncertain: `say "what" -- \end`, transitions.Terminal: "end", "submit_lapsed": "a: b --> c;",
		"submit_unknown": "first\nsecond", "cancel": "größe → 大きさ", "redo": "[*]", "release": `back\slash"`,
	})
	var events, visible []string
	for _, r := range p.Rules {
		events = append(events, r.Event)
	}
	if diff := cmp.Diff(ways(p), fromDOT(t, render.DOT(p), events)); diff != "" {
		t.Errorf("the Graphviz text has other edges (-table +text):\n%s", diff)
	}
	for _, w := range ways(p) {
		visible = append(visible, strings.ReplaceAll(w, "\n", "↵")) // Mermaid has no line break in a name
	}
	slices.Sort(visible)
	if diff := cmp.Diff(visible, fromMermaid(t, render.Mermaid(p))); diff != "" {
		t.Errorf("the Mermaid text has other edges (-table +text):\n%s", diff)
	}
}

// B107: no edge is left out of a diagram: not one whose event has no name, not the box of a phase that nothing leads to,
// nor of one that nothing leads out of; and events that stay in their phase are all there.
func TestB107DiagramsLeaveNoEdgeOut(t *testing.T) {
	t.Parallel()
	p := named(t, map[string]string{"observe_claim": ""})
	p.Phases = append(slices.Clone(p.Phases), transitions.Phase{Name: "island", HasOutcome: true})
	var events, visible []string
	for _, r := range p.Rules {
		events = append(events, r.Event)
	}
	for _, w := range ways(p) {
		visible = append(visible, strings.ReplaceAll(w, "|  |", "| ∅ |")) // an arrow without a label is a syntax error
	}
	slices.Sort(visible)
	dot, mermaid, svg := render.DOT(p), render.Mermaid(p), render.SVG(p)
	if diff := cmp.Diff(ways(p), fromDOT(t, dot, events)); diff != "" {
		t.Errorf("the Graphviz text has other edges (-table +text):\n%s", diff)
	}
	if diff := cmp.Diff(visible, fromMermaid(t, mermaid)); diff != "" {
		t.Errorf("the Mermaid text has other edges (-table +text):\n%s", diff)
	}
	for what, text := range map[string]string{"Graphviz": dot, "Mermaid": mermaid, "SVG": svg} {
		if !strings.Contains(text, "island") {
			t.Errorf("the %s text lacks the phase that nothing leads to", what)
		}
	}
	arrows := strings.Count(dot, " -> ") - strings.Count(dot, `"island" -> `)
	loops := 0
	for _, name := range p.PhaseNames() {
		loops += strings.Count(dot, strconv.Quote(name)+" -> "+strconv.Quote(name)+" ")
	}
	if n := strings.Count(svg, `<path class="tip"`); n != arrows-loops {
		t.Errorf("the picture has %d arrows, want %d", n, arrows-loops)
	}
}
