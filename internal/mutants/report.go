package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fencerow/fencerow/internal/mutants/cut"
)

// Report is the whole of a run as a table, one mutant a line: what is taken away, who noticed, and by what.
func (o Outcome) Report() string {
	var b strings.Builder
	b.WriteString("| mutant | taken away | killed by | which |\n|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for i, v := range o.Verdicts {
		m := o.Mutants[i]
		killer, by := v.Killer, v.By
		if !v.Killed() {
			killer, by = "survived", "nobody argues it"
			if a := argument(m, v); a != nil {
				by = "argued: " + a.Name
			}
		}
		if v.Error != "" {
			killer, by = "not judged", v.Error
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.ID, cell.Replace(m.Text), killer, cell.Replace(first(by)))
	}
	return b.String()
}

// LastRun is what is kept of a whole run: what docs/mutants.md and docs/guarantees.md tell of.
type LastRun struct {
	Line      string                    // the run's last
	Checker   bool                      // whether the model checker was asked
	Counts    map[string]map[string]int // mutants by what they are of, and who killed them ("": nobody)
	Kinds     map[string]map[string]int // the same by kind
	Argued    map[string]int            // survivors by argument
	Survivors []string                  // IDs of those that nobody argues
	Broke     map[string][]string       // by invariant: the mutants of the table that broke it
}

// Last sums a run up.
func (o Outcome) Last(checked bool) LastRun {
	l := LastRun{
		Line: o.String(), Checker: checked, Counts: map[string]map[string]int{}, Kinds: map[string]map[string]int{},
		Argued: map[string]int{}, Survivors: []string{}, Broke: map[string][]string{},
	}
	count := func(in map[string]map[string]int, what, killer string) {
		if in[what] == nil {
			in[what] = map[string]int{}
		}
		in[what][killer]++
	}
	for i, v := range o.Verdicts {
		m := o.Mutants[i]
		count(l.Counts, cut.Name(m.Own, m.Of), v.Killer)
		count(l.Kinds, cut.Name(m.Own, m.Of, m.Kind), v.Killer)
		if !v.Killed() {
			if a := argument(m, v); a != nil {
				l.Argued[a.Name]++
			} else {
				l.Survivors = append(l.Survivors, m.ID)
			}
		}
		for _, invariant := range v.Invariants() {
			if m.Of == Table && m.Own == Standard && !m.Deep() {
				l.Broke[invariant] = append(l.Broke[invariant], strings.TrimPrefix(m.ID, "table "))
			}
		}
	}
	for _, ids := range l.Broke {
		slices.Sort(ids)
	}
	return l
}

// Invariants are those that a mutant broke: the one of the checker, and those that the cases which noticed name.
func (v Verdict) Invariants() []string {
	var all []string
	add := func(name string) {
		name = strings.TrimRight(name, "abcdefgh") // I1a is judged apart, and is of I1
		if strings.HasPrefix(name, "I") && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	add(v.Broke)
	for _, c := range v.Clauses {
		add(c)
	}
	return all
}

// The files in which runs are summed up, from the project's root: a whole one of the standard table, and those of tables
// of one's own.
const (
	lastRunFile = "internal/mutants/lastrun.json"
	ownRunsFile = "internal/mutants/lastrun-own.json"
)

// Keep writes a whole run's sum.
func (l LastRun) Keep(root string) error { return writeJSON(root, lastRunFile, l) }

// ReadLastRun reads the sum of the last whole run of the standard table.
func ReadLastRun(root string) (LastRun, error) {
	var l LastRun
	return l, readJSON(root, lastRunFile, &l)
}

// KeepOwn writes the sums of a table of one's own: those of the table, of PostgreSQL and of SQLite whose mutants were all
// judged. What is known of the others stays.
func (o Outcome) KeepOwn(root string, whole map[string]bool) error {
	known, err := ReadOwnRuns(root)
	if err != nil {
		return err
	}
	for of, all := range whole {
		if !all {
			continue
		}
		part := Outcome{Table: o.Table}
		for i, m := range o.Mutants {
			if m.Of == of && !m.Deep() {
				part.Mutants, part.Verdicts = append(part.Mutants, m), append(part.Verdicts, o.Verdicts[i])
			}
		}
		known[o.Table+" "+of] = part.Last(true)
	}
	return writeJSON(root, ownRunsFile, known)
}

// ReadOwnRuns reads the sums of tables of one's own, by their name and what the mutants were of: "payout sqlite".
func ReadOwnRuns(root string) (map[string]LastRun, error) {
	runs := map[string]LastRun{}
	return runs, readJSON(root, ownRunsFile, &runs)
}

func writeJSON(root, name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), append(text, '\n'), 0o644)
}

func readJSON(root, name string, v any) error {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return fmt.Errorf("read the last mutation run: %w", err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read the last mutation run in %s: %w", name, err)
	}
	return nil
}
