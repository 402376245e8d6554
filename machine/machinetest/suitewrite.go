package machinetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// RewriteSuite writes into every suite file of a folder what comes of each step, as the memory store has it: so that a
// new case needs only be begun. It writes what is, not what should be. Read the difference before you keep it: a case
// that was rewritten without being read proves nothing. Comments after a then are lost.
func RewriteSuite(folder string, p *transitions.Program) error {
	set, err := readSuites(os.DirFS(folder), p)
	if err != nil {
		return err
	}
	for _, f := range set.files {
		text, err := set.rewritten(f)
		if err != nil {
			return err
		}
		name := filepath.Join(folder, filepath.FromSlash(f.name))
		if text == strings.Join(f.lines, "\n")+"\n" {
			continue // an untouched file keeps its time
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return fmt.Errorf("rewrite suites: %w", err)
		}
	}
	return nil
}

// rewritten gives a file's text with what comes of every step.
func (s *suiteSet) rewritten(f *suiteFile) (string, error) {
	lines := slices.Clone(f.lines)
	for n := len(f.cases) - 1; n >= 0; n-- {
		c := f.cases[n]
		for _, step := range slices.Backward(c.steps) {
			if step.passes > 0 {
				continue
			}
			outcomes, err := s.reference(c, n, step)
			if err != nil {
				return "", err
			}
			var told []string
			for i, o := range outcomes {
				told = append(told, o.lines(i == 0)...)
			}
			lines = slices.Replace(lines, step.from, step.to, told...)
		}
	}
	return strings.Join(lines, "\n") + "\n", nil
}

// reference gives what may come of a step on the memory store: its events in every order.
func (s *suiteSet) reference(c *story, n int, upTo *storyStep) ([]*outcome, error) {
	var all []*outcome
	seen := map[string]bool{}
	for _, order := range orders(len(upTo.fired)) {
		o, err := s.played(c, n, upTo, order)
		if err != nil {
			return nil, err
		}
		if text := strings.Join(o.lines(true), "\n"); !seen[text] {
			seen[text] = true
			all = append(all, o)
		}
	}
	return all, nil
}

// played plays a case on the memory store up to a step, whose events are fired in an order.
func (s *suiteSet) played(c *story, n int, upTo *storyStep, order []int) (*outcome, error) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store := machine.NewMemory(s.program, machine.MemoryClock(func() time.Time { return now }))
	g := newStage(context.Background(), s, Subject{Store: store, Put: puts(store), Now: func(context.Context) (time.Time, error) { return now, nil }})
	if err := g.prepare(c, n); err != nil {
		return nil, err
	}
	for _, step := range c.steps {
		if step != upTo {
			if err := g.before(step); err != nil {
				return nil, err
			}
			continue
		}
		before, err := g.look()
		if err != nil {
			return nil, err
		}
		results := make([]string, len(step.fired))
		for _, i := range order {
			if results[i], err = g.fire(step.fired[i]); err != nil {
				return nil, err
			}
		}
		after, err := g.look()
		if err != nil {
			return nil, err
		}
		return g.difference(step.fired, results, before, after)
	}
	return nil, c.at.errorf("the step is none of the case's")
}

// before plays a step of which only is wanted what it leaves to the next.
func (g *stage) before(step *storyStep) error {
	if step.passes > 0 {
		return g.pass(step)
	}
	_, err := g.step(step)
	return err
}

// MemorySubject is an empty memory store as the suites and batteries of this package take it.
func MemorySubject(p *transitions.Program) Subject {
	store := machine.NewMemory(p)
	return Subject{Store: store, Put: puts(store), Now: store.Now}
}

func puts(store *machine.Memory) func(context.Context, ...transitions.Row) error {
	return func(_ context.Context, rows ...transitions.Row) error {
		for _, row := range rows {
			if err := store.Put(row); err != nil {
				return err
			}
		}
		return nil
	}
}
