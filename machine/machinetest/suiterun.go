package machinetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// RunSuite runs every suite file of a folder, the folders in it included, on a store of the program whose rows the
// files tell of. Every file gets an empty store of its own from newStore. It logs how many cases ran on which store,
// and fails if none did. The format is told in docs/suites.md; the suites of the standard table are in
// testdata/suites, as the package of that name.
func RunSuite(t *testing.T, newStore func(t *testing.T) Subject, fsys fs.FS, p *transitions.Program) {
	t.Helper()
	set, err := readSuites(fsys, p)
	if err != nil {
		t.Fatal(err)
	}
	var ran atomic.Int64
	var kind atomic.Value
	kind.Store("no store")
	t.Cleanup(func() {
		said := fmt.Sprintf("suites: %d cases of table %s on %s", ran.Load(), p.Name, kind.Load())
		t.Log(said)
		if err := report(said); err != nil {
			t.Error(err)
		}
		if ran.Load() == 0 {
			t.Error("no case ran: there is none in the suite files, or none was chosen")
		}
	})
	for _, f := range set.files {
		if len(f.cases) == 0 {
			continue
		}
		t.Run(strings.TrimSuffix(f.name, ".txt"), func(t *testing.T) {
			t.Parallel()
			subject := newStore(t)
			kind.Store(fmt.Sprintf("%T", subject.Store))
			if got := subject.Store.Program(); got.String() != p.String() {
				t.Fatalf("the store is of table %s, the suites of table %s; hand the same program to both", got.Name, p.Name)
			}
			scene := newStage(context.Background(), set, subject)
			for n, c := range f.cases {
				t.Run(c.title, func(t *testing.T) {
					ran.Add(1)
					for round := range c.rounds() {
						if err := scene.play(c, n+round*len(f.cases), t.Errorf); err != nil {
							t.Fatal(err)
						}
					}
				})
			}
		})
	}
}

// report adds a line to the file that FENCEROW_SUITE_REPORT names, so that whoever runs many packages can see, without
// -v, that every store ran its cases.
func report(line string) error {
	path := os.Getenv("FENCEROW_SUITE_REPORT")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("report the suites that ran: %w", err)
	}
	_, err = f.WriteString(line + "\n") // one write: several packages append at once
	return errors.Join(err, f.Close())
}

// rounds is how often a case is played: a race needs more than one, to be won by both.
func (c *story) rounds() int {
	if last := c.steps[len(c.steps)-1]; len(last.fired) > 1 {
		return 4
	}
	return 1
}

// stage is a store on which one case is played after the other.
type stage struct {
	ctx   context.Context
	set   *suiteSet
	store machine.Store
	put   func(ctx context.Context, rows ...transitions.Row) error
	clock func(ctx context.Context) (time.Time, error)
	left  []transitions.Row // of the case before, as it left them

	// Of the case that is played.
	began time.Time // this machine's clock, to know how long it took
	now   time.Time // the store's clock, in whole seconds
	ids   map[string]string
}

func newStage(ctx context.Context, set *suiteSet, subject Subject) *stage {
	return &stage{ctx: ctx, set: set, store: subject.Store, put: subject.Put, clock: subject.Now}
}

// play plays a case. What is not as the file says goes to report; an error is what makes it impossible to go on.
func (g *stage) play(c *story, n int, report func(format string, args ...any)) error {
	if err := g.prepare(c, n); err != nil {
		return err
	}
	for _, step := range c.steps {
		if step.passes > 0 {
			if err := g.pass(step); err != nil {
				return err
			}
			continue
		}
		if len(step.outcomes) == 0 {
			return step.at.errorf("nothing is said of what comes of this; write then, or let the rewriter do it")
		}
		got, err := g.step(step)
		if err != nil {
			return err
		}
		g.compare(step, got, report)
		if err := g.compareRaces(c, n, step); err != nil {
			report("%v", err)
		}
	}
	return nil
}

// prepare puts a case's rows, and out of the way what the case before left: it is due in ten years, and holds nothing that
// only one row can hold.
func (g *stage) prepare(c *story, n int) error {
	now, err := g.clock(g.ctx)
	if err != nil {
		return fmt.Errorf("read the store's clock: %w", err)
	}
	g.began, g.now, g.ids = time.Now(), now.UTC().Truncate(time.Second), map[string]string{}
	rows := g.parked()
	for _, given := range c.rows {
		row, err := g.row(given, g.id(given.name, n))
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	for _, step := range c.steps {
		for _, f := range step.fired {
			if f.name != "" {
				g.id(f.name, n)
			}
		}
	}
	if err := g.put(g.ctx, rows...); err != nil {
		return c.at.errorf("the rows cannot be stored: %v", err)
	}
	return nil
}

// id is what a row is called in the store: another name in every case, since history stays.
func (g *stage) id(name string, n int) string {
	if g.ids[name] == "" {
		g.ids[name] = fmt.Sprintf("%s.%d", name, n)
	}
	return g.ids[name]
}

func (g *stage) parked() []transitions.Row {
	p := g.set.program
	var rows []transitions.Row
	for _, row := range g.left {
		row = slices.Clone(row)
		for _, name := range []string{"lease_owner", "lease_until", "remote_job_id", "redo_of"} {
			if i := p.Column(name); i >= 0 && !p.Columns[i].NotNull {
				row[i] = transitions.NullValue
			}
		}
		if i := p.Column("due_at"); i >= 0 {
			row[i] = transitions.TimeValue(g.now.AddDate(10, 0, 0))
		}
		rows = append(rows, row)
	}
	g.left = nil
	return rows
}

// row makes a given row: the defaults, what is usual, what is usual in the phase, and what the case says.
func (g *stage) row(given givenRow, id string) (transitions.Row, error) {
	p := g.set.program
	row := blankRow(p)
	row[p.Column("operation_id")] = transitions.TextValue(id)
	row[p.Column("phase")] = transitions.TextValue(given.phase)
	for _, sets := range [][]setting{g.set.rows[""], g.set.rows[given.phase], given.sets} {
		for _, s := range sets {
			if s.name == "operation_id" || s.name == "phase" {
				return nil, given.at.errorf("%s is not set so: the row's name and its phase stand first", s.name)
			}
			row[p.Column(s.name)] = g.absolute(s.value, given.name)
		}
	}
	for i, c := range p.Columns {
		if c.NotNull && row[i].IsNull() {
			if c.Kind != transitions.Time {
				return nil, given.at.errorf("%s is never null; say what it is, here or in what is usual", c.Name)
			}
			row[i] = transitions.TimeValue(g.now.Add(-time.Hour))
		}
	}
	return row, nil
}

// absolute gives a value as the store has it: times by its clock, {name} as the row's name.
func (g *stage) absolute(v transitions.Value, name string) transitions.Value {
	switch v.Kind() {
	case transitions.Time:
		return transitions.MicrosValue(g.now.UnixMicro() + v.Micros())
	case transitions.Text:
		return transitions.TextValue(strings.ReplaceAll(v.Text(), "{name}", name))
	}
	return v
}

// params gives what an event is fired with: what is usual under its fence, what is usual for it, and what the case says.
func (g *stage) params(f firing) transitions.Params {
	out := transitions.Params{}
	for _, sets := range [][]setting{g.set.params[string(f.rule.Fence)], g.set.params[f.rule.Event], f.sets} {
		for _, s := range sets {
			if f.rule.Uses(s.name) {
				out[s.name] = g.absolute(s.value, f.name)
			}
		}
	}
	if _, given := out["operation_id"]; !given && f.name != "" {
		out["operation_id"] = transitions.TextValue(g.ids[f.name])
	}
	if f.name == "" {
		out["limit"] = transitions.IntValue(f.limit)
	}
	return out
}

// pass lets time pass for the case's rows: every time that one of them holds moves back, since no clock can be moved
// forward. When a row was made and last changed is no appointment, and stays. History is not touched, so that it no
// longer explains the times.
func (g *stage) pass(step *storyStep) error {
	s, err := g.look()
	if err != nil {
		return err
	}
	var rows []transitions.Row
	for _, row := range s.rows {
		row = slices.Clone(row)
		for i, c := range g.set.program.Columns {
			if c.Kind == transitions.Time && !row[i].IsNull() && c.Name != "created_at" && c.Name != "updated_at" {
				row[i] = transitions.TimeValue(row[i].Time().Add(-step.passes))
			}
		}
		rows = append(rows, row)
	}
	if err := g.put(g.ctx, rows...); err != nil {
		return step.at.errorf("the rows cannot be stored as they are %s later: %v", step.passes, err)
	}
	return nil
}

// step fires a step's events, at once where there are several, and sees what came of them.
func (g *stage) step(step *storyStep) (*outcome, error) {
	before, err := g.look()
	if err != nil {
		return nil, err
	}
	results := make([]string, len(step.fired))
	failures := make([]error, len(step.fired))
	start := make(chan struct{})
	var done sync.WaitGroup
	for i, f := range step.fired {
		done.Go(func() {
			<-start
			results[i], failures[i] = g.fire(f)
		})
	}
	close(start)
	done.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	after, err := g.look()
	if err != nil {
		return nil, err
	}
	return g.difference(step.fired, results, before, after)
}

func (g *stage) fire(f firing) (string, error) {
	if f.name == "" {
		rows, err := g.store.Take(g.ctx, f.rule.Event, g.params(f))
		if err != nil {
			return g.refused(f, err)
		}
		names := make([]string, len(rows))
		for i, row := range rows {
			names[i] = g.nameOf(row)
		}
		if len(names) == 0 {
			return "took nothing", nil
		}
		return "took " + strings.Join(names, ", "), nil
	}
	answer, err := g.store.Apply(g.ctx, f.rule.Event, g.params(f))
	switch {
	case err != nil:
		return g.refused(f, err)
	case answer.Applied:
		return "applied", nil
	case len(answer.Failed) > 0:
		return "denied " + strings.Join(answer.Failed, ", "), nil
	default:
		return "no such operation", nil
	}
}

// refused is what a store says to what its tables cannot hold. That nobody knows whether it ran is no outcome.
func (g *stage) refused(f firing, err error) (string, error) {
	if machine.IsUnknown(err) {
		return "", f.at.errorf("fire %s: %v", f.rule.Event, err)
	}
	return "refused", nil
}

func (g *stage) nameOf(row transitions.Row) string {
	id := row[g.set.program.Column("operation_id")].Text()
	for name, known := range g.ids {
		if known == id {
			return name
		}
	}
	return id
}

// sight is everything that the store says of the case's rows.
type sight struct {
	rows     map[string]transitions.Row
	history  map[string][]machine.HistoryEntry
	evidence map[string][]machine.EvidenceEntry
}

func (g *stage) look() (sight, error) {
	s := sight{map[string]transitions.Row{}, map[string][]machine.HistoryEntry{}, map[string][]machine.EvidenceEntry{}}
	var ids []string
	for name, id := range g.ids {
		ids = append(ids, id)
		var err error
		if s.history[name], err = g.store.History(g.ctx, id); err != nil {
			return s, err
		}
		if s.evidence[name], err = g.store.Evidence(g.ctx, id); err != nil {
			return s, err
		}
	}
	rows, err := g.store.Get(g.ctx, ids...)
	for _, row := range rows {
		s.rows[g.nameOf(row)] = row
	}
	g.left = rows
	return s, err
}

// compare holds what came against what may come.
func (g *stage) compare(step *storyStep, got *outcome, report func(string, ...any)) {
	took := time.Since(g.began)
	var best *outcome
	for _, want := range step.outcomes {
		if g.matches(want, got, took) {
			return
		}
		if best == nil || slices.Equal(want.results, got.results) {
			best = want
		}
	}
	report("%s: what came is not what the file says (-want +got):\n%s", step.at,
		cmp.Diff(strings.Join(best.lines(true), "\n"), strings.Join(got.lines(true), "\n")))
}

// slack is how far two clock readings of one statement and the case's own may lie apart.
const slack = 2 * time.Second

// matches compares two outcomes. A time may be later than it was said by as long as the case took.
func (g *stage) matches(want, got *outcome, took time.Duration) bool {
	same := cmp.Comparer(func(a, b transitions.Value) bool {
		if a.Kind() != transitions.Time || b.Kind() != transitions.Time {
			return a == b
		}
		apart := time.Duration(b.Micros()-a.Micros()) * time.Microsecond
		return apart.Abs() <= took+slack
	})
	exported := cmp.AllowUnexported(outcome{}, rowChange{}, trace{}, setting{})
	apart := cmp.FilterPath(func(p cmp.Path) bool {
		last := p.Last().String()
		return last == ".at" || last == ".noHistory"
	}, cmp.Ignore())
	return cmp.Equal(want, got, same, exported, apart) && (len(want.entries) > 0 || want.noHistory || !want.moves())
}
