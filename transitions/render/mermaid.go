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

// Mermaid draws the whole lifecycle as a state diagram: one arrow from one phase to another, with every event that
// takes it.
func Mermaid(p *transitions.Program) string { return mermaid(p, "TB", edges(p)) }

// MermaidBrief draws from left to right what a reader has to know first: the way that an operation takes when all goes
// well, and doubt.
func MermaidBrief(p *transitions.Program) string { return mermaid(p, "LR", brief(p, edges(p))) }

func mermaid(p *transitions.Program, direction string, shown []edge) string {
	var b strings.Builder
	fmt.Fprintf(&b, "stateDiagram-v2\n    direction %s\n%s", direction, classes)
	ids := map[string]string{"": "[*]"}
	for i, ph := range p.Phases {
		ids[ph.Name] = phaseID(i, ph.Name)
		if ids[ph.Name] != ph.Name {
			fmt.Fprintf(&b, "    state \"%s\" as %s\n", label(ph.Name), ids[ph.Name])
		}
	}
	b.WriteString("\n")
	for _, e := range shown {
		lines := make([]string, len(e.rules))
		for i, r := range e.rules {
			lines[i] = label(r.Event)
			if reason := reasonOf(r); reason != "" {
				lines[i] += " (" + label(reason) + ")"
			}
		}
		fmt.Fprintf(&b, "    %s --> %s: %s\n", ids[e.from], ids[e.to], strings.Join(lines, "<br/>"))
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
	for _, r := range text {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == ' ' || r == '_':
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
