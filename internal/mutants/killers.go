package mutants

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fencerow/fencerow/internal/mutants/clause"
	"github.com/fencerow/fencerow/internal/mutants/cut"
)

// goTest is a test in Go that judges mutants which no suite can: those of clauses that are there for two sessions at
// once, for a plan, or for a database that does not do what it says. It is run in a binary that was built with the
// overlay, once with nothing cut and then with the mutant's cut.
type goTest struct {
	pack string // folder
	name string
	of   string // the dialect that it is about

	// sub names the subtest that is about a mutant; "" is the whole test. Nil: the whole test, for every mutant that about
	// takes.
	sub   func(m Mutant) string
	about func(m Mutant) bool
}

var goTests = []goTest{
	{"persist/pgstore", "TestEveryStatementJudgesTheRowAsItsLockLeftIt", Postgres, eventAndForm, one(clause.Lock)},
	{"persist/pgstore", "TestEveryStatementWaitsForALockNoLongerThanItsBound", Postgres, eventAndForm, one(clause.From)},
	{"persist/pgstore", "TestEveryStatementAboutSeveralLocksThemInOneOrder", Postgres, eventAndForm, one(clause.Order)},
	{"persist/pgstore", "TestEveryStatementAboutSeveralLeavesTheOthersAlone", Postgres, eventAndForm, one(clause.Where)},
	{"persist/pgstore", "TestAPrepareWaitsForAnotherNoLongerThanItsBound", Postgres, eventAndForm, creating(clause.From)},
	{"persist/pgstore", "TestAPrepareThatMeetsAnotherOfTheSameIDShowsItsRow", Postgres, nil, creating(clause.Conflict)},
	{"persist/pgstore", "TestEveryClaimAndSweepPassesByWhatIsLocked", Postgres, event, finding(clause.Lock, clause.SkipLocked)},
	{"persist/pgstore", "TestASweepWaitsForARemoteJobIDNoLongerThanItsBound", Postgres, nil, waiting},
	{"internal/reports", "TestB82NoTwoStatementsWaitForEachOther", Postgres, nil, creating(clause.Order)},
	{"persist/sqlitestore", "TestNothingMovesWhoseHistoryIsNotWritten", SQLite, eventAndForm, updating},
	{"persist/sqlitestore", "TestWhatIsDueIsFoundWithoutReadingABacklog", SQLite, eventAndForm, one(clause.Where, clause.On)},
	{"persist/sqlitestore", "TestWhatIsDueIsFoundWithoutReadingABacklog", SQLite, eventAndForm, finding(clause.Where, clause.On, clause.Index, clause.Order, clause.Limit)},
	{"persist/sqlitestore", "TestEvidenceOfNoOperationIsFoundWithoutReadingTheRest", SQLite, nil, apart()},
}

// The subtests are called as the mutants' statements are.
func eventAndForm(m Mutant) string { return m.Event + " " + m.Form }
func event(m Mutant) string        { return m.Event }

func has(m Mutant, kinds []clause.Kind) bool { return slices.Contains(kinds, clause.Kind(m.Kind)) }

// one takes mutants of statements about operations that are named.
func one(kinds ...clause.Kind) func(Mutant) bool {
	return func(m Mutant) bool {
		return (m.Form == "one" || m.Form == "many") && m.Event != "prepare" && has(m, kinds)
	}
}

// creating takes mutants of the statements that create an operation.
func creating(kinds ...clause.Kind) func(Mutant) bool {
	return func(m Mutant) bool { return m.Event == "prepare" && has(m, kinds) }
}

// finding takes mutants of claims and sweeps.
func finding(kinds ...clause.Kind) func(Mutant) bool {
	return func(m Mutant) bool { return (m.Form == "batch" || m.Form == "sweep") && has(m, kinds) }
}

// waiting takes mutants of the bound of what a sweep waits for.
func waiting(m Mutant) bool { return m.Form == "sweep" && strings.Contains(m.Text, "bounded") }

// apart takes mutants of statements that are no event's.
func apart() func(Mutant) bool { return func(m Mutant) bool { return m.Form == apartForm } }

// updating takes mutants of the last step of an event in SQLite.
func updating(m Mutant) bool {
	return m.Of == SQLite && m.Text == "changes() = 1"
}

// binary is where a folder's tests are built with the overlay.
func (d *driver) binary(pack string) string {
	return filepath.Join(d.folder, strings.ReplaceAll(pack, "/", "_")+".test")
}

// buildTests builds the binaries of the tests that judge mutants of a dialect, unless that was done.
func (d *driver) buildTests(ctx context.Context, pack string) error {
	d.building.Lock()
	defer d.building.Unlock()
	if _, err := os.Stat(d.binary(pack)); err == nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", d.overlay, "-o", d.binary(pack), "./"+pack)
	cmd.Dir = d.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the tests of %s with the overlay: %w\n%s", pack, err, out)
	}
	return nil
}

// byTests asks the tests in Go about a mutant that nobody noticed so far.
func (d *driver) byTests(ctx context.Context, m Mutant, v *Verdict) error {
	for _, t := range goTests {
		if t.of != m.Of || !t.about(m) {
			continue
		}
		if err := d.buildTests(ctx, t.pack); err != nil {
			return err
		}
		pattern, called := "^"+t.name+"$", t.name
		if t.sub != nil {
			pattern += "/^" + regexp.QuoteMeta(subtest(t.sub(m))) + "$"
			called += "/" + t.sub(m)
		}
		passes, said, err := d.passes(ctx, t.pack, pattern, nil)
		if err != nil || !passes {
			return fmt.Errorf("%s has to pass with nothing cut before it judges a mutant: %s %w", called, first(said), err)
		}
		// What it says of the mutant it has to say twice: a machine that was too slow once kills nothing.
		for range 2 {
			if passes, said, err = d.passes(ctx, t.pack, pattern, m.Cuts); err != nil {
				return err
			}
			if passes {
				break
			}
		}
		if !passes {
			v.Killer, v.By, v.Says = ByTest, t.pack+" "+called, first(said)
			return nil
		}
	}
	return nil
}

// passes runs a test with cuts. What passes with nothing cut is remembered.
func (d *driver) passes(ctx context.Context, pack, pattern string, cuts []cut.Cut) (bool, string, error) {
	key := pack + " " + pattern
	if cuts == nil {
		d.building.Lock()
		known := d.sound[key]
		d.building.Unlock()
		if known {
			return true, "", nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.binary(pack), "-test.run", pattern, "-test.v", "-test.timeout", "4m")
	cmd.Dir = filepath.Join(d.Root, filepath.FromSlash(pack))
	cmd.Env = append(os.Environ(), "FENCEROW_TEST_DATABASE_URL="+d.server, cut.Variable+"="+cut.Setting(cuts))
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	said := string(out)
	switch {
	case ctx.Err() != nil:
		return false, said, ctx.Err()
	case !strings.Contains(said, "=== RUN") || strings.Contains(pattern, "/") && !regexp.MustCompile(`=== RUN +\w+/`).MatchString(said):
		return false, said, fmt.Errorf("run %s of %s: no test of that name ran", pattern, pack)
	case err == nil && cuts == nil:
		d.building.Lock()
		d.sound[key] = true
		d.building.Unlock()
	}
	return err == nil, said, nil
}
