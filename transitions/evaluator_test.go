package transitions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fencerow/fencerow/transitions"
)

// An evaluator says of every event, applied and denied, what Eval says, whatever it evaluated before, and allocates
// nothing.
func TestAnEvaluatorSaysWhatEvalSaysAndAllocatesNothing(t *testing.T) {
	p := transitions.MustCompile(transitions.Standard())
	e := p.Evaluator()
	n := 0
	for range 2 { // the second time in memory that every other event has used
		for _, r := range p.Rules {
			s := allowed(p, r)
			for _, row := range []transitions.Row{s.row, denied(p, s.row)} {
				if r.New {
					row = nil
				}
				if diff := cmp.Diff(p.Eval(r.Event, row, s.params, s.world), *e.Eval(r.Event, row, s.params, s.world), cmp.AllowUnexported(transitions.Value{})); diff != "" {
					t.Errorf("%s: %s", r.Event, diff)
				}
				if got := testing.AllocsPerRun(10, func() { e.Eval(r.Event, row, s.params, s.world) }); got != 0 {
					t.Errorf("%s allocates %g times", r.Event, got)
				}
				n++
			}
		}
	}
	if n < 2*2*30 {
		t.Errorf("only %d events were evaluated", n)
	}
}

// denied is a row of a phase that nothing leaves.
func denied(p *transitions.Program, row transitions.Row) transitions.Row {
	row = append(transitions.Row(nil), row...)
	row[p.Column("phase")] = transitions.TextValue("nowhere")
	return row
}

func BenchmarkEval(b *testing.B) {
	p := transitions.MustCompile(transitions.Standard())
	for _, event := range []string{"submit_begin", "submit_accepted", "evidence_noted"} {
		s, e := allowed(p, p.Rule(event)), p.Evaluator()
		b.Run(event, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Eval(event, s.row, s.params, s.world)
			}
		})
	}
}
