package render

import (
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// DOT draws the whole lifecycle for Graphviz.
func DOT(p *transitions.Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n    rankdir=TB;\n    node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=Helvetica];\n    edge [fontname=Helvetica, fontsize=10];\n", quote(p.Name))
	b.WriteString("    \"\" [shape=point];\n")
	fill := map[string]string{"sendable": "#e8f1fb", "effecting": "#fdebd3", "ended": "#e6f4e6"}
	for i := range p.Phases {
		ph := &p.Phases[i]
		var more string
		if color := fill[classOf(*ph)]; color != "" {
			more = fmt.Sprintf(", fillcolor=%q", color)
		}
		if isEnd(ph) {
			more += ", peripheries=2"
		}
		fmt.Fprintf(&b, "    %s [tooltip=%s%s];\n", quote(ph.Name), quote(ph.True), more)
	}
	for _, e := range edges(p) {
		fmt.Fprintf(&b, "    %s -> %s [label=%s];\n", quote(e.from), quote(e.to), quote(strings.Join(e.events(), "\n")))
	}
	b.WriteString("}\n")
	return b.String()
}

// quote writes a string as Graphviz reads one.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
