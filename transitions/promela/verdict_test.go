package promela

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
)

// complete is what spin 6.5.2 prints after a search that looked at everything.
const complete = `
(Spin Version 6.5.2 -- 6 December 2019)

Full statespace search for:
	never claim         	- (none specified)
	assertion violations	+
	cycle checks       	- (disabled by -DSAFETY)
	invalid end states	- (disabled by -E flag)

State-vector 168 byte, depth reached 76, errors: 0
   243632 states, stored
  2069693 states, matched
  2313325 transitions (= stored+matched)
  1038407 atomic steps
hash conflicts:     12345 (resolved)

Stats on memory usage (in Megabytes):
   43.681	equivalent memory usage for states (stored*(State-vector + overhead))
  158.186	total actual memory usage

applied 1 1
applied 2 2243
`

func TestAVerdictIsReadFromWhatSpinPrints(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	got, err := parse([]byte(complete), p)
	if err != nil {
		t.Fatal(err)
	}
	want := &Verdict{States: 243632, Depth: 76, MemoryMB: 158.186, Applied: map[string]int{"prepare": 1, "dispatch_claim": 2243}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}

	broken := "pan:1: assertion violated I1_one_remote_job (at depth 38)\n" +
		strings.NewReplacer("errors: 0", "errors: 1", "(Spin", "Warning: Search not completed\n(Spin").Replace(complete)
	got, err = parse([]byte(broken), p)
	if err != nil {
		t.Fatal(err)
	}
	if got.Violated != "I1_one_remote_job" || got.Invariant() != "I1" {
		t.Errorf("want I1_one_remote_job of invariant I1, got %q of %q", got.Violated, got.Invariant())
	}
}

func TestASearchThatDidNotLookAtEverythingIsNoVerdict(t *testing.T) {
	t.Parallel()
	p := transitions.MustCompile(transitions.Standard())
	for name, out := range map[string]string{
		"too deep":           "error: max search depth too small\n" + complete,
		"out of memory":      "pan: reached -DMEMLIM bound\npan: out of memory\n" + strings.Replace(complete, "(Spin", "Warning: Search not completed\n(Spin", 1),
		"lossy":              strings.Replace(complete, "Full statespace", "Bit statespace", 1),
		"another fault":      "pan:1: invalid end state (at depth 25)\n" + strings.Replace(complete, "errors: 0", "errors: 1", 1),
		"another assertion":  "pan:1: assertion violated (jobs<1) (at depth 38)\n" + strings.Replace(complete, "errors: 0", "errors: 1", 1),
		"killed before that": "Depth=      85 States=    3e+06 Transitions= 2.85e+07\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v, err := parse([]byte(out), p); err == nil {
				t.Errorf("want an error, got %+v", v)
			}
		})
	}
}

func TestAReplayBecomesAStory(t *testing.T) {
	t.Parallel()
	replay := `  1:	proc  0 (:init:) model.pml:2547 (state 1)	[ atexit(tell_applied); ]
prepare
  2:	proc  0 (:init:) model.pml:2548 (state 89)	[D_STEP2548]
on its way: event 2
 17:	proc  2 (WorkerProcess) model.pml:2177 (state 1349)	[D_STEP2177]
a tick
 22:	proc 11 (Clock) model.pml:2465 (state 183)	[D_STEP2465]
submit_lapsed
pan:1: assertion violated I6_x (at depth 24)
#processes 13:
 24:	proc 0 (:init:)  model.pml:2554 (state 103)
`
	want := []string{":init:: prepare", "Worker: on its way: dispatch_claim", "Clock: a tick", "submit_lapsed"}
	got := steps([]byte(replay), transitions.MustCompile(transitions.Standard()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
