package mutants

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/internal/mutants/cut"
	"github.com/fencerow/fencerow/machine/machinetest"
	"github.com/fencerow/fencerow/persist"
	"github.com/fencerow/fencerow/transitions"
)

// Cover tells which statements each judge uses: a judge that does not use a statement cannot notice that a clause of it
// is gone, so it is not asked.
type Cover struct {
	Cases   map[string][]string // by what a Case's String says
	Clauses map[string][]string // of machinetest.Run
}

// judge judges mutants in one process.
type judge struct {
	of      subject
	suite   *machinetest.Suite
	parts   map[string]part
	benches map[string]bench // by dialect
	cover   map[string]Cover // by dialect
	trials  trials
	checker Checker
}

// patience is how long the cases of one mutant are waited for: one that never ends is killed by that.
const patience = 20 * time.Second

// newJudge makes the judge of a table's mutants; the table's suites are those of the project at root.
func newJudge(table, root, folder string, checker Checker) (*judge, error) {
	of, err := subjectOf(table)
	if err != nil {
		return nil, err
	}
	suite, err := machinetest.ReadSuite(of.suites(root), of.program)
	if err != nil {
		return nil, err
	}
	if len(suite.Cases()) == 0 {
		return nil, fmt.Errorf("judge the mutants of table %s: it has no suites in %s", of.program.Name, of.folder())
	}
	j := &judge{
		of: of, suite: suite, parts: map[string]part{}, benches: map[string]bench{}, cover: map[string]Cover{},
		trials: trials{folder}, checker: checker,
	}
	all, err := of.parts()
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		j.parts[m.ID] = m
	}
	return j, j.sound()
}

// sound sees that the checker has nothing to say of the table itself: else it would say it of each mutant.
func (j *judge) sound() error {
	if j.checker == nil || j.of.name == Standard { // of which the tests of package verify say so
		return nil
	}
	broke, story, err := j.checker(j.of.program)
	if err == nil && broke != "" {
		err = fmt.Errorf("%s", story)
	}
	if err != nil {
		return fmt.Errorf("the checker has to find table %s whole before it judges a mutant: %w", j.of.name, err)
	}
	return nil
}

// try judges one mutant.
func (j *judge) try(ctx context.Context, m Mutant) Verdict {
	began := time.Now()
	var v Verdict
	var err error
	if m.Of == Table {
		v, err = j.table(ctx, m)
	} else {
		v, err = j.statement(ctx, m)
	}
	v.ID, v.Millis = m.ID, time.Since(began).Milliseconds()
	if err != nil {
		v.Error = err.Error()
	}
	return v
}

// table judges a mutant of the table, in memory: by every case about its event, then by all the others, by the
// agreement of a store of the mutant with the true table, and by the model checker.
func (j *judge) table(ctx context.Context, m Mutant) (Verdict, error) {
	part, ok := j.parts[m.ID]
	if !ok {
		return Verdict{}, fmt.Errorf("judge %s: there is no such mutant", m.ID)
	}
	p := part.program
	var v Verdict
	var err error
	about := func(c machinetest.Case) bool { return slices.Contains(c.Events, m.Event) }
	for _, chosen := range []func(machinetest.Case) bool{about, func(c machinetest.Case) bool { return !about(c) }} {
		if err := j.cases(ctx, inMemory(p), chosen, &v); err != nil || v.Killed() {
			break
		}
	}
	if !v.Killed() {
		err = j.agreement(m, &v, func(*testing.T) machinetest.Subject {
			subject := machinetest.MemorySubject(p)
			subject.Store = mislabeledAs(subject.Store, j.of.program)
			return subject
		})
	}
	if err == nil && j.checker != nil && modeled(m, v) {
		j.check(p, &v)
	}
	return v, err
}

// modeled reports whether the checker is asked: the model knows neither what history records nor how operations are
// found, and what an operand is worth to an invariant is asked only where nobody else noticed.
func modeled(m Mutant, v Verdict) bool {
	switch m.Kind {
	case machinetest.PartRecorded, machinetest.PartForm:
		return false
	case machinetest.PartOperand:
		return !v.Killed()
	}
	return true
}

// check asks the model checker. That it cannot explore a mutant is noticing it too.
func (j *judge) check(p *transitions.Program, v *Verdict) {
	broke, story, err := j.checker(p)
	switch {
	case err != nil && !v.Killed():
		v.Killer, v.By, v.Says = ByChecker, "the table cannot be explored", err.Error()
	case err == nil && broke != "":
		v.Broke = broke
		if !v.Killed() {
			v.Killer, v.By, v.Says = ByChecker, broke, first(story)
		}
	}
}

// cases plays cases on a store of a mutant, and notes every one that notices and what it names.
func (j *judge) cases(ctx context.Context, subject machinetest.Subject, chosen func(machinetest.Case) bool, v *Verdict) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err := j.suite.Play(ctx, subject, chosen, func(f machinetest.Fault) bool {
		if !v.Killed() {
			v.Killer, v.By, v.Says = BySuite, f.Case.Title, first(f.Says)
		}
		for _, c := range f.Case.Clauses {
			if !slices.Contains(v.Clauses, c) {
				v.Clauses = append(v.Clauses, c)
			}
		}
		return true
	})
	if errors.Is(err, context.DeadlineExceeded) {
		v.Killer, v.By, v.Says = BySuite, "the suites do not end", err.Error()
		return nil
	}
	return err
}

// agreement holds a store of a mutant against the true table, on the mutant's event: those parts of it that fire the
// event in the mutant's form.
func (j *judge) agreement(m Mutant, v *Verdict, open func(*testing.T) machinetest.Subject) error {
	parts := map[string]string{
		"": "", string(transitions.Batch): "^every_claim", string(transitions.Sweep): "^every_claim",
		string(transitions.One): "^(every_guard|every_event|random)", string(persist.Many): "^every_(guard|event)",
	}
	passed, said, err := j.trials.run("agree", parts[m.Form], func(t *testing.T) { machinetest.Agree(t, open, m.Event) })
	if !passed && err == nil {
		v.Killer, v.By, v.Says = ByAgreement, m.Event+": "+strings.Join(failed(said), "; "), first(said)
	}
	return err
}

// statement judges a mutant of SQL on a real store: by the cases that use the statement, by the agreement with the
// table, and by the clauses of the conformance battery that use it.
func (j *judge) statement(ctx context.Context, m Mutant) (Verdict, error) {
	b := j.benches[m.Of]
	cut.Make(m.Cuts...)
	defer cut.Make()
	var v Verdict
	if err := j.same(ctx, b, m, &v); err != nil || v.Same != "" {
		return v, err // nobody can notice
	}
	if err := j.firstCase(ctx, b, m, &v); err != nil || v.Killed() {
		return v, err
	}
	cut.Make(m.Cuts...)
	open := func(t *testing.T) machinetest.Subject {
		subject, err := b.open(ctx)
		if err != nil {
			t.Fatalf("open a store: %v", err)
		}
		return subject
	}
	if m.Form != apartForm {
		if err := j.agreement(m, &v, open); err != nil || v.Killed() {
			return v, err
		}
	}
	return v, j.conformance(m, &v, open)
}

// firstCase plays the cases that use a mutant's statement until one notices, and notices it again: a machine that was
// too slow once kills nothing.
func (j *judge) firstCase(ctx context.Context, b bench, m Mutant, v *Verdict) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	used := m.Used()
	if m.Form == string(persist.Many) { // no case fires several; those that fire one are played so
		used = cut.Name(m.Own, m.Of, m.Event, string(transitions.One))
	}
	var found *machinetest.Fault
	play := func(cuts []cut.Cut, chosen func(machinetest.Case) bool) error {
		cut.Make(cuts...)
		subject, err := b.open(ctx)
		if err != nil {
			return err
		}
		if n := cut.Applied(); n != len(cuts) {
			return fmt.Errorf("judge %s: %d of its %d clauses were found in what was compiled; only a build with the overlay cuts", m.ID, n, len(cuts))
		}
		if m.Form == string(persist.Many) {
			subject.Store = severally{subject.Store}
		}
		found = nil
		_, err = j.suite.Play(ctx, subject, chosen, func(f machinetest.Fault) bool {
			found = &f
			return false
		})
		return err
	}
	doubted := map[string]bool{}
	for {
		err := play(m.Cuts, func(c machinetest.Case) bool {
			return !doubted[c.String()] && j.uses(m, c, used)
		})
		if err == nil && found == nil {
			return nil
		}
		if err == nil {
			again := *found
			only := func(c machinetest.Case) bool { return c.String() == again.Case.String() }
			if m.Form == string(persist.Many) { // that every case passes with nothing cut is seen of those that fire one
				if err = play(nil, only); err == nil && found != nil {
					return fmt.Errorf("judge %s: the case has to pass with nothing cut, fired at several: %s", m.ID, found)
				}
			}
			if err == nil {
				err = play(m.Cuts, only)
			}
			if err == nil && found == nil {
				doubted[again.Case.String()] = true
				continue
			}
		}
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			v.Killer, v.By, v.Says = BySuite, "the suites do not end", err.Error()
			return nil
		case err != nil:
			return err
		}
		v.Killer, v.By, v.Says, v.Clauses = BySuite, found.Case.Title, first(found.Says), found.Case.Clauses
		return nil
	}
}

// uses reports whether a case uses a statement; where nobody noted that, whether it fires the mutant's event.
func (j *judge) uses(m Mutant, c machinetest.Case, used string) bool {
	cover, noted := j.cover[m.Of]
	if !noted {
		return slices.Contains(c.Events, m.Event)
	}
	return slices.Contains(cover.Cases[c.String()], used)
}

// unnoted reports whether nobody notes the use of a mutant's statement: then every clause is asked.
func unnoted(m Mutant) bool { return strings.HasSuffix(m.Used(), " note_unmatched") }

// conformance asks the clauses of the battery that use a mutant's statement, but those that the agreement has gone
// through already.
func (j *judge) conformance(m Mutant, v *Verdict, open func(*testing.T) machinetest.Subject) error {
	var asked []string
	for title, used := range j.cover[m.Of].Clauses {
		if (slices.Contains(used, m.Used()) || unnoted(m)) && !strings.HasPrefix(title, "I10 ") {
			asked = append(asked, regexp.QuoteMeta(subtest(title)))
		}
	}
	if len(asked) == 0 {
		return nil
	}
	slices.Sort(asked)
	passed, said, err := j.trials.run("run", "^("+strings.Join(asked, "|")+")$", func(t *testing.T) { machinetest.Run(t, open) })
	if !passed && err == nil {
		v.Killer, v.By, v.Says = ByConformance, strings.Join(failed(said), "; "), first(said)
	}
	return err
}

// covered plays everything on a dialect's store with nothing cut, and notes which statements each judge uses. What does
// not pass then can judge no mutant.
func (j *judge) covered(ctx context.Context, dialect string) (Cover, error) {
	b := j.benches[dialect]
	c := Cover{Cases: map[string][]string{}, Clauses: map[string][]string{}}
	cut.Make()
	subject, err := b.open(ctx)
	if err != nil {
		return c, err
	}
	cut.Used()
	var before *machinetest.Case
	note := func() {
		if used := sorted(cut.Used()); before != nil {
			c.Cases[before.String()] = used
		}
	}
	var fault error
	_, err = j.suite.Play(ctx, subject, func(next machinetest.Case) bool {
		note()
		before = &next
		return true
	}, func(f machinetest.Fault) bool {
		fault = fmt.Errorf("the suites have to pass on %s before a mutant is judged by them: %s", dialect, f)
		return false
	})
	note()
	if err := errors.Join(err, fault); err != nil || j.of.name != Standard { // the battery is of the standard table
		return c, err
	}
	return c, j.coveredClauses(ctx, dialect, b, c)
}

func (j *judge) coveredClauses(ctx context.Context, dialect string, b bench, c Cover) error {
	passed, said, err := j.trials.run("run", "", func(t *testing.T) {
		machinetest.Run(t, func(t *testing.T) machinetest.Subject {
			_, title, _ := strings.Cut(t.Name(), "/")
			subject, err := b.open(ctx)
			if err != nil {
				t.Fatal(err)
			}
			cut.Used()
			t.Cleanup(func() { c.Clauses[strings.ReplaceAll(title, "_", " ")] = sorted(cut.Used()) })
			return subject
		})
	})
	if err == nil && !passed {
		err = fmt.Errorf("the conformance battery has to pass on %s before a mutant is judged by it: %s", dialect, first(said))
	}
	return err
}

func sorted(set map[string]bool) []string {
	all := []string{}
	for name := range set {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
