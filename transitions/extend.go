package transitions

import (
	"fmt"
	"slices"
)

// The methods below change a table that was made from another, as a rule from Standard. They are for tables that are
// part of the program's own text, so like MustCompile they panic where they are asked for what the table does not have:
// an extension must not go on quietly when the name that it changes is gone. What they leave behind is judged by Check.

// Event gives an event of the table, to be changed in place. What is changed there is this table's alone: the lists and
// the evidence of the event are copied first.
func (t *Table) Event(name string) *Event {
	e := &t.Events[t.eventAt(name)]
	e.From, e.Guards, e.Effects = slices.Clone(e.From), slices.Clone(e.Guards), slices.Clone(e.Effects)
	for i := range e.Effects {
		e.Effects[i].Sets = slices.Clone(e.Effects[i].Sets)
	}
	e.Notes.Unless = slices.Clone(e.Notes.Unless)
	if e.Notes.Evidence != nil {
		row := *e.Notes.Evidence
		e.Notes.Evidence = &row
	}
	return e
}

// AddPhase puts a phase after another in the table's order, which is that of the documents.
func (t *Table) AddPhase(after string, phase Phase) {
	at := slices.IndexFunc(t.Phases, func(ph Phase) bool { return ph.Name == after })
	t.must(at >= 0, "phase", after)
	t.Phases = slices.Concat(t.Phases[:at+1], []Phase{phase}, t.Phases[at+1:])
}

// AddEvents puts events after another in the table's order, which is that of the documents and of the reconciler's
// sweeps.
func (t *Table) AddEvents(after string, events ...Event) {
	at := t.eventAt(after) + 1
	t.Events = slices.Concat(t.Events[:at], events, t.Events[at:])
}

// DropEvents takes events away, and what joins them to others.
func (t *Table) DropEvents(names ...string) {
	for _, name := range names {
		at := t.eventAt(name)
		t.Events = slices.Concat(t.Events[:at], t.Events[at+1:])
		t.Joined = slices.DeleteFunc(slices.Clone(t.Joined), func(j Joined) bool { return j.First == name || j.Then == name })
	}
}

// DropPhases takes phases away, and takes them out of what the events leave. An event that leaves no other phase, or
// leads to one that is dropped, must be dropped or changed as well: a finding says so.
func (t *Table) DropPhases(names ...string) {
	for _, name := range names {
		at := slices.IndexFunc(t.Phases, func(ph Phase) bool { return ph.Name == name })
		t.must(at >= 0, "phase", name)
		t.Phases = slices.Concat(t.Phases[:at], t.Phases[at+1:])
	}
	for i := range t.Events {
		if from := t.Events[i].From; slices.ContainsFunc(from, func(f string) bool { return slices.Contains(names, f) }) {
			t.Event(t.Events[i].Name).From = slices.DeleteFunc(slices.Clone(from), func(f string) bool { return slices.Contains(names, f) })
		}
	}
}

// DropColumns takes columns away, and the assignments to them. A guard or an effect that still reads one is a finding.
func (t *Table) DropColumns(names ...string) {
	for _, name := range names {
		at := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
		t.must(at >= 0, "column", name)
		t.Columns = slices.Concat(t.Columns[:at], t.Columns[at+1:])
	}
	for i := range t.Events {
		e := t.Event(t.Events[i].Name)
		for j, effect := range e.Effects {
			e.Effects[j] = effect.Without(names...)
		}
	}
}

// Without gives a copy of the effect that does not assign some columns.
func (e Effect) Without(columns ...string) Effect {
	e.Sets = slices.DeleteFunc(slices.Clone(e.Sets), func(s Set) bool { return slices.Contains(columns, s.Col) })
	return e
}

// Effect gives an effect of the event by its name.
func (e *Event) Effect(name string) Effect { return e.Effects[e.effectAt(name)] }

// Replace puts other effects, or none, in the place of one.
func (e *Event) Replace(effect string, with ...Effect) {
	at := e.effectAt(effect)
	e.Effects = slices.Concat(e.Effects[:at], with, e.Effects[at+1:])
}

func (e *Event) effectAt(name string) int {
	at := slices.IndexFunc(e.Effects, func(x Effect) bool { return x.Name == name })
	if at < 0 {
		panic(fmt.Sprintf("change event %s: it has no effect %q", e.Name, name))
	}
	return at
}

func (t *Table) eventAt(name string) int {
	at := slices.IndexFunc(t.Events, func(e Event) bool { return e.Name == name })
	t.must(at >= 0, "event", name)
	return at
}

func (t *Table) must(has bool, what, name string) {
	if !has {
		panic(fmt.Sprintf("change table %s: it has no %s %q", t.Name, what, name))
	}
}
