package render

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fencerow/fencerow/transitions"
)

const classes = `    classDef sendable fill:#e8f1fb,stroke:#2f6fab,color:#12324f
    classDef effecting fill:#fdebd3,stroke:#c2700f,color:#4a2a05
    classDef ended fill:#e6f4e6,stroke:#3b8a3b,color:#153915
`

// divider is drawn in a box between the phase and the events that stay in it.
const divider = "──────"

// Mermaid draws the whole lifecycle as a state diagram: one arrow from one phase to another, with every event that
// takes it. Events that stay in a phase stand in its box, where a loop would lie across other arrows; those of every
// phase are named in a comment.
func Mermaid(p *transitions.Program) string {
	all := edges(p)
	stays := map[string]edge{}
	for _, e := range all {
		if e.from == e.to {
			stays[e.from] = e
		}
	}
	return mermaid(p, "TB", all, func(e edge) []string { return labels(e.events()) }, func(phase string) string {
		box := label(phase)
		if e, ok := stays[phase]; ok {
			box += lineBreak + divider + lineBreak + strings.Join(labels(e.events()), lineBreak)
		}
		return box
	})
}

// MermaidBrief draws from left to right what a reader has to know first: the way that an operation takes when all goes
// well, and the ways into doubt and out of it.
func MermaidBrief(p *transitions.Program) string {
	return mermaid(p, "LR", brief(p, edges(p)), func(e edge) []string { return labels(gather(e.events())) }, label)
}

// lineBreak is the only markup in a label.
const lineBreak = "<br/>"

func mermaid(p *transitions.Program, direction string, shown []edge, lines func(edge) []string, box func(phase string) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "stateDiagram-v2\n    direction %s\n%s\n", direction, classes)
	if events := everywhere(p); len(events) > 0 {
		fmt.Fprintf(&b, "    %%%% in every phase: %s\n", strings.Join(labels(events), ", "))
	}
	ids := map[string]string{"": "[*]"}
	// Mermaid places what comes first at the start. Tried both ways, no label lies on another with doubt first in the
	// whole diagram, and with doubt last in the brief one.
	for _, doubt := range []bool{direction == "TB", direction != "TB"} {
		for i := range p.Phases {
			if name := p.Phases[i].Name; isDoubt(&p.Phases[i]) == doubt {
				ids[name] = phaseID(i, name)
				fmt.Fprintf(&b, "    state \"%s\" as %s\n", box(name), ids[name])
			}
		}
	}
	for _, e := range shown {
		if e.from != e.to {
			fmt.Fprintf(&b, "    %s --> %s: %s\n", ids[e.from], ids[e.to], strings.Join(lines(e), lineBreak))
		}
	}
	for i := range p.Phases {
		if isEnd(&p.Phases[i]) {
			fmt.Fprintf(&b, "    %s --> [*]\n", ids[p.Phases[i].Name])
		}
	}
	b.WriteString("\n")
	for _, ph := range p.Phases {
		if class := classOf(ph); class != "" {
			fmt.Fprintf(&b, "    class %s %s\n", ids[ph.Name], class)
		}
	}
	return b.String()
}

// gather shortens the events that share their first word with more than one other to one line.
func gather(events []string) []string {
	first := func(event string) string {
		word, _, _ := strings.Cut(event, "_")
		return word
	}
	sharing := map[string]int{}
	for _, e := range events {
		sharing[first(e)]++
	}
	var lines []string
	for _, line := range events {
		if sharing[first(line)] > 2 {
			line = first(line) + " …"
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func labels(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = label(name)
	}
	return all
}

var plainID = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// keywords are Mermaid's words that a phase cannot be called in a diagram, whatever their case.
var keywords = []string{
	"as", "choice", "class", "classdef", "click", "default", "direction", "end", "fork", "hide", "history", "href",
	"join", "left", "note", "of", "right", "root", "root_end", "root_start", "scale", "start", "state", "style", "subgraph",
}

// phaseID is the phase's name where that is safe, else a number that no safe name can be.
func phaseID(i int, name string) string {
	if plainID.MatchString(name) && !slices.Contains(keywords, name) {
		return name
	}
	return "P" + strconv.Itoa(i)
}

// label writes a text so that nothing in it is markup: every character that Mermaid, Markdown or HTML may take for
// something else becomes its number. Line ends and other characters that show nothing get one that does.
func label(text string) string {
	var b strings.Builder
	inWord := false // an underscore is emphasis unless it is inside a word
	for i, r := range text {
		alone := r == '_' && (!inWord || i+1 == len(text) || !alphanumeric(rune(text[i+1])))
		inWord = alphanumeric(r)
		switch {
		case alone:
			b.WriteString("#95;")
		case alphanumeric(r) || r == ' ' || r == '_' || r == '…':
			b.WriteRune(r)
		case r == '\n' || r == '\r':
			b.WriteString("#8629;") // ↵
		case !unicode.IsPrint(r):
			b.WriteString("#65533;")
		default:
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	if b.Len() == 0 {
		return "#8709;" // ∅: an arrow with an empty label is a syntax error
	}
	return b.String()
}

func alphanumeric(r rune) bool {
	return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
