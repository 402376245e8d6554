package promela

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Verdict is what a complete search came to.
type Verdict struct {
	Violated string         // the assertion that failed, one of Invariants; "" if all hold
	Trace    []string       // the steps of the shortest way to the violation
	States   int64          // states stored
	Depth    int64          // steps of the longest way
	Seconds  float64        // of the search alone, by the clock on the wall
	CPU      float64        // of the search alone, seconds of one processor
	MemoryMB float64        // what the search used
	Applied  map[string]int // how often each event was applied in the whole search
}

// Invariant is the number of the invariant that does not hold, as in "I1"; "" if all hold.
func (v *Verdict) Invariant() string {
	number, _, _ := strings.Cut(v.Violated, "_")
	return number
}

var (
	counted  = regexp.MustCompile(`(?m)^State-vector \d+ byte, depth reached (\d+), errors: (\d+)`)
	stored   = regexp.MustCompile(`(?m)^\s*([0-9.e+]+) states, stored`)
	used     = regexp.MustCompile(`(?m)^\s*([0-9.]+)\s+total actual memory usage`)
	violated = regexp.MustCompile(`(?m)^pan:1: assertion violated (.*) \(at depth`)
	failed   = regexp.MustCompile(`(?m)^pan:1: .*`)
	applied  = regexp.MustCompile(`(?m)^applied (\d+) (\d+)$`)
)

// unfinished are spin's ways to say that it did not look at everything.
var unfinished = []string{
	"max search depth too small", "out of memory", "memory bound", "Search not completed", "hash conflict", "aborting",
	"Bit statespace search", "hash-compact",
}

// parse reads what the checker printed. A search that did not look at everything is no verdict unless it found a
// violation; nor is a violation that is none of the model's own assertions.
func parse(out []byte, p *transitions.Program) (*Verdict, error) {
	v := &Verdict{Applied: map[string]int{}}
	head := counted.FindSubmatch(out)
	if head == nil {
		return nil, fmt.Errorf("search with spin: the checker reports no result: %s", tail(out))
	}
	v.Depth, _ = strconv.ParseInt(string(head[1]), 10, 64)
	if m := stored.FindSubmatch(out); m != nil {
		n, _ := strconv.ParseFloat(string(m[1]), 64)
		v.States = int64(n)
	}
	if m := used.FindSubmatch(out); m != nil {
		v.MemoryMB, _ = strconv.ParseFloat(string(m[1]), 64)
	}
	for _, m := range applied.FindAllSubmatch(out, -1) {
		at, _ := strconv.Atoi(string(m[1]))
		if at >= 1 && at <= len(p.Rules) {
			v.Applied[p.Rules[at-1].Event], _ = strconv.Atoi(string(m[2]))
		}
	}
	if m := violated.FindSubmatch(out); m != nil {
		v.Violated = strings.Trim(string(m[1]), "()")
		if !slices.Contains(Invariants, v.Violated) {
			return nil, fmt.Errorf("search with spin: an assertion that is none of the model's failed: %s", v.Violated)
		}
		return v, nil
	}
	if string(head[2]) != "0" {
		return nil, fmt.Errorf("search with spin: the search failed: %s", failed.Find(out))
	}
	for _, sign := range unfinished {
		if strings.Contains(withoutResolved(out), sign) {
			return nil, fmt.Errorf("search with spin: the search is not complete (%q); the bounds are too wide: %s", sign, tail(out))
		}
	}
	return v, nil
}

// withoutResolved drops the count of hash conflicts that an exact search meets and resolves.
func withoutResolved(out []byte) string {
	var kept []string
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "hash conflicts:") || !strings.Contains(line, "(resolved)") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func tail(out []byte) string { return string(out[max(0, len(out)-2000):]) }

var (
	step   = regexp.MustCompile(`^\s*\d+:\s+proc\s+\d+ \((.*?)\)`)
	number = regexp.MustCompile(`event (\d+)`)
)

// steps picks from a replay what the model printed: one line for everything that happened, with who did it.
func steps(out []byte, p *transitions.Program) []string {
	named := func(text string) string {
		return number.ReplaceAllStringFunc(text, func(found string) string {
			at, _ := strconv.Atoi(strings.TrimPrefix(found, "event "))
			if at < 1 || at > len(p.Rules) {
				return found
			}
			return p.Rules[at-1].Event
		})
	}
	var told, pending []string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "spin: trail ends") || strings.HasPrefix(line, "pan:") {
			break
		}
		m := step.FindStringSubmatch(line)
		switch {
		case m == nil && strings.TrimSpace(line) != "" && !strings.HasPrefix(strings.TrimLeft(line, " \t"), "MSC:"):
			pending = append(pending, named(strings.TrimSpace(line)))
		case m != nil:
			for _, what := range pending {
				told = append(told, strings.TrimSuffix(m[1], "Process")+": "+what)
			}
			pending = nil
		}
	}
	return append(told, pending...) // the step that breaks the invariant is not followed by who took it
}
