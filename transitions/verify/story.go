package verify

import (
	"fmt"
	"strings"

	"github.com/fencerow/fencerow/transitions"
)

// Violation is an invariant, and a shortest story that breaks it.
type Violation struct {
	Invariant Invariant
	Story     []string  // one sentence a step, to be read from the first to the last
	Events    []Event   // what was fired on the row, in order
	birth     Event     // that prepared the operation
	byHand    []setting // or the row that somebody wrote; nil: nobody did
	other     []setting // a row of another operation
}

// Event is one thing that happens to the row in a story: an event that is fired, or time that passes.
type Event struct {
	Name    string // "" is one tick of the clock
	Params  transitions.Params
	Applied bool
}

// String tells the story as numbered sentences.
func (v *Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is broken: %s", v.Invariant.Code, v.Invariant.Says)
	for i, s := range v.Story {
		fmt.Fprintf(&b, "\n%3d. %s", i+1, s)
	}
	return b.String()
}

// teller follows a path with the revisions, owners and ids as they would really be.
type teller struct {
	*exploration
	at  state
	out *Violation
}

// tell makes the story of a finding. The states of a path have their names changed; the story is told by taking the same
// steps again without changing any.
func (x *exploration) tell(f *finding) (*Violation, error) {
	path := x.path(f.node)
	born, err := x.born()
	if err != nil {
		return nil, err
	}
	t := &teller{exploration: x, out: &Violation{Invariant: Invariant{f.code, f.code.says()},
		birth: Event{Name: x.roles.birth.Event, Params: x.birth, Applied: true}, other: x.other(x.newborn)}}
	for i, row := range born {
		if t.at = (state{row: row, slack: 1}); x.canonical(t.at) == path[0] {
			t.begin(i)
			break
		}
	}
	for _, want := range path[1:] {
		if !t.follow(func(s step, next *state) bool {
			return x.canonical(*next) == want && (s.broken == "" || !x.fired(s.broken))
		}) {
			return nil, fmt.Errorf("tell the story of %s: a step of the path cannot be taken again", f.code)
		}
	}
	if f.step != nil {
		if !t.follow(func(s step, _ *state) bool {
			return s.broken == f.code && s.kind == f.step.kind && s.call == f.step.call
		}) {
			return nil, fmt.Errorf("tell the story of %s: its last step cannot be taken again", f.code)
		}
	} else {
		t.out.Story = append(t.out.Story, fmt.Sprintf("Everybody dies. From here no event leads to an end: the operation stays %s.", t.phrase(t.at.row)))
		t.tryAll()
	}
	return t.out, nil
}

// tryAll lets every lease end, and fires what somebody who is not dead would: each is denied.
func (t *teller) tryAll() {
	for range 3 {
		t.out.Events = append(t.out.Events, Event{})
		t.at.row = t.space.later(t.at.row)
	}
	f := t.space.facts[t.at.row]
	tried := map[string]bool{}
	for _, c := range t.calls {
		r := c.rule
		if tried[r.Event] || r.Fence == transitions.Open || r.Fence == transitions.Remote {
			continue
		}
		tried[r.Event] = true
		if a := t.ask(t.at.row, c, fresh, f.revision, f.seq); !a.applied {
			t.out.Events = append(t.out.Events, Event{Name: r.Event, Params: t.bind(c, fresh, f.revision, f.seq)})
		}
	}
}

func (t *teller) begin(born int) {
	if born == 0 {
		t.out.Story = append(t.out.Story, fmt.Sprintf("%s: the operation is %s.", t.roles.birth.Event, t.phrase(t.at.row)))
		return
	}
	t.out.Story = append(t.out.Story, fmt.Sprintf("Somebody writes a row by hand, %s, without a remote job id.", t.phrase(t.at.row)))
	t.out.byHand = t.rowByHand(t.space.rows[t.at.row])
}

// follow takes the first step that is the one wanted, and tells it.
func (t *teller) follow(wanted func(step, *state) bool) bool {
	var taken *step
	var to state
	from := t.at
	t.successors(&from, func(s step, next *state) {
		if taken == nil && wanted(s, next) {
			taken, to = &s, *next
		}
	})
	if taken == nil {
		return false
	}
	t.say(*taken, &from, &to)
	if t.at = to; !t.bound.Unreduced {
		t.forgetDead(&t.at) // as the search did, or a slot that it found free would be taken
	}
	return true
}

func (t *teller) say(s step, from, to *state) {
	if text := t.sentence(s, from, to); text != "" {
		t.out.Story = append(t.out.Story, text)
	}
	if s.kind == passes {
		t.out.Events = append(t.out.Events, Event{})
		return
	}
	if s.call < 0 || s.kind != fires && s.kind != lands {
		return
	}
	c := t.calls[s.call]
	owner, rev, seq := "", int64(-1), int64(from.reviewer.seq)
	switch {
	case s.kind == lands:
		owner, rev = t.owner(int(s.who)), int64(from.stray[s.slot].rev)
	case s.who >= 0:
		owner = t.owner(int(s.who))
		if w := from.workers[s.who]; w.pc != idle {
			rev = int64(w.rev)
		}
	case s.who == person:
		rev = int64(from.reviewer.rev)
	}
	params := t.bind(c, owner, rev, seq)
	if c.rule.IsClaim() {
		delete(params, "revision")
	}
	t.out.Events = append(t.out.Events, Event{Name: c.rule.Event, Params: params, Applied: s.applied})
}

// phrase says what a row is, for a story.
func (t *teller) phrase(row rowID) string {
	f := t.space.facts[row]
	s := fmt.Sprintf("%s at revision %d", t.phases[f.phase], f.revision)
	if f.owner != "" {
		s += fmt.Sprintf(", leased by %s%s", f.owner, pick(f.live, "", " until a moment ago"))
	}
	return s
}

func (t *teller) name(who int8) string {
	switch who {
	case reconciler:
		return "The reconciler"
	case person:
		return "The reviewer"
	case webhook:
		return "The remote's webhook"
	case operator:
		return "An operator"
	case nobody:
		return "Nobody"
	default:
		if t.bound.ReusedOwners {
			return fmt.Sprintf("Worker %d (owner w)", who+1)
		}
		return fmt.Sprintf("Worker %d", who+1)
	}
}
