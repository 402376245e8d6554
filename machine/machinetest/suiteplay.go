package machinetest

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Suite is a folder of suite files that were read: its cases can be played without a test around them.
type Suite struct{ set *suiteSet }

// Case says which case of a suite is meant, and what it is about.
type Case struct {
	File    string
	Line    int
	Title   string
	Clauses []string // of the contract and invariants that the title names
	Events  []string // that are fired, in the order of their first use
}

// String names the case as an error message does.
func (c Case) String() string { return fmt.Sprintf("%s:%d: %s", c.File, c.Line, c.Title) }

// Fault is what did not come as a case says.
type Fault struct {
	Case Case
	Says string // with the line of the file, what was wanted and what came
}

// String is the whole fault, the case first.
func (f Fault) String() string { return f.Case.String() + "\n" + f.Says }

// ReadSuite reads every suite file of a folder, the folders in it included. The files tell of rows and events of the
// program; an error names the file and the line.
func ReadSuite(fsys fs.FS, p *transitions.Program) (*Suite, error) {
	set, err := readSuites(fsys, p)
	if err != nil {
		return nil, err
	}
	return &Suite{set}, nil
}

// Cases lists the cases in the order in which Play plays them: file by file.
func (s *Suite) Cases() []Case {
	var all []Case
	for _, f := range s.set.files {
		for _, c := range f.cases {
			all = append(all, c.what())
		}
	}
	return all
}

// Play plays those cases that chosen wants (nil: all) on one store, one after the other, and hands every fault to
// heard, which says whether to go on. It returns how many cases it began.
//
// What an event does is decided by the store's own program. It may be another than the suite's, so long as it has the
// same columns: the faults then tell how the two differ. That is how a program that breaks a safety rule is seen to
// break it. A case that cannot be played to its end is a fault too; the error is only what ends the run, which is the
// end of ctx. The store has to be one on which no suite was played before.
func (s *Suite) Play(ctx context.Context, subject Subject, chosen func(Case) bool, heard func(Fault) bool) (ran int, err error) {
	scene := newStage(ctx, s.set, subject)
	for place, f := range s.set.files {
		for n, c := range f.cases {
			if what := c.what(); chosen == nil || chosen(what) {
				ran++
				number := n*len(s.set.files) + place // another one for every case: rows are named by it
				goOn := scene.perform(c, what, number, heard)
				if err := ctx.Err(); err != nil {
					return ran, fmt.Errorf("play %s: %w", what, err)
				}
				if !goOn {
					return ran, nil
				}
			}
		}
	}
	return ran, nil
}

// perform plays one case, as often as it has to be, until somebody has heard enough.
func (g *stage) perform(c *story, what Case, number int, heard func(Fault) bool) bool {
	apart := 0
	for _, f := range g.set.files {
		apart += len(f.cases) * len(g.set.files)
	}
	for round := range c.rounds() {
		told := []string{}
		err := g.play(c, number+round*apart, func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) })
		if err != nil {
			told = append(told, err.Error())
		}
		if len(told) > 0 && !heard(Fault{what, strings.Join(told, "\n")}) {
			return false
		}
	}
	return true
}

// PlaySuite is ReadSuite and Play in one, for those who want every fault.
func PlaySuite(ctx context.Context, subject Subject, fsys fs.FS, p *transitions.Program, chosen func(Case) bool) (ran int, faults []Fault, err error) {
	s, err := ReadSuite(fsys, p)
	if err != nil {
		return 0, nil, err
	}
	ran, err = s.Play(ctx, subject, chosen, func(f Fault) bool {
		faults = append(faults, f)
		return true
	})
	return ran, faults, err
}

// Tell gives the text of a suite file with what comes of every step, as the memory store of the program has it: as
// RewriteSuite does for files. The program may be one that breaks safety rules; the text then tells how. What is usual
// stands in the text itself, and in the files of usual (nil: none).
func Tell(text string, usual fs.FS, p *transitions.Program) (string, error) {
	set := emptySuite(p)
	if usual != nil {
		var err error
		if set, err = readSuites(usual, p); err != nil {
			return "", err
		}
	}
	f := &suiteFile{name: "the text", lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
	if err := set.parse(f); err != nil {
		return "", err
	}
	return set.rewritten(f)
}

// what says which case it is.
func (c *story) what() Case {
	what := Case{File: c.at.file, Line: c.at.line, Title: c.title, Clauses: slices.Clone(c.clauses)}
	for _, step := range c.steps {
		for _, f := range step.fired {
			if !slices.Contains(what.Events, f.rule.Event) {
				what.Events = append(what.Events, f.rule.Event)
			}
		}
	}
	return what
}
