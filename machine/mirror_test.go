package machine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/machine"
	"github.com/fencerow/fencerow/transitions"
)

func TestTheMirrorAgreesWithTheTableInEveryPhaseAboutEveryEvent(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	m := machine.NewMirror(p)
	want, got := map[string]string{}, map[string]string{}
	for _, phase := range p.PhaseNames() {
		for _, r := range p.Rules {
			pair := phase + " " + r.Event
			want[pair], got[pair] = "refused", "refused"
			if r.Leaves(phase) {
				want[pair] = r.Lands(phase)
			}
			if to, ok := m.Next(phase, r.Event); ok {
				got[pair] = to
			}
		}
	}
	if len(want) != len(p.Phases)*len(p.Rules) {
		t.Fatalf("%d pairs of phase and event were asked about, of %d", len(want), len(p.Phases)*len(p.Rules))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the mirror and the table disagree (-table +mirror):\n%s", diff)
	}
}

func TestTheMirrorRefusesWhatCreatesARowAndWhatNobodyDeclared(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	m := machine.NewMirror(p)
	for _, r := range p.Rules {
		if !r.New {
			continue
		}
		for _, phase := range append([]string{""}, p.PhaseNames()...) {
			if to, ok := m.Next(phase, r.Event); ok {
				t.Errorf("%s leads from %q to %q, but it creates the row", r.Event, phase, to)
			}
		}
	}
	for _, question := range [][2]string{{"prepared", "no_such_event"}, {"no_such_phase", "evidence_noted"}, {"", ""}} {
		if to, ok := m.Next(question[0], question[1]); ok {
			t.Errorf("the mirror leads from %q by %q to %q, which nobody declared", question[0], question[1], to)
		}
	}
}

func TestTheMirrorCanBeAskedTwiceAndBySeveralAtOnce(t *testing.T) {
	t.Parallel()
	m := machine.NewMirror(transitions.MustCompile(transitions.Standard()))
	answers := make(chan string)
	for range 8 {
		go func() {
			to, _ := m.Next(transitions.Prepared, "submit_begin")
			answers <- to
		}()
	}
	for range 8 {
		if diff := cmp.Diff(transitions.Submitting, <-answers); diff != "" {
			t.Errorf("the answer (-want +got):\n%s", diff)
		}
	}
}

func TestAnEventWithTwoWaysOutOfAPhaseIsNotMirrored(t *testing.T) {
	t.Parallel()
	p := *transitions.MustCompile(transitions.Standard())
	p.Rules = append(p.Rules[:len(p.Rules):len(p.Rules)],
		&transitions.Rule{Event: "submit_begin", From: []string{transitions.Prepared}, To: transitions.Terminal})
	defer func() {
		said, _ := recover().(string)
		for _, part := range []string{"submit_begin", "prepared", "two ways"} {
			if !strings.Contains(said, part) {
				t.Errorf("the panic does not say %q: %q", part, said)
			}
		}
	}()
	machine.NewMirror(&p)
}
