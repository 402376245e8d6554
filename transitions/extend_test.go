package transitions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
)

func eventNames(t transitions.Table) []string {
	var names []string
	for _, e := range t.Events {
		names = append(names, e.Name)
	}
	return names
}

// Whatever is done to a table of one's own, the next one begins with the standard lifecycle.
func TestChangingAnExtendedTableLeavesTheStandardOneAlone(t *testing.T) {
	t.Parallel()
	want := transitions.MustCompile(transitions.Standard()).String()
	table := transitions.Standard()
	for _, name := range eventNames(table) {
		e := table.Event(name)
		for i := range e.From {
			e.From[i] = "elsewhere"
		}
		for i := range e.Guards {
			e.Guards[i].Name = "changed"
		}
		for i := range e.Effects {
			for j := range e.Effects[i].Sets {
				e.Effects[i].Sets[j].Col = "changed"
			}
		}
		for i := range e.Notes.Unless {
			e.Notes.Unless[i] = transitions.Yes()
		}
		if e.Notes.Evidence != nil {
			e.Notes.Evidence.Kind = transitions.Str("changed")
		}
	}
	for _, part := range []transitions.Effect{transitions.TakeLease(), transitions.ReleaseLease(), transitions.ClearLease(),
		transitions.Ends("failed"), transitions.EndsWithResult(), transitions.KeepSnapshot()} {
		for i := range part.Sets {
			part.Sets[i].Col = "changed"
		}
	}
	table.DropColumns("keep", "snapshot")
	table.DropPhases(transitions.Submitted)
	if diff := cmp.Diff(want, transitions.MustCompile(transitions.Standard()).String()); diff != "" {
		t.Errorf("the standard table (-before +after):\n%s", diff)
	}
}

func TestWhatIsAddedStandsBehindWhatItWasToldTo(t *testing.T) {
	t.Parallel()
	table := transitions.Standard()
	table.AddPhase(transitions.Observing, transitions.Phase{Name: "moderating"})
	table.AddEvents("prepare", transitions.Event{Name: "one"}, transitions.Event{Name: "two"})
	if i := slices.IndexFunc(table.Phases, func(p transitions.Phase) bool { return p.Name == "moderating" }); table.Phases[i-1].Name != transitions.Observing || table.Phases[i+1].Name != transitions.Terminal {
		t.Errorf("the phases: got %v", table.Phases)
	}
	if diff := cmp.Diff([]string{"prepare", "one", "two", "dispatch_claim"}, eventNames(table)[:4]); diff != "" {
		t.Errorf("the events (-want +got):\n%s", diff)
	}
}

func TestWhatIsDroppedIsGoneAndWhatStillSpeaksOfItIsFound(t *testing.T) {
	t.Parallel()
	table := transitions.Standard()
	table.DropEvents("redo", "redeliver")
	table.DropColumns("object_bytes")
	if names := eventNames(table); slices.Contains(names, "redo") || slices.Contains(names, "redeliver") || len(names) != len(transitions.Standard().Events)-2 {
		t.Errorf("the events: got %v", names)
	}
	if findings := transitions.Check(table); len(findings) > 0 {
		t.Errorf("a table without two events, a column and the assignments to it: got %v", findings)
	}
	if set := table.Event("deliver_done").Effect("delivered").Sets; len(set) != 3 {
		t.Errorf("what deliver_done stores: got %v", set)
	}
	table.DropPhases(transitions.Submitted)
	if from := table.Event("observe_claim").From; !slices.Equal(from, []string{transitions.Observing}) {
		t.Errorf("observe_claim leaves %v", from)
	}
	table.DropColumns("delivery_attempts")
	var told []string
	for _, f := range transitions.Check(table) {
		told = append(told, f.Code+" "+f.Row)
	}
	for _, want := range []string{"FR004 submit_accepted", "FR005 deliver_claim", "FR005 deliver_exhausted"} {
		if !slices.Contains(told, want) {
			t.Errorf("the findings lack %s: %v", want, told)
		}
	}
}

func TestAnEffectIsReplacedWhereItStood(t *testing.T) {
	t.Parallel()
	table := transitions.Standard()
	e := table.Event("observe_succeeded")
	e.Replace(transitions.EndsWithResult().Name, transitions.Ends("failed"), transitions.Ends("canceled"))
	var names []string
	for _, effect := range e.Effects {
		names = append(names, effect.Name)
	}
	if diff := cmp.Diff([]string{"snapshot", "outcome failed", "outcome canceled", "release"}, names); diff != "" {
		t.Errorf("the effects (-want +got):\n%s", diff)
	}
}

// A name that is gone must not be passed over: the extension would leave the standard event as it is.
func TestAskingForWhatTheTableDoesNotHaveSaysWhat(t *testing.T) {
	t.Parallel()
	for want, ask := range map[string]func(*transitions.Table){
		`change table standard: it has no event "observe"`: func(t *transitions.Table) { t.Event("observe") },
		`it has no event "none"`:                           func(t *transitions.Table) { t.DropEvents("none") },
		`it has no event "nobody"`:                         func(t *transitions.Table) { t.AddEvents("nobody") },
		`it has no phase "done"`:                           func(t *transitions.Table) { t.DropPhases("done") },
		`it has no phase "nowhere"`:                        func(t *transitions.Table) { t.AddPhase("nowhere", transitions.Phase{}) },
		`it has no column "colour"`:                        func(t *transitions.Table) { t.DropColumns("colour") },
		`change event renew: it has no effect "shrink"`:    func(t *transitions.Table) { t.Event("renew").Replace("shrink") },
	} {
		said := func() (said string) {
			defer func() { said, _ = recover().(string) }()
			table := transitions.Standard()
			ask(&table)
			return ""
		}()
		if !strings.Contains(said, want) {
			t.Errorf("got %q, want %q", said, want)
		}
	}
}

// The exported parts are those of the standard lifecycle, word for word.
func TestThePartsAreThoseOfTheStandardLifecycle(t *testing.T) {
	t.Parallel()
	table := transitions.Standard()
	for event, want := range map[string][]transitions.Effect{
		"observe_claim":     {transitions.TakeLease()},
		"observe_succeeded": {transitions.KeepSnapshot(), transitions.EndsWithResult(), transitions.ReleaseLease()},
		"review_abandon":    {transitions.Ends("abandoned"), transitions.ClearLease()},
	} {
		if diff := cmp.Diff(table.Event(event).Effects, want, everything); diff != "" {
			t.Errorf("%s (-table +parts):\n%s", event, diff)
		}
	}
	if diff := cmp.Diff(table.Event("investigate_claim").Guards, transitions.ClaimGuards(transitions.Investigate), everything); diff != "" {
		t.Errorf("investigate_claim (-table +parts):\n%s", diff)
	}
	if diff := cmp.Diff(table.Event("review_abandon").Guards, []transitions.Guard{transitions.ReviewerGiven(), transitions.ReasonGiven()}, everything); diff != "" {
		t.Errorf("review_abandon (-table +parts):\n%s", diff)
	}
}
