package machinetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

// MutantOptions says which mutants of a table Mutants asks about.
type MutantOptions struct {
	// Extends is the program that the table extends. Rules that are the same there are left to that program's own suites.
	// Nil: the table extends none, and every rule is asked about.
	Extends *transitions.Program

	// Argued says why nobody can notice that a mutant's part is gone, "" if it has to be noticed. What is argued and
	// noticed all the same fails the test: the argument is wrong. Nil: nothing is argued.
	Argued func(Mutant) string

	// Operands asks about single operands inside of guards, assignments and notes, too.
	Operands bool
}

// Mutants takes every guard, part of a fence, assignment, effect, note, recorded column and way to find operations out of
// a table, one at a time, plays the suite files on what is left, and fails for each of which every case comes out the
// same: a part that no case misses is held by nothing, and nobody notices when it is lost. Of such a survivor it shows a
// row on which it differs from the table, if it finds one, to make a case of.
//
// It needs no database: that the stores do what the table says is Agree's. The last line that it logs is
// "TABLE: N mutants, N killed, N survived".
func Mutants(t *testing.T, table transitions.Table, fsys fs.FS, o MutantOptions) {
	t.Helper()
	verdicts, err := judgeMutants(t.Context(), table, fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, v := range verdicts {
		if fault := v.fault(); fault != "" {
			t.Error(fault)
		}
		if v.killer != nil {
			killed++
		}
	}
	if len(verdicts) == 0 {
		t.Errorf("table %s has no mutants: every rule of it is the same in the program that it extends", table.Name)
	}
	t.Logf("%s: %d mutants, %d killed, %d survived", table.Name, len(verdicts), killed, len(verdicts)-killed)
}

// mutantVerdict is what became of a mutant.
type mutantVerdict struct {
	Mutant
	killer  *Fault // the first that a case noticed; nil: it survived
	argued  string // why nobody can notice
	differs string // of a survivor that is not argued: on which row it differs
}

// fault is what is wrong with what became of the mutant, "" if nothing.
func (v mutantVerdict) fault() string {
	switch {
	case v.killer != nil && v.argued != "":
		return fmt.Sprintf("%s (%s) is noticed by %s, though it is argued that nobody can: %s", v.Mutant, v.Text, v.killer.Case, v.argued)
	case v.killer == nil && v.argued == "":
		return fmt.Sprintf("%s: every case comes out the same without it; add one in which it shows (%s)\n%s", v.Mutant, v.Text, v.differs)
	}
	return ""
}

// judgeMutants judges the mutants of a table in memory.
func judgeMutants(ctx context.Context, table transitions.Table, fsys fs.FS, o MutantOptions) ([]mutantVerdict, error) {
	all, err := MutantsOf(table)
	if err != nil {
		return nil, err
	}
	p, err := transitions.Compile(table)
	if err != nil {
		return nil, err
	}
	s, err := ReadSuite(fsys, p)
	if err != nil {
		return nil, err
	}
	if f, err := s.firstFault(ctx, p, nil); err != nil || f != nil {
		return nil, errors.Join(err, fmt.Errorf("the suites have to pass on table %s itself before a mutant is judged by them: %v", p.Name, f))
	}
	var verdicts []mutantVerdict
	for _, m := range all {
		if m.Kind == PartOperand && !o.Operands || o.Extends != nil && SameRule(p, o.Extends, m.Event) {
			continue
		}
		v := mutantVerdict{Mutant: m}
		about := func(c Case) bool { return slices.Contains(c.Events, m.Event) }
		others := func(c Case) bool { return !about(c) }
		for _, chosen := range []func(Case) bool{about, others} {
			if v.killer, err = s.firstFault(ctx, m.Program, chosen); err != nil {
				return nil, err
			}
			if v.killer != nil {
				break
			}
		}
		if o.Argued != nil {
			v.argued = o.Argued(m)
		}
		if v.killer == nil && v.argued == "" {
			v.differs = difference(p, m)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// firstFault plays cases on the memory store of a program, at a time that stands still, until one does not come as it
// says.
func (s *Suite) firstFault(ctx context.Context, p *transitions.Program, chosen func(Case) bool) (*Fault, error) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store := machine.NewMemory(p, machine.MemoryClock(func() time.Time { return now }))
	subject := Subject{Store: store, Put: puts(store), Now: func(context.Context) (time.Time, error) { return now, nil }}
	var first *Fault
	_, err := s.Play(ctx, subject, chosen, func(f Fault) bool {
		first = &f
		return false
	})
	return first, err
}

// SameRule reports whether a program's rule of an event is the other's, in all that it does and records.
func SameRule(p, other *transitions.Program, event string) bool {
	r, q := p.Rule(event), other.Rule(event)
	return r != nil && q != nil && told(p, r) == told(other, q)
}

// told is all that a rule says: its dump, and what the dump leaves out.
func told(p *transitions.Program, r *transitions.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nreason %s\nreviewer %s", r, r.Reason, r.Reviewer)
	if e := r.Evidence; e != nil {
		fmt.Fprintf(&b, "\nevidence %s %s %s %s", e.RemoteJobID, e.Detail, e.Revision, e.Owner)
	}
	for _, i := range r.Recorded {
		fmt.Fprintf(&b, "\nrecords %s", p.Columns[i].Name)
	}
	return b.String()
}

// difference looks for a row on which a mutant does something else than its table, and shows it.
func difference(p *transitions.Program, m Mutant) string {
	if m.Kind == PartForm {
		return "It shows where the event finds its operations itself: when " + m.Event + " takes 9"
	}
	rule := p.Rule(m.Event)
	g := &generator{p: p, rule: rule, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), rng: rand.New(rand.NewPCG(7, 7))}
	s := &suite{p: p}
	for _, c := range s.trialsOf(g) {
		want := s.inWords(p.Eval(m.Event, c.row, c.params, g.world()))
		got := s.inWords(m.Program.Eval(m.Event, c.row, c.params, g.world()))
		if want["verdict"] != got["verdict"] {
			want, got = values{"verdict": want["verdict"]}, values{"verdict": got["verdict"]}
		}
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if other, there := got[name]; !there || other != want[name] {
				lines = append(lines, fmt.Sprintf("  %s: %v by the table, %v without", name, want[name], got[name]))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if _, there := want[name]; !there {
				lines = append(lines, fmt.Sprintf("  %s: nothing by the table, %v without", name, got[name]))
			}
		}
		if len(lines) > 0 {
			return fmt.Sprintf("It shows on %s with %v:\n%s", s.concerned(rule, c.row), c.params, strings.Join(lines, "\n"))
		}
	}
	return "No row was found on which it shows: if there can be none, take it out of the table, or argue it"
}

// concerned writes those columns of a row that a rule asks for or assigns.
func (s *suite) concerned(rule *transitions.Rule, row transitions.Row) string {
	if row == nil {
		return "no row"
	}
	asked := map[string]bool{"phase": true}
	see := func(x transitions.Expr) {
		if x.Op == transitions.OpCol {
			asked[x.Name] = true
		}
	}
	for _, guard := range rule.Guards {
		guard.Expr.Walk(see)
	}
	for _, set := range rule.Sets {
		asked[set.Col] = true
		set.Expr.Walk(see)
	}
	var words []string
	for i, c := range s.p.Columns {
		if asked[c.Name] {
			words = append(words, c.Name+" "+row[i].String())
		}
	}
	return strings.Join(words, ", ")
}

// inWords is a verdict, part by part.
func (s *suite) inWords(v transitions.Verdict) values {
	words := values{"verdict": "applied"}
	if !v.Applied {
		words["verdict"] = "denied " + strings.Join(v.Failed, ", ")
	}
	for i, c := range s.p.Columns {
		words["row "+c.Name] = v.Row[i].String()
	}
	if e := v.Entry; e != nil {
		words["history"] = fmt.Sprintf("reason %s, reviewer %s", e.Reason, e.Reviewer)
		for _, c := range e.Changes {
			words["history of "+c.Column] = "recorded"
		}
	}
	if e := v.Evidence; e != nil {
		words["evidence"] = fmt.Sprintf("%s, remote_job_id %s, revision %s, owner %s, detail %s", e.Kind, e.RemoteJobID, e.Revision, e.Owner, e.Detail)
	}
	return words
}
