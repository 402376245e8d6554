package machinetest

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencerow/fencerow/transitions"
)

// The format of suite files is told in docs/suites.md. It is for stories about rows: what a table does to them, told so
// that somebody who does not program can say whether it is right. It is no language: it has no variables, no loops, no
// conditions and no clock of its own, and it speaks of nothing that is not in the tables: not of processes, requests or
// connections. What needs those is a test in Go. Time passes in it only where it says so, and then for rows alone.

// suiteSet is every suite file of a folder, and what is usual in all of them.
type suiteSet struct {
	program *transitions.Program
	rows    map[string][]setting // usual columns by phase; "" is every phase
	params  map[string][]setting // usual parameters by fence or event
	before  map[string][]setting // by fence or event: columns of rows that the generated suite fires it on
	files   []*suiteFile
}

type suiteFile struct {
	name  string
	lines []string
	cases []*story
}

// story is one case: rows, and what happens to them.
type story struct {
	at      place
	title   string
	clauses []string // that the title names
	rows    []givenRow
	steps   []*storyStep
}

// place is where something stands, as an error tells it.
type place struct {
	file string
	line int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

func (p place) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %s", p, fmt.Sprintf(format, args...))
}

type givenRow struct {
	at    place
	name  string
	phase string
	sets  []setting
}

// storyStep is one event, or several at once, and what may come of them; or time that passes.
type storyStep struct {
	at       place
	passes   time.Duration // 0 where events are fired
	fired    []firing
	outcomes []*outcome
	from, to int // the lines of what comes of them, from 0; from == to where nothing is said yet
}

// firing is one event on one row, or on as many as it finds.
type firing struct {
	at    place
	rule  *transitions.Rule
	name  string // of the row; "" where it finds its rows
	limit int64
	sets  []setting
}

// setting is a column's or parameter's value. Times are relative: Unix microseconds after the case's now.
type setting struct {
	name  string
	value transitions.Value
}

func emptySuite(p *transitions.Program) *suiteSet {
	return &suiteSet{program: p, rows: map[string][]setting{}, params: map[string][]setting{}, before: map[string][]setting{}}
}

// readSuites reads every file of a folder, the folders in it included.
func readSuites(fsys fs.FS, p *transitions.Program) (*suiteSet, error) {
	s := emptySuite(p)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".txt" {
			return err
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		f := &suiteFile{name: name, lines: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
		s.files = append(s.files, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read suites: %w", err)
	}
	for _, f := range s.files {
		if err := s.parse(f); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// sentence is a line with the indented lines that go on with it.
type sentence struct {
	at    place
	text  string
	parts []string // text, then the further lines, each trimmed
}

// sentences takes a file apart: blocks between blank lines, comments left out.
func (f *suiteFile) sentences() (blocks [][]sentence, err error) {
	var block []sentence
	for i, line := range append(slices.Clone(f.lines), "") {
		at := place{f.name, i + 1}
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "#"):
		case trimmed == "":
			if len(block) > 0 {
				blocks, block = append(blocks, block), nil
			}
		case line[0] == ' ' || line[0] == '\t':
			if len(block) == 0 {
				return nil, at.errorf("an indented line goes on with nothing; begin it at the margin")
			}
			last := &block[len(block)-1]
			last.text += " " + trimmed
			last.parts = append(last.parts, trimmed)
		default:
			block = append(block, sentence{at, trimmed, []string{trimmed}})
		}
	}
	return blocks, nil
}

func (s *suiteSet) parse(f *suiteFile) error {
	blocks, err := f.sentences()
	if err != nil {
		return err
	}
	for _, block := range blocks {
		if strings.HasPrefix(block[0].text, "usually") {
			for _, line := range block {
				if err := s.usually(line); err != nil {
					return err
				}
			}
			continue
		}
		c, err := s.story(f, block)
		if err != nil {
			return err
		}
		f.cases = append(f.cases, c)
	}
	return nil
}

// usually reads what is usual: of rows, of the parameters under a fence, of the rows before an event.
func (s *suiteSet) usually(line sentence) error {
	rest, ok := strings.CutPrefix(line.text, "usually")
	if !ok {
		return line.at.errorf("%q stands among what is usual; begin it with usually, or leave a blank line before it", line.text)
	}
	head, sets, _ := strings.Cut(rest, ",")
	words := strings.Fields(head)
	switch {
	case len(words) == 0 || len(words) == 1 && s.program.Phase(words[0]) != nil:
		key := strings.Join(words, "")
		return s.columns(line.at, sets, func(got []setting) { s.rows[key] = append(s.rows[key], got...) })
	case len(words) == 2 && words[0] == "under" && s.isFenceOrEvent(words[1]):
		got, err := settings(line.at, sets, s.paramKind(nil))
		s.params[words[1]] = append(s.params[words[1]], got...)
		return err
	case len(words) == 2 && words[0] == "before" && s.isFenceOrEvent(words[1]):
		return s.columns(line.at, sets, func(got []setting) { s.before[words[1]] = append(s.before[words[1]], got...) })
	}
	return line.at.errorf("%q says nothing that is usual; write usually, or usually PHASE, usually under FENCE-OR-EVENT, usually before FENCE-OR-EVENT", line.text)
}

func (s *suiteSet) columns(at place, text string, keep func([]setting)) error {
	got, err := settings(at, text, s.columnKind)
	keep(got)
	return err
}

func (s *suiteSet) isFenceOrEvent(word string) bool {
	return s.program.Rule(word) != nil || slices.ContainsFunc(s.program.Rules, func(r *transitions.Rule) bool { return string(r.Fence) == word })
}

func (s *suiteSet) columnKind(name string) (transitions.Kind, string) {
	if i := s.program.Column(name); i >= 0 {
		return s.program.Columns[i].Kind, ""
	}
	return 0, fmt.Sprintf("table %s has no column %q", s.program.Name, name)
}

// paramKind tells the kinds of a rule's parameters, of all rules' where rule is nil.
func (s *suiteSet) paramKind(rule *transitions.Rule) func(string) (transitions.Kind, string) {
	return func(name string) (transitions.Kind, string) {
		for _, r := range slices.Concat(s.program.Rules, s.program.Joined) {
			for _, d := range r.Params {
				if d.Name == name && (rule == nil || rule == r) {
					return d.Kind, ""
				}
			}
		}
		if rule == nil {
			return 0, fmt.Sprintf("table %s has no parameter %q", s.program.Name, name)
		}
		return 0, fmt.Sprintf("%s takes no parameter %q", rule.Event, name)
	}
}

var clauseName = regexp.MustCompile(`^[A-Z]\d+$`)

func (s *suiteSet) story(f *suiteFile, block []sentence) (*story, error) {
	c := &story{at: block[0].at, title: block[0].text}
	names, _, _ := strings.Cut(c.title, ":")
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == ' ' || r == ',' }) {
		if clauseName.MatchString(name) {
			c.clauses = append(c.clauses, name)
		}
	}
	var step *storyStep
	for _, line := range block[1:] {
		word, rest, _ := strings.Cut(line.text, " ")
		var err error
		switch {
		case word == "given" && step == nil:
			err = s.given(c, line.at, rest)
		case word == "when":
			step = &storyStep{at: line.at}
			c.steps = append(c.steps, step)
			err = s.when(step, line)
			step.from = line.at.line - 1 + linesOf(f, line)
			step.to = step.from
		case step != nil && step.passes > 0:
			err = line.at.errorf("%q comes after time that passes, of which nothing comes by itself; write when an event is fired", word)
		case step != nil && (word == "then" || word == "or" || word == "and"):
			err = s.then(c, step, line.at, word, rest)
			step.to = line.at.line - 1 + linesOf(f, line)
		default:
			err = line.at.errorf("%q comes here unexpectedly; a case is a title, given rows, and when, then and and", word)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(c.steps) == 0 || c.steps[len(c.steps)-1].passes > 0 {
		return nil, c.at.errorf("%q: nothing happens in the end; write when an event is fired", c.title)
	}
	return c, nil
}

// linesOf counts the lines of a sentence, comments among them included.
func linesOf(f *suiteFile, line sentence) int {
	last := line.at.line
	for further := len(line.parts) - 1; further > 0; {
		if !strings.HasPrefix(strings.TrimSpace(f.lines[last]), "#") {
			further--
		}
		last++
	}
	return last - line.at.line + 1
}

func (s *suiteSet) given(c *story, at place, rest string) error {
	head, sets, _ := strings.Cut(rest, ",")
	words := strings.Fields(head)
	if len(words) != 2 {
		return at.errorf("given %q: want a name and a phase, such as given a prepared", head)
	}
	row := givenRow{at: at, name: words[0], phase: words[1]}
	if s.program.Phase(row.phase) == nil {
		return at.errorf("table %s has no phase %q; use one of %s", s.program.Name, row.phase, strings.Join(s.program.PhaseNames(), ", "))
	}
	if slices.ContainsFunc(c.rows, func(r givenRow) bool { return r.name == row.name }) {
		return at.errorf("two rows are called %s; name them apart", row.name)
	}
	var err error
	row.sets, err = settings(at, sets, s.columnKind)
	c.rows = append(c.rows, row)
	return err
}

func (s *suiteSet) when(step *storyStep, line sentence) error {
	if long, ok := strings.CutSuffix(line.text, " passes"); ok {
		var err error
		if step.passes, err = time.ParseDuration(strings.TrimPrefix(long, "when ")); err != nil || step.passes < time.Second {
			return line.at.errorf("%q: want how long, a second or more, such as when 1h30m passes", line.text)
		}
		return nil
	}
	first := strings.TrimPrefix(line.parts[0], "when ")
	if strings.TrimSpace(first) != "at once" {
		f, err := s.firing(line.at, strings.TrimPrefix(line.text, "when "))
		step.fired = append(step.fired, f)
		return err
	}
	for i, part := range line.parts[1:] {
		f, err := s.firing(place{line.at.file, line.at.line + 1 + i}, part)
		if err != nil {
			return err
		}
		step.fired = append(step.fired, f)
	}
	if len(step.fired) < 2 {
		return line.at.errorf("at once there are %d events; indent two or more below it", len(step.fired))
	}
	return nil
}

// firing reads EVENT on ROW or EVENT takes NUMBER, with parameters.
func (s *suiteSet) firing(at place, text string) (firing, error) {
	head, sets, _ := strings.Cut(text, ",")
	words := strings.Fields(head)
	if len(words) != 3 || words[1] != "on" && words[1] != "takes" {
		return firing{}, at.errorf("when %q: want EVENT on ROW, or EVENT takes NUMBER", head)
	}
	f := firing{at: at, rule: s.program.Rule(words[0]), name: words[2]}
	if f.rule == nil {
		return f, at.errorf("table %s has no event %q", s.program.Name, words[0])
	}
	var err error
	if words[1] == "takes" {
		if f.limit, err = strconv.ParseInt(words[2], 10, 64); err != nil {
			return f, at.errorf("%s takes %q: want a number", words[0], words[2])
		}
		if f.name = ""; !f.rule.Has(transitions.Batch) && !f.rule.Has(transitions.Sweep) {
			return f, at.errorf("%s finds no rows by itself; write %s on ROW", words[0], words[0])
		}
	}
	f.sets, err = settings(at, sets, s.paramKind(f.rule))
	return f, err
}
