// Package cut is the hand that takes a clause out of a statement while the program runs. Nothing in the project imports
// it but the mutation run: that builds package persist with an overlay (see internal/mutants), in which what is compiled
// goes through Out. In every other build no statement comes here.
package cut

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/fencerow/fencerow/internal/mutants/clause"
)

// Cut is a clause of a statement: which one, and the ID of the cut within it.
type Cut struct{ Statement, ID string }

// Variable names the environment variable with which a whole process is given its cuts: one a line, the statement and
// the cut's ID with a tab between them. A test binary that was built with the overlay becomes a judge of a mutant by it.
const Variable = "FENCEROW_MUTANT"

// CoverVariable names the file to which a process appends the name of every statement that it uses.
const CoverVariable = "FENCEROW_MUTANT_COVER"

var hand = struct {
	sync.Mutex
	cuts    []Cut
	applied map[Cut]bool
	used    map[string]bool
	cover   *os.File
}{used: map[string]bool{}}

func init() {
	if what := os.Getenv(Variable); what != "" {
		var cuts []Cut
		for line := range strings.Lines(what) {
			statement, id, ok := strings.Cut(strings.TrimSpace(line), "\t")
			if !ok {
				panic(fmt.Sprintf("read %s: %q has no tab between the statement and its cut", Variable, line))
			}
			cuts = append(cuts, Cut{statement, id})
		}
		Make(cuts...)
	}
	if name := os.Getenv(CoverVariable); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(fmt.Sprintf("note the statements that are used: %v", err))
		}
		hand.cover = f
	}
}

// Name is what a statement is called: its dialect, event, form, and what a further step of it writes.
func Name(parts ...string) string {
	return strings.TrimSpace(strings.Join(parts, " "))
}

// Setting writes cuts as Variable holds them.
func Setting(cuts []Cut) string {
	lines := make([]string, len(cuts))
	for i, c := range cuts {
		lines[i] = c.Statement + "\t" + c.ID
	}
	return strings.Join(lines, "\n")
}

// Make says what is cut from now on, and that nothing was cut yet.
func Make(cuts ...Cut) {
	hand.Lock()
	defer hand.Unlock()
	hand.cuts, hand.applied = cuts, map[Cut]bool{}
}

// Applied is how many of the cuts were made in a statement since Make.
func Applied() int {
	hand.Lock()
	defer hand.Unlock()
	return len(hand.applied)
}

// Out gives a statement's text without the clause, if one of it is cut; a text in which there is no such clause stays as
// it is, since tests compile tables of their own under the same names.
func Out(statement, sql string) string {
	hand.Lock()
	defer hand.Unlock()
	var found []clause.Cut
	for _, wanted := range hand.cuts {
		if wanted.Statement != statement {
			continue
		}
		if c, err := clause.Find(sql, wanted.ID); err == nil {
			hand.applied[wanted] = true
			found = append(found, c)
		}
	}
	return clause.Apply(sql, found...)
}

// Use notes that a statement is used.
func Use(statement string) {
	hand.Lock()
	defer hand.Unlock()
	if !hand.used[statement] {
		hand.used[statement] = true
		if hand.cover != nil {
			_, _ = hand.cover.WriteString(statement + "\n")
		}
	}
}

// Used gives the statements that were used since it was last asked.
func Used() map[string]bool {
	hand.Lock()
	defer hand.Unlock()
	used := hand.used
	hand.used = map[string]bool{}
	return used
}
